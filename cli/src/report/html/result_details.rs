//! A result that is more than a plain pass.

use clmatrix_runner::config::judge;
use clmatrix_runner::log::run_log::RunLog;
use clmatrix_runner::report::{SUSPECT, headline};
use clmatrix_runner::result::test_result::TestResult;
use clmatrix_runner::text::one_line;
use clmatrix_runner::verdict::{Location, Outcome, Verdict};
use serde::Serialize;

use super::texts::Texts;
use crate::report::has_output;
use crate::report::tally::Kind;

/// Returns whether a result has nothing but its time to show.
pub(super) fn is_plain_pass(result: &TestResult) -> bool {
    result.verdict == Verdict::Pass
        && result.earlier.is_empty()
        && result.counts.is_none()
        && result.attempt.left_behind.is_empty()
        && result.attempt.properties.is_empty()
}

/// A result that is more than a plain pass. A large run may skip most tests: a result with only a reason is a pair of
/// the test and the reason.
#[derive(Serialize)]
#[serde(untagged)]
pub(super) enum Details {
    Reason(usize, usize),
    Whole(Box<ResultDetails>),
}

/// The result of a test, without its outputs. Texts are numbers of [`Texts`].
#[derive(Default, PartialEq, Serialize)]
pub(super) struct ResultDetails {
    /// The position of the test.
    test: usize,
    attempts: Vec<Attempt>,
    /// The position of the attempt that explains the verdict. Absent if it is the first.
    #[serde(skip_serializing_if = "Option::is_none")]
    decisive: Option<usize>,
    /// The verdict on one line, where more than the message of one attempt decided it.
    #[serde(skip_serializing_if = "Option::is_none")]
    headline: Option<usize>,
    #[serde(skip_serializing_if = "Option::is_none")]
    expected: Option<usize>,
    /// The file and the line of the expectation.
    #[serde(skip_serializing_if = "Option::is_none")]
    expected_at: Option<usize>,
    /// The findings of several attempts, what the test left behind, and other remarks.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    notes: Vec<usize>,
    /// The names and values of the properties that the test recorded.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    properties: Vec<(usize, usize)>,
    /// True if the run may succeed with this result, although its verdict is unexpected.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    tolerated: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    host: Option<usize>,
}

/// One execution of a test.
#[derive(Default, PartialEq, Serialize)]
struct Attempt {
    /// Absent if it is 1.
    #[serde(skip_serializing_if = "Option::is_none")]
    number: Option<u32>,
    verdict: char,
    message: usize,
    /// The place of the failure.
    #[serde(skip_serializing_if = "Option::is_none")]
    at: Option<usize>,
    /// Microseconds.
    time: u64,
    #[serde(skip_serializing_if = "Option::is_none")]
    worker: Option<u32>,
    /// Absent if it is 0.
    #[serde(skip_serializing_if = "Option::is_none")]
    slot: Option<u32>,
    /// The reason for doubt, if there is one.
    #[serde(skip_serializing_if = "Option::is_none")]
    doubt: Option<usize>,
    /// The number of its outputs.
    #[serde(skip_serializing_if = "Option::is_none")]
    output: Option<usize>,
}

impl Details {
    /// Describes the result of the test at this position. `outputs` is the number of outputs so far.
    pub(super) fn new(
        log: &RunLog,
        test: usize,
        result: &TestResult,
        texts: &mut Texts,
        outputs: &mut usize,
    ) -> Self {
        let decisive = result.decisive();
        let is_decisive = |attempt: &TestResult| std::ptr::eq(attempt, decisive);
        let attempts = result.all_attempts();
        let attempts = attempts.map(|attempt| Attempt::new(log, attempt, texts, outputs)).collect();
        let is_explained = result.attempts().is_some() || result.verdict == Verdict::UnexpectedPass;
        let properties = &result.attempt.properties;
        let whole = ResultDetails {
            test,
            attempts,
            decisive: result.all_attempts().position(is_decisive).filter(|at| *at > 0),
            headline: is_explained.then(|| texts.number(&headline(result))),
            expected: result.expected().map(|expected| texts.number(&expected)),
            expected_at: result.expectation.as_ref().map(|known| texts.number(&known.place())),
            notes: notes(log, result).iter().map(|note| texts.number(note)).collect(),
            properties: properties
                .iter()
                .map(|(name, value)| (texts.number(name), texts.number(value)))
                .collect(),
            tolerated: result.tolerated,
            host: result.host.as_ref().map(|host| texts.number(&one_line(host))),
        };
        if let &[Attempt { verdict: verdict @ ('s' | 'i' | 'N'), message, time, .. }] =
            &whole.attempts[..]
        {
            let attempts = vec![Attempt { verdict, message, time, ..Attempt::default() }];
            if whole == (ResultDetails { test, attempts, ..ResultDetails::default() }) {
                return Self::Reason(test, message);
            }
        }
        Self::Whole(Box::new(whole))
    }
}

impl Attempt {
    fn new(log: &RunLog, attempt: &TestResult, texts: &mut Texts, outputs: &mut usize) -> Self {
        let outcome = &attempt.attempt.outcome;
        let at = outcome.location().map(|Location { file, line }| format!("{file}:{line}"));
        let doubt = attempt.blame.is_doubtful().then(|| attempt.blame.to_string());
        let slot = attempt.attempt.worker.and_then(|worker| log.slots.get(&worker));
        let output = has_output(attempt).then_some(*outputs);
        *outputs += usize::from(output.is_some());
        Self {
            number: Some(attempt.attempt.number).filter(|number| *number != 1),
            // Several attempts decided the verdict. The last one of a flaky test is as expected.
            // A crash of a worker is its only attempt.
            verdict: Kind::of(if attempt.verdict != Verdict::Flaky {
                attempt.verdict
            } else if *outcome != Outcome::Passed && attempt.test.of_worker().is_none() {
                Verdict::ExpectedFail
            } else {
                judge(outcome, None)
            })
            .letter,
            message: texts.number(&outcome.message()),
            at: at.map(|at| texts.number(&at)),
            time: u64::try_from(attempt.attempt.duration.as_micros()).unwrap_or(u64::MAX),
            worker: attempt.attempt.worker,
            slot: slot.copied().filter(|slot| *slot > 0),
            doubt: doubt.map(|doubt| texts.number(&doubt)),
            output,
        }
    }
}

fn notes(log: &RunLog, result: &TestResult) -> Vec<String> {
    let counts = result.counts.iter().flat_map(|counts| [counts.to_string(), counts.times()]);
    let suspect = log.is_suspect(result).then(|| SUSPECT.to_owned());
    let left = result.attempt.left_behind.iter().map(|note| format!("left behind: {note}"));
    counts.chain(result.attempts()).chain(suspect).chain(left).collect()
}
