//! The number of results of each verdict.

use std::time::Duration;

use clmatrix_runner::log::run_log::RunLog;
use clmatrix_runner::report::by_device;
use clmatrix_runner::result::test_result::TestResult;
use clmatrix_runner::verdict::Verdict;
use indexmap::IndexSet;

use super::matrix::wall_time;
use super::table::Color;

/// The columns of a device and the counts of the summary, in this order. Capitals are for verdicts
/// that can make a run fail.
pub(super) const KINDS: [Kind; 11] = [
    Kind::new(Verdict::Pass, '.', "ok", "passed", Some(Color::Green)),
    Kind::new(Verdict::Fail, 'F', "FAIL", "failed", Some(Color::Red)),
    Kind::new(Verdict::Crash, 'C', "CRASH", "crashed", Some(Color::Red)),
    Kind::new(Verdict::Timeout, 'T', "TIMEOUT", "timed out", Some(Color::Red)),
    Kind::new(Verdict::UnexpectedPass, 'U', "XPASS", "unexpectedly passed", Some(Color::Red)),
    Kind::new(Verdict::Flaky, '~', "FLAKY", "flaky", Some(Color::Yellow)),
    Kind::new(Verdict::NotRun, 'N', "NOT-RUN", "not run", Some(Color::Red)),
    Kind::new(Verdict::ExpectedFail, 'x', "xfail", "failed as expected", Some(Color::Yellow)),
    Kind::new(
        Verdict::AssumedFail,
        'a',
        "afail",
        "failed as on another version",
        Some(Color::Yellow),
    ),
    Kind::new(Verdict::Skip, 's', "skip", "skipped", None),
    Kind::new(Verdict::Ignored, 'i', "ignored", "ignored", None),
];

/// A verdict in reports.
pub(super) struct Kind {
    pub(super) verdict: Verdict,
    /// The sign on the page. Verdicts that can make a run fail have a capital or no letter.
    pub(super) letter: char,
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
    /// Returns the row of a verdict.
    pub(super) fn of(verdict: Verdict) -> &'static Self {
        &KINDS[Tally::position(verdict)]
    }

    const fn new(
        verdict: Verdict,
        letter: char,
        head: &'static str,
        meaning: &'static str,
        color: Option<Color>,
    ) -> Self {
        Self { verdict, letter, head, meaning, color }
    }
}

/// The counts of a run: suites down, devices across.
pub(super) struct Counts<'a> {
    /// The suites; behind several, `all`.
    pub(super) rows: Vec<&'a str>,
    /// The devices with the counts of each row and the wall time.
    pub(super) devices: Vec<(&'a str, Vec<Tally>, Option<Duration>)>,
}

impl<'a> Counts<'a> {
    pub(super) fn new(log: &'a RunLog) -> Self {
        let suites: IndexSet<&str> = log.results.iter().map(|result| log.suite(result)).collect();
        let has_sum = suites.len() > 1;
        let device = |(device, results): (&'a str, Vec<&TestResult>)| {
            let mut tallies = vec![Tally::default(); suites.len() + usize::from(has_sum)];
            for result in &results {
                let suite = suites.get_index_of(log.suite(result)).expect("the suite of a result");
                tallies[suite].add(result.verdict);
                if has_sum {
                    tallies[suites.len()].add(result.verdict);
                }
            }
            (device, tallies, wall_time(log, &results))
        };
        let devices = by_device(log).into_iter().map(device).collect();
        Self { rows: suites.iter().copied().chain(has_sum.then_some("all")).collect(), devices }
    }
}

impl Tally {
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

    /// Returns the place of a verdict in [`KINDS`], which has a row for it.
    fn position(verdict: Verdict) -> usize {
        const fn row<const PLACE: usize>() -> usize {
            const { assert!(PLACE < KINDS.len()) };
            PLACE
        }
        match verdict {
            Verdict::Pass => row::<0>(),
            Verdict::Fail => row::<1>(),
            Verdict::Crash => row::<2>(),
            Verdict::Timeout => row::<3>(),
            Verdict::UnexpectedPass => row::<4>(),
            Verdict::Flaky => row::<5>(),
            Verdict::NotRun => row::<6>(),
            Verdict::ExpectedFail => row::<7>(),
            Verdict::AssumedFail => row::<8>(),
            Verdict::Skip => row::<9>(),
            Verdict::Ignored => row::<10>(),
        }
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

/// Returns the number of results of each verdict that occurs: `7 passed, 1 failed`.
pub(crate) fn counts(log: &RunLog) -> String {
    Tally::of_run(log).parts().join(", ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_verdict_has_its_place() {
        let places = KINDS.iter().map(|kind| Tally::position(kind.verdict));
        assert!(places.eq(0..KINDS.len()));
    }
}
