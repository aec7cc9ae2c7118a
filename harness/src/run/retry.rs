//! The repeats of a test that goes wrong.
//!
//! An unexpected result in a context that another test had before is repeated in a fresh worker, and the
//! second result counts.
//!
//! A test that passes alone, in a fresh worker, is flaky, unless it goes wrong again after the tests that
//! its first worker had run before it: then it depends on their order.
//!
//! A run that is cut short may leave an attempt that went wrong without its repeat. When the run goes on, the
//! next attempt is the repeat.

use std::time::Duration;

use crate::config::FlakyResult;
use crate::log::test_result::TestResult;
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
        let retries = self.device_run.config.settings.retries;
        let mut attempts = vec![first];
        attempts.extend(self.in_fresh_context(&attempts[0], &mut repeat));
        let not_retries = attempts.len();
        for _ in 0..retries {
            let last = attempts.last().expect("the first attempt");
            if !last.verdict.is_failure() {
                break;
            }
            self.device_run.state.recorder.repeated(self.position, last.clone());
            let Some(next) = repeat() else { break };
            attempts.push(next);
        }
        let mut result = attempts.pop().expect("the first attempt");
        if retries > 0 && !attempts.is_empty() && result.verdict.is_as_expected() {
            if attempts.len() >= not_retries {
                self.make_flaky(&mut result);
            }
            if self.depends_on_order() {
                self.device_run.state.recorder.repeated(self.position, result.clone());
                attempts.push(result);
                result = attempts.remove(0);
                result.verdict = Verdict::OrderDependent;
                result.reused_context = None;
                result.broken_by = self.breaker();
            }
        }
        result.earlier = attempts;
        self.after_resumption(result)
    }

    fn make_flaky(&self, result: &mut TestResult) {
        result.verdict = Verdict::Flaky;
        result.tolerated = result.outcome == Outcome::Passed
            && self.device_run.state.run.flaky_result == FlakyResult::Pass;
    }

    /// Takes the attempts before the run was resumed into account. After one that went wrong, a result as
    /// expected is flaky, as after a retry.
    fn after_resumption(&self, mut result: TestResult) -> TestResult {
        let so_far = &self.device_run.state.run.so_far;
        if let Some(attempts) = so_far.went_wrong.get(&self.position)
            && let Some(last) = attempts.last()
        {
            if last.is_of_reused_context() {
                let before = last.reused_context;
                result.reused_context = before.filter(|before| *before != result.verdict);
            } else if result.verdict.is_as_expected() {
                self.make_flaky(&mut result);
                // An earlier test may be the cause of a crash. It was not looked for.
                result.tolerated &= !last.outcome.is_own_crash();
            }
            result.earlier.splice(..0, attempts.iter().cloned());
        }
        result
    }

    /// Repeats the test in a fresh context if `first` is an unexpected result in a reused one.
    fn in_fresh_context(
        &self,
        first: &TestResult,
        repeat: impl FnOnce() -> Option<TestResult>,
    ) -> Option<TestResult> {
        if !first.is_of_reused_context() {
            return None;
        }
        self.device_run.state.recorder.repeated(self.position, first.clone());
        let mut result = repeat()?;
        result.reused_context = first.reused_context.filter(|before| *before != result.verdict);
        Some(result)
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
