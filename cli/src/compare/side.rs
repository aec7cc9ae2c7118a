//! One side of a comparison: the sum of one or several runs.

use std::path::Path;
use std::time::Duration;

use clmatrix_harness::private::log::durations;
use clmatrix_harness::private::log::read_error::ReadError;
use clmatrix_harness::private::log::run_log::RunLog;
use clmatrix_harness::private::result::test_result::{DEVICE, test_and_device};
use clmatrix_harness::private::verdict::Outcome;
use foldhash::fast::RandomState;
use indexmap::{IndexMap, IndexSet};

use super::speed::Time;
use super::standing::{Standing, Way};
use crate::report::facts::{self, Facts};
use crate::stored_runs::stored_run::StoredRun;
use crate::stored_runs::stored_run_error::StoredRunError;

/// The runs of one side.
#[derive(Default)]
pub(crate) struct Side {
    /// A line for each run: its id, host and time.
    pub(crate) runs: Vec<String>,
    facts: IndexMap<String, IndexSet<String>>,
    /// The devices, and the host, with the facts and the tests of each.
    pub(crate) devices: IndexMap<String, SideDevice>,
}

/// A device in the runs of one side.
#[derive(Default)]
pub(crate) struct SideDevice {
    facts: IndexMap<String, IndexSet<String>>,
    /// The tests by their paths.
    pub(crate) tests: IndexMap<String, SideTest, RandomState>,
}

/// A test on a device in the runs of one side.
#[derive(Default)]
pub(crate) struct SideTest {
    /// The worst result; none if only times are known.
    pub(crate) standing: Option<Standing>,
    /// The time of each attempt that passed.
    pub(crate) times: Vec<Time>,
}

/// Runs that cannot be compared.
#[derive(Debug, thiserror::Error)]
pub(crate) enum SideError {
    /// A log cannot be read.
    #[error(transparent)]
    Read(#[from] StoredRunError),
    /// A run did not come to its end.
    #[error("{0}: the run is unfinished; `--anyway` compares the results that are there")]
    Unfinished(StoredRun),
    /// A run is there twice.
    #[error("{0}: this run is on the same side twice; give each run once")]
    Twice(StoredRun),
}

impl Side {
    /// Reads runs and rounds, one after the other. A run must have come to its end, unless `anyway`.
    pub(crate) fn read(stored: &[StoredRun], anyway: bool) -> Result<Self, SideError> {
        let mut side = Self::default();
        for run in stored {
            let log = run.read()?;
            if !anyway && log.interrupted {
                return Err(SideError::Unfinished(run.clone()));
            }
            let runs = side.runs.len();
            side.add(&log);
            if side.runs[..runs].contains(&side.runs[runs]) {
                return Err(SideError::Twice(run.clone()));
            }
            if run.round.is_some() {
                side.add_times_of_round(&log);
            } else {
                side.add_times(&run.log).map_err(StoredRunError::from)?;
            }
        }
        Ok(side)
    }

    /// Adds the facts and the results of a run.
    pub(crate) fn add(&mut self, log: &RunLog) {
        let header = &log.header;
        let time = humantime::format_rfc3339_seconds(header.time);
        self.runs.push(format!("{} on {}, {time}", header.run_id, header.host));
        add_facts(&mut self.facts, facts::of_run(header));
        for device in &header.devices {
            let facts = facts::of_device(log, &device.id).expect("a device of the run");
            add_facts(&mut self.device(&device.id).facts, facts);
        }
        for result in &log.results {
            self.test(&result.test).add(Standing::new(result));
        }
        for lost in &log.lost {
            self.test(&format!("{DEVICE}@{}", lost.device)).add(Standing::lost(&lost.reason));
        }
    }

    fn add_times(&mut self, log: &Path) -> Result<(), ReadError> {
        durations::for_each(log, u64::MAX, |test, outcome, time| {
            if outcome == "passed" {
                self.add_time(test, time);
            }
        })
    }

    fn add_times_of_round(&mut self, round: &RunLog) {
        for result in round.results.iter().filter(|result| result.outcome == Outcome::Passed) {
            self.add_time(&result.test, result.duration);
        }
    }

    /// Adds the time of an attempt of the run that was added last. The attempt passed.
    pub(crate) fn add_time(&mut self, id: &str, time: Duration) {
        let time = Time { run: self.runs.len(), seconds: time.as_secs_f64() };
        self.test(id).times.push(time);
    }

    /// Returns the facts of the runs. Several values of one fact stand beside each other.
    pub(crate) fn facts(&self) -> Facts {
        joined(&self.facts)
    }

    fn device(&mut self, id: &str) -> &mut SideDevice {
        if !self.devices.contains_key(id) {
            self.devices.insert(id.to_owned(), SideDevice::default());
        }
        &mut self.devices[id]
    }

    fn test(&mut self, id: &str) -> &mut SideTest {
        let (path, device) = test_and_device(id);
        let tests = &mut self.device(device).tests;
        if !tests.contains_key(path) {
            tests.insert(path.to_owned(), SideTest::default());
        }
        &mut tests[path]
    }
}

impl SideDevice {
    /// Returns the facts of the device.
    pub(crate) fn facts(&self) -> Facts {
        joined(&self.facts)
    }
}

impl SideTest {
    fn add(&mut self, standing: Standing) {
        match &mut self.standing {
            Some(known) => known.merge(standing),
            None => self.standing = Some(standing),
        }
    }

    /// Returns the result, if the test was run.
    pub(crate) fn ran(&self) -> Option<&Standing> {
        self.standing.as_ref().filter(|standing| standing.way != Way::NotRun)
    }
}

fn add_facts(known: &mut IndexMap<String, IndexSet<String>>, facts: Facts) {
    for (name, value) in facts {
        known.entry(name).or_default().insert(value);
    }
}

fn joined(facts: &IndexMap<String, IndexSet<String>>) -> Facts {
    let text = |values: &IndexSet<String>| {
        values.iter().map(String::as_str).collect::<Vec<_>>().join(" / ")
    };
    facts.iter().map(|(name, values)| (name.clone(), text(values))).collect()
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;
    use clmatrix_harness::private::log::events::{Event, Round};
    use clmatrix_harness::private::log::run_header::RunHeader;
    use clmatrix_harness::private::log::sample::{header, result};

    #[test]
    fn a_side_has_each_run_once() {
        let folder = tempfile::tempdir().unwrap();
        let write = |name: &str, id: &str| {
            let header = RunHeader { run_id: id.to_owned(), ..header(Vec::new()) };
            let line = serde_json::to_string(&Event::Run(Box::new(header))).unwrap();
            let path = folder.path().join(name);
            fs::write(&path, line + "\n").unwrap();
            StoredRun { log: path, round: None }
        };
        let (a, copy, b) = (write("a", "1"), write("copy", "1"), write("b", "2"));
        assert_eq!(Side::read(&[a.clone(), b.clone()], true).unwrap().runs.len(), 2);
        for other in [a.clone(), copy] {
            let error = Side::read(&[a.clone(), b.clone(), other.clone()], true).err().unwrap();
            let expected = format!("{other}: this run is on the same side twice");
            assert!(error.to_string().starts_with(&expected), "{error}");
        }
    }

    #[test]
    fn each_round_adds_its_own_times() {
        let folder = tempfile::tempdir().unwrap();
        let log = folder.path().join("log");
        let passed = || Event::finished(result("s::a@d", Outcome::Passed));
        let second = Round { device: "d".to_owned(), number: 2 };
        let events =
            [Event::Run(Box::new(header(Vec::new()))), passed(), Event::Round(second), passed()];
        let lines = events.map(|event| serde_json::to_string(&event).unwrap() + "\n");
        fs::write(&log, lines.concat()).unwrap();
        let round = |number| StoredRun { log: log.clone(), round: Some(number) };
        let side = Side::read(&[round(1), round(2)], true).unwrap();
        let times = side.devices["d"].tests["s::a"].times.iter();
        let times: Vec<_> = times.map(|time| (time.run, time.seconds)).collect();
        assert_eq!(times, [(1, 0.25), (2, 0.25)]);
        let twice = Side::read(&[round(2), round(2)], true).err().unwrap().to_string();
        assert!(twice.starts_with(&format!("{}:2: this run", log.display())), "{twice}");
    }
}
