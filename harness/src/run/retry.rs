//! The repeats of a test that goes wrong, each alone in a fresh worker.
//!
//! An unexpected result in a context that another test had before is repeated once, and the second result
//! counts. With `retries`, a test that goes wrong is repeated until it does not, and is then flaky. A test that
//! has crashed after others in its worker, and is not repeated otherwise, runs once more for a note.
//!
//! A run that is cut short may leave an attempt that went wrong without its repeat. When the run goes on, the test is
//! flaky if it passes then, unless that attempt was in a reused context.

use crate::log::events::Finished;
use crate::result::test_result::TestResult;
use crate::run::device_run::DeviceRun;
use crate::verdict::{Outcome, Verdict};

/// A test that has run.
pub(super) struct Retry<'a> {
    pub device_run: &'a DeviceRun<'a>,
    /// The position of the entry in the plan.
    pub position: usize,
}

impl Retry<'_> {
    /// Repeats the test if it went wrong, until it does not, or was repeated often enough. `repeat` records the
    /// result before and runs the test alone, and returns `None` if there is no result.
    pub fn run(
        &self,
        first: TestResult,
        mut repeat: impl FnMut(Finished) -> Option<TestResult>,
    ) -> TestResult {
        let DeviceRun { limits, state, .. } = self.device_run;
        let mut attempts = self.device_run.before_cut(self.position);
        let mut is_retried = !attempts.is_empty();
        let is_retry = |attempt: &&TestResult| !attempt.is_of_reused_context();
        let retries_before = attempts.iter().filter(is_retry).count() as u32;
        let mut result = first;
        let mut again = |result: &mut TestResult| {
            let next = repeat(Finished { result: result.clone(), repeated: true });
            next.map(|next| std::mem::replace(result, next))
        };
        if result.is_of_reused_context()
            && let Some(first) = again(&mut result)
        {
            // The second result counts.
            result.reused_context = first.reused_context.filter(|before| *before != result.verdict);
            attempts.push(first);
        }
        let retries = &self.device_run.settings(self.position).retries;
        for number in retries_before.. {
            let pause = retries.pause(number, &result.outcome);
            let Some(pause) = pause.filter(|_| result.verdict.is_failure()) else { break };
            state.stop.signal.wait(pause);
            let Some(before) = again(&mut result) else { break };
            attempts.push(before);
            is_retried = true;
        }
        if is_retried && result.verdict.is_as_expected() {
            let is_pass = result.outcome == Outcome::Passed;
            self.device_run.make_flaky(&mut result, is_pass);
        }
        let is_doubtful = result.verdict == Verdict::Crash && result.doubtful;
        if attempts.is_empty()
            && is_doubtful
            && result.outcome.is_own_crash()
            && let Some(alone) = repeat(Finished { result: result.clone(), repeated: false })
        {
            limits.hang_budget.add_rerun(&alone.outcome, alone.duration);
            let finished = Finished { result: alone.clone(), repeated: true };
            state.recorder.repeated(self.position, finished);
            attempts.push(alone);
        }
        result.earlier = attempts;
        result
    }
}
