//! The end of a run in a sentence.

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
