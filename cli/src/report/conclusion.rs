//! The end of a run in a sentence.

use std::fmt;

use clmatrix_harness::private::log::run_log::RunLog;
use clmatrix_harness::private::result::test_result::{
    differing_in_reused_context, test_and_device,
};
use clmatrix_harness::private::target::{NOT_ALL_RUN, SUCCESS};
use clmatrix_harness::private::text::{counted, human};
use indexmap::IndexMap;

use super::tally::Tally;

/// The end of a run in a sentence.
pub(super) struct Conclusion {
    /// The end in capitals.
    word: &'static str,
    has_passed: bool,
    /// The numbers of tests, devices and rounds, and the time.
    run: String,
    /// The number of results of each verdict, of devices and of drivers.
    counts: String,
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
        let mut run = format!(
            "{} on {} in {}",
            counted(results.len(), "test"),
            counted(header.devices.len(), "device"),
            human(log.duration)
        );
        match rounds(log) {
            Some((fewest, most)) if fewest < most => run += &format!(", {fewest} to {most} rounds"),
            Some((_, most)) => run += &format!(", {most} rounds"),
            None => {}
        }
        let mut counts = Tally::of_run(log).parts();
        let differing = differing_in_reused_context(results);
        if differing > 0 {
            counts.push(format!("{differing} different in a reused context"));
        }
        if !absent.is_empty() {
            counts.push(format!("{} absent", counted(absent.len(), "expected device")));
        }
        if !lost.is_empty() {
            counts.push(format!("{} lost", counted(lost.len(), "device")));
        }
        if !failed_drivers.is_empty() {
            counts.push(format!("{} failed", counted(failed_drivers.len(), "driver")));
        }
        Self { word, has_passed: status == SUCCESS, run, counts: counts.join(", ") }
    }

    /// Returns the first words, in capitals.
    pub(super) fn word(&self) -> &'static str {
        self.word
    }

    /// Returns whether the run succeeded.
    pub(super) fn has_passed(&self) -> bool {
        self.has_passed
    }

    /// Returns the sentence in two parts: the numbers of tests and devices, and the counts of results.
    pub(super) fn parts(&self) -> (String, String) {
        (format!("{}: {}", self.word, self.run), self.counts.clone())
    }

    /// Returns the sentence without its first words.
    pub(super) fn sentence(&self) -> String {
        match self.counts.is_empty() {
            true => self.run.clone(),
            false => format!("{}: {}", self.run, self.counts),
        }
    }
}

impl fmt::Display for Conclusion {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.word, self.sentence())
    }
}

/// The number of rounds of each device with several: the fewest and the most.
fn rounds(log: &RunLog) -> Option<(usize, usize)> {
    let mut devices: IndexMap<&str, usize> = IndexMap::new();
    for (test, counts) in &log.rounds {
        let rounds = devices.entry(test_and_device(test).1).or_default();
        *rounds = counts.ran.max(*rounds);
    }
    devices.into_values().fold(None, |range, rounds| {
        let (fewest, most) = range.unwrap_or((rounds, rounds));
        Some((rounds.min(fewest), rounds.max(most)))
    })
}

#[cfg(test)]
mod tests {
    use std::time::{Duration, SystemTime};

    use super::*;
    use clmatrix_harness::private::log::round_counts::RoundCounts;
    use clmatrix_harness::private::log::sample::run_log;

    #[test]
    fn devices_with_several_rounds_count() {
        let ran = |device: &str, ran: usize| {
            let (start, end) = (SystemTime::UNIX_EPOCH, SystemTime::UNIX_EPOCH);
            let counts = RoundCounts { passed: ran, ran, decisive: 1, start, end };
            (format!("s::t_{ran}@{device}"), counts)
        };
        let rounds = |tests: &[_]| {
            let log = run_log(Vec::new(), Vec::new(), Duration::ZERO);
            rounds(&RunLog { rounds: tests.iter().cloned().collect(), ..log })
        };
        let tests = [ran("a", 3), ran("b", 4), ran("b", 5)];
        assert_eq!(rounds(&tests), Some((3, 5)));
        assert_eq!(rounds(&tests[..1]), Some((3, 3)));
        assert_eq!(rounds(&[]), None);
    }
}
