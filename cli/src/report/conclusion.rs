//! The end of a run in a sentence.

use std::fmt;

use clmatrix_runner::log::run_log::RunLog;
use clmatrix_runner::result::test_result::differing;
use clmatrix_runner::target::{NOT_ALL_RUN, SUCCESS};
use clmatrix_runner::text::{counted, human};

use super::tally::Tally;

/// The end of a run in a sentence.
pub(super) struct Conclusion {
    /// The end in capitals.
    pub(super) word: &'static str,
    /// True if the run succeeded.
    pub(super) has_passed: bool,
    /// The numbers of tests, devices and attempts, and the time.
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
        let attempts: u64 =
            results.iter().flat_map(|result| &result.counts).map(|counts| counts.ran).sum();
        if attempts > 0 {
            run += &format!(", {attempts} attempts");
        }
        let mut counts = Tally::of_run(log).parts();
        let differing = differing(results);
        if differing > 0 {
            counts.push(format!("{differing} different alone"));
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
