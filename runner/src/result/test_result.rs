//! The result of a test.

use std::ops::Range;
use std::sync::Arc;

use serde::{Deserialize, Serialize};

use super::{Attempt, AttemptCounts, Blame, TestId};
use crate::config::{Expectation, WrittenExpectation, judge};
use crate::serde_time::is_default;
use crate::verdict::{ExpectedStatus, Outcome, Verdict};

/// The suite of the result of a device that was lost.
pub const DEVICE: &str = "device";

/// The result of one test on one device: its last attempt, and the verdict on it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct TestResult {
    /// `suite::test::case@device`; tests that need no device have the device `host`.
    pub test: TestId,
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
    #[serde(default, skip_serializing_if = "is_default")]
    pub tolerated: bool,
    /// The cause of an unexpected outcome.
    #[serde(default, skip_serializing_if = "is_default")]
    pub blame: Blame,
    /// The name of the machine that ran it, in a merged run.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub host: Option<Box<str>>,
    /// The earlier attempts, in their order, each without attempts of its own. The log has them in lines
    /// of their own.
    #[serde(skip)]
    pub earlier: Vec<TestResult>,
    /// The attempts, if the run repeats the test. This result is the worst of them.
    #[serde(skip)]
    pub counts: Option<Box<AttemptCounts>>,
    /// The place of the line, if only the log has the outputs.
    #[serde(skip)]
    pub output_at: Option<Box<OutputPlace>>,
}

/// The place of the line of a result in the logs of its run.
#[derive(Clone, Debug, PartialEq)]
pub struct OutputPlace {
    /// The position of the log among those of the run.
    pub file: usize,
    /// The bytes of the line.
    pub line: Range<u64>,
}

impl TestResult {
    /// Judges an attempt at a test.
    pub(crate) fn new(test: TestId, attempt: Attempt, expectation: Option<&Expectation>) -> Self {
        Self {
            test,
            verdict: judge(&attempt.outcome, expectation),
            attempt,
            expectation: expectation.map(|known| known.written.clone()),
            tolerated: false,
            blame: Blame::Test,
            host: None,
            earlier: Vec::new(),
            counts: None,
            output_at: None,
        }
    }

    /// Adds the result of a later repetition, of which the worst counts.
    pub fn add_repeated(&mut self, mut later: Self) {
        let counts = self.counts.take();
        let mut counts = counts.unwrap_or_else(|| AttemptCounts::new(self).into());
        counts.add(&later);
        let is_alike = later.verdict == self.verdict;
        let differs = later.differing().is_some() && self.differing().is_none();
        if later.verdict.is_worse_than(self.verdict) || is_alike && differs {
            std::mem::swap(self, &mut later);
        }
        counts.keep(later);
        self.counts = Some(counts);
    }

    /// Replaces this result by one of a later attempt, which keeps the other attempts.
    pub(crate) fn supersede(&mut self, mut later: Self) {
        later.earlier = std::mem::take(&mut self.earlier);
        later.earlier.retain(|earlier| earlier.attempt.number != later.attempt.number);
        let before = std::mem::replace(self, later);
        if before.verdict != Verdict::NotRun && before.attempt.number != self.attempt.number {
            self.earlier.push(before);
        }
    }

    /// Returns the attempts that are kept: the unexpected ones of other repetitions, the earlier ones of this one,
    /// and its last.
    pub fn all_attempts(&self) -> impl DoubleEndedIterator<Item = &Self> {
        let others = self.counts.iter().flat_map(|counts| &counts.unexpected);
        others.chain(&self.earlier).chain([self])
    }

    /// Returns whether the run may still succeed with this result.
    pub fn is_as_expected(&self) -> bool {
        self.tolerated || self.verdict.is_as_expected()
    }

    /// Returns whether the test ran, and the run fails with this result.
    pub fn is_unexpected(&self) -> bool {
        self.verdict != Verdict::NotRun && !self.is_as_expected()
    }

    /// Returns the doubtful attempt with another verdict, which does not count. A crash on a thread of the driver is
    /// then a result of its own.
    pub fn differing(&self) -> Option<&Self> {
        let differs = |attempt: &&Self| {
            let is_doubtful = attempt.blame.is_doubtful() && attempt.blame != Blame::ForeignThread;
            is_doubtful && attempt.verdict != self.verdict
        };
        self.earlier.iter().find(differs).filter(|_| self.verdict != Verdict::Flaky)
    }

    /// Adds a later attempt to a result of workers; the worst one counts.
    pub(crate) fn add_of_worker(&mut self, mut attempt: Self) {
        let mut earlier = std::mem::take(&mut self.earlier);
        if attempt.verdict.is_worse_than(self.verdict) {
            std::mem::swap(self, &mut attempt);
        }
        earlier.push(attempt);
        self.earlier = earlier;
    }

    /// Returns the attempt to explain: the last failed one of a flaky test, a doubtful one if only that was
    /// unexpected, else this one.
    pub fn decisive(&self) -> &Self {
        let went_wrong = |attempt: &&Self| attempt.verdict.is_failure();
        let found = if self.verdict == Verdict::Flaky {
            self.earlier.iter().rev().find(went_wrong)
        } else {
            self.differing().filter(|_| self.verdict.is_as_expected())
        };
        found.unwrap_or(self)
    }

    /// Returns the findings of several attempts, if they decided the verdict or differ.
    pub fn attempts(&self) -> Option<String> {
        if let Some(attempt) = self.differing() {
            let found = format!("{} {}", past(attempt.verdict), attempt.blame);
            return Some(match attempt.blame {
                Blame::OtherTests => {
                    format!("{found}; `clmatrix bisect {}` may find the cause", self.test)
                }
                _ => found,
            });
        }
        if self.test.of_worker().is_some() {
            return None;
        }
        if self.verdict == Verdict::Flaky {
            let decisive = self.decisive();
            let (verdict, number) = (decisive.verdict.name(), decisive.attempt.number);
            return Some(format!("{verdict} at attempt {number} of {}", self.attempt.number));
        }
        if !self.verdict.is_failure() {
            return None;
        }
        if self.blame.is_doubtful() {
            return Some(self.blame.to_string());
        }
        let is_repeated = self.earlier.iter().any(|attempt| attempt.blame.is_doubtful());
        is_repeated.then(|| format!("{} alone, too", past(self.verdict)))
    }

    /// Returns the expectation of a failure that was seen at other versions of the driver, if the test passed: the
    /// driver was fixed.
    pub fn mended(&self) -> Option<&WrittenExpectation> {
        let known = self.expectation.as_deref()?;
        let is_mended =
            self.verdict == Verdict::Pass && !known.status.contains(ExpectedStatus::Pass);
        is_mended.then_some(known)
    }

    /// Returns the expectation as text, `expected: crash: REASON`, if there is one.
    pub fn expected(&self) -> Option<String> {
        let known = self.expectation.as_ref()?;
        Some(format!("expected: {}: {}", known.status, known.reason))
    }

    /// Returns the verdict, the outcome, and below them the expectation.
    pub fn summary(&self) -> String {
        let verdict = self.verdict.name();
        let text = match (&self.decisive().attempt.outcome, self.attempts()) {
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

/// Returns an unexpected verdict in the past tense.
fn past(verdict: Verdict) -> &'static str {
    match verdict {
        Verdict::Crash => "crashed",
        Verdict::Timeout => "timed out",
        Verdict::Pass | Verdict::UnexpectedPass => "passed",
        Verdict::Fail | Verdict::ExpectedFail | Verdict::AssumedFail | Verdict::Flaky => "failed",
        Verdict::Skip | Verdict::Ignored | Verdict::NotRun => "was not run",
    }
}

/// Returns the changes that a test left behind, a line each: `left behind: umask 022 -> 077`.
pub fn left_behind_text(notes: &[String]) -> String {
    let lines: Vec<_> = notes.iter().map(|note| format!("left behind: {note}")).collect();
    lines.join("\n")
}

/// The form of an expectation in the line of a result. The reader of the log replaces it by the expectation of that
/// number.
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

/// Returns the number of tests with another verdict alone.
pub fn differing(results: &[TestResult]) -> usize {
    results.iter().filter(|result| result.differing().is_some()).count()
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
        let crashed = || Outcome::signal("SIGSEGV");
        let skipped = Outcome::Skipped { reason: "bug 7".to_owned() };
        let mut fails_again = differing("s::t@d", crashed());
        fails_again.attempt.outcome = failed();
        let cases = [
            (result(failed(), Crash), "fail: no\n  expected: crash: bug 7"),
            (result(failed(), Fail), "expected-fail: no\n  expected: fail: bug 7"),
            (result(crashed(), Timeout), "crash: SIGSEGV\n  expected: timeout: bug 7"),
            (result(Outcome::Passed, Fail), "unexpected-pass: passed\n  expected: fail: bug 7"),
            (result(skipped, Skip), "skip: bug 7"),
            (judged("s::t@d", failed(), None), "fail: no"),
            (judged("s::t@d", Outcome::Passed, None), "pass"),
            (flaky("s::t@d", failed()), "flaky: fail at attempt 1 of 2: no"),
            (differing("s::t@d", failed()), "pass: failed in a used context: no"),
            (
                TestResult { verdict: Verdict::Fail, ..fails_again },
                "fail: crashed in a used context: no",
            ),
            (
                TestResult {
                    earlier: vec![TestResult {
                        blame: Blame::OtherTests,
                        ..judged("s::t@d", crashed(), None)
                    }],
                    ..changed(judged("s::t@d", crashed(), None), |r| r.attempt.number = 2)
                },
                "crash: crashed alone, too: SIGSEGV",
            ),
            (
                passes_alone("s::t@d"),
                "pass: crashed after other tests in its worker; `clmatrix bisect s::t@d` may find the \
                 cause: SIGSEGV",
            ),
        ];
        for (result, expected) in cases {
            assert_eq!(result.summary(), expected);
        }
    }
}
