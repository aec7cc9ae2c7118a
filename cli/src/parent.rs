//! A run whose tests another one has: all of them if it is resumed, or those that run again.

use std::collections::HashMap;
use std::fmt;
use std::path::Path;
use std::sync::Arc;

use clap::ValueEnum;
use clmatrix_runner::config::{DeviceSettings, Slots, WrittenExpectation};
use clmatrix_runner::devices::run_device::RunDevice;
use clmatrix_runner::log::ReadError;
use clmatrix_runner::log::device_record::DeviceRecord;
use clmatrix_runner::log::program_record::ProgramRecord;
use clmatrix_runner::log::results::Execution;
use clmatrix_runner::log::run_header::RunHeader;
use clmatrix_runner::log::sum::Sum;
use clmatrix_runner::result::test_id::TestId;
use clmatrix_runner::result::test_result::TestResult;
use clmatrix_runner::verdict::Verdict;
use serde_json::{Value, json};

/// The tests of a parent that a run starts.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Which {
    /// Tests without a result: the run resumes its parent and takes over its results.
    #[value(skip)]
    Left,
    Failed,
    NotRun,
    Flaky,
    All,
}

impl Which {
    fn has(self, result: &TestResult, execution: Execution) -> bool {
        match self {
            Self::Left => !execution.has_ended,
            Self::Failed => result.is_unexpected() && result.verdict != Verdict::Flaky,
            Self::NotRun => result.verdict == Verdict::NotRun,
            Self::Flaky => result.verdict == Verdict::Flaky,
            Self::All => true,
        }
    }
}

/// A run whose tests another one has.
pub struct Parent {
    /// The sum of its logs.
    pub sum: Sum,
    /// The header of its first part, with the id of the last one.
    pub header: RunHeader,
    /// The planned tests, by their ids.
    pub planned: HashMap<TestId, PlannedTest>,
    which: Which,
}

/// A planned test of a parent.
pub struct PlannedTest {
    /// The position in the list of tests.
    pub position: u32,
    pub execution: Execution,
    /// True if the run starts it.
    starts: bool,
    /// The attempts so far, if the last one went wrong and will be repeated.
    pub attempts: Vec<TestResult>,
}

impl Parent {
    /// Reads the log of a run.
    pub fn read(file: &Path, which: Which) -> Result<Self, ReadError> {
        let mut sum = Sum::default();
        sum.add_files(file)?;
        sum.cut();
        let planned = sum.planned().map(|(result, position, execution)| {
            let last = TestResult { earlier: Vec::new(), ..result.clone() };
            let mut attempts = [&result.earlier[..], &[last]].concat();
            attempts.retain(|attempt| {
                attempt.attempt.number <= execution.attempts && attempt.verdict != Verdict::NotRun
            });
            let went_wrong = attempts.last().is_some_and(|last| last.verdict.is_failure());
            if execution.has_ended || !went_wrong {
                attempts.clear();
            }
            let starts = which.has(result, execution);
            (result.test.clone(), PlannedTest { position, execution, starts, attempts })
        });
        let planned = planned.collect();
        let header = sum.log().expect("it has a header").header.clone();
        Ok(Self { sum, header, planned, which })
    }

    /// Returns whether the run resumes its parent.
    pub fn goes_on(&self) -> bool {
        self.which == Which::Left
    }

    /// Returns whether the parent has ended.
    pub fn is_over(&self) -> bool {
        self.sum.log().is_some_and(|log| log.has_ended && !log.interrupted)
    }

    /// Returns the ids of the tests that the run starts.
    pub fn starts(&self) -> impl Iterator<Item = &TestId> {
        self.planned.iter().filter(|(_, test)| test.starts).map(|(id, _)| id)
    }

    /// Returns the ids of the tests of the run, which has the results of a parent that it resumes.
    pub fn tests(&self) -> impl Iterator<Item = &TestId> {
        self.planned.iter().filter(|(_, test)| test.starts || self.goes_on()).map(|(id, _)| id)
    }

    /// Returns the first difference from the parent.
    pub fn difference(
        &self,
        now: &RunHeader,
        devices: &[DeviceRecord],
        expectations: &[Arc<WrittenExpectation>],
    ) -> Option<String> {
        let log = self.sum.log().expect("it has a header");
        let before = &log.header;
        if (&before.build_id, &before.versions) != (&now.build_id, &now.versions) {
            return Some("the executable is a different one".to_owned());
        }
        let is_known = |program: &&ProgramRecord| {
            let mut known = before.programs.iter();
            known.any(|known| (&known.name, &known.build) == (&program.name, &program.build))
        };
        if let Some(program) = now.programs.iter().find(|program| !is_known(program)) {
            return Some(format!("the program {} is a different build", program.name));
        }
        // A shard may be resumed on another host, where keys differ.
        let name = |record: &DeviceRecord| match before.shard {
            None => record.key.clone(),
            Some(_) => record.device.id.clone(),
        };
        let mut left: HashMap<_, _> =
            log.records.values().map(|record| (name(record), record)).collect();
        for device in devices {
            let name = name(device);
            let Some(before) = left.remove(&name) else {
                return Some(format!("the device {name} is new"));
            };
            if let Some(part) = changed_part(before, device) {
                return Some(format!("the {part} of the device {name} differ"));
            }
        }
        if let Some(name) = left.keys().min() {
            return Some(format!("the device {name} was not found"));
        }
        if let (Some(before), Some(now)) = (&before.host_settings, &now.host_settings)
            && without_slots(before) != without_slots(now)
        {
            return Some("the settings of tests without a device differ".to_owned());
        }
        // Their files may have other paths.
        let content = |entry: &Arc<WrittenExpectation>| {
            (entry.keys.clone(), entry.status, entry.reason.clone())
        };
        let is_same = log.expectations.iter().map(content).eq(expectations.iter().map(content));
        (!is_same).then(|| "the expectations differ".to_owned())
    }
}

impl fmt::Display for Parent {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (id, left, all) = (&self.header.run_id, self.starts().count(), self.planned.len());
        write!(f, "the run {id} is resumed: {left} of {all} tests are left")
    }
}

/// Returns the name of a part that differs of two records of a device.
fn changed_part(before: &DeviceRecord, now: &DeviceRecord) -> Option<&'static str> {
    let parts = |DeviceRecord { device, settings, .. }: &DeviceRecord| {
        let RunDevice { id, platform, info } = device;
        [
            ("names", json!([id, info.name])),
            ("driver versions", json!([info.driver_version, platform.version])),
            ("settings", without_slots(settings)),
        ]
    };
    let differing = parts(before).into_iter().zip(parts(now)).find(|(before, now)| before != now);
    differing.map(|((part, _), _)| part)
}

/// Returns the settings in the form of a log. The processors of a host decide the number of slots, and slots decide
/// no result.
fn without_slots(settings: &DeviceSettings) -> Value {
    json!(DeviceSettings { slots: Slots::Count(1), ..settings.clone() })
}

#[cfg(test)]
mod tests;
