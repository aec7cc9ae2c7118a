//! The events of a run, rewritten for the merged log.

use std::collections::HashMap;
use std::sync::Arc;

use clmatrix_runner::config::WrittenExpectation;
use clmatrix_runner::log::events::{End, Event};
use clmatrix_runner::log::wall_time::WallTime;
use clmatrix_runner::result::test_result::TestResult;

use super::Union;
use super::input::Input;

/// Rewrites the events of one run.
pub(super) struct Translation<'a> {
    input: &'a Input,
    /// The end of the ids of its devices: `%HOST`, or nothing.
    suffix: String,
    /// The host of the results from here on.
    host: Box<str>,
    /// The merged position of each test.
    positions: Vec<u32>,
    /// The merged expectations in force, by their numbers in the run.
    expectations: HashMap<u32, Arc<WrittenExpectation>>,
    /// The number of workers of the runs before.
    pub(super) workers_before: u32,
    /// The wall time of the run, by the clock of its host.
    pub(super) wall_time: WallTime,
    /// The last event, if the run came to its end.
    pub(super) last: Option<End>,
}

impl<'a> Translation<'a> {
    /// Prepares the translation of an input. With `by_host`, its devices are those of its host alone.
    pub(super) fn new(input: &'a Input, by_host: bool, union: &Union) -> Self {
        let header = &input.header;
        let suffix = if by_host { format!("%{}", header.host) } else { String::new() };
        Self {
            input,
            suffix,
            host: header.host.as_str().into(),
            positions: input.tests.iter().map(|test| union.position(&test.path)).collect(),
            expectations: HashMap::new(),
            workers_before: 0,
            wall_time: WallTime::new(header.time),
            last: None,
        }
    }

    /// Returns the merged positions of the tests of each device.
    pub(super) fn planned(&self) -> impl Iterator<Item = (String, Vec<u32>)> {
        self.input.planned.iter().map(|part| {
            let positions = part.ranges.iter().flat_map(|(first, last)| *first..=*last);
            let positions = positions.filter_map(|position| self.position(position)).collect();
            (self.id(&part.device), positions)
        })
    }

    fn position(&self, position: u32) -> Option<u32> {
        self.positions.get(position as usize).copied()
    }

    /// Returns the merged id of a device.
    pub(super) fn id(&self, id: &str) -> String {
        format!("{id}{}", self.suffix)
    }

    fn worker(&self, worker: u32, union: &mut Union) -> u32 {
        let worker = self.workers_before + worker;
        union.workers = union.workers.max(worker);
        worker
    }

    /// Returns the event for the merged log. The beginning and the end of the run have no place there.
    pub(super) fn event(&mut self, mut event: Event, union: &mut Union) -> Option<Event> {
        match &mut event {
            Event::Run(header) => {
                self.host = header.host.as_str().into();
                self.last = None;
                self.wall_time.resume(header.time);
                return None;
            }
            Event::Expectation(known) => {
                let (merged, is_new) = union.expectation(known);
                self.expectations.insert(known.number, merged.clone());
                return is_new.then_some(Event::Expectation(merged));
            }
            Event::Device(_)
            | Event::Plan(_)
            | Event::PlanDevice(_)
            | Event::DeviceAbsent(_)
            | Event::DriverFailed(_) => return None,
            Event::End(end) => {
                self.wall_time.total = end.duration;
                self.last = Some(end.clone());
                return None;
            }
            Event::Characterized(known) => known.device = self.id(&known.device),
            Event::Measured(known) => known.device = self.id(&known.device),
            Event::WorkerStarted(started) => {
                started.device = self.id(&started.device);
                started.worker = started.worker.map(|worker| self.worker(worker, union));
            }
            Event::Started(started) => {
                // A test that is not in the plan is left out.
                started.test = self.position(started.test)?;
                started.device = self.id(&started.device);
                started.worker = started.worker.map(|worker| self.worker(worker, union));
            }
            Event::Finished(finished) => self.finished(&mut finished.result, union),
            Event::Probed(probed) => probed.device = self.id(&probed.device),
            Event::DeviceLost(lost) => {
                lost.device = self.id(&lost.device);
                for test in lost.after.iter_mut().chain(&mut lost.suspects) {
                    *test = test.with_suffix(&self.suffix);
                }
            }
        }
        Some(event)
    }

    fn finished(&mut self, result: &mut TestResult, union: &mut Union) {
        self.wall_time.extend_to(result.attempt.end());
        result.test = result.test.with_suffix(&self.suffix);
        let merged =
            |known: &Arc<WrittenExpectation>| self.expectations.get(&known.number).cloned();
        result.expectation = result.expectation.as_ref().and_then(merged);
        result.attempt.worker = result.attempt.worker.map(|worker| self.worker(worker, union));
        result.host.get_or_insert_with(|| self.host.clone());
    }
}
