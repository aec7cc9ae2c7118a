//! Standard output, and the status lines on standard error.

use std::io::{self, IsTerminal, Write};
use std::sync::OnceLock;

use crate::text::escaped;

/// An error that ends a command, for a message on standard error.
pub type AnyError = Box<dyn std::error::Error + Send + Sync>;

/// The bars of a command, which are below its status lines.
pub trait Bars: Sync {
    /// Writes a line above the bars. Errors are ignored.
    fn print_above(&self, line: &str);

    /// Removes the bars.
    fn clear(&self);
}

/// The bars of this process, if it has some.
static BARS: OnceLock<&dyn Bars> = OnceLock::new();

/// Sets the bars of this process, unless it has some.
pub fn set_bars(bars: &'static dyn Bars) {
    let _ = BARS.set(bars);
}

/// Writes `text` to standard output, all of it or an error. A terminal shows control characters and does not act on them.
pub fn print(text: &str) -> Result<(), AnyError> {
    print_but(text, &[])
}

/// Writes a text with colours, as [`print`] does.
pub fn print_styled(text: &str) -> Result<(), AnyError> {
    print_but(text, &['\u{1b}'])
}

fn print_but(text: &str, kept: &[char]) -> Result<(), AnyError> {
    let mut out = io::stdout().lock();
    let text = if out.is_terminal() { escaped(text, kept) } else { text.into() };
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
    let line = if io::stderr().is_terminal() { &*escaped(line, &[]) } else { line };
    match BARS.get() {
        Some(bars) => bars.print_above(line),
        None => drop(writeln!(io::stderr(), "{line}")),
    }
}

/// Removes the bars.
pub fn clear_bars() {
    if let Some(bars) = BARS.get() {
        bars.clear();
    }
}

/// Returns whether the terminal has neither colours nor a cursor that can be moved: TERM is `dumb`.
pub fn is_dumb() -> bool {
    std::env::var_os("TERM").is_some_and(|term| term == "dumb")
}
