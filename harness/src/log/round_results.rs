//! The results of a test over several rounds.

use std::fmt;
use std::time::SystemTime;

use super::test_result::TestResult;
use crate::verdict::{Outcome, Verdict};

/// The rounds of a test.
#[derive(Clone, Debug, PartialEq)]
pub struct RoundCounts {
    /// The number of rounds in which the test passed.
    pub passed: usize,
    /// The number of rounds in which the test ran.
    pub ran: usize,
    /// The first start.
    pub start: SystemTime,
    /// The last end.
    pub end: SystemTime,
}

impl fmt::Display for RoundCounts {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "passed {} of {}", self.passed, self.ran)
    }
}

/// The rounds of a test so far, for its worst result. In a round, the last result counts.
pub(super) struct RoundResults {
    /// The worst result of the rounds before the latest.
    before: TestResult,
    /// The result of the latest round.
    latest: TestResult,
    /// For each round, whether the test passed.
    passed: Vec<bool>,
    counts: RoundCounts,
}

impl RoundResults {
    /// Begins with the result of the first round.
    pub fn new(first: &TestResult) -> Self {
        let passed = has_passed(first);
        Self {
            before: first.clone(),
            latest: first.clone(),
            passed: vec![passed],
            counts: RoundCounts {
                passed: usize::from(passed),
                ran: 1,
                start: first.started,
                end: first.end(),
            },
        }
    }

    /// Adds a result. Returns the worst result of all rounds, the first of equal ones.
    pub fn add(&mut self, result: TestResult) -> TestResult {
        self.count(&result);
        if result.round < self.latest.round {
            // A crash of this round was attributed to a test of an earlier one.
            replace_if_worse(&mut self.before, &result);
        } else if result.round == self.latest.round {
            self.latest.supersede(result);
        } else {
            replace_if_worse(&mut self.before, &self.latest);
            self.latest = result;
        }
        let mut worst = self.before.clone();
        replace_if_worse(&mut worst, &self.latest);
        TestResult { rounds: Some(Box::new(self.counts.clone())), ..worst }
    }

    fn count(&mut self, result: &TestResult) {
        let passed = has_passed(result);
        let round = (result.round as usize).max(1);
        self.passed.resize(self.passed.len().max(round), false);
        let had_passed = std::mem::replace(&mut self.passed[round - 1], passed);
        let counts = &mut self.counts;
        counts.passed = counts.passed + usize::from(passed) - usize::from(had_passed);
        counts.ran = self.passed.len();
        counts.end = counts.end.max(result.end());
    }
}

fn has_passed(result: &TestResult) -> bool {
    result.outcome == Outcome::Passed && result.verdict != Verdict::Flaky
}

fn replace_if_worse(worst: &mut TestResult, result: &TestResult) {
    let differs = |result: &TestResult| result.differing_in_reused_context().is_some();
    if result.verdict.is_worse_than(worst.verdict)
        || result.verdict == worst.verdict && differs(result) && !differs(worst)
    {
        *worst = result.clone();
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::log::sample::{differing, result};

    fn failed() -> Outcome {
        Outcome::Failed { message: "no".to_owned(), location: None }
    }

    /// The outcomes of lines with their rounds, and the verdict and the counts that they make.
    fn sum(lines: &[(u32, Outcome)]) -> (Verdict, usize, usize) {
        let line = |(round, outcome): &(u32, Outcome)| TestResult {
            round: *round,
            ..result("s::t@d", outcome.clone())
        };
        let mut worst = line(&lines[0]);
        let mut rounds = RoundResults::new(&worst);
        lines[1..].iter().for_each(|entry| worst = rounds.add(line(entry)));
        let counts = worst.rounds.expect("several rounds");
        (worst.verdict, counts.passed, counts.ran)
    }

    #[test]
    fn the_worst_of_the_last_results_of_all_rounds_counts() {
        use Outcome::Passed;
        let crashed = || Outcome::Crashed { how: "SIGSEGV".to_owned() };
        let cases = [
            (vec![(1, Passed), (2, Passed)], (Verdict::Pass, 2, 2)),
            (vec![(1, failed()), (2, crashed()), (3, failed())], (Verdict::Crash, 0, 3)),
            (vec![(1, Passed), (2, crashed()), (2, Passed)], (Verdict::Pass, 2, 2)),
            (vec![(1, failed()), (2, crashed()), (2, Passed)], (Verdict::Fail, 1, 2)),
            (vec![(1, Passed), (2, Passed), (1, crashed())], (Verdict::Crash, 1, 2)),
            (
                vec![(1, Passed), (2, crashed()), (1, crashed()), (2, Passed), (3, Passed)],
                (Verdict::Crash, 2, 3),
            ),
        ];
        for (lines, expected) in cases {
            assert_eq!(sum(&lines), expected, "{lines:?}");
        }
    }

    #[test]
    fn the_first_of_equal_results_stays() {
        let first = result("s::t@d", failed());
        let second = TestResult { round: 2, ..first.clone() };
        assert_eq!(RoundResults::new(&first).add(second).round, 1);
    }

    #[test]
    fn a_difference_in_a_reused_context_is_kept() {
        let passed = |round| TestResult { round, ..result("s::t@d", Outcome::Passed) };
        let mut rounds = RoundResults::new(&passed(1));
        rounds.add(TestResult { round: 2, ..differing("s::t@d", failed()) });
        assert_eq!(rounds.add(passed(3)).round, 2);
    }
}
