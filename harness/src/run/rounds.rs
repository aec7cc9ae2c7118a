//! The order in which the slots of a device take its tests, round by round.

use std::collections::HashSet;
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};

use crate::verdict::Outcome;

/// The tests of a device and its rounds over them. A round begins when the one before has ended.
pub(super) struct Rounds {
    /// The positions of the tests in the plan, in the order of each round without a seed.
    entries: Vec<usize>,
    /// The seed of the first round. Round R has the order of this seed + R - 1.
    seed: Option<u64>,
    most: u32,
    state: Mutex<State>,
    round_ended: Condvar,
}

/// A test that a slot has taken.
#[derive(Clone, Copy)]
pub(super) struct Taken {
    /// The position in the plan.
    pub position: usize,
    /// The round, from 1.
    pub round: u32,
}

struct State {
    round: u32,
    order: Vec<usize>,
    /// The first position in `order` that no slot has taken.
    next: usize,
    /// The number of tests that were taken and have not ended.
    running: usize,
    /// The tests that did not run, which are not repeated.
    left_out: HashSet<usize>,
    /// True if a test that has run in the first round was not run in a later one.
    lacks_a_test: bool,
}

impl Rounds {
    /// Tests that are `left_out` are in no round.
    pub fn new(
        entries: Vec<usize>,
        seed: Option<u64>,
        most: u32,
        left_out: HashSet<usize>,
    ) -> Self {
        let order = Vec::new();
        let state = State { round: 0, order, next: 0, running: 0, left_out, lacks_a_test: false };
        Self { entries, seed, most, state: Mutex::new(state), round_ended: Condvar::new() }
    }

    /// The number of tests.
    pub fn tests(&self) -> usize {
        self.entries.len()
    }

    /// Returns whether a test that is in the rounds is one of these.
    pub fn any(&self, mut is_one: impl FnMut(usize) -> bool) -> bool {
        let state = self.state();
        self.entries.iter().any(|position| !state.left_out.contains(position) && is_one(*position))
    }

    /// Takes the next test. At the end of a round, waits for the other slots, and begins the next round
    /// if `goes_on` says so. Later rounds also end as soon as it does not.
    pub fn take(&self, goes_on: impl Fn() -> bool) -> Option<Taken> {
        let mut state = self.state();
        loop {
            if state.round > 1 && !goes_on() {
                return None;
            }
            if let Some(&position) = state.order.get(state.next) {
                state.next += 1;
                state.running += 1;
                return Some(Taken { position, round: state.round });
            }
            if state.round == self.most {
                return None;
            }
            if state.running > 0 {
                let waited = self.round_ended.wait(state);
                state = waited.unwrap_or_else(PoisonError::into_inner);
                continue;
            }
            if state.round > 0 && !goes_on() {
                return None;
            }
            state.round += 1;
            state.next = 0;
            state.order = self.order(state.round, &state.left_out);
            if state.order.is_empty() {
                return None;
            }
        }
    }

    /// Returns whether a later round has ended early, or was not begun.
    pub fn are_cut_short(&self) -> bool {
        let state = self.state();
        let has_run_all = state.next == state.order.len() && state.round == self.most;
        let has_tests = state.left_out.len() < self.entries.len();
        state.lacks_a_test || state.round > 0 && self.most > 1 && has_tests && !has_run_all
    }

    /// Ends a test. A test that did not run is not repeated.
    pub fn end(&self, taken: Taken, outcome: &Outcome) {
        let mut state = self.state();
        let has_run = outcome.status().is_some();
        if let Outcome::NotRun { .. } = outcome {
            state.lacks_a_test |= taken.round > 1;
        }
        if !has_run && self.most > 1 {
            state.left_out.insert(taken.position);
        }
        state.running -= 1;
        if state.running == 0 {
            self.round_ended.notify_all();
        }
    }

    /// Lets the other slots go on after a panic in a slot that has taken a test.
    pub fn abandon(&self) {
        let mut state = self.state();
        state.running = state.running.saturating_sub(1);
        self.round_ended.notify_all();
    }

    fn order(&self, round: u32, left_out: &HashSet<usize>) -> Vec<usize> {
        let mut order = self.entries.clone();
        if let Some(seed) = self.seed {
            let seed = seed.wrapping_add(u64::from(round - 1));
            fastrand::Rng::with_seed(seed).shuffle(&mut order);
        }
        order.retain(|position| !left_out.contains(position));
        order
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Runs all tests in one slot, and returns their positions and rounds.
    fn taken(rounds: &Rounds, outcome: impl Fn(usize) -> Outcome) -> Vec<(usize, u32)> {
        let mut all = Vec::new();
        while let Some(taken @ Taken { position, round }) = rounds.take(|| true) {
            rounds.end(taken, &outcome(position));
            all.push((position, round));
        }
        all
    }

    #[test]
    fn tests_that_did_not_run_are_not_repeated() {
        let rounds = Rounds::new(vec![4, 5, 6], None, 3, HashSet::new());
        let outcome = |position| match position {
            5 => Outcome::Ignored { reason: None },
            _ => Outcome::Passed,
        };
        let expected = [(4, 1), (5, 1), (6, 1), (4, 2), (6, 2), (4, 3), (6, 3)];
        assert_eq!(taken(&rounds, outcome), expected);
        let none = Rounds::new(vec![1, 2], None, u32::MAX, HashSet::new());
        assert_eq!(taken(&none, |_| Outcome::Ignored { reason: None }), [(1, 1), (2, 1)]);
    }

    #[test]
    fn rounds_are_cut_short_by_a_test_that_is_not_run() {
        let not_run = || Outcome::NotRun { reason: "stopped".to_owned() };
        for (round, outcome, is_cut) in
            [(1, not_run(), false), (2, Outcome::Passed, false), (2, not_run(), true)]
        {
            let rounds = Rounds::new(vec![1], None, 2, HashSet::new());
            while let Some(taken) = rounds.take(|| true) {
                let is_this = taken.round == round;
                rounds.end(taken, if is_this { &outcome } else { &Outcome::Passed });
            }
            assert_eq!(rounds.are_cut_short(), is_cut, "round {round}: {outcome:?}");
        }
        let rounds = Rounds::new(vec![1], None, 2, HashSet::new());
        let taken = rounds.take(|| true).expect("a test");
        rounds.end(taken, &Outcome::Passed);
        assert!(rounds.take(|| false).is_none() && rounds.are_cut_short());
    }

    #[test]
    fn the_order_of_a_seed_does_not_depend_on_tests_that_are_left_out() {
        let order = |left_out| {
            let rounds = Rounds::new((0..20).collect(), Some(7), 1, left_out);
            taken(&rounds, |_| Outcome::Passed).into_iter().map(|taken| taken.0).collect::<Vec<_>>()
        };
        let mut all = order(HashSet::new());
        all.retain(|position| ![3, 9].contains(position));
        assert_eq!(order(HashSet::from([3, 9])), all);
        assert!(order((0..20).collect()).is_empty());
    }

    #[test]
    fn the_first_round_is_whole_and_a_later_one_ends_early() {
        let rounds = Rounds::new(vec![1, 2], None, 9, HashSet::new());
        let mut all = Vec::new();
        while let Some(taken) = rounds.take(|| all.len() < 3) {
            rounds.end(taken, &Outcome::Passed);
            all.push(taken.position);
        }
        assert_eq!(all, [1, 2, 1]);
        let rounds = Rounds::new(vec![1, 2], None, 9, HashSet::new());
        for _ in 0..2 {
            let taken = rounds.take(|| false).expect("a test of the first round");
            rounds.end(taken, &Outcome::Passed);
        }
        assert!(rounds.take(|| false).is_none());
    }

    #[test]
    fn the_order_of_a_round_is_that_of_its_seed() {
        let entries: Vec<usize> = (0..20).collect();
        let order = |seed, most| {
            let rounds = Rounds::new(entries.clone(), Some(seed), most, HashSet::new());
            taken(&rounds, |_| Outcome::Passed).into_iter().map(|taken| taken.0).collect::<Vec<_>>()
        };
        assert_ne!(order(7, 1), order(8, 1));
        assert_eq!(order(7, 2), [order(7, 1), order(8, 1)].concat());
        assert_eq!(order(u64::MAX, 2)[20..], order(0, 1));
    }
}
