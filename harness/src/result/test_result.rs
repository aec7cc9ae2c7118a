//! The result of a test, and the ids of tests.

use std::ops::{Deref, DerefMut};
use std::sync::Arc;

use serde::{Deserialize, Serialize};

use super::attempt::Attempt;
use super::output_place::OutputPlace;
use crate::config::{Expectation, WrittenExpectation, judge};
use crate::devices::run_device::HOST;
use crate::registry::{OF_WORKER, WORKER_RESULTS};
use crate::verdict::{ExpectedStatus, Outcome, Verdict};

/// The suite of the result of a device that was lost.
pub const DEVICE: &str = "device";

/// The result of one test on one device: its last attempt, and the verdict on it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct TestResult {
    /// `suite::test::case@device`; tests that need no device have the device `host`.
    pub test: String,
    /// The last attempt.
    #[serde(flatten)]
    pub attempt: Attempt,
    /// The verdict: the outcome compared with the expectation.
    pub verdict: Verdict,
    /// The expectation of the configuration. The line has its number alone.
    #[serde(default, skip_serializing_if = "Option::is_none", with = "by_number")]
    #[cfg_attr(feature = "schema", schemars(with = "Option<u32>"))]
    pub expectation: Option<Arc<WrittenExpectation>>,
    /// True if the run may succeed with this result, although it is flaky or an unexpected pass.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub tolerated: bool,
    /// True if it is a crash that may have another cause than the test: it was on another thread, or the worker
    /// had run other tests before.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub doubtful: bool,
    /// The name of the machine that ran it, in a merged run.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub host: Option<Box<str>>,
    /// The earlier attempts, in their order, each without attempts of its own. The log has them in lines
    /// of their own.
    #[serde(skip)]
    pub earlier: Vec<TestResult>,
    /// The place of the line, if the outputs are there alone.
    #[serde(skip)]
    pub output_at: Option<Box<OutputPlace>>,
}

// A result reads as its attempt.
impl Deref for TestResult {
    type Target = Attempt;

    fn deref(&self) -> &Attempt {
        &self.attempt
    }
}

impl DerefMut for TestResult {
    fn deref_mut(&mut self) -> &mut Attempt {
        &mut self.attempt
    }
}

impl TestResult {
    /// Judges an attempt at a test.
    pub(crate) fn new(test: String, attempt: Attempt, expectation: Option<&Expectation>) -> Self {
        Self {
            test,
            verdict: judge(&attempt.outcome, expectation),
            attempt,
            expectation: expectation.map(|known| known.written.clone()),
            tolerated: false,
            doubtful: false,
            host: None,
            earlier: Vec::new(),
            output_at: None,
        }
    }

    /// The parts of the id before and after the last `@`.
    pub fn test_and_device(&self) -> (&str, &str) {
        test_and_device(&self.test)
    }

    /// Replaces this result by a later one of the same round, which keeps its other attempts.
    pub(crate) fn supersede(&mut self, mut later: Self) {
        later.earlier = std::mem::take(&mut self.earlier);
        later.earlier.retain(|earlier| earlier.number != later.attempt.number);
        let before = std::mem::replace(self, later);
        if before.verdict != Verdict::NotRun && before.number != self.number {
            self.earlier.push(before);
        }
    }

    /// Returns whether the run may still succeed with this result.
    pub fn is_as_expected(&self) -> bool {
        self.tolerated || self.verdict.is_as_expected()
    }

    /// Returns whether the test ran, and the run fails with this result.
    pub fn is_unexpected(&self) -> bool {
        self.verdict != Verdict::NotRun && !self.is_as_expected()
    }

    /// Returns whether this is an unexpected result in a context that another test had before.
    pub fn is_of_reused_context(&self) -> bool {
        self.reused_context == Some(self.verdict)
    }

    /// Returns the verdict in a context that another test had before, if this one in a new context differs.
    pub fn differing_in_reused_context(&self) -> Option<Verdict> {
        self.reused_context.filter(|verdict| *verdict != self.verdict)
    }

    /// Adds a later attempt to a result of workers, of which the worst counts.
    pub(crate) fn add_of_worker(&mut self, mut attempt: Self) {
        let mut earlier = std::mem::take(&mut self.earlier);
        if attempt.verdict.is_worse_than(self.verdict) {
            std::mem::swap(self, &mut attempt);
        }
        earlier.push(attempt);
        self.earlier = earlier;
    }

    /// Returns whether this is a result of a worker, and of no test.
    pub fn is_of_worker(&self) -> bool {
        let name = self.test.strip_prefix(OF_WORKER).and_then(|rest| rest.split_once('@'));
        name.is_some_and(|(name, _)| WORKER_RESULTS.contains(&name))
    }

    /// Returns the attempt that is to be explained: the last one of a flaky test that went wrong, the one in a
    /// reused context if only that was unexpected, else this one.
    pub fn decisive(&self) -> &Self {
        let went_wrong = |attempt: &&Self| attempt.verdict.is_failure();
        let is_of_reused_context = |attempt: &&Self| attempt.is_of_reused_context();
        let found = match self.verdict {
            Verdict::Flaky => self.earlier.iter().rev().find(went_wrong),
            verdict if verdict.is_as_expected() && self.reused_context.is_some() => {
                self.earlier.iter().find(is_of_reused_context)
            }
            _ => None,
        };
        found.unwrap_or(self)
    }

    /// Returns the findings of several attempts, if they gave the verdict or differ by their contexts.
    pub fn attempts(&self) -> Option<String> {
        if let Some(verdict) = self.differing_in_reused_context() {
            return Some(format!("reused-context: {}", past(verdict)));
        }
        match self.verdict {
            Verdict::Flaky | Verdict::Crash if self.is_of_worker() => None,
            Verdict::Flaky => {
                let decisive = self.decisive();
                let (verdict, number) = (decisive.verdict.name(), decisive.number);
                Some(format!("{verdict} at attempt {number} of {}", self.number))
            }
            Verdict::Crash => self.alone(),
            _ => None,
        }
    }

    /// Returns the finding of a run alone after a crash.
    fn alone(&self) -> Option<String> {
        let crashes_alone = || Some("crashes alone, too".to_owned());
        let is_doubtful_crash =
            |earlier: &Self| earlier.verdict == Verdict::Crash && earlier.doubtful;
        if !self.doubtful && self.earlier.iter().any(is_doubtful_crash) {
            return crashes_alone();
        }
        let alone = self.earlier.iter().find(|earlier| earlier.number > self.number)?;
        let ends = match alone.verdict {
            Verdict::Crash => return crashes_alone(),
            Verdict::Timeout => "hangs",
            Verdict::Fail => "fails",
            _ => "passes",
        };
        Some(format!(
            "{ends} alone: unreliable, or broken by a test before it (heap corruption strikes late); \
             `clmatrix bisect {}` tells",
            self.test
        ))
    }

    /// Returns the expectation of a failure that was seen at other versions of the driver, if the test passed: the
    /// driver was mended.
    pub fn mended(&self) -> Option<&WrittenExpectation> {
        let known = self.expectation.as_deref()?;
        let is_mended =
            self.verdict == Verdict::Pass && !known.status.contains(ExpectedStatus::Pass);
        is_mended.then_some(known)
    }

    /// The expectation as text, `expected: crash: REASON`, if there is one.
    pub fn expected(&self) -> Option<String> {
        let known = self.expectation.as_ref()?;
        Some(format!("expected: {}: {}", known.status, known.reason))
    }

    /// The verdict, the outcome, and below them the expectation.
    pub fn summary(&self) -> String {
        let verdict = self.verdict.name();
        let text = match (&self.decisive().outcome, self.attempts()) {
            (Outcome::Passed, None) if self.verdict == Verdict::Pass => verdict.to_owned(),
            (outcome, None) => format!("{verdict}: {outcome}"),
            (outcome, Some(attempts)) => format!("{verdict}: {attempts}: {outcome}"),
        };
        match self.expected() {
            // An expected skip has the reason as its outcome.
            Some(expected) if self.verdict != Verdict::Skip => format!("{text}\n  {expected}"),
            _ => text,
        }
    }
}

/// Returns the parts of an id before and after the last `@`.
pub fn test_and_device(id: &str) -> (&str, &str) {
    id.rsplit_once('@').unwrap_or((id, HOST))
}

/// Returns the suite that a test names: what stands before the first `::`.
pub fn suite(test: &str) -> Option<&str> {
    test.split_once("::").map(|(suite, _)| suite)
}

/// Returns an unexpected verdict in the past tense.
fn past(verdict: Verdict) -> &'static str {
    match verdict {
        Verdict::Crash => "crashed",
        Verdict::Timeout => "timed out",
        Verdict::UnexpectedPass => "passed",
        _ => "failed",
    }
}

/// Returns the changes that a test left behind, a line each: `left behind: umask 022 -> 077`.
pub fn left_behind_text(notes: &[String]) -> String {
    let lines: Vec<_> = notes.iter().map(|note| format!("left behind: {note}")).collect();
    lines.join("\n")
}

/// The form of an expectation in the line of a result. The reader of the log puts the expectation of that number
/// in its place.
mod by_number {
    use serde::{Deserializer, Serializer};

    use super::*;

    pub fn serialize<S: Serializer>(
        known: &Option<Arc<WrittenExpectation>>,
        serializer: S,
    ) -> Result<S::Ok, S::Error> {
        known.as_ref().map(|known| known.number).serialize(serializer)
    }

    pub fn deserialize<'de, D: Deserializer<'de>>(
        deserializer: D,
    ) -> Result<Option<Arc<WrittenExpectation>>, D::Error> {
        let number = Option::deserialize(deserializer)?;
        let unknown = WrittenExpectation::default();
        Ok(number.map(|number| Arc::new(WrittenExpectation { number, ..unknown })))
    }
}

/// Returns the number of tests with another verdict in a reused context.
pub fn differing_in_reused_context(results: &[TestResult]) -> usize {
    results.iter().filter(|result| result.differing_in_reused_context().is_some()).count()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::log::sample::expectation;
    use crate::log::sample::{changed, differing, flaky, judged, passes_alone};

    /// `outcome` where `status` was expected.
    fn result(outcome: Outcome, status: ExpectedStatus) -> TestResult {
        judged("s::t@d", outcome, Some(expectation(status, "bug 7")))
    }

    fn failed() -> Outcome {
        Outcome::Failed { message: "no".to_owned(), location: None }
    }

    #[test]
    fn a_summary_names_the_expected_status_and_its_reason() {
        use ExpectedStatus::{Crash, Fail, Skip, Timeout};
        let crashed = || Outcome::Crashed { how: "SIGSEGV".to_owned() };
        let skipped = Outcome::Skipped { reason: "bug 7".to_owned() };
        let mut fails_again = differing("s::t@d", crashed());
        fails_again.outcome = failed();
        let cases = [
            (result(failed(), Crash), "fail: no\n  expected: crash: bug 7"),
            (result(failed(), Fail), "expected-fail: no\n  expected: fail: bug 7"),
            (result(crashed(), Timeout), "crash: SIGSEGV\n  expected: timeout: bug 7"),
            (result(Outcome::Passed, Fail), "unexpected-pass: passed\n  expected: fail: bug 7"),
            (result(skipped, Skip), "skip: bug 7"),
            (judged("s::t@d", failed(), None), "fail: no"),
            (judged("s::t@d", Outcome::Passed, None), "pass"),
            (flaky("s::t@d", failed()), "flaky: fail at attempt 1 of 2: no"),
            (differing("s::t@d", failed()), "pass: reused-context: failed: no"),
            (
                TestResult { verdict: Verdict::Fail, ..fails_again },
                "fail: reused-context: crashed: no",
            ),
            (
                TestResult {
                    earlier: vec![TestResult {
                        doubtful: true,
                        ..judged("s::t@d", crashed(), None)
                    }],
                    ..changed(judged("s::t@d", crashed(), None), |r| r.number = 2)
                },
                "crash: crashes alone, too: SIGSEGV",
            ),
            (
                passes_alone("s::t@d"),
                "crash: passes alone: unreliable, or broken by a test before it (heap corruption strikes \
                 late); `clmatrix bisect s::t@d` tells: SIGSEGV",
            ),
        ];
        for (result, expected) in cases {
            assert_eq!(result.summary(), expected);
        }
    }
}
