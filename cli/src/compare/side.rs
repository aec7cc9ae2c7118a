//! One side of a comparison: the sum of one or several runs.

use std::path::PathBuf;
use std::time::Duration;

use clmatrix_runner::log::durations;
use clmatrix_runner::log::run_log::RunLog;
use clmatrix_runner::report::outcome_text;
use clmatrix_runner::result::test_id::TestId;
use clmatrix_runner::result::test_result::{DEVICE, TestResult};
use clmatrix_runner::terminal::AnyError;
use clmatrix_runner::text::first_line;
use clmatrix_runner::verdict::{ExpectedStatus, Outcome, Verdict};
use foldhash::fast::RandomState;
use indexmap::IndexMap;

use super::speed::Time;
use crate::report::facts::{self, Facts};
use crate::report::without_numbers;

/// The runs of one side.
#[derive(Default)]
pub(crate) struct Side {
    /// A line for each run: its id, host and time.
    pub(crate) runs: Vec<String>,
    /// The facts of each run.
    pub(crate) facts: Vec<Facts>,
    /// The devices, and the host, with the facts and the tests of each.
    pub(crate) devices: IndexMap<String, SideDevice>,
}

/// A device in the runs of one side.
#[derive(Default)]
pub(crate) struct SideDevice {
    /// The facts of each run.
    pub(crate) facts: Vec<Facts>,
    /// The tests by their paths.
    pub(crate) tests: IndexMap<String, SideTest, RandomState>,
}

/// A test on a device in the runs of one side.
#[derive(Default)]
pub(crate) struct SideTest {
    /// The worst result; none if only times are known.
    pub(crate) result: Option<SideResult>,
    /// The time of each attempt that passed.
    pub(crate) times: Vec<Time>,
}

/// The result of a test on a device in the runs of one side: the worst of them.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct SideResult {
    /// The verdict.
    pub(crate) verdict: Verdict,
    /// The outcome of its decisive attempt.
    pub(crate) outcome: SideOutcome,
    /// True if the run may succeed with it.
    pub(crate) is_as_expected: bool,
    /// The reason on one line; none after a pass.
    pub(crate) reason: Option<Box<str>>,
}

/// An outcome for comparison. Two results with the same one do not differ.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum SideOutcome {
    /// It passed, or may pass and went wrong as expected.
    Passed,
    /// It went wrong: the kind, and the message without its numbers, or the signal.
    Wrong(Verdict, Box<str>),
    /// It has no result: it was skipped, ignored, or not run.
    NotRun,
}

impl Side {
    /// Reads runs, one after the other. A run must have ended, unless `anyway`.
    ///
    /// # Errors
    ///
    /// A log cannot be read, its run is unfinished, or it is passed twice.
    pub(crate) fn read(logs: &[PathBuf], anyway: bool) -> Result<Self, AnyError> {
        let mut side = Self::default();
        for path in logs {
            let log = RunLog::read(path)?;
            let wrong = |text: &str| Err(format!("{}: {text}", path.display()).into());
            if !anyway && log.interrupted {
                return wrong("the run is unfinished; `--anyway` compares the results so far");
            }
            let runs = side.runs.len();
            side.add(&log);
            if side.runs[..runs].contains(&side.runs[runs]) {
                return wrong("this run is on the same side twice; name each run once");
            }
            durations::for_each(path, u64::MAX, |test, outcome, time| {
                if outcome == "passed" {
                    side.add_time(&TestId::parse(test), time);
                }
            })?;
        }
        Ok(side)
    }

    /// Adds the facts and the results of a run.
    pub(crate) fn add(&mut self, log: &RunLog) {
        let header = &log.header;
        let time = humantime::format_rfc3339_seconds(header.time);
        self.runs.push(format!("{} on {}, {time}", header.run_id, header.host));
        self.facts.push(facts::of_run(header));
        for device in &header.devices {
            self.device(&device.id).facts.push(facts::of_device(log, device));
        }
        for result in &log.results {
            self.test(&result.test).add(SideResult::new(result));
        }
        for lost in &log.lost {
            self.test(&TestId::new(DEVICE, &lost.device)).add(SideResult::lost(&lost.reason));
        }
    }

    /// Adds the time of an attempt of the run that was added last. The attempt passed.
    pub(crate) fn add_time(&mut self, id: &TestId, time: Duration) {
        let time = Time { run: self.runs.len(), seconds: time.as_secs_f64() };
        self.test(id).times.push(time);
    }

    /// Returns the ids of the devices.
    pub(crate) fn ids(&self) -> String {
        let ids: Vec<&str> = self.devices.keys().map(String::as_str).collect();
        if ids.is_empty() { "none".to_owned() } else { ids.join(", ") }
    }

    /// Finds a device. The error has the name of this side.
    pub(crate) fn find_device(&self, id: &str, side: &str) -> Result<&SideDevice, String> {
        let missing = || format!("side {side} has no device {id}; it has {}", self.ids());
        self.devices.get(id).ok_or_else(missing)
    }

    fn device(&mut self, id: &str) -> &mut SideDevice {
        self.devices.entry(id.to_owned()).or_default()
    }

    fn test(&mut self, id: &TestId) -> &mut SideTest {
        self.device(id.device()).tests.entry(id.path().to_owned()).or_default()
    }
}

impl SideTest {
    /// Adds a result, which counts if it is worse than the others.
    fn add(&mut self, result: SideResult) {
        let known = self.result.as_ref();
        if known.is_none_or(|known| result.verdict.is_worse_than(known.verdict)) {
            self.result = Some(result);
        }
    }

    /// Returns the outcome, if the test was run.
    pub(crate) fn ran(&self) -> Option<&SideOutcome> {
        let outcome = self.result.as_ref().map(|result| &result.outcome);
        outcome.filter(|outcome| **outcome != SideOutcome::NotRun)
    }
}

impl SideResult {
    /// Returns the result of a single run.
    pub(crate) fn new(result: &TestResult) -> Self {
        let decisive = &result.decisive().attempt.outcome;
        let wrong =
            |kind, text: &str| SideOutcome::Wrong(kind, without_numbers(&first_line(text)).into());
        let expectation = result.expectation.as_ref();
        let may_pass = expectation.is_some_and(|known| known.status.contains(ExpectedStatus::Pass));
        let outcome = match (result.verdict, decisive) {
            (verdict, _) if verdict.is_explained_failure() && may_pass => SideOutcome::Passed,
            (Verdict::Flaky, _) if result.tolerated => SideOutcome::Passed,
            (Verdict::Flaky, _) => wrong(result.verdict, ""),
            (_, Outcome::Passed) => SideOutcome::Passed,
            (_, Outcome::Failed { message, .. }) => wrong(Verdict::Fail, message),
            (_, Outcome::Crashed { cause }) => wrong(Verdict::Crash, &cause.to_string()),
            (_, Outcome::TimedOut { .. }) => wrong(Verdict::Timeout, ""),
            (_, Outcome::Skipped { .. } | Outcome::Ignored { .. } | Outcome::NotRun { .. }) => {
                SideOutcome::NotRun
            }
        };
        let reason = (outcome != SideOutcome::Passed).then(|| outcome_text(decisive).into());
        Self { verdict: result.verdict, outcome, is_as_expected: result.is_as_expected(), reason }
    }

    /// Returns the result of a device that was lost.
    pub(crate) fn lost(reason: &str) -> Self {
        let outcome = SideOutcome::Wrong(Verdict::Crash, "lost".into());
        let reason = Some(format!("device lost: {reason}").into());
        Self { verdict: Verdict::Crash, outcome, is_as_expected: false, reason }
    }

    /// Returns the verdict and the reason on one line.
    pub(crate) fn text(&self) -> String {
        let (verdict, reason) = (self.verdict.name(), self.reason.as_ref());
        reason.map_or_else(|| verdict.to_owned(), |reason| format!("{verdict}: {reason}"))
    }
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;
    use clmatrix_runner::log::events::Event;
    use clmatrix_runner::log::run_header::RunHeader;
    use clmatrix_runner::log::sample::{header, result};

    #[test]
    fn a_side_has_each_run_once() {
        let folder = tempfile::tempdir().unwrap();
        let write = |name: &str, id: &str| {
            let header = RunHeader { run_id: id.to_owned(), ..header(Vec::new()) };
            let line = serde_json::to_string(&Event::Run(Box::new(header))).unwrap();
            let path = folder.path().join(name);
            fs::write(&path, line + "\n").unwrap();
            path
        };
        let (a, copy, b) = (write("a", "1"), write("copy", "1"), write("b", "2"));
        assert_eq!(Side::read(&[a.clone(), b.clone()], true).unwrap().runs.len(), 2);
        for other in [a.clone(), copy] {
            let error = Side::read(&[a.clone(), b.clone(), other.clone()], true).err().unwrap();
            let expected = format!("{}: this run is on the same side twice", other.display());
            assert!(error.to_string().starts_with(&expected), "{error}");
        }
    }

    #[test]
    fn each_attempt_adds_its_own_time() {
        let folder = tempfile::tempdir().unwrap();
        let log = folder.path().join("log");
        let passed = || Event::finished(result("s::a@d", Outcome::Passed));
        let events = [Event::Run(Box::new(header(Vec::new()))), passed(), passed()];
        let lines = events.map(|event| serde_json::to_string(&event).unwrap() + "\n");
        fs::write(&log, lines.concat()).unwrap();
        let side = Side::read(&[log], true).unwrap();
        let times = side.devices["d"].tests["s::a"].times.iter();
        let times: Vec<_> = times.map(|time| (time.run, time.seconds)).collect();
        assert_eq!(times, [(1, 0.25), (1, 0.25)]);
    }
}
