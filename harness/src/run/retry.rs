//! The repeats of a test that goes wrong.
//!
//! A test that passes alone, in a fresh worker, is flaky, unless it goes wrong again after the tests that
//! its first worker had run before it: then it depends on their order.

use std::time::Duration;

use crate::config::FlakyResult;
use crate::log::events::TestResult;
use crate::run::culprit;
use crate::run::device_run::DeviceRun;
use crate::run::test_worker::Ran;
use crate::verdict::{Outcome, Verdict, judge};

/// A test that has run.
pub(super) struct Retry<'a> {
    pub device_run: &'a DeviceRun<'a>,
    /// The position of the entry in the plan.
    pub position: usize,
    /// The tests that the worker of the first attempt had run before.
    pub history: Vec<Ran>,
}

impl Retry<'_> {
    /// Repeats the test if it went wrong, until it does not, or was repeated often enough. `repeat` runs it
    /// alone, and returns `None` if there is no result.
    pub fn run(
        &self,
        first: TestResult,
        mut repeat: impl FnMut() -> Option<TestResult>,
    ) -> TestResult {
        let mut attempts = vec![first];
        for _ in 0..self.device_run.config.settings.retries {
            let last = attempts.last().expect("the first attempt");
            if !last.verdict.is_failure() {
                break;
            }
            self.device_run.state.recorder.repeated(self.position, last.clone());
            let Some(next) = repeat() else { break };
            attempts.push(next);
        }
        let mut result = attempts.pop().expect("the first attempt");
        if !attempts.is_empty() && result.verdict.is_as_expected() {
            result.verdict = Verdict::Flaky;
            result.tolerated = result.outcome == Outcome::Passed
                && self.device_run.state.run.flaky_result == FlakyResult::Pass;
            if self.depends_on_order() {
                self.device_run.state.recorder.repeated(self.position, result.clone());
                attempts.push(result);
                result = attempts.remove(0);
                result.verdict = Verdict::OrderDependent;
                result.broken_by = self.breaker();
            }
        }
        result.earlier = attempts;
        result
    }

    fn depends_on_order(&self) -> bool {
        !self.history.is_empty() && self.goes_wrong_after(&self.history) == Some(true)
    }

    /// Looks for the test that alone makes this test go wrong.
    fn breaker(&self) -> Option<String> {
        if !self.device_run.state.run.bisect {
            return None;
        }
        let found = culprit::find(&self.history, |part| self.goes_wrong_after(part))?;
        Some(self.device_run.id(self.history[found].position))
    }

    /// Runs the test after others in a fresh worker. Returns `None` if that is not possible.
    fn goes_wrong_after(&self, others: &[Ran]) -> Option<bool> {
        if !self.device_run.may_go_on() {
            return None;
        }
        let others = others.iter().map(|ran| ran.position);
        let positions: Vec<usize> = others.chain([self.position]).collect();
        let replayed = self.device_run.replay(&positions, Duration::ZERO, None)?;
        let expectation = self.device_run.expectation(self.position);
        let verdict = judge(&replayed.outcome, expectation.as_ref());
        Some(replayed.ran == positions.len() && verdict.is_failure())
    }
}
