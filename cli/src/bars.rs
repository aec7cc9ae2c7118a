//! The progress bars of this process.

use std::io::{self, Write};
use std::sync::LazyLock;

use clmatrix_runner::terminal::Bars;
use indicatif::{MultiProgress, ProgressDrawTarget};

/// The progress bars of this process; hidden while there are none.
pub(crate) static BARS: LazyLock<MultiProgress> =
    LazyLock::new(|| MultiProgress::with_draw_target(ProgressDrawTarget::hidden()));

/// The [`BARS`] for the status lines of the runner.
pub(crate) struct BarsOfCommand;

impl Bars for BarsOfCommand {
    fn print_above(&self, line: &str) {
        let _ =
            if BARS.is_hidden() { writeln!(io::stderr(), "{line}") } else { BARS.println(line) };
    }

    fn clear(&self) {
        let _ = BARS.clear();
        BARS.set_draw_target(ProgressDrawTarget::hidden());
    }
}
