//! The decision on the next step for a test.
//!
//! There are four reasons to run a test again. [`Situation::next`] decides on two: doubt about an unexpected outcome,
//! and `retries`. With `--repeat`, the queue (`queue.rs`) hands out all tests again. A resumed run begins with the
//! attempts before the cut (`Course` in `slot.rs`).
//!
//! The decision has no I/O, no clock and no lock: a slot requests the next step, takes it, and records the changes.

use std::time::Duration;

use crate::config::Retries;
use crate::result::{Blame, ContextUse, CrashCause, TestResult};
use crate::run::entry::Entry;
use crate::verdict::{Outcome, Verdict};
use crate::worker::process_attempt::WorkerAfter;

/// The next step of a slot for its test.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Next {
    /// Run the test in the worker of the slot, or in a fresh one, after a pause.
    Run(Duration),
    /// Wait until no other slot uses the device.
    BecomeAlone,
    /// Note the cause of the last outcome.
    Charge(Blame),
    /// Note that the worker was the cause of the crash of the first attempt, and the test of the last outcome.
    ChargeWorker,
    /// Record that the last attempt is repeated.
    Repeat,
    /// Probe the device.
    Probe,
    /// Ask the worker to leave.
    DropWorker,
    /// Record the result: the last attempt with this verdict.
    Final(Verdict),
    /// Take the next test.
    Done,
}

/// An attempt at a test, with the facts that decide the next step.
#[derive(Clone, Debug)]
pub(super) struct Tried {
    /// The result, with its cause once that is known.
    pub result: TestResult,
    /// The worker before the attempt.
    pub worker: WorkerAfter,
    /// The last tests that the worker had run before.
    pub before: Vec<Entry>,
    /// True if other slots used the device meanwhile.
    pub is_beside_others: bool,
    /// True if a crash was on a thread of the test.
    pub is_on_thread: bool,
    /// True if it was before a cut of the run.
    pub is_before_cut: bool,
    /// True if the cause is known.
    pub is_charged: bool,
}

/// The facts that decide the next step for a test.
#[derive(Clone, Debug)]
pub(super) struct Situation<'a> {
    /// The attempts so far.
    pub attempts: &'a [Tried],
    pub retries: &'a Retries,
    /// True if no other slot uses the device.
    pub is_alone: bool,
    /// True if the test has a process of its own.
    pub is_apart: bool,
    /// True if the slot has a worker.
    pub has_worker: bool,
    /// True if the worker has run as many tests as it may.
    pub is_worn: bool,
    /// True if other slots have lost workers since the last pass in this one, and no repeat has accounted for that.
    pub has_loss_beside: bool,
    /// True if a timeout on this device was repeated for such a loss.
    pub has_repeated_timeout: bool,
    /// True if a probe of the device is due.
    pub is_probe_due: bool,
    /// True if the run is stopped. It may be resumed later.
    pub is_stopped: bool,
    /// True if no attempt may begin: the run is stopped, the device is lost, its hang budget is spent, or no worker
    /// started for a repeat.
    pub is_over: bool,
    /// True if the log says that the last attempt is repeated.
    pub is_repeat_recorded: bool,
    /// True if the result is recorded.
    pub is_final: bool,
}

impl Tried {
    /// Returns an attempt in a fresh worker that is alone on the device.
    pub fn new(result: TestResult) -> Self {
        Self {
            result,
            worker: WorkerAfter::Clean,
            before: Vec::new(),
            is_beside_others: false,
            is_on_thread: true,
            is_before_cut: false,
            is_charged: false,
        }
    }

    /// Returns an attempt that ran before the run was cut short.
    pub fn before_cut(result: TestResult) -> Self {
        Self { is_before_cut: true, is_charged: true, ..Self::new(result) }
    }

    /// Records the cause of the outcome.
    pub fn charge(&mut self, blame: Blame) {
        self.result.blame = blame;
        self.is_charged = true;
    }

    fn outcome(&self) -> &Outcome {
        &self.result.attempt.outcome
    }

    fn is_unexpected(&self) -> bool {
        let verdict = self.result.verdict;
        verdict != Verdict::NotRun && !verdict.is_as_expected()
    }

    /// Returns whether the test may not be the cause of the outcome.
    pub fn is_doubtful(&self) -> bool {
        self.result.blame.is_doubtful()
    }
}

impl Situation<'_> {
    /// Returns the next step.
    pub fn next(&self) -> Next {
        if self.is_final {
            return match () {
                () if self.has_worker && (self.is_apart || self.is_worn) => Next::DropWorker,
                () if self.is_probe_due => Next::Probe,
                () => Next::Done,
            };
        }
        let Some(last) = self.attempts.last() else {
            // A worker holds memory of the device, which a process of another program may need.
            let is_in_the_way = self.is_apart && self.has_worker;
            return if is_in_the_way { Next::DropWorker } else { Next::Run(Duration::ZERO) };
        };
        if !last.is_charged {
            return match () {
                // The tests beside it have ended then, and their losses are known.
                () if last.is_unexpected() && !self.is_alone => Next::BecomeAlone,
                () if self.was_crash_of_worker() => Next::ChargeWorker,
                () => Next::Charge(self.blame(last)),
            };
        }
        match self.pause().filter(|_| !self.is_over) {
            Some(_) if !self.is_alone => Next::BecomeAlone,
            Some(_) if !self.is_repeat_recorded => Next::Repeat,
            Some(_) if self.is_probe_due => Next::Probe,
            Some(_) if self.has_worker => Next::DropWorker,
            Some(pause) => Next::Run(pause),
            None if last.is_before_cut && self.is_stopped => Next::Final(Verdict::NotRun),
            None => Next::Final(self.verdict(last)),
        }
    }

    /// Returns the cause of the outcome of the last attempt. A repeat is alone in a fresh worker, so the test is the
    /// cause unless the process was killed.
    fn blame(&self, last: &Tried) -> Blame {
        let is_first = self.attempts.len() == 1;
        let is_crash = match last.outcome() {
            _ if !last.is_unexpected() => return Blame::Test,
            Outcome::Crashed { cause: CrashCause::Killed } => return Blame::Killed,
            Outcome::Crashed { cause } if is_first && cause.is_shared() => return Blame::Killed,
            Outcome::Crashed { .. } => true,
            Outcome::Passed
            | Outcome::Failed { .. }
            | Outcome::TimedOut { .. }
            | Outcome::Skipped { .. }
            | Outcome::Ignored { .. }
            | Outcome::NotRun { .. } => false,
        };
        let is_timeout = matches!(last.outcome(), Outcome::TimedOut { .. });
        let is_disturbed = last.is_beside_others
            && self.has_loss_beside
            && !(is_timeout && self.has_repeated_timeout);
        match () {
            () if !is_first => Blame::Test,
            () if is_crash && !last.is_on_thread => Blame::ForeignThread,
            () if last.result.attempt.context == ContextUse::Used => Blame::UsedContext,
            () if last.worker == WorkerAfter::SurvivedFailure => Blame::SurvivedFailure,
            () if is_crash && !last.before.is_empty() => Blame::OtherTests,
            () if is_disturbed => Blame::OtherSlot,
            () => Blame::Test,
        }
    }

    /// Returns whether a doubtful attempt was repeated, and the number of attempts that `retries` repeated.
    fn repeats(&self) -> (bool, u32) {
        let before = &self.attempts[..self.attempts.len() - 1];
        let has_doubted = before.iter().any(Tried::is_doubtful);
        (has_doubted, before.len() as u32 - u32::from(has_doubted))
    }

    /// Returns the pause before the next attempt, if there is one: a doubtful outcome is repeated once, and any
    /// failure by `retries`.
    fn pause(&self) -> Option<Duration> {
        let last = self.attempts.last()?;
        let (has_doubted, retries) = self.repeats();
        if last.is_doubtful() && !has_doubted {
            return Some(Duration::ZERO);
        }
        let is_failure = last.result.verdict.is_failure();
        is_failure.then(|| self.retries.pause(retries, last.outcome())).flatten()
    }

    /// Returns the verdict on the result. A test that was repeated by `retries` and then ended as expected is flaky.
    fn verdict(&self, last: &Tried) -> Verdict {
        let (_, retries) = self.repeats();
        let verdict = last.result.verdict;
        if retries > 0 && verdict.is_as_expected() { Verdict::Flaky } else { verdict }
    }

    /// Returns whether the last attempt is the repeat of a crash on a thread that is not the test's, and did not crash.
    // quirk: DRIVER-14
    fn was_crash_of_worker(&self) -> bool {
        let [first, repeat] = self.attempts else { return false };
        first.result.blame == Blame::ForeignThread
            && !matches!(repeat.outcome(), Outcome::Crashed { .. })
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use proptest::test_runner::{Config, RngAlgorithm, TestRng, TestRunner};

    use super::*;
    use crate::result::attempt::Attempt;

    const NOW: Next = Next::Run(Duration::ZERO);

    fn failed() -> Outcome {
        Outcome::Failed { message: "no".to_owned(), location: None }
    }

    fn timed_out() -> Outcome {
        Outcome::TimedOut { limit: Duration::from_secs(1) }
    }

    fn killed() -> Outcome {
        Outcome::Crashed { cause: CrashCause::Killed }
    }

    fn memory() -> Outcome {
        Outcome::Crashed { cause: CrashCause::Memory { used: 2, limit: 1 } }
    }

    fn crashed() -> Outcome {
        Outcome::signal("SIGSEGV")
    }

    /// Returns an attempt in a fresh worker where nothing was expected.
    fn tried(outcome: Outcome) -> Tried {
        Tried::new(TestResult::new("s::t@d".into(), Attempt::new(outcome), None))
    }

    fn charged(outcome: Outcome, blame: Blame) -> Tried {
        let mut tried = tried(outcome);
        tried.charge(blame);
        tried
    }

    fn in_context(context: ContextUse, mut tried: Tried) -> Tried {
        tried.result.attempt.context = context;
        tried
    }

    fn foreign(outcome: Outcome) -> Tried {
        Tried { is_on_thread: false, ..tried(outcome) }
    }

    fn used(outcome: Outcome) -> Tried {
        in_context(ContextUse::Used, tried(outcome))
    }

    fn beside(outcome: Outcome) -> Tried {
        Tried { is_beside_others: true, ..tried(outcome) }
    }

    fn with(verdict: Verdict, mut tried: Tried) -> Tried {
        tried.result.verdict = verdict;
        tried
    }

    /// Returns a slot that is alone on its device, without a worker.
    fn alone<'a>(attempts: &'a [Tried], retries: &'a Retries) -> Situation<'a> {
        Situation {
            attempts,
            retries,
            is_alone: true,
            is_apart: false,
            has_worker: false,
            is_worn: false,
            has_loss_beside: false,
            has_repeated_timeout: false,
            is_probe_due: false,
            is_stopped: false,
            is_over: false,
            is_repeat_recorded: false,
            is_final: false,
        }
    }

    #[test]
    fn the_cause_of_an_outcome() {
        let survived = |outcome| Tried { worker: WorkerAfter::SurvivedFailure, ..tried(outcome) };
        let follows = |outcome| Tried { before: vec![Entry(0)], ..tried(outcome) };
        let cases = [
            ("a failure by itself", tried(failed()), Blame::Test),
            ("a failure after other tests", follows(failed()), Blame::Test),
            ("a failure in a used context", used(failed()), Blame::UsedContext),
            ("a pass in a used context", used(Outcome::Passed), Blame::Test),
            ("a kill from outside, which ends all threads", foreign(killed()), Blame::Killed),
            ("a hang in a used context", used(timed_out()), Blame::UsedContext),
            ("a failure after a failure", survived(failed()), Blame::SurvivedFailure),
            ("a crash by itself", tried(crashed()), Blame::Test),
            ("a crash after other tests", follows(crashed()), Blame::OtherTests),
            ("a foreign crash", foreign(crashed()), Blame::ForeignThread),
            (
                "a foreign crash in a used context",
                in_context(ContextUse::Used, foreign(crashed())),
                Blame::ForeignThread,
            ),
            (
                "an expected crash in a used context",
                with(Verdict::ExpectedFail, used(crashed())),
                Blame::Test,
            ),
            (
                "an expected crash after other tests",
                with(Verdict::ExpectedFail, follows(crashed())),
                Blame::Test,
            ),
            (
                "an unexpected pass",
                with(Verdict::UnexpectedPass, tried(Outcome::Passed)),
                Blame::Test,
            ),
            (
                "an unexpected pass in a used context",
                with(Verdict::UnexpectedPass, used(Outcome::Passed)),
                Blame::UsedContext,
            ),
            (
                "a crash of an external program",
                in_context(ContextUse::None, tried(crashed())),
                Blame::Test,
            ),
            ("a kill from outside", tried(killed()), Blame::Killed),
            ("a kill at the memory limit", tried(memory()), Blame::Killed),
        ];
        let retries = Retries::default();
        for (case, last, expected) in cases {
            let found = alone(std::slice::from_ref(&last), &retries).next();
            assert_eq!(found, Next::Charge(expected), "{case}");
        }
        // A repeat is alone in a fresh worker.
        let first = charged(crashed(), Blame::ForeignThread);
        for (outcome, expected) in [(crashed(), Blame::Test), (memory(), Blame::Test)] {
            let attempts = [first.clone(), foreign(outcome)];
            assert_eq!(alone(&attempts, &retries).next(), Next::Charge(expected));
        }
    }

    #[test]
    fn a_loss_in_another_slot_is_a_cause() {
        let retries = Retries::default();
        let cases = [
            ("a failure", beside(failed()), false, Blame::OtherSlot),
            ("a failure of a test that was alone", tried(failed()), false, Blame::Test),
            (
                "an unexpected pass",
                with(Verdict::UnexpectedPass, beside(Outcome::Passed)),
                false,
                Blame::OtherSlot,
            ),
            ("the first timeout", beside(timed_out()), false, Blame::OtherSlot),
            ("the second timeout", beside(timed_out()), true, Blame::Test),
            ("a pass", beside(Outcome::Passed), false, Blame::Test),
        ];
        for (case, last, has_repeated_timeout, expected) in cases {
            let attempts = [last];
            let alone = alone(&attempts, &retries);
            let situation = Situation { has_loss_beside: true, has_repeated_timeout, ..alone };
            assert_eq!(situation.next(), Next::Charge(expected), "{case}");
            let none = Situation { has_loss_beside: false, ..situation.clone() };
            assert_eq!(none.next(), Next::Charge(Blame::Test), "{case}");
            let waits = attempts[0].is_unexpected();
            let shared = Situation { is_alone: false, ..situation };
            assert_eq!(shared.next() == Next::BecomeAlone, waits, "{case}");
        }
    }

    /// Returns the steps from here to the end, with these ends of the attempts. Each is recorded at once.
    fn steps(mut situation: Situation<'_>, ends: &[Tried]) -> Vec<Next> {
        let mut attempts = situation.attempts.to_vec();
        let (mut steps, mut ends) = (Vec::new(), ends.iter());
        loop {
            let next = Situation { attempts: &attempts, ..situation.clone() }.next();
            steps.push(next);
            match next {
                Next::Run(_) => {
                    attempts.push(ends.next().expect("an attempt").clone());
                    situation.is_repeat_recorded = false;
                }
                Next::BecomeAlone => situation.is_alone = true,
                Next::Charge(blame) => attempts.last_mut().expect("an attempt").charge(blame),
                Next::ChargeWorker => {
                    attempts.last_mut().expect("an attempt").charge(Blame::Test);
                }
                Next::Repeat => situation.is_repeat_recorded = true,
                Next::Probe => situation.is_probe_due = false,
                Next::DropWorker => situation.has_worker = false,
                Next::Final(_) => situation.is_final = true,
                Next::Done => return steps,
            }
        }
    }

    #[test]
    fn the_way_of_a_test() {
        use Next::{BecomeAlone, Charge, ChargeWorker, Done, DropWorker, Final, Probe, Repeat};
        use Verdict::{Crash, Fail, Flaky, Pass, Timeout};
        let (none, two) = (Retries::default(), Retries::from(2));
        let start = |retries| alone(&[], retries);
        let shared = |retries| Situation { is_alone: false, ..start(retries) };
        let test = Charge(Blame::Test);
        let cases = [
            (
                "a pass",
                start(&none),
                vec![tried(Outcome::Passed)],
                vec![NOW, test, Final(Pass), Done],
            ),
            (
                "a failure beside other slots",
                shared(&none),
                vec![tried(failed())],
                vec![NOW, BecomeAlone, test, Final(Fail), Done],
            ),
            (
                "a foreign crash that does not come again",
                shared(&none),
                vec![foreign(crashed()), tried(Outcome::Passed)],
                vec![
                    NOW,
                    BecomeAlone,
                    Charge(Blame::ForeignThread),
                    Repeat,
                    NOW,
                    ChargeWorker,
                    Final(Pass),
                    Done,
                ],
            ),
            (
                "a foreign crash twice",
                start(&none),
                vec![foreign(crashed()), foreign(crashed())],
                vec![NOW, Charge(Blame::ForeignThread), Repeat, NOW, test, Final(Crash), Done],
            ),
            (
                "a foreign crash, then a kill",
                start(&none),
                vec![foreign(crashed()), foreign(killed())],
                vec![
                    NOW,
                    Charge(Blame::ForeignThread),
                    Repeat,
                    NOW,
                    Charge(Blame::Killed),
                    Final(Crash),
                    Done,
                ],
            ),
            (
                "a kill from outside twice",
                start(&none),
                vec![tried(killed()), tried(killed())],
                vec![
                    NOW,
                    Charge(Blame::Killed),
                    Repeat,
                    NOW,
                    Charge(Blame::Killed),
                    Final(Crash),
                    Done,
                ],
            ),
            (
                "a crash in a used context, and retries",
                start(&two),
                vec![used(crashed()), tried(failed()), tried(Outcome::Passed)],
                vec![
                    NOW,
                    Charge(Blame::UsedContext),
                    Repeat,
                    NOW,
                    test,
                    Repeat,
                    NOW,
                    test,
                    Final(Flaky),
                    Done,
                ],
            ),
            (
                "an expected failure, and retries",
                start(&two),
                vec![with(Verdict::ExpectedFail, tried(failed()))],
                vec![NOW, test, Final(Verdict::ExpectedFail), Done],
            ),
            (
                "an unexpected pass, and retries",
                start(&two),
                vec![with(Verdict::UnexpectedPass, tried(Outcome::Passed))],
                vec![NOW, test, Final(Verdict::UnexpectedPass), Done],
            ),
            (
                "a worker that does not start",
                start(&two),
                vec![tried(Outcome::not_run("no worker"))],
                vec![NOW, test, Final(Verdict::NotRun), Done],
            ),
            (
                "a hang that always comes",
                start(&two),
                vec![tried(timed_out()); 3],
                vec![NOW, test, Repeat, NOW, test, Repeat, NOW, test, Final(Timeout), Done],
            ),
            (
                "a failure that always comes",
                start(&two),
                vec![tried(failed()); 3],
                vec![NOW, test, Repeat, NOW, test, Repeat, NOW, test, Final(Fail), Done],
            ),
        ];
        for (case, situation, ends, expected) in cases {
            assert_eq!(steps(situation, &ends), expected, "{case}");
        }
        let apart = Situation { is_apart: true, has_worker: true, ..start(&none) };
        let expected = [DropWorker, NOW, test, Final(Pass), Done];
        assert_eq!(steps(apart, &[tried(Outcome::Passed)]), expected);
        // After a failure in a used context that leaves a worker.
        let attempts = [used(failed())];
        let probed = Situation { is_probe_due: true, has_worker: true, ..alone(&attempts, &none) };
        let expected =
            [Charge(Blame::UsedContext), Repeat, Probe, DropWorker, NOW, test, Final(Pass), Done];
        assert_eq!(steps(probed.clone(), &[tried(Outcome::Passed)]), expected);
        let worn = Situation { has_worker: true, is_worn: true, is_final: true, ..probed };
        assert_eq!(steps(Situation { is_probe_due: true, ..worn }, &[]), [DropWorker, Probe, Done]);
    }

    #[test]
    fn a_repeat_that_does_not_run_leaves_the_first_attempt() {
        let retries = Retries::from(2);
        for (outcome, blame) in [
            (crashed(), Blame::ForeignThread),
            (failed(), Blame::UsedContext),
            (failed(), Blame::Test),
        ] {
            let attempts = [charged(outcome, blame)];
            let situation = Situation { is_over: true, ..alone(&attempts, &retries) };
            assert_eq!(situation.next(), Next::Final(attempts[0].result.verdict), "{blame:?}");
            // The device is lost by the probe before the repeat.
            let probed = Situation { is_repeat_recorded: true, ..situation };
            assert_eq!(probed.next(), Next::Final(attempts[0].result.verdict), "{blame:?}");
        }
    }

    #[test]
    fn a_run_goes_on_with_the_attempts_before_a_cut() {
        let [none, one, two] = [0, 1, 2].map(Retries::from);
        let go_on = |attempts: &[Tried], retries, ends: &[Tried]| {
            let situation = Situation { is_repeat_recorded: true, ..alone(attempts, retries) };
            steps(situation, ends)
        };
        let expected = [NOW, Next::Charge(Blame::Test), Next::Final(Verdict::Flaky), Next::Done];
        let before = [charged(failed(), Blame::Test)];
        assert_eq!(go_on(&before, &one, &[tried(Outcome::Passed)]), expected);
        let expected = [NOW, Next::Charge(Blame::Test), Next::Final(Verdict::Pass), Next::Done];
        let before = [charged(failed(), Blame::UsedContext)];
        assert_eq!(go_on(&before, &none, &[tried(Outcome::Passed)]), expected);
        // The attempts before the cut use up retries.
        let test = Next::Charge(Blame::Test);
        let fail = Next::Final(Verdict::Fail);
        let expected = [NOW, test, Next::Repeat, NOW, test, fail, Next::Done];
        let before = [charged(failed(), Blame::Test)];
        assert_eq!(go_on(&before, &two, &[tried(failed()), tried(failed())]), expected);
        let expected = [NOW, Next::ChargeWorker, Next::Final(Verdict::Pass), Next::Done];
        let before = [charged(crashed(), Blame::ForeignThread)];
        assert_eq!(go_on(&before, &none, &[tried(Outcome::Passed)]), expected);
        // The crash of the worker was recorded before the cut.
        let expected = [NOW, test, Next::Final(Verdict::Flaky), Next::Done];
        let before = [before[0].clone(), charged(failed(), Blame::Test)];
        assert_eq!(go_on(&before, &one, &[tried(Outcome::Passed)]), expected);
        // A stopped run may be resumed, so the test has no result yet. After the loss of the device, the attempt counts.
        let before = [Tried { is_before_cut: true, ..charged(failed(), Blame::Test) }];
        for (is_stopped, verdict) in [(true, Verdict::NotRun), (false, Verdict::Fail)] {
            let situation = Situation { is_over: true, is_stopped, ..alone(&before, &one) };
            assert_eq!(situation.next(), Next::Final(verdict));
        }
    }

    /// Any attempt.
    fn any_tried() -> impl Strategy<Value = Tried> {
        let outcomes = prop_oneof![
            Just(Outcome::Passed),
            Just(failed()),
            Just(timed_out()),
            Just(crashed()),
            Just(killed()),
            Just(memory()),
        ];
        let contexts =
            prop_oneof![Just(ContextUse::None), Just(ContextUse::Fresh), Just(ContextUse::Used)];
        let workers = prop_oneof![Just(WorkerAfter::Clean), Just(WorkerAfter::SurvivedFailure)];
        (outcomes, contexts, workers, any::<[bool; 3]>()).prop_map(
            |(outcome, context, worker, [follows_tests, is_beside_others, is_on_thread])| Tried {
                worker,
                before: follows_tests.then_some(Entry(0)).into_iter().collect(),
                is_beside_others,
                is_on_thread,
                ..in_context(context, tried(outcome))
            },
        )
    }

    /// Returns the course of a test whose attempts end in this order: their causes, and the verdict.
    fn course(
        retries: u32,
        is_shared: bool,
        has_loss_beside: bool,
        ends: &[Tried],
    ) -> (Vec<Tried>, Verdict) {
        let retries = Retries::from(retries);
        let situation = Situation { is_alone: !is_shared, has_loss_beside, ..alone(&[], &retries) };
        let steps = steps(situation, ends);
        let charges = steps.iter().filter_map(|step| match step {
            Next::Charge(blame) => Some(*blame),
            Next::ChargeWorker => Some(Blame::Test),
            _ => None,
        });
        let tried =
            ends.iter().zip(charges).map(|(tried, blame)| charged(tried.outcome().clone(), blame));
        let verdict = steps.iter().find_map(|step| match step {
            Next::Final(verdict) => Some(*verdict),
            _ => None,
        });
        (tried.collect(), verdict.expect("a result"))
    }

    fn check<T: std::fmt::Debug>(
        any: impl Strategy<Value = T>,
        test: impl Fn(T) -> Result<(), TestCaseError>,
    ) {
        let random = TestRng::from_seed(RngAlgorithm::ChaCha, &[7; 32]);
        let mut runner = TestRunner::new_with_rng(Config::with_cases(2000), random);
        runner.run(&any, test).unwrap();
    }

    #[test]
    fn any_course_is_fair() {
        let ends = prop::collection::vec(any_tried(), 8);
        check((0..4_u32, any::<[bool; 2]>(), ends), |(retries, [shared, loss], ends)| {
            let (tried, verdict) = course(retries, shared, loss, &ends);
            // One attempt, one repeat for doubt, and the retries.
            prop_assert!(tried.len() <= 2 + retries as usize);
            let last = tried.last().expect("an attempt");
            prop_assert!(verdict == Verdict::Flaky || verdict == last.result.verdict);
            if let [first, alone] = &tried[..]
                && first.is_doubtful()
                && *alone.outcome() == Outcome::Passed
            {
                prop_assert_eq!(verdict, Verdict::Pass);
            }
            // Only a process that is killed each time leaves doubt.
            if verdict.is_failure() && tried.iter().all(Tried::is_doubtful) {
                prop_assert_eq!(last.result.blame, Blame::Killed);
            }
            Ok(())
        });
    }

    #[test]
    fn a_test_that_always_ends_alike_has_one_verdict() {
        check((any_tried(), 0..4_u32, any::<[bool; 2]>()), |(end, retries, [shared, loss])| {
            let ends = vec![end.clone(); 8];
            let (_, verdict) = course(retries, shared, loss, &ends);
            prop_assert_eq!(verdict, end.result.verdict);
            Ok(())
        });
    }
}
