//! Programs with libtest's command line: Rust test targets.

use std::collections::HashSet;

use clmatrix_runner::cargo_test::CommandLine;
use clmatrix_runner::os::ExitCause;
use clmatrix_runner::outside::Watch;
use clmatrix_runner::result::attempt::Attempt;
use clmatrix_runner::result::crash_cause::ExitTime;
use clmatrix_runner::result::not_run_reason::NotRunReason;
use clmatrix_runner::result::test_id::TestId;
use clmatrix_runner::text::{clean, first_line};
use clmatrix_runner::verdict::{Location, Outcome};
use clmatrix_runner::worker::parent::crash;
use clmatrix_runner::worker::process_attempt::ProcessAttempt;
use regex::Regex;

use super::external_test::ProgramRun;
use super::listing::Listed;
use super::process::ProgramWaitEnd;

/// The exit status of libtest for a test that failed.
const FAILED: i32 = 101;

/// With several threads, libtest prints the line `test NAME ... ok` at the end of the test. With one thread, the
/// output of the test comes in the middle of it.
const THREADS: (&str, &str) = ("RUST_TEST_THREADS", "2");

/// The line of libtest without the test.
const NO_TEST: &str = "running 0 tests";

/// Returns the tests of a target. `output` is its standard output with these arguments.
///
/// # Errors
///
/// The target does not list its tests, or is one of this project.
pub fn list(output: impl Fn(&[&str]) -> Result<String, String>) -> Result<Vec<Listed>, String> {
    let all = output(&["--list", "--format", "terse"])?;
    let ignored = output(&["--list", "--format", "terse", "--ignored"])?;
    let ignored: HashSet<&str> = names(&ignored).collect();
    let listed = |name: &str| Listed { name: name.to_owned(), is_ignored: ignored.contains(name) };
    let tests: Vec<Listed> = names(&all).map(listed).collect();
    let has_device = |test: &Listed| {
        let id = TestId::parse(&test.name);
        let device = id.device();
        id.as_str() != id.path() && !device.is_empty() && !device.contains([':', '/', '.', ' '])
    };
    // Another harness may have such names, too.
    let is_own = || output(&["--help"]).is_ok_and(|help| CommandLine::has_help(&help));
    match tests.first() {
        Some(test) if tests.iter().all(has_device) && is_own() => Err(format!(
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

/// Runs a test.
///
/// # Errors
///
/// The program is not started.
pub(super) fn run(run: &ProgramRun<'_>, watch: &mut dyn Watch) -> Result<ProcessAttempt, String> {
    use ProgramWaitEnd::{Died, HasTooMuchMemory, TimedOut};

    let (name, limit) = (run.name(), run.limit);
    // Not all harnesses support `--`.
    let (first, last) = match name.starts_with('-') {
        true => (&[][..], &["--", name][..]),
        false => (&[name][..], &[][..]),
    };
    let ignored: &[&str] = if run.test.is_ignored { &["--ignored"] } else { &[] };
    let arguments = [first, &["--exact", "--nocapture"], ignored].concat();
    let threads = [(THREADS.0.into(), Some(THREADS.1.into()))];
    let mut running = run.start(&arguments, last, &threads, watch)?;
    let (mut stacks, mut exit) = (None, None);
    let mut end = running.wait(limit)?;
    if let TimedOut = end
        && Progress::of(name, &running.stdout.clone().take_text()).has_ended()
    {
        // The exit of the process has a limit of its own.
        end = running.wait(limit.saturating_sub(running.last.elapsed()))?;
    }
    let (stdout, stderr) = (running.stdout.take_text(), running.stderr.take_text());
    let progress = Progress::of(name, &stdout);
    let duration = running.time(progress.has_ended());
    let outcome = match (end, progress) {
        (Died(ExitCause::Exited(status)), _) => outcome(name, progress, status, &stdout, &stderr),
        // An exit handler crashes or hangs after the test.
        (end @ (Died(_) | TimedOut), Progress::Ended { has_passed }) => {
            exit = Some(run.outcome_of(end, ExitTime::AfterTests));
            let status = if has_passed { 0 } else { FAILED };
            outcome(name, progress, status, &stdout, &stderr)
        }
        (end, _) => {
            let is_alive = matches!(end, TimedOut | HasTooMuchMemory(_));
            stacks = is_alive.then(|| running.process.stacks());
            run.outcome_of(end, ExitTime::InTest)
        }
    };
    let attempt = Attempt { stdout, stderr, stacks, duration, ..Attempt::new(outcome) };
    Ok(ProcessAttempt { exit, ..attempt.into() })
}

/// The progress of a process, by its lines on standard output.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Progress {
    /// The harness prints none of libtest's lines.
    Unknown,
    /// The process does not have the test.
    NoTest,
    Running,
    /// A result is the last one. It may be that of another test binary.
    MayHaveEnded {
        has_passed: bool,
    },
    /// The last result is that of the process.
    Ended {
        has_passed: bool,
    },
}

impl Progress {
    fn has_ended(self) -> bool {
        matches!(self, Self::Ended { .. })
    }

    /// Counts libtest's lines. A test may run other test binaries, and also its own one. Each prints a line at its
    /// begin and at its result, and at the end of each of its tests, but may crash in between. The last result is
    /// certainly that of the process if no result is missing and the test has ended.
    fn of(name: &str, stdout: &str) -> Self {
        let begin = line(r"^running \d+ tests?(?: \(shuffle seed: \d+\))?$");
        let result = line(r"^test result: (ok|FAILED)\. \d+ passed; \d+ failed; \d+ ignored; ");
        // Other harnesses color the words.
        let stdout = &*clean(stdout);
        let begins: Vec<&str> = begin.find_iter(stdout).map(|line| line.as_str()).collect();
        let results: Vec<_> = result.captures_iter(stdout).collect();
        let has_passed = results.last().map(|line| &line[1] == "ok");
        let (has_all, has_end) = (results.len() >= begins.len(), end(name).is_match(stdout));
        match (&begins[..], has_passed) {
            ([], _) => Self::Unknown,
            ([only], _) if only.starts_with(NO_TEST) => Self::NoTest,
            (_, Some(has_passed)) if has_all && has_end => Self::Ended { has_passed },
            (_, Some(has_passed)) if has_all || has_end => Self::MayHaveEnded { has_passed },
            _ => Self::Running,
        }
    }
}

/// Returns the pattern of the line at the end of a test. The reason why it is ignored stands behind a comma in
/// libtest, and in parentheses, perhaps with several lines, in libtest-mimic.
fn end(name: &str) -> Regex {
    let name = regex::escape(name);
    let ignored = r"(?<ignored>ignored)(?:, (?<after_comma>.*)| \((?<within>(?s:.*?))\))?";
    // The output of the test may end without a newline.
    line(&format!(r"test {name}(?: - should panic)? \.\.\. (?:ok|FAILED|{ignored})$"))
}

/// Returns the pattern of a line.
fn line(pattern: &str) -> Regex {
    Regex::new(&format!("(?m){pattern}")).expect("a valid expression")
}

/// Returns the outcome of a process that has exited.
fn outcome(name: &str, progress: Progress, status: i32, stdout: &str, stderr: &str) -> Outcome {
    use Progress::{Ended, MayHaveEnded, NoTest, Running};

    match (progress, status) {
        (NoTest, _) => {
            let error = "the program no longer has this test".to_owned();
            Outcome::NotRun { reason: NotRunReason::Program { error } }
        }
        // Another test binary may have failed, and then the test has ended the process.
        (Running, _) | (MayHaveEnded { has_passed: false } | Ended { has_passed: false }, 0) => {
            crash(ExitCause::Exited(status), ExitTime::InTest)
        }
        (_, 0) => success(name, stdout),
        _ => failure(name, status, stdout, stderr),
    }
}

/// The outcome of a process that has succeeded: the test has passed, or has turned out to be ignored.
fn success(name: &str, stdout: &str) -> Outcome {
    let stdout = clean(stdout);
    let last = end(name).captures_iter(&stdout).last();
    let Some(ignored) = last.filter(|last| last.name("ignored").is_some()) else {
        return Outcome::Passed;
    };
    let reason = ignored.name("after_comma").or(ignored.name("within"));
    let reason = reason.map_or("ignored by the program", |reason| reason.as_str().trim());
    Outcome::Skipped { reason: reason.to_owned() }
}

/// The failure, with the reason of the harness, else with the last panic or the error that the test returned. The
/// place is that of the panic.
fn failure(name: &str, status: i32, stdout: &str, stderr: &str) -> Outcome {
    let panic = last_panic(stderr);
    let location = panic.as_ref().and_then(|(_, location)| location.clone());
    let error =
        |text: &str| text.lines().rev().find(|line| line.starts_with("Error: ")).map(first_line);
    let message = harness_reason(name, stdout)
        .or(panic.map(|(message, _)| message))
        .or_else(|| error(stderr))
        .or_else(|| error(stdout))
        .unwrap_or_else(|| match status {
            FAILED => "the test failed".to_owned(),
            _ => format!("exited with status {status}"),
        });
    Outcome::Failed { message, location }
}

/// Returns the text that the harness prints below the name of a failed test: in libtest, the reason why a panic is
/// not the expected one; in libtest-mimic, the error.
fn harness_reason(name: &str, stdout: &str) -> Option<String> {
    let stdout = clean(stdout);
    // The list of the names follows.
    let stdout = &stdout[stdout.rfind("\nfailures:\n\n")?..];
    // libtest-mimic lists `[KIND] NAME`, and leaves the kind out here.
    let kind = name.strip_prefix('[').and_then(|name| name.split_once("] "));
    let names = [Some(name), kind.map(|(_, name)| name)].into_iter().flatten();
    let names = names.map(regex::escape).collect::<Vec<_>>().join("|");
    let head = line(&format!(r"^---- (?:{names})(?: stdout)? ----\n"));
    let text = &stdout[head.find(stdout)?.end()..];
    let text = text.split("\nfailures:\n").next().unwrap_or_default().trim_end();
    (!text.is_empty()).then(|| text.to_owned())
}

/// Returns the message and the place of the last panic.
pub(super) fn last_panic(stderr: &str) -> Option<(String, Option<Location>)> {
    let panics = line(r"^thread '.*?' (?:\(\d+\) )?panicked at (.+?):(\d+):\d+:\n");
    let panic = panics.captures_iter(stderr).last()?;
    let file = panic[1].into();
    let location = panic[2].parse().ok().map(|line| Location { file, line });
    let rest = &stderr[panic.get_match().end()..];
    let end = ["\nnote: run with `RUST_BACKTRACE", "\nstack backtrace:", "\ntest "]
        .iter()
        .filter_map(|mark| rest.find(mark))
        .min();
    let message = rest[..end.unwrap_or(rest.len())].trim_end().to_owned();
    Some((message, location))
}

#[cfg(test)]
mod tests {
    use clap::CommandFactory;

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
        let of_harness = |help: &str| {
            list(|arguments| {
                let text = match arguments {
                    ["--help"] => help,
                    [.., "--ignored"] => "",
                    _ => "s::t@pocl-cpu: test\n",
                };
                Ok(text.to_owned())
            })
        };
        let error = of_harness(&CommandLine::command().render_help().to_string()).unwrap_err();
        assert!(error.contains("run it by `cargo test`"), "{error}");
        assert_eq!(of_harness("another harness"), Ok(vec![listed("s::t@pocl-cpu", false)]));
    }

    const BEGIN: &str = "\nrunning 1 test\n";
    const PASSED: &str =
        "test t ... ok\n\ntest result: ok. 1 passed; 0 failed; 0 ignored; 0 measured\n";
    const COLORED: &str =
        "test result: \x1b[32mok\x1b[0m. 1 passed; 0 failed; 0 ignored; 0 measured\n";
    const OTHER: &str =
        "test u ... ok\n\ntest result: ok. 1 passed; 0 failed; 0 ignored; 0 measured\n";
    const FAILED: &str =
        "test t ... FAILED\n\ntest result: FAILED. 0 passed; 1 failed; 0 ignored; 0 measured\n";

    #[test]
    fn only_the_result_of_the_process_itself_ends_the_test() {
        use Progress::{Ended, MayHaveEnded, NoTest, Running, Unknown};
        let [passed, failed] = [true, false].map(|has_passed| Ended { has_passed });
        let [may_pass, may_fail] = [true, false].map(|has_passed| MayHaveEnded { has_passed });
        for (lines, expected) in [
            (&[""][..], Unknown),
            (&["text of another harness\n"], Unknown),
            (&["\nrunning 0 tests\n\n"], NoTest),
            (&["\nrunning 0 tests (shuffle seed: 7)\n\n"], NoTest),
            (&[BEGIN], Running),
            (&[BEGIN, PASSED], passed),
            (&[BEGIN, "no newline", PASSED], passed),
            (&[BEGIN, "test t - should panic ", &PASSED["test t ".len()..]], passed),
            (&[BEGIN, FAILED], failed),
            (&[BEGIN, "test t ... \x1b[32mok\x1b[0m\n\n", COLORED], passed),
            (&[BEGIN, PASSED, "text of an exit handler\n"], passed),
            (&[BEGIN, "running 5 tests of files\n", PASSED], passed),
            // The test has printed a result.
            (&[BEGIN, "test result: ok. All is well\n"], Running),
            (&[BEGIN, &PASSED["test t ... ok\n".len()..]], may_pass),
            // The test has run another test binary to its end.
            (&[BEGIN, BEGIN, OTHER], Running),
            (&[BEGIN, BEGIN, OTHER, "text of the test\n"], Running),
            (&[BEGIN, BEGIN, OTHER, PASSED], passed),
            (&[BEGIN, "\nrunning 3 tests\n", OTHER, FAILED], failed),
            // Another test binary has crashed.
            (&[BEGIN, BEGIN, PASSED], may_pass),
            (&[BEGIN, BEGIN, FAILED], may_fail),
            (&[BEGIN, BEGIN, OTHER, BEGIN], Running),
            // The test has run itself again: the other process has passed, or has crashed.
            (&[BEGIN, BEGIN, PASSED, "text of the test\n"], may_pass),
            (&[BEGIN, BEGIN, PASSED, PASSED], passed),
        ] {
            assert_eq!(Progress::of("t", &lines.concat()), expected, "{lines:?}");
        }
    }

    #[test]
    fn a_test_that_is_ignored_when_it_runs_is_skipped() {
        let skipped = |reason: &str| Outcome::Skipped { reason: reason.to_owned() };
        for (end, expected) in [
            ("ok", Outcome::Passed),
            ("ignored", skipped("ignored by the program")),
            ("ignored, no fp64, no images", skipped("no fp64, no images")),
            ("ignored (no fp64 (yet))", skipped("no fp64 (yet)")),
            (
                "\x1b[33mignored (no fp64:\n  cl_khr_fp64)\x1b[0m",
                skipped("no fp64:\n  cl_khr_fp64"),
            ),
            ("ignored (within)\ntest t ... ok", Outcome::Passed),
        ] {
            let result = "test result: ok. 0 passed; 0 failed; 1 ignored; 0 measured\n";
            let stdout = format!("{BEGIN}test u ... ignored\ntest t ... {end}\n\n{result}");
            let progress = Progress::of("t", &stdout);
            assert_eq!(progress, Progress::Ended { has_passed: true }, "{end}");
            assert_eq!(outcome("t", progress, 0, &stdout, ""), expected, "{end}");
        }
    }

    #[test]
    fn an_exit_before_the_end_of_the_test_is_a_crash() {
        use clmatrix_runner::verdict::ExpectedStatus::{Crash, Fail, Pass};
        let [passed, failed] = [true, false].map(|has_passed| Progress::Ended { has_passed });
        let [may_pass, may_fail] =
            [true, false].map(|has_passed| Progress::MayHaveEnded { has_passed });
        for (progress, status, expected) in [
            (Progress::Unknown, 0, Some(Pass)),
            (Progress::Unknown, 1, Some(Fail)),
            (Progress::NoTest, 0, None),
            (Progress::Running, 0, Some(Crash)),
            (Progress::Running, 3, Some(Crash)),
            (passed, 0, Some(Pass)),
            (passed, 3, Some(Fail)),
            (failed, 101, Some(Fail)),
            (failed, 0, Some(Crash)),
            (may_pass, 0, Some(Pass)),
            (may_fail, 101, Some(Fail)),
            (may_fail, 0, Some(Crash)),
        ] {
            let outcome = outcome("t", progress, status, "", "");
            assert_eq!(outcome.status(), expected, "{progress:?} {status}");
        }
    }

    #[test]
    fn a_failure_has_the_last_panic_or_the_error() {
        let failed = |stderr: &str| match failure("t", 101, "", stderr) {
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
        let reason = |stdout: &str| harness_reason("t", stdout);
        let list = "\nfailures:\n    t\n\ntest result: FAILED. 0 passed";
        let mimic = format!("\nfailures:\n\n---- t ----\nbad\nthing\n\n{list}");
        assert_eq!(reason(&mimic).as_deref(), Some("bad\nthing"));
        assert_eq!(harness_reason("[gpu] t", &mimic).as_deref(), Some("bad\nthing"));
        assert_eq!(reason(&format!("---- t ----\nown output\n{list}")), None);
        let note = "note: panic did not contain expected string\n      panic message: \"x\"";
        let libtest = format!("\nfailures:\n\n---- t stdout ----\n{note}\n\n{list}");
        assert_eq!(reason(&libtest).as_deref(), Some(note));
        assert_eq!(reason(&format!("\nfailures:\n{list}")), None);
    }
}
