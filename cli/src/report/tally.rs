//! The number of results of each verdict.

use std::time::Duration;

use clap::builder::styling::AnsiColor as Color;
use clmatrix_runner::log::run_log::RunLog;
use clmatrix_runner::report::by_device;
use clmatrix_runner::result::test_result::TestResult;
use clmatrix_runner::verdict::Verdict;
use indexmap::IndexSet;

use super::matrix::wall_time;

/// Declares the verdicts, in the order of the columns of a device and of the counts of the summary.
macro_rules! kinds {
    ($($verdict:ident $letter:literal $head:literal $meaning:literal $color:ident;)*) => {
        /// The verdicts, in the order of reports.
        pub(super) const ORDER: [Verdict; [$(Verdict::$verdict),*].len()] = [$(Verdict::$verdict),*];

        impl Kind {
            pub(super) fn of(verdict: Verdict) -> Self {
                let (letter, head, meaning, color) = match verdict {
                    $(Verdict::$verdict => ($letter, $head, $meaning, $color),)*
                };
                Self { letter, head, meaning, color }
            }
        }
    };
}

const RED: Option<Color> = Some(Color::Red);
const YELLOW: Option<Color> = Some(Color::Yellow);
const GREEN: Option<Color> = Some(Color::Green);
const PLAIN: Option<Color> = None;

kinds! {
    Pass '.' "ok" "passed" GREEN;
    Fail 'F' "FAIL" "failed" RED;
    Crash 'C' "CRASH" "crashed" RED;
    Timeout 'T' "TIMEOUT" "timed out" RED;
    UnexpectedPass 'U' "XPASS" "unexpectedly passed" RED;
    Flaky '~' "FLAKY" "flaky" YELLOW;
    NotRun 'N' "NOT-RUN" "not run" RED;
    ExpectedFail 'x' "xfail" "failed as expected" YELLOW;
    AssumedFail 'a' "afail" "failed as on another version" YELLOW;
    Skip 's' "skip" "skipped" PLAIN;
    Ignored 'i' "ignored" "ignored" PLAIN;
}

/// A verdict in reports.
pub(super) struct Kind {
    /// The sign on the page. Verdicts that can make a run fail have a capital or no letter.
    pub(super) letter: char,
    /// The heading of its column. Capitals are for verdicts that can make a run fail.
    pub(super) head: &'static str,
    /// The words after a count in a sentence.
    pub(super) meaning: &'static str,
    pub(super) color: Option<Color>,
}

/// The number of results of each verdict.
#[derive(Clone, Copy, Default)]
pub(super) struct Tally([usize; ORDER.len()]);

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
        let all = (suites.len() > 1).then_some("all");
        let rows: Vec<&str> = suites.iter().copied().chain(all).collect();
        let device = |(device, results): (&'a str, Vec<&TestResult>)| {
            let mut tallies = vec![Tally::default(); suites.len() + 1];
            for result in &results {
                let suite = suites.get_index_of(log.suite(result)).expect("the suite of a result");
                tallies[suite].add(result.verdict);
                tallies[suites.len()].add(result.verdict);
            }
            tallies.truncate(rows.len());
            (device, tallies, wall_time(log, &results))
        };
        let devices = by_device(log).into_iter().map(device).collect();
        Self { rows, devices }
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
        self.0[verdict as usize] += 1;
    }

    /// Returns the number of results of a verdict.
    pub(super) fn of(&self, verdict: Verdict) -> usize {
        self.0[verdict as usize]
    }

    /// Returns the verdicts that occur.
    pub(super) fn counts(&self) -> impl Iterator<Item = (Kind, usize)> {
        let occurring = ORDER.into_iter().filter(|verdict| self.of(*verdict) > 0);
        occurring.map(|verdict| (Kind::of(verdict), self.of(verdict)))
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
        let mut places = ORDER.map(|verdict| verdict as usize);
        places.sort_unstable();
        assert!(places.into_iter().eq(0..ORDER.len()));
    }
}
