//! Standard output, and the status lines on standard error.

use std::borrow::Cow;
use std::io::{self, IsTerminal, Write};
use std::sync::{LazyLock, OnceLock};

use crate::text::{escaped, without_commands};
use crate::variable;

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

/// Returns whether this process runs in a step of GitHub Actions.
pub fn is_in_github_actions() -> bool {
    static IS_SET: LazyLock<bool> =
        LazyLock::new(|| variable::value("GITHUB_ACTIONS").is_some_and(|value| value == "true"));
    *IS_SET
}

/// Returns output of tests such that it has no command of GitHub Actions, if this process runs there.
pub fn harmless(text: &str) -> Cow<'_, str> {
    if is_in_github_actions() { without_commands(text) } else { text.into() }
}

/// Returns a text for people as [`harmless`], with escapes for control characters that are not `kept`.
pub fn for_people<'a>(text: &'a str, kept: &[char]) -> Cow<'a, str> {
    match escaped(text, kept) {
        Cow::Borrowed(text) => harmless(text),
        Cow::Owned(text) => harmless(&text).into_owned().into(),
    }
}

/// Writes a text for programs to standard output, all of it or an error. A terminal shows control characters and does
/// not act on them.
pub fn print(text: &str) -> Result<(), AnyError> {
    let is_terminal = io::stdout().is_terminal();
    let text = if is_terminal { escaped(text, &[]) } else { text.into() };
    output_result(write(io::stdout().lock(), &text))
}

/// Writes a text for people to standard output, all of it or an error.
pub fn print_text(text: &str) -> Result<(), AnyError> {
    output_result(write(io::stdout().lock(), &for_people(text, &[])))
}

/// Writes a text with colours, as [`print_text`] does.
pub fn print_styled(text: &str) -> Result<(), AnyError> {
    output_result(write(io::stdout().lock(), &for_people(text, &['\u{1b}'])))
}

/// Writes a text with colours to standard error, if standard output has something else. Errors are ignored.
pub fn print_beside(text: &str) -> Result<(), AnyError> {
    let _ = write(io::stderr().lock(), &for_people(text, &['\u{1b}']));
    Ok(())
}

fn write(mut out: impl Write, text: &str) -> io::Result<()> {
    out.write_all(text.as_bytes())?;
    out.flush()
}

/// Turns the result of writing to standard output into the result of the command.
///
/// A closed pipe is not an error: its reader needs no more.
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
    let line = &*for_people(line, &[]);
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
    variable::value("TERM").is_some_and(|term| term == "dumb")
}
