//! The results of a device, and their outputs.

use clmatrix_runner::config::judge;
use clmatrix_runner::log::run_log::RunLog;
use clmatrix_runner::report::{SUSPECT, headline};
use clmatrix_runner::result::test_result::TestResult;
use clmatrix_runner::text::{clean, one_line, shortened};
use clmatrix_runner::verdict::{Location, Outcome, Verdict};
use indexmap::{IndexMap, IndexSet};
use serde::Serialize;
use serde_json::{Value, json};

use super::test_list::TestList;
use crate::report::tally::Kind;
use crate::report::{has_output, present};

/// The least room for which more outputs are read.
const LEAST_ROOM: usize = 1 << 10;

/// The most bytes of a message or an output.
const LONGEST: usize = 64 << 10;

/// The note in place of a message.
const LEFT_OUT: &str = "(left out: this page has no room for more messages; events.jsonl has it)";

/// The results of a device.
#[derive(Serialize)]
pub(super) struct DeviceResults {
    /// A sign for each test; a blank where the device has no result.
    verdicts: String,
    /// The time of each test in microseconds.
    times: Vec<u64>,
    /// The results that are not plain passes.
    details: Vec<Value>,
    texts: Texts,
}

/// Messages and reasons of the results of a device, each once.
#[derive(Default, Serialize)]
#[serde(transparent)]
struct Texts {
    texts: IndexSet<String>,
    /// The bytes for other texts.
    #[serde(skip)]
    room: usize,
}

impl DeviceResults {
    /// Describes results of a device, with texts of at most `room` bytes, from which it takes their lengths.
    pub(super) fn new(
        log: &RunLog,
        tests: &TestList<'_>,
        results: &[&TestResult],
        room: &mut usize,
    ) -> Self {
        let count = tests.paths.len();
        let (mut verdicts, mut times) = (vec![' '; count], vec![0; count]);
        let mut detailed = Vec::new();
        for result in results {
            // A test without a position is left out.
            let Some(test) = tests.paths.get_index_of(result.test.path()) else { continue };
            verdicts[test] = Kind::of(result.verdict).letter;
            times[test] = microseconds(result);
            if !is_plain_pass(result) {
                detailed.push((test, *result));
            }
        }
        let mut texts = Texts { room: *room, ..Texts::default() };
        // Unexpected results number their texts first, so that the page has room for these.
        for (test, result) in detailed.iter().filter(|(_, result)| !result.is_as_expected()) {
            details(log, *test, result, &mut texts, &mut 0);
        }
        let mut outputs = 0;
        let details = detailed
            .into_iter()
            .map(|(test, result)| details(log, test, result, &mut texts, &mut outputs));
        let details = details.collect();
        *room = texts.room;
        Self { verdicts: verdicts.into_iter().collect(), times, details, texts }
    }
}

impl Texts {
    /// Returns the number of a text. A text that the page has no room for has the number of a note.
    fn number(&mut self, text: &str) -> usize {
        let mut text = shown(text);
        if let Some(number) = self.texts.get_index_of(&text) {
            return number;
        }
        match self.room.checked_sub(text.len()) {
            Some(left) => self.room = left,
            None => text = LEFT_OUT.to_owned(),
        }
        self.texts.insert_full(text).0
    }
}

/// Returns a text without control characters, and without its middle if it is long.
fn shown(text: &str) -> String {
    shortened(&clean(text), LONGEST, char::len_utf8).into_owned()
}

/// Returns whether a result has nothing but its time to show.
pub(super) fn is_plain_pass(result: &TestResult) -> bool {
    result.verdict == Verdict::Pass
        && result.earlier.is_empty()
        && result.counts.is_none()
        && result.attempt.left_behind.is_empty()
        && result.attempt.properties.is_empty()
}

/// Describes the result of the test at this position, which is more than a plain pass, without its outputs. Texts are
/// numbers of [`Texts`]; `outputs` is the number of outputs so far. A large run may skip most tests: a result with only
/// a reason is a pair of the test and the reason.
fn details(
    log: &RunLog,
    test: usize,
    result: &TestResult,
    texts: &mut Texts,
    outputs: &mut usize,
) -> Value {
    let decisive = result.decisive();
    let is_decisive = |attempt: &TestResult| std::ptr::eq(attempt, decisive);
    let attempts = result.all_attempts().map(|attempt| execution(log, attempt, texts, outputs));
    let attempts: Vec<Value> = attempts.collect();
    let is_explained = result.attempts().is_some() || result.verdict == Verdict::UnexpectedPass;
    let properties = result.attempt.properties.iter();
    let mut whole = present(json!({
        "test": test,
        // The position of the attempt that explains the verdict. Absent if it is the first.
        "decisive": result.all_attempts().position(is_decisive).filter(|at| *at > 0),
        // The verdict on one line, where more than the message of one attempt decided it.
        "headline": is_explained.then(|| texts.number(&headline(result))),
        "expected": result.expected().map(|expected| texts.number(&expected)),
        // The file and the line of the expectation.
        "expected_at": result.expectation.as_ref().map(|known| texts.number(&known.place())),
        // The findings of several attempts, what the test left behind, and other remarks.
        "notes": notes(log, result).map(|note| texts.number(&note)).collect::<Vec<_>>(),
        // The names and values of the properties that the test recorded.
        "properties": properties
            .map(|(name, value)| (texts.number(name), texts.number(value)))
            .collect::<Vec<_>>(),
        // True if the run may succeed with this result, although its verdict is unexpected.
        "tolerated": result.tolerated,
        "host": result.host.as_ref().map(|host| texts.number(&one_line(host))),
    }));
    if let [Value::Object(only)] = &attempts[..]
        && matches!(only["verdict"].as_str(), Some("s" | "i" | "N"))
        // Its other fields are the message and the time.
        && only.len() == 3
        && whole == json!({ "test": test })
    {
        return json!([test, only["message"]]);
    }
    whole["attempts"] = attempts.into();
    whole
}

/// Describes one execution of a test.
fn execution(log: &RunLog, attempt: &TestResult, texts: &mut Texts, outputs: &mut usize) -> Value {
    let outcome = &attempt.attempt.outcome;
    let at = outcome.location().map(|Location { file, line }| format!("{file}:{line}"));
    let doubt = attempt.blame.is_doubtful().then(|| attempt.blame.to_string());
    let slot = attempt.attempt.worker.and_then(|worker| log.slots.get(&worker));
    let output = has_output(attempt).then_some(*outputs);
    *outputs += usize::from(output.is_some());
    // Several attempts decided the verdict. The last one of a flaky test is as expected.
    // A crash of a worker is its only attempt.
    let verdict = if attempt.verdict != Verdict::Flaky {
        attempt.verdict
    } else if *outcome != Outcome::Passed && attempt.test.of_worker().is_none() {
        Verdict::ExpectedFail
    } else {
        judge(outcome, None)
    };
    present(json!({
        // Absent if it is 1.
        "number": Some(attempt.attempt.number).filter(|number| *number != 1),
        "verdict": Kind::of(verdict).letter,
        "message": texts.number(&outcome.message()),
        // The place of the failure.
        "at": at.map(|at| texts.number(&at)),
        "time": microseconds(attempt),
        "worker": attempt.attempt.worker,
        // Absent if it is 0.
        "slot": slot.filter(|slot| **slot > 0),
        // The reason for doubt, if there is one.
        "doubt": doubt.map(|doubt| texts.number(&doubt)),
        // The number of its outputs.
        "output": output,
    }))
}

fn microseconds(result: &TestResult) -> u64 {
    u64::try_from(result.attempt.duration.as_micros()).unwrap_or(u64::MAX)
}

fn notes(log: &RunLog, result: &TestResult) -> impl Iterator<Item = String> {
    let counts = result.counts.iter().flat_map(|counts| [counts.to_string(), counts.times()]);
    let suspect = log.is_suspect(result).then(|| SUSPECT.to_owned());
    let left = result.attempt.left_behind.iter().map(|note| format!("left behind: {note}"));
    counts.chain(result.attempts()).chain(suspect).chain(left)
}

/// Returns standard output, standard error and stacks of each attempt that has one of them, by its number. Outputs
/// for which there is no room are left out; those of unexpected results come first.
pub(super) fn outputs(
    log: &RunLog,
    results: &[&TestResult],
    room: &mut usize,
) -> IndexMap<usize, [String; 3]> {
    let attempts = results
        .iter()
        .filter(|result| !is_plain_pass(result))
        .flat_map(|result| result.all_attempts().map(|attempt| (result.is_as_expected(), attempt)));
    let mut attempts: Vec<_> =
        attempts.filter(|(_, attempt)| has_output(attempt)).enumerate().collect();
    attempts.sort_by_key(|(_, (is_as_expected, _))| *is_as_expected);
    let mut outputs = IndexMap::new();
    for (number, (_, attempt)) in attempts {
        if *room < LEAST_ROOM {
            break;
        }
        let attempt = &log.with_output(attempt).attempt;
        let stacks = attempt.stacks.as_ref().map(ToString::to_string).unwrap_or_default();
        let texts = [&attempt.stdout, &attempt.stderr, &stacks].map(|text| shown(text));
        if let Some(left) = room.checked_sub(texts.iter().map(String::len).sum()) {
            *room = left;
            outputs.insert(number, texts);
        }
    }
    outputs
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_long_text_keeps_its_ends() {
        assert_eq!(shown("\x1b[31mred\x1b[0m"), "red");
        let whole = "é".repeat(LONGEST / 2);
        assert_eq!(shown(&whole), whole);
        let cut = shown(&format!("begin{}end", "é".repeat(1 << 20)));
        assert!(cut.starts_with("beginé") && cut.ends_with("éend"));
        assert!(cut.len() <= LONGEST + 100, "{}", cut.len());
        assert!(cut.contains("bytes cut"));
    }

    #[test]
    fn a_text_is_there_once_and_within_the_allowance() {
        let mut texts = Texts { room: 5, ..Texts::default() };
        let numbers = ["abc", "de", "abc", "f", "g"].map(|text| texts.number(text));
        assert_eq!(numbers, [0, 1, 0, 2, 2]);
        assert!(texts.texts[2].contains("no room"));
    }
}
