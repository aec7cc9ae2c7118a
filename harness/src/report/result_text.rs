//! One result as text: its headline, its line, its place and the command that reruns it.

use std::borrow::Cow;

use crate::log::read::RunLog;
use crate::log::test_result::TestResult;
use crate::text::{clean, cut, exact_glob, first_line, one_line, shell_quoted};
use crate::verdict::{Location, Outcome, Verdict};

/// The outcome of a result on one line, with the findings of several attempts, or the expectation where
/// that decided the verdict.
pub fn headline(result: &TestResult) -> String {
    let outcome = outcome_line(result.decisive());
    result.attempts().map_or(outcome.clone(), |attempts| format!("{attempts}: {outcome}"))
}

/// The outcome of an attempt on one line, or the expectation where that decided the verdict.
pub fn outcome_line(result: &TestResult) -> String {
    let expected = || first_line(&result.expected().unwrap_or_default());
    match result.verdict {
        Verdict::UnexpectedPass => format!("passed; {}", expected()),
        Verdict::ExpectedFail => expected(),
        _ => outcome_text(&result.outcome),
    }
}

/// The outcome on one line.
pub fn outcome_text(outcome: &Outcome) -> String {
    match outcome {
        // The whole message: the compared values stand below its first line.
        Outcome::Failed { message, .. } => one_line(message),
        outcome => first_line(&outcome.to_string()),
    }
}

/// The widest reason of a result on one line, in columns.
const WIDEST_REASON: usize = 300;

/// Returns a result on one line: the verdict, the test, its time, and the reason.
pub fn result_line(result: &TestResult) -> String {
    let verdict = result.verdict.name().to_uppercase().replace('-', " ");
    let line = format!("{verdict} {} ({:.2} s)", result.test, result.duration.as_secs_f64());
    let reason = match result.verdict {
        _ if result.attempts().is_some() => headline(result),
        Verdict::Pass => return line,
        Verdict::ExpectedFail | Verdict::UnexpectedPass => result.expected().unwrap_or_default(),
        _ => result.outcome.to_string(),
    };
    format!("{line}: {}", cut(&first_line(&reason), WIDEST_REASON))
}

/// Returns the place of the failure, else that of the test.
pub fn place(log: &RunLog, result: &TestResult) -> Option<Location> {
    let failed_at = match &result.outcome {
        Outcome::Failed { location, .. } => location.clone(),
        _ => None,
    };
    failed_at.or_else(|| log.source(result))
}

/// The note on a result that the device may have caused.
pub const SUSPECT: &str = "suspect: the device was lost afterwards";

/// The command that runs this test alone, on one line. Results of workers have none.
pub fn rerun(log: &RunLog, result: &TestResult) -> Option<String> {
    if result.is_of_worker() {
        return None;
    }
    let command = clean(&log.header.rerun_command).replace('\n', " ");
    Some(format!("{command} {}", selecting(&result.test)))
}

/// Returns the word of a command that selects only the test of this id, or of this path on all devices.
pub fn selecting(test: &str) -> String {
    // A test of another program may have any name. Without these characters, an id is no glob.
    let pattern = match test.contains(['*', '?', '[']) {
        true => exact_glob(test),
        false => test.to_owned(),
    };
    shell_quoted(&pattern).into_owned()
}

/// Returns the standard error of a test without the message of its outcome, which a panic and a
/// returned error write there as well.
pub fn without_message<'a>(stderr: &'a str, outcome: &Outcome) -> Cow<'a, str> {
    let Outcome::Failed { message, .. } = outcome else { return stderr.into() };
    let Some(start) = stderr.find(message.as_str()).filter(|_| !message.is_empty()) else {
        return stderr.into();
    };
    let (before, after) = (&stderr[..start], &stderr[start + message.len()..]);
    let (head, last_line) = before.trim_end().rsplit_once('\n').unwrap_or(("", before));
    let before = if last_line.contains(" panicked at ") { head } else { before };
    let after = after.trim_start();
    let note =
        after.lines().next().filter(|line| line.starts_with("note: run with `RUST_BACKTRACE"));
    let after = &after[note.map_or(0, str::len)..];
    format!("{}\n{}", before.trim_end(), after.trim_start()).into()
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;
    use crate::log::sample::{
        differing, expectation, flaky, judged, passes_alone, result, run_log,
    };
    use crate::verdict::ExpectedStatus;

    #[test]
    fn a_rerun_command_selects_one_test_whatever_its_name() {
        let mut log = run_log(Vec::new(), Vec::new(), Duration::ZERO);
        log.header.rerun_command = "clmatrix run".to_owned();
        for (id, expected) in [
            ("s::t@d", "s::t@d"),
            ("s::a{b}@d", "'s::a{b}@d'"),
            ("s::files/case[1].cl@d", "'s::files/case[[]1[]].cl@d'"),
            ("s::[@d", "'s::[[]@d'"),
            ("s::a*{b}?@d", "'s::a[*][{]b[}][?]@d'"),
            (r"s::a\b*@d", r"'s::a[\]b[*]@d'"),
        ] {
            let command = rerun(&log, &result(id, Outcome::Passed));
            assert_eq!(command, Some(format!("clmatrix run {expected}")));
            let pattern = expected.trim_matches('\'').to_owned();
            let glob = globset::Glob::new(&pattern).expect("a pattern").compile_matcher();
            assert!(glob.is_match(id) || pattern == id, "{id}");
            assert!(!glob.is_match("s::files/case1.cl@d"), "{id}");
        }
    }

    #[test]
    fn a_result_on_one_line() {
        let failed = Outcome::Failed { message: "\nleft: 1\nright: 2".to_owned(), location: None };
        let known = expectation(ExpectedStatus::Fail, "bug 7\nmore");
        let cases = [
            (result("s::t@d", Outcome::Passed), "PASS s::t@d (0.25 s)"),
            (result("s::t@d", failed.clone()), "FAIL s::t@d (0.25 s): left: 1"),
            (
                flaky("s::t@d", failed.clone()),
                "FLAKY s::t@d (0.25 s): fail at attempt 1 of 2: left: 1 right: 2",
            ),
            (
                differing("s::t@d", failed.clone()),
                "PASS s::t@d (0.25 s): reused-context: failed: left: 1 right: 2",
            ),
            (
                passes_alone("s::t@d"),
                "CRASH s::t@d (0.25 s): passes alone: unreliable, or broken by a test before it (heap \
                 corruption strikes late); `clmatrix bisect s::t@d` tells: SIGSEGV",
            ),
            (
                judged("s::t@d", failed, Some(known.clone())),
                "EXPECTED FAIL s::t@d (0.25 s): expected: fail: bug 7",
            ),
            (
                judged("s::t@d", Outcome::Passed, Some(known)),
                "UNEXPECTED PASS s::t@d (0.25 s): expected: fail: bug 7",
            ),
        ];
        for (result, expected) in cases {
            assert_eq!(result_line(&result), expected);
        }
    }

    #[test]
    fn a_message_is_not_shown_twice() {
        let failed = Outcome::Failed { message: "left: 1\nright: 2".to_owned(), location: None };
        let hint = "note: run with `RUST_BACKTRACE=1` environment variable to display a backtrace";
        let panic = "thread 'main' (7) panicked at a.rs:1:2:\nleft: 1\nright: 2\n";
        let cases = [
            (String::new(), ""),
            (format!("\n{panic}{hint}\n"), "\n"),
            (format!("said\n\n{panic}{hint}\nand more\n"), "said\nand more\n"),
            (format!("{panic}stack backtrace:\n  0: f\n"), "\nstack backtrace:\n  0: f\n"),
            ("said\nleft: 1\nright: 2\n".to_owned(), "said\n"),
            ("left: 3\n".to_owned(), "left: 3\n"),
        ];
        for (stderr, expected) in cases {
            assert_eq!(without_message(&stderr, &failed), expected, "{stderr:?}");
        }
        assert_eq!(without_message("left: 1", &Outcome::Passed), "left: 1");
    }
}
