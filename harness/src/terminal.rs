//! Standard output, and the status lines on standard error.

use std::io::{self, Write};
use std::sync::LazyLock;

use indicatif::{MultiProgress, ProgressDrawTarget};

/// An error that ends a command, for a message on standard error.
pub type AnyError = Box<dyn std::error::Error + Send + Sync>;

/// The progress bars of this process; hidden while there are none.
pub static BARS: LazyLock<MultiProgress> =
    LazyLock::new(|| MultiProgress::with_draw_target(ProgressDrawTarget::hidden()));

/// Writes `text` to standard output, all of it or an error.
pub fn print(text: &str) -> Result<(), AnyError> {
    let mut out = io::stdout().lock();
    output_result(out.write_all(text.as_bytes()).and_then(|()| out.flush()))
}

/// Turns the result of writing to standard output into the result of the command.
///
/// A closed pipe is no error: its reader has read as much as it wants.
pub(crate) fn output_result(written: io::Result<()>) -> Result<(), AnyError> {
    match written {
        Err(error) if error.kind() != io::ErrorKind::BrokenPipe => {
            Err(format!("cannot write to standard output: {error}").into())
        }
        _ => Ok(()),
    }
}

/// Joins errors, each on a line of its own.
pub fn all_of(errors: Vec<AnyError>) -> Result<(), AnyError> {
    match errors.is_empty() {
        true => Ok(()),
        false => Err(errors.iter().map(AnyError::to_string).collect::<Vec<_>>().join("\n").into()),
    }
}

/// Writes a line to standard error, above the bars. Errors are ignored.
pub fn status_line(line: &str) {
    let _ = match BARS.is_hidden() {
        true => writeln!(io::stderr(), "{line}"),
        false => BARS.println(line),
    };
}

/// Removes the bars.
pub fn clear_bars() {
    let _ = BARS.clear();
    BARS.set_draw_target(ProgressDrawTarget::hidden());
}

/// Returns whether the terminal has neither colours nor a cursor that can be moved: TERM is `dumb`.
pub fn is_dumb() -> bool {
    std::env::var_os("TERM").is_some_and(|term| term == "dumb")
}
