//! The results of a test over several rounds.

use crate::log::round_counts::RoundCounts;
use crate::result::test_result::TestResult;
use crate::verdict::{Outcome, Verdict};

/// The rounds of a test that have ended.
pub(super) struct RoundResults {
    worst: TestResult,
    counts: RoundCounts,
}

impl RoundResults {
    /// The result of the first round.
    pub fn new(first: TestResult) -> Self {
        let (start, end) = (first.started, first.end());
        let counts = RoundCounts { passed: has_passed(&first), ran: 1, decisive: 1, start, end };
        Self { worst: first, counts }
    }

    /// Adds the result of a round in which the test ran.
    pub fn add(&mut self, result: TestResult) {
        self.counts.passed += has_passed(&result);
        self.counts.ran += 1;
        self.counts.end = self.counts.end.max(result.end());
        if self.is_worse(&result) {
            self.worst = result;
            self.counts.decisive = self.counts.ran;
        }
    }

    /// The worst result, the first of equal ones, with this one of the next round.
    pub fn worst<'a>(&'a self, latest: &'a TestResult) -> &'a TestResult {
        if self.is_worse(latest) { latest } else { &self.worst }
    }

    /// The worst result, and the counts.
    pub fn into_parts(self) -> (TestResult, RoundCounts) {
        (self.worst, self.counts)
    }

    fn is_worse(&self, result: &TestResult) -> bool {
        let differs = |result: &TestResult| result.differing_in_reused_context().is_some();
        result.verdict.is_worse_than(self.worst.verdict)
            || result.verdict == self.worst.verdict && differs(result) && !differs(&self.worst)
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

    /// The sum of rounds with these outcomes.
    fn sum(rounds: &[Outcome]) -> RoundResults {
        let mut results = rounds.iter().map(|outcome| result("s::t@d", outcome.clone()));
        let mut sum = RoundResults::new(results.next().unwrap());
        results.for_each(|result| sum.add(result));
        sum
    }

    #[test]
    fn the_worst_result_of_all_rounds_counts() {
        use Outcome::Passed;
        let crashed = || Outcome::Crashed { how: "SIGSEGV".to_owned() };
        let cases: [(&[Outcome], _); 3] = [
            (&[Passed, Passed], (Verdict::Pass, 2, 2, 1)),
            (&[failed(), crashed(), failed()], (Verdict::Crash, 0, 3, 2)),
            (&[failed(), Passed], (Verdict::Fail, 1, 2, 1)),
        ];
        for (rounds, expected) in cases {
            let (worst, counts) = sum(rounds).into_parts();
            let found = (worst.verdict, counts.passed, counts.ran, counts.decisive);
            assert_eq!(found, expected, "{rounds:?}");
        }
        let text = sum(&[Passed, failed(), Passed]).into_parts().1.to_string();
        assert_eq!(text, "passed 2 of 3, went wrong in round 2");
    }

    #[test]
    fn a_difference_in_a_reused_context_is_kept() {
        let passed = || result("s::t@d", Outcome::Passed);
        let mut rounds = RoundResults::new(passed());
        rounds.add(differing("s::t@d", failed()));
        rounds.add(passed());
        assert!(rounds.into_parts().0.differing_in_reused_context().is_some());
    }
}
