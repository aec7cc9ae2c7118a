//! Merges several runs into one: the shards of a run, or whole runs of several hosts.
//!
//! [`input`] is a run that is merged, [`shards`] checks that shards can be merged, and [`translation`] rewrites the
//! events of a run for the merged log.

pub(crate) mod input;
pub(crate) mod shards;
#[cfg(test)]
mod tests;
mod translation;

use std::collections::BTreeSet;
use std::fs::File;
use std::sync::Arc;

use clmatrix_runner::config::{Sync, WrittenExpectation};
use clmatrix_runner::header::command_line;
use clmatrix_runner::log::events::{DeviceAbsent, End, Event};
use clmatrix_runner::log::plan::{self, PlannedTest};
use clmatrix_runner::log::recorder::Recorder;
use clmatrix_runner::log::run_header::{MergedRun, RunHeader};
use clmatrix_runner::log::run_log::RunLog;
use clmatrix_runner::log::sum::Sum;
use clmatrix_runner::result::test_id::suite;
use clmatrix_runner::target::{CANNOT_RUN, NOT_ALL_RUN};
use clmatrix_runner::terminal::AnyError;
use indexmap::{IndexMap, IndexSet};

use self::input::Input;
use self::translation::Translation;

/// Runs that can be merged.
pub(crate) struct Merge {
    inputs: Vec<Input>,
    /// True if the devices of different hosts are different devices.
    by_host: bool,
}

/// The tests of all inputs, and the expectations and the highest number of a worker so far.
struct Union {
    tests: IndexMap<String, PlannedTest>,
    expectations: Vec<Arc<WrittenExpectation>>,
    workers: u32,
}

impl Merge {
    /// Checks that each input is a whole run of another host, and that all expected hosts have one. A device is
    /// identified by its key.
    ///
    /// # Errors
    ///
    /// A run is a shard, or a host has two runs or none.
    pub(crate) fn of_hosts(inputs: Vec<Input>, expected: &[String]) -> Result<Self, AnyError> {
        let mut hosts: IndexMap<&str, &Input> = IndexMap::new();
        for input in &inputs {
            if input.header.shard.is_some() {
                let how = "merge its shards first, without --hosts";
                return Err(format!("{input} is a part of a run; {how}").into());
            }
            if let Some(other) = hosts.insert(&input.header.host, input) {
                return Err(format!("a host has two runs: {other} and {input}").into());
            }
        }
        let is_missing = |host: &&String| !hosts.contains_key(host.as_str());
        let missing: Vec<&str> = expected.iter().filter(is_missing).map(String::as_str).collect();
        if !missing.is_empty() {
            return Err(format!("no run of these hosts: {}", missing.join(", ")).into());
        }
        Ok(Self { inputs, by_host: true })
    }

    /// Returns whether the inputs have all tests.
    pub(crate) fn is_full(&self) -> bool {
        self.inputs.iter().all(|input| !input.header.is_filtered())
    }

    /// Writes the merged log and returns its sum.
    ///
    /// # Errors
    ///
    /// A log cannot be read, or the new one cannot be written.
    pub(crate) fn write(&self, log: File, run_id: &str) -> Result<RunLog, AnyError> {
        let recorder = Recorder::new(Some(log), Sync::Off, false, &());
        let mut union = Union::new(&self.inputs);
        let mut translations: Vec<Translation> =
            self.inputs.iter().map(|input| Translation::new(input, self.by_host, &union)).collect();
        recorder.record(Event::Run(Box::new(self.header(run_id))));
        let plan = self.devices_and_plan(&union, &translations);
        plan.into_iter().for_each(|event| recorder.record(event));
        for (input, translation) in self.inputs.iter().zip(&mut translations) {
            translation.workers_before = union.workers;
            for event in RunLog::events(&input.path)? {
                if let Some(event) = translation.event(event?, &mut union) {
                    recorder.record(event);
                }
            }
        }
        recorder.record_end(|sum| end(sum, &translations));
        let (log, loss) = recorder.finish();
        loss.map_or_else(|| Ok(log.expect("there is a log")), |loss| Err(loss.into()))
    }

    /// Returns the events between the header and the first test.
    fn devices_and_plan(&self, union: &Union, translations: &[Translation<'_>]) -> Vec<Event> {
        let mut devices = IndexMap::new();
        let mut planned: IndexMap<String, BTreeSet<u32>> = IndexMap::new();
        let (mut absent, mut failed) = (IndexSet::new(), IndexMap::new());
        for (input, translation) in self.inputs.iter().zip(translations) {
            for mut record in input.devices.iter().cloned() {
                record.device.id = translation.id(&record.device.id);
                devices.entry(record.device.id.clone()).or_insert(record);
            }
            for (device, positions) in translation.planned() {
                planned.entry(device).or_default().extend(positions);
            }
            absent.extend(input.absent.iter().map(|absent| translation.id(&absent.expected)));
            for mut driver in input.failed.iter().cloned() {
                driver.failed.driver = translation.id(&driver.failed.driver);
                failed.entry(driver.failed.driver.clone()).or_insert(driver);
            }
        }
        let planned = planned.into_iter();
        let planned = planned.map(|(device, tests)| (device, tests.into_iter().collect()));
        let tests: Vec<_> = union.tests.values().cloned().collect();
        let devices = devices.into_values().map(|record| Event::Device(Box::new(record)));
        let absent = absent.into_iter().map(|expected| DeviceAbsent { expected });
        let events = devices.chain(plan::events(&tests, planned));
        let events = events.chain(absent.map(Event::DeviceAbsent));
        events.chain(failed.into_values().map(Event::DriverFailed)).collect()
    }

    /// Returns the header of the merged run. It has the facts in which the inputs agree.
    fn header(&self, run_id: &str) -> RunHeader {
        let first = &self.inputs[0].header;
        let headers = || self.inputs.iter().map(|input| &input.header);
        // The merged run has all tests only if each input has them.
        let filtered = headers().find(|header| header.is_filtered()).unwrap_or(first);
        let part = |RunHeader { run_id, host, shard, .. }| MergedRun { run_id, host, shard };
        let hosts: IndexSet<&str> = headers().map(|header| header.host.as_str()).collect();
        let programs: IndexSet<_> = headers().flat_map(|header| &header.programs).collect();
        let mut environment = first.environment.clone();
        environment.retain(|name, value| {
            headers().all(|header| header.environment.get(name) == Some(value))
        });
        RunHeader {
            run_id: run_id.to_owned(),
            time: headers().map(|header| header.time).min().unwrap_or(first.time),
            host: hosts.into_iter().collect::<Vec<_>>().join(", "),
            command_line: command_line(),
            environment,
            configuration: self.common(|header| header.configuration.as_ref()),
            source_url: self.common(|header| header.source_url.as_ref()),
            host_settings: self.common(|header| header.host_settings.as_ref()),
            profile: self.common(|header| header.profile.as_ref()),
            package: self.common(|header| header.package.as_ref()),
            boot_id: self.common(|header| header.boot_id.as_ref()),
            kernel: self.common(|header| header.kernel.as_ref()),
            cpu: self.common(|header| header.cpu.as_ref()),
            cpus: self.common(|header| header.cpus.as_ref()),
            memory: self.common(|header| header.memory.as_ref()),
            build_id: self.common(|header| header.build_id.as_ref()),
            seed: self.common(|header| header.seed.as_ref()),
            programs: programs.into_iter().cloned().collect(),
            filter: filtered.filter.clone(),
            selected_tests: filtered.selected_tests.clone(),
            include_ignored: headers().all(|header| header.include_ignored),
            run_skipped: headers().all(|header| header.run_skipped),
            parent: None,
            shard: None,
            merged: headers().cloned().map(part).collect(),
            ..first.clone()
        }
    }

    /// Returns a value of the headers, if all have the same one.
    fn common<T: Clone + PartialEq>(&self, value: impl Fn(&RunHeader) -> Option<&T>) -> Option<T> {
        let first = value(&self.inputs[0].header)?;
        let is_common = self.inputs.iter().all(|input| value(&input.header) == Some(first));
        is_common.then(|| first.clone())
    }
}

/// Returns the end of the merged run. Its time is that of the longest part: the clocks of hosts differ.
fn end(sum: Option<&Sum>, parts: &[Translation<'_>]) -> End {
    // A log without an end is that of a run that was killed.
    let ends = || parts.iter().map(|part| part.last.as_ref());
    let interrupted = ends().any(|end| end.is_none_or(|end| end.interrupted));
    let cannot_run = ends().flatten().any(|end| end.exit_status == CANNOT_RUN);
    let status = sum.map_or(NOT_ALL_RUN, |sum| sum.status(interrupted));
    End {
        interrupted,
        duration: parts.iter().map(|part| part.wall_time.total).max().unwrap_or_default(),
        exit_status: if cannot_run { CANNOT_RUN } else { status },
        counts: sum.map(Sum::counts).unwrap_or_default(),
    }
}

/// Returns the hosts of a list: a name a line, with comments after `#`.
pub(crate) fn listed_hosts(text: &str) -> Vec<String> {
    let names = text.lines().map(|line| line.split('#').next().unwrap_or_default().trim());
    names.filter(|name| !name.is_empty()).map(str::to_owned).collect()
}

impl Union {
    fn new(inputs: &[Input]) -> Self {
        let mut tests = IndexMap::new();
        for test in inputs.iter().flat_map(|input| &input.tests) {
            tests.entry(test.path.clone()).or_insert_with(|| test.clone());
        }
        // The order of a run of all tests.
        tests.sort_by_cached_key(|path: &String, test: &PlannedTest| {
            (suite(path).map(str::to_owned), test.file.clone(), test.line, path.clone())
        });
        Self { tests, expectations: Vec::new(), workers: 0 }
    }

    /// Returns the position of a test.
    fn position(&self, path: &str) -> u32 {
        self.tests.get_index_of(path).expect("a test of an input") as u32
    }

    /// Returns an expectation of an input under its merged number, and whether it is new.
    fn expectation(&mut self, of_input: &WrittenExpectation) -> (Arc<WrittenExpectation>, bool) {
        let with = |number| WrittenExpectation { number, ..of_input.clone() };
        if let Some(known) = self.expectations.iter().find(|known| ***known == with(known.number)) {
            return (known.clone(), false);
        }
        let new = Arc::new(with(self.expectations.len() as u32 + 1));
        self.expectations.push(new.clone());
        (new, true)
    }
}
