//! Running other programs: their output kept out of ours, and errors that name the command.

use std::fs;
use std::io;
use std::os::unix::fs::MetadataExt;
use std::os::unix::process::CommandExt;
use std::process::{Command, ExitCode, ExitStatus, Output, Stdio};

use anyhow::{Context, Result, anyhow, bail};

/// Runs a command to its end and fails unless it succeeds.
///
/// Its standard output goes to our standard error: ours carries results only, such as the lines of
/// `cargo xtask env`. It gets no standard input, so that nothing here can wait for a keyboard.
pub fn run(command: &mut Command) -> Result<()> {
    let status = command
        .stdin(Stdio::null())
        .stdout(Stdio::from(io::stderr()))
        .status()
        .with_context(|| cannot_start(command))?;
    if !status.success() {
        bail!("`{}` failed ({status})", line(command));
    }
    Ok(())
}

/// Runs a command to its end, whatever its exit status, and returns what it printed.
pub fn output(command: &mut Command) -> Result<Output> {
    let output = command.stdin(Stdio::null()).output();
    output.with_context(|| cannot_start(command))
}

/// Runs a command to its end, its output with ours, and returns how it ended.
pub fn status(command: &mut Command) -> Result<ExitStatus> {
    command.status().with_context(|| cannot_start(command))
}

/// The exit status of a command that ran as a part of something else: its own if it failed, and 1 if
/// it was killed or something else went wrong.
pub fn exit_code(status: ExitStatus, is_well_otherwise: bool) -> ExitCode {
    match status.code().and_then(|code| u8::try_from(code).ok()) {
        Some(0) if is_well_otherwise => ExitCode::SUCCESS,
        Some(0) | None => ExitCode::FAILURE,
        Some(code) => ExitCode::from(code),
    }
}

/// Becomes the command. Returns only when it cannot be started.
///
/// Exit status, signals and the terminal are then the command's own, with nothing to pass on.
pub fn exec(mut command: Command) -> anyhow::Error {
    let error = command.exec();
    anyhow!(error).context(cannot_start(&command))
}

/// Returns whether this process belongs to root.
pub fn is_root() -> bool {
    // The files of a process in /proc belong to its effective user.
    fs::metadata("/proc/self").is_ok_and(|metadata| metadata.uid() == 0)
}

fn cannot_start(command: &Command) -> String {
    format!("cannot start `{}`", line(command))
}

/// The command as one would type it, for messages.
pub fn line(command: &Command) -> String {
    let words = std::iter::once(command.get_program()).chain(command.get_args());
    let words: Vec<_> = words.map(|word| word.to_string_lossy()).collect();
    words.join(" ")
}

#[cfg(test)]
mod tests {
    use std::os::unix::process::ExitStatusExt;

    use super::*;

    #[test]
    fn nothing_that_went_wrong_ends_with_success() {
        let exited = |code: i32| ExitStatus::from_raw(code << 8);
        let cases = [
            (exited(0), true, ExitCode::SUCCESS),
            (exited(0), false, ExitCode::from(1)),
            (exited(1), true, ExitCode::from(1)),
            (exited(101), false, ExitCode::from(101)),
            (ExitStatus::from_raw(11), true, ExitCode::from(1)),
        ];
        for (status, is_well_otherwise, expected) in cases {
            assert_eq!(exit_code(status, is_well_otherwise), expected, "{status}");
        }
    }
}
