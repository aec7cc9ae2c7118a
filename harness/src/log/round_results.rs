//! The results of a test over several rounds.

use crate::result::round_counts::RoundCounts;
use crate::result::test_result::TestResult;
use crate::verdict::{Outcome, Verdict};

/// The rounds of a test so far.
pub(super) struct RoundResults {
    /// The worst result of the rounds before the latest, with the counts of these.
    before: TestResult,
    counts: RoundCounts,
    /// The result of the latest round, if the test has ended in it.
    latest: Option<TestResult>,
}

impl RoundResults {
    /// Begins the second round of a test.
    pub fn new(first: &TestResult) -> Self {
        let (start, end) = (first.started, first.end());
        let counts = RoundCounts { passed: has_passed(first), ran: 1, decisive: 1, start, end };
        Self { before: first.clone(), counts, latest: None }
    }

    /// Begins the next round.
    pub fn begin(&mut self) {
        if let Some(latest) = self.latest.take() {
            (self.before, self.counts) = self.with(&latest);
        }
    }

    /// Adds a result of the latest round, the last of which counts. Returns the worst result of all rounds, the
    /// first of equal ones.
    pub fn add(&mut self, result: TestResult) -> TestResult {
        match &mut self.latest {
            Some(latest) => latest.supersede(result),
            None => self.latest = Some(result),
        }
        let latest = self.latest.as_ref().expect("it was added");
        let (worst, counts) = self.with(latest);
        TestResult { rounds: Some(Box::new(counts)), ..worst }
    }

    /// The rounds with the latest.
    fn with(&self, latest: &TestResult) -> (TestResult, RoundCounts) {
        let mut counts = self.counts.clone();
        counts.passed += has_passed(latest);
        counts.ran += 1;
        counts.end = counts.end.max(latest.end());
        let differs = |result: &TestResult| result.differing_in_reused_context().is_some();
        let is_worse = latest.verdict.is_worse_than(self.before.verdict)
            || latest.verdict == self.before.verdict && differs(latest) && !differs(&self.before);
        if is_worse {
            counts.decisive = counts.ran;
        }
        (if is_worse { latest } else { &self.before }.clone(), counts)
    }
}

/// Returns 1 if the test has passed.
fn has_passed(result: &TestResult) -> usize {
    usize::from(result.outcome == Outcome::Passed && result.verdict != Verdict::Flaky)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::log::sample::{differing, result};

    fn failed() -> Outcome {
        Outcome::Failed { message: "no".to_owned(), location: None }
    }

    /// The worst result of rounds, each with the outcomes of its lines.
    fn sum(rounds: &[&[Outcome]]) -> TestResult {
        let mut worst = result("s::t@d", rounds[0][0].clone());
        let mut results = RoundResults::new(&worst);
        for round in &rounds[1..] {
            results.begin();
            for outcome in *round {
                worst = results.add(result("s::t@d", outcome.clone()));
            }
        }
        worst
    }

    #[test]
    fn the_worst_of_the_last_results_of_all_rounds_counts() {
        use Outcome::Passed;
        let crashed = || Outcome::Crashed { how: "SIGSEGV".to_owned() };
        let cases: [(&[&[Outcome]], _); 4] = [
            (&[&[Passed], &[Passed]], (Verdict::Pass, 2, 2, 1)),
            (&[&[failed()], &[crashed()], &[failed()]], (Verdict::Crash, 0, 3, 2)),
            (&[&[Passed], &[crashed(), Passed], &[Passed]], (Verdict::Pass, 3, 3, 1)),
            (&[&[failed()], &[crashed(), Passed]], (Verdict::Fail, 1, 2, 1)),
        ];
        for (rounds, expected) in cases {
            let worst = sum(rounds);
            let counts = worst.rounds.expect("several rounds");
            let found = (worst.verdict, counts.passed, counts.ran, counts.decisive);
            assert_eq!(found, expected, "{rounds:?}");
        }
        let text = sum(&[&[Passed], &[failed()], &[Passed]]).rounds.unwrap().to_string();
        assert_eq!(text, "passed 2 of 3, went wrong in round 2");
    }

    #[test]
    fn a_difference_in_a_reused_context_is_kept() {
        let passed = || result("s::t@d", Outcome::Passed);
        let mut rounds = RoundResults::new(&passed());
        rounds.add(differing("s::t@d", failed()));
        rounds.begin();
        assert!(rounds.add(passed()).differing_in_reused_context().is_some());
    }
}
