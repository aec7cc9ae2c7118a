//! The number of results of each verdict.

use clmatrix_harness::private::log::run_log::RunLog;
use clmatrix_harness::private::result::test_result::TestResult;
use clmatrix_harness::private::verdict::Verdict;
use indexmap::IndexSet;

use super::table::Color;

/// The columns of a device and the counts of the summary, in this order. Capitals are for verdicts
/// that can make a run fail.
pub(super) const KINDS: [Kind; 11] = [
    Kind::new(Verdict::Pass, "ok", "passed", Some(Color::Green)),
    Kind::new(Verdict::Fail, "FAIL", "failed", Some(Color::Red)),
    Kind::new(Verdict::Crash, "CRASH", "crashed", Some(Color::Red)),
    Kind::new(Verdict::Timeout, "TIMEOUT", "timed out", Some(Color::Red)),
    Kind::new(Verdict::UnexpectedPass, "XPASS", "unexpectedly passed", Some(Color::Red)),
    Kind::new(Verdict::Flaky, "FLAKY", "flaky", Some(Color::Yellow)),
    Kind::new(Verdict::NotRun, "NOT-RUN", "not run", Some(Color::Red)),
    Kind::new(Verdict::ExpectedFail, "xfail", "failed as expected", Some(Color::Yellow)),
    Kind::new(Verdict::AssumedFail, "afail", "failed as on another version", Some(Color::Yellow)),
    Kind::new(Verdict::Skip, "skip", "skipped", None),
    Kind::new(Verdict::Ignored, "ignored", "ignored", None),
];

/// A verdict in reports.
pub(super) struct Kind {
    pub(super) verdict: Verdict,
    /// The heading of its column.
    pub(super) head: &'static str,
    /// The words after a count in a sentence.
    pub(super) meaning: &'static str,
    pub(super) color: Option<Color>,
}

/// The number of results of each verdict, in the order of [`KINDS`].
#[derive(Clone, Copy, Default)]
pub(super) struct Tally([usize; KINDS.len()]);

impl Kind {
    const fn new(
        verdict: Verdict,
        head: &'static str,
        meaning: &'static str,
        color: Option<Color>,
    ) -> Self {
        Self { verdict, head, meaning, color }
    }
}

impl Tally {
    /// Counts the results of each suite on one device.
    pub(super) fn of_suites(
        log: &RunLog,
        results: &[&TestResult],
        suites: &IndexSet<&str>,
    ) -> Vec<Self> {
        let mut tallies = vec![Self::default(); suites.len()];
        for result in results {
            let suite = suites.get_index_of(log.suite(result)).expect("the suite of a result");
            tallies[suite].add(result.verdict);
        }
        tallies
    }

    /// Counts all results of a run.
    pub(super) fn of_run(log: &RunLog) -> Self {
        let mut total = Self::default();
        log.results.iter().for_each(|result| total.add(result.verdict));
        total
    }

    fn add(&mut self, verdict: Verdict) {
        self.0[Self::position(verdict)] += 1;
    }

    /// Returns the number of results of a verdict.
    pub(super) fn of(&self, verdict: Verdict) -> usize {
        self.0[Self::position(verdict)]
    }

    fn position(verdict: Verdict) -> usize {
        KINDS.iter().position(|kind| kind.verdict == verdict).expect("all verdicts are listed")
    }

    /// Returns the verdicts that occur.
    pub(super) fn counts(&self) -> impl Iterator<Item = (&'static Kind, usize)> {
        KINDS.iter().zip(self.0).filter(|(_, count)| *count > 0)
    }

    /// Returns the count of each verdict that occurs, in words.
    pub(super) fn parts(&self) -> Vec<String> {
        self.counts().map(|(kind, count)| format!("{count} {}", kind.meaning)).collect()
    }
}

impl std::iter::Sum for Tally {
    fn sum<I: Iterator<Item = Self>>(tallies: I) -> Self {
        let mut sum = Self::default();
        for tally in tallies {
            sum.0.iter_mut().zip(tally.0).for_each(|(sum, count)| *sum += count);
        }
        sum
    }
}

/// Returns the number of results of each verdict that occurs: `7 passed, 1 failed`.
pub(crate) fn counts(log: &RunLog) -> String {
    Tally::of_run(log).parts().join(", ")
}
