//! A run that was killed or cut short, as far as it is needed to go on with it.

use std::collections::HashMap;
use std::fmt;
use std::path::Path;

use clmatrix_harness::private::log::events::{Event, Finished, Started};
use clmatrix_harness::private::log::read_error::ReadError;
use clmatrix_harness::private::log::run_header::RunHeader;
use clmatrix_harness::private::log::sum::Sum;
use clmatrix_harness::private::verdict::Verdict;

/// The number of times that a test may be running when its run is cut short.
const CUTS: u32 = 2;

/// A run with its logs so far.
pub struct Unfinished {
    /// The sum of their events.
    pub sum: Sum,
    /// The header of its first part.
    pub header: RunHeader,
    executions: Executions,
}

/// The executions of the tests of a run.
#[derive(Default)]
struct Executions {
    /// The list of tests: their paths.
    tests: Vec<String>,
    /// The positions of the planned tests in that list and their executions, by their ids.
    planned: HashMap<String, (u32, Execution)>,
    /// The id of the last test that each slot of a device has begun in this part of the run.
    last_begun: HashMap<(String, u32), String>,
    /// True if there is an event of a test, so that the plan is whole.
    has_begun: bool,
    /// True if the last part of the run came to its end.
    is_over: bool,
}

/// The executions of a test on a device.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Execution {
    /// The number of attempts.
    pub attempts: u32,
    /// True if the test has its last result.
    pub has_ended: bool,
    is_running: bool,
    /// The number of times that the test was running when the run was cut short.
    cuts: u32,
}

impl Execution {
    /// Returns whether the test takes the machine down, as far as the log tells.
    pub fn takes_machine_down(&self) -> bool {
        !self.has_ended && self.cuts >= CUTS
    }
}

impl Unfinished {
    /// Reads the log of a run; `None` if the run came to its end.
    pub fn read(file: &Path) -> Result<Option<Self>, ReadError> {
        let (mut sum, mut executions) = (Sum::default(), Executions::default());
        sum.add_files(file, |event| {
            executions.add(event);
            true
        })?;
        executions.cut();
        let header = sum.log().expect("it has a header").header.clone();
        let is_over = executions.is_over;
        Ok((!is_over).then_some(Self { sum, header, executions }))
    }

    /// The position of a planned test in the list of tests, and its executions.
    pub fn planned(&self, id: &str) -> Option<(u32, Execution)> {
        self.executions.planned.get(id).copied()
    }

    /// The ids of the planned tests.
    pub fn ids(&self) -> impl ExactSizeIterator<Item = &str> {
        self.executions.planned.keys().map(String::as_str)
    }

    /// The ids of the planned tests that have no last result.
    pub fn left(&self) -> impl Iterator<Item = &str> {
        let planned = self.executions.planned.iter();
        planned.filter(|(_, (_, execution))| !execution.has_ended).map(|(id, _)| id.as_str())
    }

    /// Returns whether the run has begun with its tests. Before, its log may lack a part of the plan.
    pub fn has_begun(&self) -> bool {
        self.executions.has_begun
    }
}

impl fmt::Display for Unfinished {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let left = self.left().count();
        let (id, all) = (&self.header.run_id, self.executions.planned.len());
        write!(f, "the run {id} goes on: {left} of {all} tests are left")
    }
}

impl Executions {
    fn add(&mut self, event: &Event) {
        match event {
            Event::Plan(part) => {
                self.tests.extend(part.tests.iter().map(|test| test.path.clone()));
            }
            Event::PlanDevice(part) => {
                for position in part.ranges.iter().flat_map(|(first, last)| *first..=*last) {
                    let Some(path) = self.tests.get(position as usize) else { break };
                    let id = format!("{path}@{}", part.device);
                    self.planned.insert(id, (position, Execution::default()));
                }
            }
            Event::Started(started) => self.start(started),
            Event::Finished(finished) => self.finish(finished),
            Event::End(end) => {
                self.has_begun = true;
                self.is_over = !end.interrupted;
            }
            Event::Run(_) => self.cut(),
            _ => {}
        }
    }

    fn start(&mut self, started: &Started) {
        self.has_begun = true;
        let device = &started.device;
        let path = self.tests.get(started.test as usize);
        let id = path.map(|path| format!("{path}@{device}"));
        let Some(id) = id.filter(|id| self.planned.contains_key(id)) else { return };
        let ended = started.slot.and_then(|slot| {
            let slot = (device.clone(), slot);
            self.last_begun.insert(slot, id.clone())
        });
        if let Some((_, execution)) = ended.and_then(|ended| self.planned.get_mut(&ended)) {
            execution.is_running = false;
        }
        if let Some((_, execution)) = self.planned.get_mut(&id) {
            execution.attempts = started.attempt;
            execution.is_running = true;
        }
    }

    fn finish(&mut self, Finished { result, repeated }: &Finished) {
        self.has_begun = true;
        if let Some((_, execution)) = self.planned.get_mut(&result.test) {
            execution.is_running = false;
            // A result stays one while the test runs once more for a note.
            if result.verdict != Verdict::NotRun {
                execution.has_ended |= !repeated;
            }
        }
    }

    /// Ends a part of the run. A test that is running was cut short.
    fn cut(&mut self) {
        self.last_begun.clear();
        for (_, execution) in self.planned.values_mut() {
            execution.cuts += u32::from(std::mem::take(&mut execution.is_running));
        }
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;
    use std::time::{Duration, SystemTime};

    use super::*;
    use clmatrix_harness::private::log::events::End;
    use clmatrix_harness::private::log::plan::{PlannedDevice, PlannedTest, PlannedTests};
    use clmatrix_harness::private::log::run_header::Resumes;
    use clmatrix_harness::private::log::sample::{device, device_record, header, result};
    use clmatrix_harness::private::verdict::Outcome;

    /// The events before the first test: `s::a` and `s::b` are to run on the device `d`.
    fn head(header: RunHeader) -> Vec<Event> {
        let test = |path: &str| PlannedTest {
            path: path.to_owned(),
            file: None,
            line: None,
            requires: Vec::new(),
        };
        vec![
            Event::Run(Box::new(header)),
            Event::Device(Box::new(device_record(device("d", "PoCL"), "bench"))),
            Event::Plan(PlannedTests { tests: vec![test("s::x"), test("s::a"), test("s::b")] }),
            Event::PlanDevice(PlannedDevice { device: "d".to_owned(), ranges: vec![(1, 2)] }),
        ]
    }

    fn start(position: u32, attempt: u32) -> Event {
        Event::Started(Started {
            test: position,
            device: "d".to_owned(),
            time: SystemTime::UNIX_EPOCH,
            attempt,
            worker: Some(attempt + 6),
            slot: Some(0),
            pid: None,
        })
    }

    fn finish(id: &str, outcome: Outcome, repeated: bool) -> Event {
        Event::Finished(Box::new(Finished { result: result(id, outcome), repeated }))
    }

    fn resumed() -> Event {
        let header = header(Vec::new());
        let resumes = Some(Resumes { run_id: header.run_id.clone(), differences: Vec::new() });
        Event::Run(Box::new(RunHeader { resumes, ..header }))
    }

    fn end(interrupted: bool) -> Event {
        let duration = Duration::from_secs(9);
        Event::End(End { interrupted, duration, exit_status: 0, counts: BTreeMap::new() })
    }

    fn write(file: &Path, events: &[Event]) -> String {
        let line = |event| serde_json::to_string(event).unwrap() + "\n";
        let text: String = events.iter().map(line).collect();
        std::fs::write(file, &text).unwrap();
        text
    }

    /// Reads a log of these events after those of `head`.
    fn read(events: &[Event]) -> Option<Unfinished> {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("events.jsonl");
        write(&file, &[&head(header(Vec::new()))[..], events].concat());
        Unfinished::read(&file).unwrap()
    }

    #[test]
    fn a_test_ends_with_its_last_result() {
        let crashed = || Outcome::Crashed { how: "SIGSEGV".to_owned() };
        let not_run = || Outcome::NotRun { reason: "stopped".to_owned() };
        let passed = || finish("s::a@d", Outcome::Passed, false);
        // Attempts, whether the test has ended, and whether it takes the machine down.
        let cases = [
            ("never started", Vec::new(), (0, false, false)),
            ("has passed", vec![start(1, 1), passed()], (1, true, false)),
            ("skipped", vec![passed()], (0, true, false)),
            ("running", vec![start(1, 1)], (1, false, false)),
            ("runs again", vec![start(1, 1), finish("s::a@d", crashed(), true)], (1, false, false)),
            (
                "running again",
                vec![start(1, 1), finish("s::a@d", crashed(), true), start(1, 2)],
                (2, false, false),
            ),
            (
                "not run after Ctrl-C",
                vec![start(1, 1), finish("s::a@d", not_run(), false), end(true)],
                (1, false, false),
            ),
            ("running twice", vec![start(1, 1), resumed(), start(1, 2)], (2, false, true)),
            (
                "running once, then not begun",
                vec![start(1, 1), resumed(), start(2, 1)],
                (1, false, false),
            ),
            (
                "twice in a process that has begun another test",
                vec![start(1, 1), start(2, 1), resumed(), start(1, 2), start(2, 2)],
                (2, false, false),
            ),
            (
                "twice in a process before another one",
                vec![start(1, 1), start(2, 2), resumed(), start(1, 3), start(2, 4)],
                (3, false, false),
            ),
            (
                "twice the last of a process",
                vec![start(2, 1), start(1, 1), resumed(), start(2, 2), start(1, 2)],
                (2, false, true),
            ),
            (
                "running, then passed",
                vec![start(1, 1), resumed(), start(1, 2), passed()],
                (2, true, false),
            ),
        ];
        for (case, events, expected) in cases {
            let unfinished = read(&events).expect("no end");
            let (position, execution) = unfinished.planned("s::a@d").expect("it is planned");
            let Execution { attempts, has_ended, .. } = execution;
            let found = (attempts, has_ended, execution.takes_machine_down());
            assert_eq!((position, found), (1, expected), "{case}");
        }
        let begun = [vec![], vec![start(1, 1)], vec![passed()], vec![end(true)]];
        let begun = begun.map(|events| read(&events).expect("no end").has_begun());
        assert_eq!(begun, [false, true, true, true]);
        assert!(read(&[]).expect("no end").planned("s::x@d").is_none());
    }

    #[test]
    fn a_run_is_over_with_an_end_that_was_not_interrupted() {
        assert!(read(&[end(false)]).is_none());
        assert!(read(&[end(true), resumed(), end(false)]).is_none());
        for events in [vec![], vec![end(true)], vec![end(true), resumed()]] {
            assert!(read(&events).is_some(), "{events:?}");
        }
    }
}
