//! The sums of a run in reports: the number of results of each verdict, the tests that were not run, and the
//! end of the run in a sentence.

use std::collections::BTreeMap;
use std::time::{Duration, SystemTime};

use clap::builder::styling::AnsiColor as Color;
use clmatrix_runner::log::run_log::RunLog;
use clmatrix_runner::report::by_device;
use clmatrix_runner::result::test_result::{TestResult, differing};
use clmatrix_runner::target::{NOT_ALL_RUN, SUCCESS};
use clmatrix_runner::text::{counted, first_line, human};
use clmatrix_runner::verdict::Verdict;
use indexmap::{IndexMap, IndexSet};
use serde::Serialize;

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

/// Returns the time from the first start of a test to the last end, without the pauses of a run that was
/// resumed: the longest one, if the run is merged from several hosts, whose clocks differ.
pub(crate) fn wall_time(log: &RunLog, results: &[&TestResult]) -> Option<Duration> {
    let mut hosts: BTreeMap<_, BTreeMap<usize, (SystemTime, SystemTime)>> = BTreeMap::new();
    for result in results.iter().filter(|result| result.verdict != Verdict::NotRun) {
        let (next, last) = match &result.counts {
            Some(counts) => (counts.start, counts.end),
            None => (result.attempt.started, result.attempt.end()),
        };
        let part = log.resumed.partition_point(|time| *time <= next);
        let parts = hosts.entry(result.host.as_deref()).or_default();
        let (start, end) = parts.entry(part).or_insert((next, last));
        (*start, *end) = (next.min(*start), last.max(*end));
    }
    let time = |(start, end): &(SystemTime, SystemTime)| end.duration_since(*start);
    let longest = hosts.values().map(|parts| parts.values().flat_map(time).sum()).max()?;
    // One host may have run several parts of a merged run, at other times.
    Some(if log.header.merged.is_empty() { longest } else { log.duration.min(longest) })
}

/// The tests of a device that were not run for the same reason.
#[derive(Serialize)]
pub(super) struct NotRun<'a> {
    pub(super) device: &'a str,
    pub(super) reason: String,
    /// The number of tests.
    pub(super) tests: usize,
}

impl<'a> NotRun<'a> {
    /// Groups the tests of a run that were not run. The tests of lost devices are counted there.
    pub(super) fn of_run(log: &'a RunLog) -> Vec<Self> {
        let mut groups: IndexMap<(&str, String), usize> = IndexMap::new();
        let not_run = log.results.iter().filter(|result| result.verdict == Verdict::NotRun);
        for result in not_run.filter(|result| !log.is_not_run_by_loss(result)) {
            let reason = first_line(&result.attempt.outcome.to_string());
            *groups.entry((result.test.device(), reason)).or_default() += 1;
        }
        let group = |((device, reason), tests)| Self { device, reason, tests };
        groups.into_iter().map(group).collect()
    }
}

/// Returns the number of tests that were not run since this device was lost.
pub(super) fn count_by_loss(log: &RunLog, device: &str) -> usize {
    let is_of =
        |result: &&TestResult| result.test.device() == device && log.is_not_run_by_loss(result);
    log.results.iter().filter(is_of).count()
}

/// The end of a run in a sentence.
pub(super) struct Conclusion {
    /// The end in capitals.
    pub(super) word: &'static str,
    /// True if the run succeeded.
    pub(super) has_passed: bool,
    /// The numbers of tests, devices and attempts, and the time.
    pub(super) run: String,
    /// The number of results of each verdict, of devices and of drivers.
    pub(super) counts: String,
}

impl Conclusion {
    /// Returns the end of a run.
    pub(super) fn new(log: &RunLog) -> Self {
        let RunLog { header, absent, failed_drivers, lost, results, .. } = log;
        let status = log.status();
        let word = match status {
            _ if log.interrupted => "CUT SHORT",
            NOT_ALL_RUN => "NOT ALL RUN",
            SUCCESS => "PASSED",
            _ => "FAILED",
        };
        let tests = counted(results.len(), "test");
        let devices = counted(header.devices.len(), "device");
        let mut run = format!("{tests} on {devices} in {}", human(log.duration));
        let attempts: u64 =
            results.iter().flat_map(|result| &result.counts).map(|counts| counts.ran).sum();
        run.extend((attempts > 0).then(|| format!(", {attempts} attempts")));
        let mut counts = Tally::of_run(log).parts();
        let differing = differing(results);
        counts.extend((differing > 0).then(|| format!("{differing} different alone")));
        let missing = [
            (absent.len(), "expected device", "absent"),
            (lost.len(), "device", "lost"),
            (failed_drivers.len(), "driver", "failed"),
        ];
        let missing = missing.into_iter().filter(|(count, ..)| *count > 0);
        counts.extend(missing.map(|(count, noun, end)| format!("{} {end}", counted(count, noun))));
        Self { word, has_passed: status == SUCCESS, run, counts: counts.join(", ") }
    }

    /// Returns the sentence without its first words.
    pub(super) fn sentence(&self) -> String {
        let gap = if self.counts.is_empty() { "" } else { ": " };
        format!("{}{gap}{}", self.run, self.counts)
    }
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
