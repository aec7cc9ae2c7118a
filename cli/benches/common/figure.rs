//! Measurements and their limits.

use std::process::ExitCode;

/// A measurement, and the limit that it must not exceed.
pub struct Figure {
    pub what: &'static str,
    pub measured: f64,
    pub limit: f64,
    pub unit: &'static str,
}

impl Figure {
    fn is_met(&self) -> bool {
        self.measured <= self.limit
    }
}

/// Prints a table. The exit status is 1 if a limit is missed.
pub fn report(figures: &[Figure]) -> ExitCode {
    println!("{:<72} {:>9}    {:>9}", "", "measured", "limit");
    for Figure { what, measured, limit, unit } in figures {
        let verdict = if measured <= limit { "" } else { "  MISSED" };
        println!("{what:<72} {measured:>9.3} {unit} {limit:>9.3}{verdict}");
    }
    if figures.iter().all(Figure::is_met) { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}
