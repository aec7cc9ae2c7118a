//! A result that is more than a plain pass.

use clmatrix_harness::private::config::judge;
use clmatrix_harness::private::log::run_log::RunLog;
use clmatrix_harness::private::report::{SUSPECT, headline};
use clmatrix_harness::private::result::test_result::TestResult;
use clmatrix_harness::private::text::one_line;
use clmatrix_harness::private::verdict::{Location, Outcome, Verdict};
use serde::Serialize;

use super::texts::Texts;

/// Returns whether there is nothing to say about a result but its time.
pub(super) fn is_plain_pass(result: &TestResult) -> bool {
    result.verdict == Verdict::Pass
        && result.earlier.is_empty()
        && result.findings.left_behind.is_empty()
        && result.findings.properties.is_empty()
        && result.reused_context.is_none()
}

/// Returns the attempts of a result, in their order.
pub(super) fn attempts(result: &TestResult) -> impl Iterator<Item = &TestResult> {
    result.earlier.iter().chain([result])
}

/// Returns whether an attempt has outputs or stacks. Outputs may be in the log alone.
pub(super) fn has_output(attempt: &TestResult) -> bool {
    !attempt.stdout.is_empty()
        || !attempt.stderr.is_empty()
        || attempt.output_at.is_some()
        || attempt.stacks.is_some()
}

/// The result of a test, without its outputs. Texts are numbers of [`Texts`].
#[derive(Serialize)]
pub(super) struct ResultDetails {
    /// The position of the test.
    test: usize,
    attempts: Vec<Attempt>,
    /// The position of the attempt that explains the verdict. Absent if it is the first.
    #[serde(skip_serializing_if = "is_first")]
    decisive: usize,
    /// The verdict on one line, where more than the message of one attempt decided it.
    #[serde(skip_serializing_if = "Option::is_none")]
    headline: Option<usize>,
    #[serde(skip_serializing_if = "Option::is_none")]
    expected: Option<usize>,
    /// The file and the line of the expectation.
    #[serde(skip_serializing_if = "Option::is_none")]
    expected_at: Option<usize>,
    /// The findings of several attempts or rounds, what the test left behind, and other remarks.
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
#[derive(Serialize)]
struct Attempt {
    /// Absent if it is 1.
    #[serde(skip_serializing_if = "is_one")]
    number: u32,
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
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    reused_context: bool,
    /// The number of its outputs.
    #[serde(skip_serializing_if = "Option::is_none")]
    output: Option<usize>,
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde wants a reference")]
fn is_first(position: &usize) -> bool {
    *position == 0
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde wants a reference")]
fn is_one(number: &u32) -> bool {
    *number == 1
}

impl ResultDetails {
    /// Describes the result of the test at this position. `outputs` is the number of outputs so far.
    pub(super) fn new(
        log: &RunLog,
        test: usize,
        result: &TestResult,
        texts: &Texts<'_>,
        outputs: &mut usize,
    ) -> Self {
        let decisive = result.decisive();
        let is_decisive = |attempt: &TestResult| std::ptr::eq(attempt, decisive);
        let mut attempt = |attempt| Attempt::new(log, attempt, texts, outputs);
        let property = |(name, value): &(String, String)| (texts.number(name), texts.number(value));
        Self {
            test,
            decisive: attempts(result).position(is_decisive).unwrap_or(result.earlier.len()),
            attempts: attempts(result).map(&mut attempt).collect(),
            headline: (result.attempts().is_some() || result.verdict == Verdict::UnexpectedPass)
                .then(|| texts.number(&headline(result))),
            expected: result.expected().map(|expected| texts.number(&expected)),
            expected_at: result.expectation.as_ref().map(|known| texts.number(&known.place())),
            notes: notes(log, result).iter().map(|note| texts.number(note)).collect(),
            properties: result.findings.properties.iter().map(property).collect(),
            tolerated: result.tolerated,
            host: result.host.as_ref().map(|host| texts.number(&one_line(host))),
        }
    }

    /// Returns the test and the reason of a result that was not run, if there is nothing else to say.
    pub(super) fn reason(&self) -> Option<(usize, usize)> {
        let Self {
            test,
            attempts,
            decisive: 0,
            headline: None,
            expected: None,
            expected_at: None,
            notes,
            properties,
            tolerated: false,
            host: None,
        } = self
        else {
            return None;
        };
        let [attempt] = &attempts[..] else { return None };
        let reason = attempt.reason().filter(|_| notes.is_empty() && properties.is_empty())?;
        Some((*test, reason))
    }
}

impl Attempt {
    fn new(log: &RunLog, attempt: &TestResult, texts: &Texts<'_>, outputs: &mut usize) -> Self {
        let (message, at) = match &attempt.outcome {
            Outcome::Failed { message, location } => (message.clone(), location.as_ref()),
            outcome => (outcome.to_string(), None),
        };
        let slot = attempt.worker.and_then(|worker| log.slots.get(&worker));
        let output = has_output(attempt).then_some(*outputs);
        *outputs += usize::from(output.is_some());
        Self {
            number: attempt.number,
            verdict: letter(match attempt.verdict {
                // Several attempts decided the verdict. The last one of a flaky test is as expected.
                // A crash of a worker is its only attempt.
                Verdict::Flaky if attempt.outcome != Outcome::Passed && !attempt.is_of_worker() => {
                    Verdict::ExpectedFail
                }
                Verdict::Flaky => judge(&attempt.outcome, None),
                verdict => verdict,
            }),
            message: texts.number(&message),
            at: at.map(|Location { file, line }| texts.number(&format!("{file}:{line}"))),
            time: u64::try_from(attempt.duration.as_micros()).unwrap_or(u64::MAX),
            worker: attempt.worker,
            slot: slot.copied().filter(|slot| *slot > 0),
            reused_context: attempt.is_of_reused_context(),
            output,
        }
    }

    fn reason(&self) -> Option<usize> {
        match *self {
            Self {
                number: 1,
                verdict: 's' | 'i' | 'N',
                message,
                at: None,
                time: _,
                worker: None,
                slot: None,
                reused_context: false,
                output: None,
            } => Some(message),
            _ => None,
        }
    }
}

fn notes(log: &RunLog, result: &TestResult) -> Vec<String> {
    let rounds = log.rounds.get(&result.test).map(ToString::to_string);
    let suspect = log.is_suspect(result).then(|| SUSPECT.to_owned());
    let left = result.findings.left_behind.iter().map(|note| format!("left behind: {note}"));
    rounds.into_iter().chain(result.attempts()).chain(suspect).chain(left).collect()
}

/// Returns the sign of a verdict. Verdicts that can make a run fail have a capital or no letter.
pub(super) fn letter(verdict: Verdict) -> char {
    match verdict {
        Verdict::Pass => '.',
        Verdict::Fail => 'F',
        Verdict::Crash => 'C',
        Verdict::Timeout => 'T',
        Verdict::UnexpectedPass => 'U',
        Verdict::Flaky => '~',
        Verdict::NotRun => 'N',
        Verdict::ExpectedFail => 'x',
        Verdict::AssumedFail => 'a',
        Verdict::Skip => 's',
        Verdict::Ignored => 'i',
    }
}
