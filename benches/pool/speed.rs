//! Nanoseconds per allocate + drop pair, beside the reference.
//!
//! The two take turns, and figures are lower quartiles as long as each thread has a processor: what else a
//! machine does only adds time, then, and more to what waits for memory most.

use std::thread;
use std::time::{Duration, Instant};

use crate::report::{Limit, Report};
use crate::source::Source;
use crate::team::{Side, Team};
use crate::time::quantile;
use crate::workload::Workload;

/// Of each, at least.
const ROUNDS: usize = 60;

/// For how long rounds go on at least: what disturbs a machine often does so for a second or two.
const TIME: Duration = Duration::from_secs(4);

/// What a number of threads takes, per thread.
pub struct Figure {
    pub workload: Workload,
    pub threads: usize,
    reference: Vec<f64>,
    ours: Vec<f64>,
}

impl Figure {
    /// Nanoseconds per pair.
    pub fn reference(&self) -> f64 {
        self.typical(&self.reference)
    }

    /// Nanoseconds per pair.
    pub fn ours(&self) -> f64 {
        self.typical(&self.ours)
    }

    fn typical(&self, times: &[f64]) -> f64 {
        let processors = thread::available_parallelism().map_or(1, usize::from);
        // Threads that wait for a processor leave more to the others.
        quantile(times, if self.threads > processors { 0.5 } else { 0.25 })
    }

    /// Of the reference's time.
    fn ratio(&self) -> f64 {
        self.ours() / self.reference()
    }

    fn limit(&self) -> Option<Limit> {
        match (self.workload, self.threads) {
            (Workload::Hot, 1) => Some(Limit { at_most: 0.5, aim: Some(0.25) }),
            (Workload::Random, 1) => Some(Limit { at_most: 0.35, aim: Some(0.2) }),
            (_, 2) => Some(Limit { at_most: 0.4, aim: Some(0.1) }),
            _ => None,
        }
    }

    fn name(&self) -> String {
        let what = match self.workload {
            Workload::Hot => "one hot size",
            Workload::Random => "random sizes, 1000 live",
        };
        match self.threads {
            1 => what.to_owned(),
            threads => format!("{what}, {threads} threads"),
        }
    }
}

/// Measures with 1 to 4 threads, and with more where there are more processors.
pub fn measure<R: Source, O: Source>(
    reference: impl Fn() -> R,
    ours: impl Fn() -> O,
) -> Vec<Figure> {
    let processors = thread::available_parallelism().map_or(1, usize::from);
    let more = (3..).map(|power| 1 << power).take_while(|&threads| threads <= processors);
    let counts: Vec<_> = (1..=4).chain(more).collect();
    let mut figures = vec![];
    for workload in [Workload::Hot, Workload::Random] {
        for &threads in &counts {
            let mut figure = Figure { workload, threads, reference: vec![], ours: vec![] };
            eprintln!("{}", figure.name());
            take_turns(&mut figure, &reference(), &ours());
            figures.push(figure);
        }
    }
    figures
}

fn take_turns(figure: &mut Figure, reference: &impl Source, ours: &impl Source) {
    let &mut Figure { workload, threads, .. } = figure;
    thread::scope(|scope| {
        let team = Team::start(scope, reference, ours, workload, threads);
        let begun = Instant::now();
        for round in (0..).take_while(|round| *round < ROUNDS || begun.elapsed() < TIME) {
            // Whoever comes second finds caches and frequencies as the first has left them.
            if round % 2 == 0 {
                figure.reference.push(team.round(Side::Reference));
                figure.ours.push(team.round(Side::Ours));
            } else {
                figure.ours.push(team.round(Side::Ours));
                figure.reference.push(team.round(Side::Reference));
            }
        }
    });
}

pub fn report(figures: &[Figure], report: &mut Report) {
    report.table(&["ns per pair, per thread", "reference", "ours", "ratio", "limit", "aimed at"]);
    for figure in figures {
        let (name, ratio) = (figure.name(), figure.ratio());
        let mut cells = vec![
            format!("{:.0}", figure.reference()),
            format!("{:.0}", figure.ours()),
            format!("{ratio:.2}"),
        ];
        cells.extend(report.check(&name, ratio, figure.limit()));
        report.row(&name, &cells);
    }
}
