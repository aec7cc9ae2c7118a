//! The rounds of a device over its tests.
//!
//! A round is an outer loop around all that the slots do: the slots know of none. Workers live on from round to
//! round, so that a fault that needs a long-lived worker shows. Each device goes at its own pace.
//!
//! A round is a run of its own, as a part of the log: a short test makes more than a thousand rounds in a second, too
//! many for files. An event divides the log, a reader takes one round or all, and the worst result counts, as in a
//! comparison of several runs.

use std::collections::{HashSet, VecDeque};

use parking_lot::Mutex;

use crate::verdict::Outcome;

/// The tests of a device, and those of its running round that no slot has taken.
pub(super) struct Rounds {
    /// The positions of the tests in the plan, in their order without a seed.
    entries: Vec<usize>,
    /// The seed of the first round. Round N has the order of this seed + N - 1.
    seed: Option<u64>,
    state: Mutex<State>,
}

struct State {
    /// The running round, from 1.
    number: u32,
    left: VecDeque<usize>,
    /// The tests of the next round: those that have run in this one, or before the first.
    next: HashSet<usize>,
    /// True if a test of a later round was not run.
    lacks_a_test: bool,
}

impl Rounds {
    /// Tests that are `left_out` are in no round.
    pub fn new(entries: Vec<usize>, seed: Option<u64>, left_out: &HashSet<usize>) -> Self {
        let next = entries.iter().copied().filter(|test| !left_out.contains(test)).collect();
        let (number, left, lacks_a_test) = (0, VecDeque::new(), false);
        Self { entries, seed, state: Mutex::new(State { number, left, next, lacks_a_test }) }
    }

    /// The positions of the tests in the plan.
    pub fn entries(&self) -> &[usize] {
        &self.entries
    }

    /// The number of the running round, from 1; 0 before the first.
    pub fn number(&self) -> u32 {
        self.state.lock().number
    }

    /// Returns whether a test of the next round is one of these.
    pub fn any(&self, mut is_one: impl FnMut(usize) -> bool) -> bool {
        let state = self.state.lock();
        self.entries.iter().any(|position| state.next.contains(position) && is_one(*position))
    }

    /// Begins the next round over the tests that have run in this one. Returns the number of its tests.
    pub fn begin(&self) -> usize {
        let mut state = self.state.lock();
        let mut order = self.entries.clone();
        if let Some(seed) = self.seed {
            let seed = seed.wrapping_add(u64::from(state.number));
            fastrand::Rng::with_seed(seed).shuffle(&mut order);
        }
        let next = std::mem::take(&mut state.next);
        order.retain(|position| next.contains(position));
        state.number += 1;
        state.left = order.into();
        state.left.len()
    }

    /// Takes the next test of the round, if possible one that has not to wait.
    pub fn take(&self, may_begin: impl Fn(usize) -> bool) -> Option<usize> {
        let left = &mut self.state.lock().left;
        let at = left.iter().position(|position| may_begin(*position));
        left.remove(at.unwrap_or(0))
    }

    /// Takes the outcome of a test into account.
    pub fn end(&self, position: usize, outcome: &Outcome) {
        let mut state = self.state.lock();
        if outcome.status().is_some() {
            state.next.insert(position);
        }
        state.lacks_a_test |= state.number > 1 && matches!(outcome, Outcome::NotRun { .. });
    }

    /// Returns whether there are tests for another round.
    pub fn have_tests(&self) -> bool {
        !self.state.lock().next.is_empty()
    }

    /// Returns whether all tests of the round have run that ran in the first.
    pub fn is_whole(&self) -> bool {
        let state = self.state.lock();
        state.left.is_empty() && !state.lacks_a_test
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Runs all tests of the next round.
    fn run(rounds: &Rounds, outcome: impl Fn(usize) -> Outcome) -> Vec<usize> {
        rounds.begin();
        let taken: Vec<usize> = std::iter::from_fn(|| rounds.take(|_| true)).collect();
        taken.iter().for_each(|&position| rounds.end(position, &outcome(position)));
        taken
    }

    #[test]
    fn tests_that_did_not_run_are_not_repeated() {
        let rounds = Rounds::new(vec![4, 5, 6], None, &HashSet::new());
        let outcome = |position| match position {
            5 => Outcome::Ignored { reason: None },
            _ => Outcome::Passed,
        };
        let taken = [(); 3].map(|()| run(&rounds, outcome));
        assert_eq!(taken, [vec![4, 5, 6], vec![4, 6], vec![4, 6]]);
        assert!(rounds.have_tests() && rounds.is_whole());
        run(&rounds, |_| Outcome::Ignored { reason: None });
        assert!(!rounds.have_tests() && rounds.is_whole());
    }

    #[test]
    fn a_test_that_has_not_to_wait_is_taken_first() {
        let rounds = Rounds::new(vec![1, 2, 3], None, &HashSet::new());
        rounds.begin();
        let take = |waits: &[usize]| rounds.take(|position| !waits.contains(&position));
        assert_eq!(
            [take(&[1, 2]), take(&[1, 2]), take(&[]), take(&[])],
            [Some(3), Some(1), Some(2), None]
        );
    }

    #[test]
    fn a_later_round_lacks_a_test_that_is_not_run() {
        let not_run = |_| Outcome::NotRun { reason: "stopped".to_owned() };
        let rounds = Rounds::new(vec![1, 2], None, &HashSet::new());
        run(&rounds, not_run);
        assert!(rounds.is_whole(), "the first round has its own results");
        let rounds = Rounds::new(vec![1, 2], None, &HashSet::new());
        run(&rounds, |_| Outcome::Passed);
        run(&rounds, not_run);
        assert!(!rounds.is_whole());
        let rounds = Rounds::new(vec![1, 2], None, &HashSet::new());
        rounds.begin();
        rounds.take(|_| true);
        assert!(!rounds.is_whole());
    }

    #[test]
    fn the_order_of_a_seed_does_not_depend_on_tests_that_are_left_out() {
        let order = |left_out| {
            run(&Rounds::new((0..20).collect(), Some(7), &left_out), |_| Outcome::Passed)
        };
        let mut all = order(HashSet::new());
        all.retain(|position| ![3, 9].contains(position));
        assert_eq!(order(HashSet::from([3, 9])), all);
        assert!(order((0..20).collect()).is_empty());
    }

    #[test]
    fn the_order_of_a_round_is_that_of_its_seed() {
        let rounds = |seed| Rounds::new((0..20).collect(), Some(seed), &HashSet::new());
        let first = |seed| run(&rounds(seed), |_| Outcome::Passed);
        let second = |seed| {
            let rounds = rounds(seed);
            run(&rounds, |_| Outcome::Passed);
            run(&rounds, |_| Outcome::Passed)
        };
        assert_ne!(first(7), first(8));
        assert_eq!(second(7), first(8));
        assert_eq!(second(u64::MAX), first(0));
    }
}
