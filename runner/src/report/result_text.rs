//! One result as text: its headline, its line, its place, its whole message and the command that reruns it; the loss of a
//! device.

use std::borrow::Cow;

use crate::log::{DeviceLost, RunLog};
use crate::result::test_result::{TestResult, left_behind_text};
use crate::text::{clean, exact_glob, first_line, one_line, shell_quoted};
use crate::verdict::{Location, Outcome, Verdict};

/// Returns the outcome of a result on one line, with the findings of several attempts, or the expectation if that
/// decided the verdict.
pub fn headline(result: &TestResult) -> String {
    let outcome = outcome_line(result.decisive());
    result.attempts().map_or(outcome.clone(), |attempts| format!("{attempts}: {outcome}"))
}

/// Returns the outcome of an attempt on one line, or the expectation if that decided the verdict.
pub fn outcome_line(result: &TestResult) -> String {
    let expected = || first_line(&result.expected().unwrap_or_default());
    match result.verdict {
        Verdict::UnexpectedPass => format!("passed; {}", expected()),
        Verdict::ExpectedFail | Verdict::AssumedFail => expected(),
        Verdict::Pass
        | Verdict::Fail
        | Verdict::Crash
        | Verdict::Timeout
        | Verdict::Skip
        | Verdict::Ignored
        | Verdict::Flaky
        | Verdict::NotRun => outcome_text(&result.attempt.outcome),
    }
}

/// Returns the outcome on one line.
pub fn outcome_text(outcome: &Outcome) -> String {
    match outcome {
        // The whole message: the compared values are below its first line.
        Outcome::Failed { message, .. } => one_line(message),
        Outcome::Passed
        | Outcome::Crashed { .. }
        | Outcome::TimedOut { .. }
        | Outcome::Skipped { .. }
        | Outcome::Ignored { .. }
        | Outcome::NotRun { .. } => outcome.first_line(),
    }
}

/// Returns the place of the failure, else that of the test.
pub fn place(log: &RunLog, result: &TestResult) -> Option<Location> {
    result.attempt.outcome.location().cloned().or_else(|| log.source(result))
}

/// The note on a result that the device may have caused.
pub const SUSPECT: &str = "suspect: the device was lost afterwards";

/// Returns the command that runs this test alone, on one line. Results of workers have none.
pub fn rerun(log: &RunLog, result: &TestResult) -> Option<String> {
    if result.test.of_worker().is_some() {
        return None;
    }
    let command = clean(&log.header.rerun_command).replace('\n', " ");
    Some(format!("{command} {}", selecting(&result.test)))
}

/// Returns the word of a command that selects only the test of this id, or of this path on all devices.
pub fn selecting(test: &str) -> String {
    // A test of another program may have any name. Without these characters, an id is not a glob.
    let is_glob = test.contains(['*', '?', '[']);
    shell_quoted(&if is_glob { exact_glob(test) } else { test.to_owned() }).into_owned()
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

/// Returns the whole message with its place, and the expectation.
pub fn explanation(log: &RunLog, result: &TestResult) -> String {
    let outcome = result.decisive().attempt.outcome.to_string();
    let mut text = result.attempts().map_or(outcome.clone(), |found| format!("{found}\n{outcome}"));
    if let Some(expected) = result.expected() {
        text += &format!("\n{expected}");
    }
    if log.is_suspect(result) {
        text += &format!("\n{SUSPECT}");
    }
    text
}

/// Returns the standard error of a test, or the shown part of it, followed by the changes that the test left behind,
/// by a doubtful attempt, and by the stacks of its worker: JUnit has no place for notes on a test that passed.
pub fn with_notes(stderr: &str, result: &TestResult) -> String {
    let doubtful = result.differing().and_then(|_| result.attempts());
    let left_behind = Some(left_behind_text(&result.attempt.left_behind));
    let stacks = result.attempt.stacks.as_ref().map(ToString::to_string);
    let notes = [left_behind, doubtful, stacks].into_iter().flatten();
    let notes: Vec<_> = notes.filter(|note| !note.is_empty()).collect();
    match (stderr, notes.join("\n").as_str()) {
        (text, "") | ("", text) => text.to_owned(),
        (stderr, notes) => format!("{}\n{notes}", stderr.trim_end()),
    }
}

/// Returns the time of the loss of a device: `after TEST`, or `before its first test`. `shown` formats the id of the
/// test.
pub fn when_lost(lost: &DeviceLost, shown: impl FnOnce(&str) -> String) -> String {
    let after = lost.after.as_deref();
    after.map_or("before its first test".to_owned(), |after| format!("after {}", shown(after)))
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;
    use crate::log::sample::{result, run_log};

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
