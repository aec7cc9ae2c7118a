//! The end of a run in a sentence.

use std::fmt;

use clmatrix_harness::private::log::run_log::RunLog;
use clmatrix_harness::private::result::test_result::{TestResult, differing_in_reused_context};
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
        match rounds(results) {
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
fn rounds(results: &[TestResult]) -> Option<(usize, usize)> {
    let mut devices: IndexMap<&str, usize> = IndexMap::new();
    for result in results {
        if let Some(counts) = &result.rounds {
            let rounds = devices.entry(result.test_and_device().1).or_default();
            *rounds = counts.ran.max(*rounds);
        }
    }
    let several = devices.into_values().filter(|rounds| *rounds > 1);
    several.fold(None, |range, rounds| {
        let (fewest, most) = range.unwrap_or((rounds, rounds));
        Some((rounds.min(fewest), rounds.max(most)))
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use clmatrix_harness::private::log::sample::result;
    use clmatrix_harness::private::result::round_counts::RoundCounts;
    use clmatrix_harness::private::verdict::Outcome;

    #[test]
    fn devices_with_several_rounds_count() {
        let ran = |device: &str, ran: usize| {
            let result = result(&format!("s::t_{ran}@{device}"), Outcome::Passed);
            let (passed, decisive, start, end) = (ran, 1, result.started, result.end());
            let counts = RoundCounts { passed, ran, decisive, start, end };
            let counts = (ran > 1).then(|| Box::new(counts));
            TestResult { rounds: counts, ..result }
        };
        let results = [ran("a", 3), ran("a", 1), ran("b", 4), ran("b", 5), ran("c", 1)];
        assert_eq!(rounds(&results), Some((3, 5)));
        assert_eq!(rounds(&results[..2]), Some((3, 3)));
        assert_eq!(rounds(&results[4..]), None);
    }
}
