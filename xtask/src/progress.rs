//! Passes the output of `cargo test` on, and says what runs while it prints nothing.

use std::io::{self, IsTerminal, Read, Write};
use std::process::{Command, ExitStatus, Stdio};
use std::sync::{Mutex, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

use anyhow::{Context, Result};

use crate::process;

/// The longest time without a line.
const SILENCE: Duration = Duration::from_secs(10);

/// The output so far.
struct Seen {
    /// The time of the last output.
    last: Instant,
    /// The target that runs, as cargo names it, and the time at which it began.
    target: Option<(String, Instant)>,
    /// The last test that has ended.
    test: Option<String>,
}

impl Seen {
    fn line(&mut self, line: &str) {
        let words: Vec<&str> = line.split_whitespace().collect();
        match words[..] {
            ["Running", .., target, _] => self.target = Some((target.to_owned(), Instant::now())),
            ["Doc-tests", package] => {
                self.target = Some((format!("the documentation of {package}"), Instant::now()));
            }
            ["test", test, "...", ..] => self.test = Some(test.to_owned()),
            _ => return,
        }
        if words[0] != "test" {
            self.test = None;
        }
    }

    /// Returns what runs, if there was no output for a while.
    fn note(&mut self) -> Option<String> {
        if self.last.elapsed() < SILENCE {
            return None;
        }
        self.last = Instant::now();
        let (target, begin) = self.target.as_ref()?;
        let after = self.test.as_ref().map_or_else(String::new, |test| format!(", after {test}"));
        Some(format!("{target} has been running for {} s{after}", begin.elapsed().as_secs()))
    }
}

/// Runs `cargo test` to its end, its output with ours, and returns how it ended.
pub fn status(command: &mut Command) -> Result<ExitStatus> {
    if io::stderr().is_terminal() {
        command.env("CARGO_TERM_COLOR", "always");
    }
    command.stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child =
        command.spawn().with_context(|| format!("cannot start `{}`", process::line(command)))?;
    let (stdout, stderr) = (child.stdout.take(), child.stderr.take());
    let seen = Mutex::new(Seen { last: Instant::now(), target: None, test: None });
    thread::scope(|scope| {
        scope.spawn(|| pass_on(stdout.expect("it is piped"), io::stdout(), &seen));
        scope.spawn(|| pass_on(stderr.expect("it is piped"), io::stderr(), &seen));
        loop {
            if let Some(status) = child.try_wait()? {
                return Ok(status);
            }
            thread::sleep(Duration::from_millis(100));
            if let Some(note) = seen.lock().unwrap_or_else(PoisonError::into_inner).note() {
                eprintln!("... {note}");
            }
        }
    })
}

/// Writes what `from` has to `to` at once.
fn pass_on(mut from: impl Read, mut to: impl Write, seen: &Mutex<Seen>) {
    let mut line = Vec::new();
    let mut bytes = [0; 1 << 16];
    while let Ok(count @ 1..) = from.read(&mut bytes) {
        let bytes = &bytes[..count];
        let mut seen = seen.lock().unwrap_or_else(PoisonError::into_inner);
        // Nobody reads it then.
        let _ = to.write_all(bytes).and_then(|()| to.flush());
        seen.last = Instant::now();
        for piece in bytes.split_inclusive(|byte| *byte == b'\n') {
            line.extend_from_slice(piece);
            if piece.ends_with(b"\n") {
                seen.line(&String::from_utf8_lossy(&line));
                line.clear();
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_silent_target_is_named_with_its_last_test() {
        let mut seen = Seen { last: Instant::now(), target: None, test: None };
        assert_eq!(seen.note(), None, "there was output just now");
        let silent = |seen: &mut Seen| {
            seen.last = Instant::now().checked_sub(SILENCE).expect("a later time than SILENCE");
            seen.note()
        };
        assert_eq!(silent(&mut seen), None, "cargo builds");
        seen.line(
            "     Running tests/binary/main.rs (target/debug/deps/binary-d1ea0752f88ff2c8)\n",
        );
        let text = "tests/binary/main.rs has been running for 0 s";
        assert_eq!(silent(&mut seen).as_deref(), Some(text));
        seen.line("test shards::each_test_is_in_one_shard ... ok\n");
        let text = format!("{text}, after shards::each_test_is_in_one_shard");
        assert_eq!(silent(&mut seen), Some(text));
        assert_eq!(seen.note(), None, "it was said just now");
        seen.line("   Doc-tests clmatrix\n");
        let text = "the documentation of clmatrix has been running for 0 s";
        assert_eq!(silent(&mut seen).as_deref(), Some(text));
    }
}
