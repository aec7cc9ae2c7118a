//! The attempts at a test that a run repeats.

use std::fmt;
use std::time::{Duration, SystemTime};

use super::test_result::TestResult;
use crate::verdict::{Outcome, Verdict};

/// The most unexpected attempts that are kept, beside the worst one.
const MOST_UNEXPECTED: usize = 20;

/// The attempts at a test with `--repeat`. A repeat of a doubtful attempt replaces it.
#[derive(Clone, Debug, PartialEq)]
pub struct AttemptCounts {
    /// The number of attempts that passed.
    pub passed: u64,
    /// The number of attempts.
    pub ran: u64,
    /// The number of the first attempt that did not pass, from 1.
    pub first_wrong: Option<u64>,
    /// The start of the first attempt.
    pub start: SystemTime,
    /// The end of the last attempt.
    pub end: SystemTime,
    /// The shortest and the longest time of an attempt, and the time of all.
    times: [Duration; 3],
    /// The first unexpected attempts, without the one that is the result.
    pub unexpected: Vec<TestResult>,
}

impl AttemptCounts {
    /// Counts a first attempt.
    pub(crate) fn new(first: &TestResult) -> Self {
        let (start, time) = (first.attempt.started, first.attempt.duration);
        let mut counts = Self {
            passed: 0,
            ran: 0,
            first_wrong: None,
            start,
            end: start,
            times: [time, time, Duration::ZERO],
            unexpected: Vec::new(),
        };
        counts.add(first);
        counts
    }

    /// Counts another attempt.
    pub(super) fn add(&mut self, result: &TestResult) {
        let has_passed =
            result.attempt.outcome == Outcome::Passed && result.verdict != Verdict::Flaky;
        self.ran += 1;
        self.passed += u64::from(has_passed);
        if !has_passed {
            self.first_wrong.get_or_insert(self.ran);
        }
        self.end = self.end.max(result.attempt.end());
        let ([shortest, longest, all], time) = (self.times, result.attempt.duration);
        self.times = [shortest.min(time), longest.max(time), all + time];
    }

    /// Keeps an attempt that is not the result, if it is unexpected.
    pub(super) fn keep(&mut self, result: TestResult) {
        if result.is_unexpected() && self.unexpected.len() < MOST_UNEXPECTED {
            self.unexpected.push(result);
        }
    }

    /// Returns the times of the attempts: `0.201 s to 1.345 s, on average 0.410 s`.
    pub fn times(&self) -> String {
        let [shortest, longest, all] = self.times;
        let average = Duration::from_secs_f64(all.as_secs_f64() / self.ran as f64);
        let [shortest, longest, average] =
            [shortest, longest, average].map(|time| format!("{:.3} s", time.as_secs_f64()));
        format!("{shortest} to {longest}, on average {average}")
    }
}

impl fmt::Display for AttemptCounts {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "passed {} of {}", self.passed, self.ran)?;
        let first = self.first_wrong;
        first.map_or(Ok(()), |number| write!(f, ", first went wrong in attempt {number}"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::log::sample::{changed, differing, result};

    fn failed() -> Outcome {
        Outcome::Failed { message: "no".to_owned(), location: None }
    }

    /// The result of attempts with these outcomes.
    fn repeated(outcomes: impl IntoIterator<Item = Outcome>) -> TestResult {
        let mut results = outcomes.into_iter().map(|outcome| result("s::t@d", outcome));
        let mut sum = results.next().unwrap();
        results.for_each(|result| sum.add_repeated(result));
        sum
    }

    #[test]
    fn the_worst_attempt_counts() {
        use Outcome::Passed;
        let crashed = || Outcome::signal("SIGSEGV");
        let cases: [(&[Outcome], _, _, _); 3] = [
            (&[Passed, Passed], Verdict::Pass, "passed 2 of 2", 0),
            (
                &[failed(), crashed(), failed()],
                Verdict::Crash,
                "passed 0 of 3, first went wrong in attempt 1",
                2,
            ),
            (
                &[Passed, failed(), Passed],
                Verdict::Fail,
                "passed 2 of 3, first went wrong in attempt 2",
                0,
            ),
        ];
        for (outcomes, verdict, text, unexpected) in cases {
            let result = repeated(outcomes.iter().cloned());
            let counts = result.counts.expect("several attempts");
            assert_eq!((result.verdict, counts.to_string()), (verdict, text.to_owned()));
            assert_eq!(counts.unexpected.len(), unexpected, "{text}");
            assert_eq!(counts.times(), "0.250 s to 0.250 s, on average 0.250 s");
        }
        let many = repeated((0..1000).map(|_| failed())).counts.unwrap();
        assert_eq!((many.ran, many.unexpected.len()), (1000, MOST_UNEXPECTED));
    }

    #[test]
    fn a_doubtful_attempt_that_differs_is_kept() {
        let passed =
            |number| changed(result("s::t@d", Outcome::Passed), |r| r.attempt.number = number);
        let mut sum = passed(1);
        sum.add_repeated(differing("s::t@d", failed()));
        sum.add_repeated(passed(3));
        assert!(sum.differing().is_some());
    }
}
