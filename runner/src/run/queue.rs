//! The tests of a device that wait for a slot.

use std::collections::{HashSet, VecDeque};

use foldhash::fast::RandomState;
use parking_lot::{Condvar, Mutex};

use crate::run::{Entry, SoFar};
use crate::verdict::Outcome;

/// The tests of a device that wait for a slot.
///
/// With `--repeat`, all tests that have run are queued again when the queue is empty. No test runs in two slots at
/// once.
pub(super) struct Queue {
    /// The positions of the tests in the plan, in their order without a seed.
    entries: Vec<Entry>,
    /// The seed of the first order. Each later one has the next seed.
    seed: Option<u64>,
    /// The most times that the tests are queued.
    most: u32,
    /// The tests that come after all others.
    last: HashSet<Entry>,
    state: Mutex<State>,
    /// A test has ended.
    ended: Condvar,
}

#[derive(Default)]
struct State {
    /// The number of times that the tests were queued.
    filled: u32,
    waiting: VecDeque<Entry>,
    running: HashSet<Entry, RandomState>,
    /// The tests that are not queued: they have earlier results, or did not run.
    left_out: HashSet<Entry, RandomState>,
    has_ended: HashSet<Entry, RandomState>,
    /// True if a test was not run after its first time.
    lacks_a_test: bool,
}

impl Queue {
    /// Puts the tests in that have not ended `so_far`, at last those that were running.
    pub fn new(entries: Vec<Entry>, seed: Option<u64>, most: u32, so_far: &SoFar) -> Self {
        let decided = so_far.decided.iter().map(|(position, _)| position);
        let left_out = so_far.ended.iter().chain(decided).copied().collect();
        let state = Mutex::new(State { left_out, ..State::default() });
        let (last, ended) = (so_far.last.clone(), Condvar::new());
        let queue = Self { entries, seed, most, last, state, ended };
        queue.fill(&mut queue.state.lock());
        queue
    }

    /// Returns the number of tests, with those that are left out.
    pub fn tests(&self) -> usize {
        self.entries.len()
    }

    /// Returns whether a waiting test is one of these.
    pub fn any(&self, is_one: impl Fn(Entry) -> bool) -> bool {
        self.state.lock().waiting.iter().any(|position| is_one(*position))
    }

    fn fill(&self, state: &mut State) {
        let mut order = self.entries.clone();
        if let Some(seed) = self.seed {
            let seed = seed.wrapping_add(u64::from(state.filled));
            fastrand::Rng::with_seed(seed).shuffle(&mut order);
        }
        order.retain(|position| !state.left_out.contains(position));
        order.sort_by_key(|position| self.last.contains(position));
        state.waiting = order.into();
        state.filled += 1;
    }

    /// Takes the next test, if possible one that `may_begin`. Waits for the end of a test that is still running. No
    /// test is repeated unless all `may_repeat`.
    pub fn take(
        &self,
        may_begin: impl Fn(Entry) -> bool,
        may_repeat: impl Fn() -> bool,
    ) -> Option<Entry> {
        let mut state = self.state.lock();
        loop {
            if state.waiting.is_empty() && state.filled < self.most && may_repeat() {
                self.fill(&mut state);
            }
            if state.waiting.is_empty() || state.filled > 1 && !may_repeat() {
                return None;
            }
            let State { waiting, running, .. } = &*state;
            let is_free = |position: &Entry| !running.contains(position);
            let is_best = |position: &Entry| is_free(position) && may_begin(*position);
            let at = waiting.iter().position(is_best);
            if let Some(at) = at.or_else(|| waiting.iter().position(is_free)) {
                let taken = state.waiting.remove(at);
                state.running.extend(taken);
                return taken;
            }
            self.ended.wait(&mut state);
        }
    }

    /// Records the outcome of a test. Returns false if it is not a result: the test was not run after its first time.
    pub fn end(&self, position: Entry, outcome: &Outcome) -> bool {
        let mut state = self.state.lock();
        state.running.remove(&position);
        if outcome.status().is_none() {
            state.left_out.insert(position);
            state.waiting.retain(|waiting| *waiting != position);
        }
        // Without repeats, each test ends once.
        let is_first = self.most == 1 || state.has_ended.insert(position);
        let is_result = is_first || !matches!(outcome, Outcome::NotRun { .. });
        state.lacks_a_test |= !is_result;
        self.ended.notify_all();
        is_result
    }

    /// Returns whether all tests have run as often as they should.
    pub fn is_whole(&self) -> bool {
        let state = self.state.lock();
        let all_out = || self.entries.iter().all(|position| state.left_out.contains(position));
        let is_last = state.filled == self.most || all_out();
        is_last && state.waiting.is_empty() && !state.lacks_a_test
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn queue(entries: impl IntoIterator<Item = u32>, seed: Option<u64>, most: u32) -> Queue {
        let entries = entries.into_iter().map(Entry).collect();
        Queue::new(entries, seed, most, &SoFar::default())
    }

    /// Runs all tests, one after the other. Returns them in their order.
    fn run(queue: &Queue, outcome: impl Fn(u32) -> Outcome) -> Vec<u32> {
        let next = || {
            let position = queue.take(|_| true, || true)?;
            queue.end(position, &outcome(position.0));
            Some(position.0)
        };
        std::iter::from_fn(next).collect()
    }

    #[test]
    fn tests_that_did_not_run_are_not_repeated() {
        let queue = queue([4, 5, 6], None, 3);
        let outcome = |position| match position {
            5 => Outcome::Ignored { reason: None },
            _ => Outcome::Passed,
        };
        assert_eq!(run(&queue, outcome), [4, 5, 6, 4, 6, 4, 6]);
        assert!(queue.is_whole());
        let none = self::queue([4], None, u32::MAX);
        assert_eq!(run(&none, |_| Outcome::Ignored { reason: None }), [4]);
        assert!(none.is_whole());
    }

    #[test]
    fn a_test_that_has_not_to_wait_is_taken_first() {
        let queue = queue([1, 2, 3], None, 1);
        let take = |waits: &[u32]| queue.take(|position| !waits.contains(&position.0), || true);
        assert_eq!(
            [take(&[1, 2]), take(&[1, 2]), take(&[]), take(&[])],
            [Some(Entry(3)), Some(Entry(1)), Some(Entry(2)), None]
        );
    }

    #[test]
    fn a_test_waits_for_its_own_end() {
        let queue = queue([1, 2], None, 2);
        let take = || queue.take(|_| true, || true);
        assert_eq!([take(), take()], [Some(Entry(1)), Some(Entry(2))]);
        queue.end(Entry(2), &Outcome::Passed);
        assert_eq!(take(), Some(Entry(2)), "the first one is still running");
        std::thread::scope(|scope| {
            let waits = scope.spawn(take);
            queue.end(Entry(1), &Outcome::Passed);
            assert_eq!(waits.join().unwrap(), Some(Entry(1)));
        });
        assert_eq!(take(), None);
    }

    #[test]
    fn a_run_is_whole_if_no_repeated_test_is_lacking() {
        let not_run = || Outcome::not_run("stopped");
        let once = queue([1], None, 1);
        assert_eq!(run(&once, |_| not_run()), [1]);
        assert!(once.is_whole(), "the test has its own result");
        let twice = queue([1], None, 2);
        let take = || twice.take(|_| true, || true);
        assert!(take().is_some_and(|test| twice.end(test, &Outcome::Passed)));
        assert!(!twice.is_whole());
        assert!(take().is_some_and(|test| !twice.end(test, &not_run())));
        assert!(!twice.is_whole());
        let ended = queue([1, 2], None, 2);
        assert_eq!(ended.take(|_| true, || false), Some(Entry(1)));
        assert_eq!(ended.take(|_| true, || false), Some(Entry(2)));
        assert_eq!(ended.take(|_| true, || false), None);
    }

    #[test]
    fn each_order_is_that_of_its_seed() {
        let order = |seed, most, left_out| {
            let so_far = SoFar { ended: left_out, ..SoFar::default() };
            let entries = (0..20).map(Entry).collect();
            run(&Queue::new(entries, Some(seed), most, &so_far), |_| Outcome::Passed)
        };
        let all = |seed, most| order(seed, most, HashSet::new());
        assert_ne!(all(7, 1), all(8, 1));
        assert_eq!(all(7, 2), [all(7, 1), all(8, 1)].concat());
        assert_eq!(all(u64::MAX, 2)[20..], all(0, 1));
        let mut rest = all(7, 1);
        rest.retain(|position| ![3, 9].contains(position));
        assert_eq!(order(7, 1, HashSet::from([Entry(3), Entry(9)])), rest, "whatever is left out");
    }
}
