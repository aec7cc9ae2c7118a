//! The whole texts of a result or of a lost device.

use super::result_text::SUSPECT;
use crate::log::{DeviceLost, RunLog};
use crate::result::test_result::{TestResult, left_behind_text};

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
    let notes = [
        Some(left_behind_text(&result.attempt.left_behind)),
        doubtful,
        result.attempt.stacks.as_ref().map(ToString::to_string),
    ];
    let notes: Vec<_> = notes.into_iter().flatten().filter(|note| !note.is_empty()).collect();
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
