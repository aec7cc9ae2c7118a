//! Programs with libtest's command line: Rust test targets.

use std::collections::HashSet;
use std::sync::LazyLock;
use std::time::Instant;

use regex::Regex;

use super::outside_test::Listed;
use super::process::ProgramEnd;
use super::program_run::{Ended, Found, ProgramRun, Watch};
use crate::os::{ExitCause, Source, StopSignal};
use crate::text::first_line;
use crate::verdict::{Location, Outcome};
use crate::worker::capture::Capture;
use crate::worker::parent::{Attempt, IN_THE_TEST, crash};

/// The exit status of libtest for a test that failed.
const FAILED: i32 = 101;

/// The line of libtest before a test, and the lines after it.
const ONE_TEST: &str = "running 1 test";
const NO_TEST: &str = "running 0 tests";
const BEGINS: &str = "running ";
const RESULT: &str = "test result: ";
const OK: &str = "test result: ok.";

/// Returns the tests of a target. `output` is its standard output with these arguments.
///
/// # Errors
///
/// The target does not list its tests, or is one of this project.
pub(super) fn list(
    output: impl Fn(&[&str]) -> Result<String, String>,
) -> Result<Vec<Listed>, String> {
    let all = output(&["--list", "--format", "terse"])?;
    let ignored = output(&["--list", "--format", "terse", "--ignored"])?;
    let ignored: HashSet<&str> = names(&ignored).collect();
    let listed = |name: &str| Listed { name: name.to_owned(), is_ignored: ignored.contains(name) };
    let tests: Vec<Listed> = names(&all).map(listed).collect();
    let has_device = |test: &Listed| {
        let device = test.name.rsplit_once('@').map_or("", |(_, device)| device);
        !device.is_empty() && !device.contains([':', '/', '.', ' '])
    };
    match tests.first() {
        Some(test) if tests.iter().all(has_device) => Err(format!(
            "its tests have devices ({}): a target of clmatrix runs on all devices by itself; \
             run it by `cargo test`, and remove it from `programs`",
            test.name
        )),
        _ => Ok(tests),
    }
}

fn names(list: &str) -> impl Iterator<Item = &str> {
    list.lines().filter_map(|line| line.strip_suffix(": test"))
}

/// Runs the only test.
pub(super) fn run(run: &ProgramRun<'_>, stop: &StopSignal, watch: &mut dyn Watch) -> Ended {
    let (name, limit) = run.tests[0];
    let mut arguments = vec![name, "--exact", "--nocapture"];
    if run.is_ignored {
        arguments.push("--ignored");
    }
    let begin = Instant::now();
    let mut attempt = Attempt::default();
    let mut exit = None;
    let mut process = match run.start(&arguments, &[]) {
        Ok(process) => process,
        Err(reason) => {
            attempt.outcome = Some(Outcome::NotRun { reason });
            return Ended { found: vec![Some(Found { attempt, before: Vec::new() })], exit };
        }
    };
    watch.begins(0, process.id());
    let (mut stdout, mut stderr) = (Capture::default(), Capture::default());
    let end = process.wait(limit, stop, &mut |from, bytes| {
        watch.wrote(0, from, bytes);
        match from {
            Source::Stderr => stderr.push(bytes),
            _ => stdout.push(bytes),
        }
        None
    });
    (attempt.duration, attempt.ended) = (begin.elapsed(), Some(Instant::now()));
    (attempt.stdout, attempt.stderr) = (stdout.take_text(), stderr.take_text());
    let has_passed = result_of(name, &attempt.stdout).is_some_and(|line| line.starts_with(OK));
    attempt.outcome = match end {
        ProgramEnd::Stopped => None,
        ProgramEnd::NotStarted(reason) => Some(Outcome::NotRun { reason }),
        ProgramEnd::Died(ExitCause::Exited(status)) => {
            Some(outcome(name, status, &attempt.stdout, &attempt.stderr))
        }
        // The test has passed; an exit handler of the driver crashes or hangs.
        ProgramEnd::Died(cause) if has_passed => {
            exit = Some(crash(cause, "after its last test"));
            Some(Outcome::Passed)
        }
        ProgramEnd::TimedOut if has_passed => {
            exit = Some(Outcome::TimedOut { limit });
            Some(Outcome::Passed)
        }
        ProgramEnd::Died(cause) => Some(crash(cause, IN_THE_TEST)),
        ProgramEnd::TimedOut => {
            watch.hangs();
            attempt.stacks = Some(process.stacks());
            Some(Outcome::TimedOut { limit })
        }
    };
    Ended { found: vec![Some(Found { attempt, before: Vec::new() })], exit }
}

/// Returns libtest's result of the process, if it has come so far. Text may follow: of an exit handler, or of a
/// thread.
///
/// A test may run other test binaries, each with a beginning and a result of its own. The last result is that of
/// the process if no result is missing, or if the end of the test itself comes before.
fn result_of<'a>(name: &str, stdout: &'a str) -> Option<&'a str> {
    let is_begin = |line: &&str| {
        let count = line.strip_prefix(BEGINS).and_then(|rest| rest.split_once(" test"));
        count.is_some_and(|(count, _)| count.parse::<u32>().is_ok())
    };
    let is_end = |line: &str| {
        let rest = line.strip_prefix("test ").and_then(|rest| rest.strip_prefix(name));
        let rest = rest.map(|rest| rest.strip_prefix(" - should panic").unwrap_or(rest));
        rest.is_some_and(|rest| [" ... ok", " ... FAILED"].iter().any(|end| rest.starts_with(end)))
    };
    let is_result = |(_, line): &(usize, &str)| line.starts_with(RESULT);
    let results: Vec<(usize, &str)> = stdout.lines().enumerate().filter(is_result).collect();
    let &(at, last) = results.last()?;
    let begins = stdout.lines().filter(is_begin).count();
    (results.len() >= begins || stdout.lines().take(at).any(is_end)).then_some(last)
}

/// The outcome of a process that has exited. A target with another harness may print none of libtest's lines.
fn outcome(name: &str, status: i32, stdout: &str, stderr: &str) -> Outcome {
    let has_line = |start: &str| stdout.lines().any(|line| line.starts_with(start));
    if has_line(NO_TEST) && !has_line(ONE_TEST) {
        let reason = "the program does not have this test any more".to_owned();
        return Outcome::NotRun { reason };
    }
    if has_line(ONE_TEST) && result_of(name, stdout).is_none() {
        return crash(ExitCause::Exited(status), IN_THE_TEST);
    }
    match status {
        0 => Outcome::Passed,
        _ => failure(status, stdout, stderr),
    }
}

/// The failure, with the last panic, else with the error that the test returned.
fn failure(status: i32, stdout: &str, stderr: &str) -> Outcome {
    static PANIC: LazyLock<Regex> = LazyLock::new(|| {
        let text = r"(?m)^thread '.*?' (?:\(\d+\) )?panicked at (.+?):(\d+):\d+:\n";
        Regex::new(text).expect("a valid expression")
    });
    if let Some(panic) = PANIC.captures_iter(stderr).last() {
        let file = panic[1].into();
        let location = panic[2].parse().ok().map(|line| Location { file, line });
        let rest = &stderr[panic.get_match().end()..];
        let end = ["\nnote: run with `RUST_BACKTRACE", "\nstack backtrace:", "\ntest "]
            .iter()
            .filter_map(|mark| rest.find(mark))
            .min();
        let message = rest[..end.unwrap_or(rest.len())].trim_end().to_owned();
        return Outcome::Failed { message, location };
    }
    let starts = |text: &str| {
        let is_reason = |line: &&str| {
            line.starts_with("Error: ") || line.starts_with("note: test did not panic")
        };
        text.lines().rev().find(is_reason).map(|line| first_line(line).to_owned())
    };
    let message = starts(stderr).or_else(|| starts(stdout)).unwrap_or_else(|| match status {
        FAILED => "the test failed".to_owned(),
        _ => format!("exited with status {status}"),
    });
    Outcome::Failed { message, location: None }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_list_has_tests_and_no_benchmarks() {
        let listed = |name: &str, is_ignored| Listed { name: name.to_owned(), is_ignored };
        let output = |arguments: &[&str]| {
            Ok(match arguments.contains(&"--ignored") {
                true => "b: test\n".to_owned(),
                false => "a::x: test\nb: test\nc: benchmark\n".to_owned(),
            })
        };
        assert_eq!(list(output), Ok(vec![listed("a::x", false), listed("b", true)]));
        let error = list(|_| Ok("s::t@pocl-cpu: test\n".to_owned())).unwrap_err();
        assert!(error.contains("run it by `cargo test`"), "{error}");
        let foreign = list(|_| Ok("mail::a@b: test\nmail::none: test\n".to_owned()));
        assert_eq!(foreign.map(|tests| tests.len()), Ok(2));
    }

    #[test]
    fn a_pass_needs_a_result() {
        let status = |status, stdout: &str| outcome("t", status, stdout, "").status();
        let begin = "\nrunning 1 test\n";
        let result = "\ntest result: ok. 1 passed; 0 failed\n";
        let ok = format!("{begin}test t ... ok\n{result}");
        let other = format!("{begin}test u ... ok\n{result}");
        use crate::verdict::ExpectedStatus::{Crash, Fail, Pass};
        for (exit, stdout, expected) in [
            (0, ok.as_str(), Some(Pass)),
            (0, "", Some(Pass)),
            (0, begin, Some(Crash)),
            (3, begin, Some(Crash)),
            (0, "\nrunning 0 tests\n\ntest result: ok. 0 passed\n", None),
            (101, "\nrunning 1 test\ntest t ... FAILED\ntest result: FAILED. \n", Some(Fail)),
            (1, "", Some(Fail)),
            // The test has run another test binary, and then ended the process.
            (0, &format!("{begin}{other}and then\n"), Some(Crash)),
            (0, &format!("{begin}{other}"), Some(Crash)),
            (0, &format!("{begin}{other}test t ... ok\n\ntest result: ok. 1 passed\n"), Some(Pass)),
            // Another test binary has crashed.
            (0, &format!("{begin}{ok}"), Some(Pass)),
            (0, &format!("{begin}{begin}test t - should panic ... ok\n{result}"), Some(Pass)),
            (0, &format!("{begin}{begin}test t2 ... ok\n{result}"), Some(Crash)),
            // An exit handler writes.
            (0, &format!("{ok}goodbye\n"), Some(Pass)),
        ] {
            assert_eq!(status(exit, stdout), expected, "{exit} {stdout:?}");
        }
    }

    #[test]
    fn only_the_result_of_the_outer_process_is_a_pass() {
        let begin = "\nrunning 1 test\n";
        let result = "test t ... ok\n\ntest result: ok. 1 passed; 0 failed\n\n";
        let nested = format!("{begin}test u ... ok\n\ntest result: ok. 1 passed\n");
        for (stdout, expected) in [
            (format!("{begin}{result}"), true),
            (format!("{begin}{nested}{result}"), true),
            (begin.to_owned(), false),
            (format!("{begin}{nested}"), false),
            (format!("{begin}{nested}text of the test\n"), false),
            (format!("{begin}{result}text of an exit handler\n"), true),
            (format!("{begin}\nrunning 3 tests\ntest result: ok. 3 passed\n"), false),
            (format!("{begin}test result: FAILED. 0 passed; 1 failed\n"), false),
        ] {
            let has_passed = result_of("t", &stdout).is_some_and(|line| line.starts_with(OK));
            assert_eq!(has_passed, expected, "{stdout:?}");
        }
    }

    #[test]
    fn a_failure_has_the_last_panic_or_the_error() {
        let failed = |stderr: &str| match failure(101, "", stderr) {
            Outcome::Failed { message, location } => {
                (message, location.map(|Location { file, line }| format!("{file}:{line}")))
            }
            other => panic!("{other}"),
        };
        let panic = "thread 't' (7) panicked at src/a.rs:3:5:\nassertion failed\n  left: 1\n\
                     note: run with `RUST_BACKTRACE=1`\n";
        let message = "assertion failed\n  left: 1".to_owned();
        assert_eq!(failed(panic), (message, Some("src/a.rs:3".to_owned())));
        let old = "thread 't' panicked at src/a.rs:1:1:\nfirst\n".to_owned();
        assert_eq!(failed(&(old + panic)).1, Some("src/a.rs:3".to_owned()));
        assert_eq!(failed("Error: \"gone\"\n"), ("Error: \"gone\"".to_owned(), None));
        assert_eq!(failed(""), ("the test failed".to_owned(), None));
    }
}
