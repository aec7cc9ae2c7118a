//! Adds up the events of a run.

use std::collections::BTreeMap;
use std::io::BufRead;
use std::ops::Range;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use super::events::{Characterized, Finished};
use super::lines::Lines;
use super::results::{Boot, Execution, Results};
use super::wall_time::WallTime;
use super::{Event, FORMAT, LogError, ReadError, RunHeader, RunLog, chain};
use crate::config::WrittenExpectation;
use crate::result::test_result::{OutputPlace, TestResult};
use crate::system;
use crate::target::NOT_ALL_RUN;

/// The longest output that is not left in the file, in bytes.
const LONG_OUTPUT: usize = 4 * 1024;

/// Adds up the events of a run, while it is running or from its log.
///
/// A later result of a test replaces that of an attempt that was repeated. The result of the test is the worst of
/// all repetitions. A test that was started but did not finish has not run: its result is unknown.
#[derive(Default)]
pub struct Sum {
    /// All but the results; none before the first event.
    log: Option<RunLog>,
    results: Results,
    /// The logs that were added whole, the oldest first.
    pub files: Vec<PathBuf>,
    /// The number of the last worker.
    pub workers: u32,
    /// The wall time so far; none before the first event.
    wall_time: Option<WallTime>,
}

impl Sum {
    /// Adds the events of a log, and of the logs that it resumes.
    pub fn add_files(&mut self, path: &Path) -> Result<(), ReadError> {
        for file in chain::of(path)? {
            self.add_all(Lines::open(&file)?, &file, true)?;
            self.files.push(file);
        }
        Ok(())
    }

    /// Adds the events of a log.
    pub(super) fn add_all(
        &mut self,
        mut lines: Lines<impl BufRead>,
        path: &Path,
        outputs_stay: bool,
    ) -> Result<(), ReadError> {
        let of_log = |error| ReadError::Log(path.to_owned(), error);
        while let Some((event, place)) = lines.next()? {
            self.add(event, outputs_stay.then_some(place)).map_err(of_log)?;
        }
        if self.log.is_none() {
            return Err(of_log(LogError::NoHeader));
        }
        Ok(())
    }

    /// Returns all but the results, once there is a header.
    pub fn log(&self) -> Option<&RunLog> {
        self.log.as_ref()
    }

    /// Adds an event. `in_file` is the place of its line, if a report can read it again.
    pub fn add(&mut self, event: Event, in_file: Option<Range<u64>>) -> Result<(), LogError> {
        let (Some(log), Some(wall_time)) = (&mut self.log, &mut self.wall_time) else {
            return self.begin(event);
        };
        match event {
            Event::Run(header) => {
                if header.goes_on_with() != Some(&log.header.run_id) {
                    return Err(LogError::SecondHeader);
                }
                is_of_this_format(&header)?;
                self.results.cut(boot(&header));
                log.header.run_id = header.run_id;
                log.expectations.clear();
                log.interrupted = true;
                log.has_ended = false;
                log.recorded_status = None;
                log.resumed.push(header.time);
                wall_time.resume(header.time);
            }
            Event::Expectation(written) => log.expectations.push(written),
            Event::WorkerStarted(started) => {
                self.workers = self.workers.max(started.worker.unwrap_or_default());
            }
            Event::Probed(_) => {}
            Event::Device(record) => {
                log.header.devices.push(record.device.clone());
                log.records.insert(record.device.id.clone(), *record);
            }
            Event::Plan(part) => self.results.plan(part.tests),
            Event::PlanDevice(part) => self.results.plan_on(part.device, part.ranges),
            Event::DeviceAbsent(absent) => log.absent.push(absent.expected),
            Event::DriverFailed(failed) => {
                log.strict_drivers |= failed.strict;
                log.failed_drivers.push(failed.failed);
            }
            Event::Characterized(Characterized { device, properties, error }) => {
                log.properties.insert(device, error.map_or(Ok(properties), Err));
            }
            Event::Measured(known) => {
                log.measured.entry(known.device).or_default().extend(known.measured);
            }
            Event::Started(started) => {
                log.slots.extend(started.worker.zip(started.slot));
                self.results.start(started);
            }
            Event::Finished(finished) => {
                let Finished { mut result, repeated } = *finished;
                wall_time.extend_to(result.attempt.end());
                log.duration = wall_time.total;
                if result.attempt.stdout.len() + result.attempt.stderr.len() > LONG_OUTPUT
                    && let Some(place) = in_file
                {
                    result.attempt.stdout = String::new();
                    result.attempt.stderr = String::new();
                    result.output_at =
                        Some(OutputPlace { file: self.files.len(), line: place }.into());
                }
                let written = |known: Arc<WrittenExpectation>| {
                    let written = log.expectations.get(known.position()).cloned();
                    written.filter(|written| written.number == known.number)
                };
                result.expectation = result.expectation.and_then(written);
                self.results.finish(result, repeated);
            }
            Event::DeviceLost(lost) => log.lost.push(lost),
            Event::End(end) => {
                log.interrupted = end.interrupted;
                log.has_ended = true;
                wall_time.total = end.duration;
                log.duration = end.duration;
                log.recorded_status = Some(end.exit_status);
            }
        }
        Ok(())
    }

    fn begin(&mut self, event: Event) -> Result<(), LogError> {
        let Event::Run(header) = event else { return Err(LogError::NoHeader) };
        is_of_this_format(&header)?;
        if let Some(parent) = header.goes_on_with() {
            return Err(LogError::NoParent(parent.to_owned()));
        }
        self.results.run_started = Some(header.time);
        self.results.boot = boot(&header);
        self.wall_time = Some(WallTime::new(header.time));
        self.log = Some(RunLog::new(*header));
        Ok(())
    }

    /// Returns the planned tests so far: their results, their positions in the list of tests, and their executions.
    pub fn planned(&mut self) -> impl Iterator<Item = (&TestResult, u32, Execution)> {
        self.results.lay_out();
        let all = self.results.in_order.iter().zip(&self.results.executions);
        let planned = all.filter(|(result, _)| result.test.of_worker().is_none());
        let tests = &self.results.tests;
        planned.map(|(result, execution)| {
            let test = tests.get_index_of(result.test.path()).expect("a test of the list");
            (result, test as u32, *execution)
        })
    }

    /// Returns whether the run has begun with its tests. Before, its log may lack a part of the plan.
    pub fn has_begun(&self) -> bool {
        self.results.have_begun || self.log.as_ref().is_some_and(|log| log.has_ended)
    }

    /// Ends the last part of the run, which may go on here. A test that is running was cut short.
    pub fn cut(&mut self) {
        self.results.cut(system::boot_id().map(|id| (system::host(), id)));
    }

    /// Returns the number of results of each verdict so far.
    pub fn counts(&self) -> BTreeMap<String, u64> {
        let mut counts = BTreeMap::new();
        for result in &self.results.in_order {
            *counts.entry(result.verdict.name().to_owned()).or_default() += 1;
        }
        counts
    }

    /// Returns the exit status if the run ends now.
    pub fn status(&self, interrupted: bool) -> u8 {
        let Some(log) = &self.log else { return NOT_ALL_RUN };
        log.status_of(&self.results.in_order, interrupted)
    }

    /// Returns the sum. The first event must have been added.
    pub fn finish(mut self) -> RunLog {
        self.results.lay_out();
        self.results.cut(None);
        let Results { in_order: results, tests, .. } = self.results;
        let log = self.log.expect("a log begins with its header");
        RunLog { results, tests, files: self.files, ..log }
    }
}

/// Returns the start of the machine in which a run was made, where the system has an id of it.
fn boot(header: &RunHeader) -> Option<Boot> {
    Some((header.host.clone(), header.boot_id.clone()?))
}

fn is_of_this_format(header: &RunHeader) -> Result<(), LogError> {
    if header.format == FORMAT { Ok(()) } else { Err(LogError::Format(header.format)) }
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::time::{Duration, SystemTime};

    use indexmap::IndexMap;

    use super::*;
    use crate::log::events::{DeviceAbsent, DeviceLost, DriverFailed, End, Started, WorkerStarted};
    use crate::log::plan::{PlannedDevice, PlannedTest, PlannedTests};
    use crate::log::sample::{
        TIME, changed, device, expectation, failed_driver, flaky, goes_on_with, header, log_of,
        result,
    };
    use crate::target::{CANNOT_RUN, SUCCESS, UNEXPECTED};
    use crate::verdict::{ExpectedStatus, Outcome, Verdict};

    fn begin() -> Event {
        Event::Run(Box::new(header(vec![device("pocl-cpu", "PoCL")])))
    }

    /// The log of events, in which a plan has ids of tests on the device `d`.
    fn on_device(events: impl IntoIterator<Item = Event>) -> Vec<Event> {
        let mut known = Vec::new();
        let mut all = Vec::new();
        for event in events {
            let Event::Plan(part) = &event else {
                all.push(event);
                continue;
            };
            let paths: Vec<&str> =
                part.tests.iter().map(|test| test.path.trim_end_matches("@d")).collect();
            let new: Vec<&str> = paths
                .iter()
                .filter(|path| !known.iter().any(|known| known == *path))
                .copied()
                .collect();
            known.extend(new.iter().map(|path| (*path).to_owned()));
            let position =
                |path: &&str| known.iter().position(|known| known == path).unwrap() as u32;
            let ranges = paths.iter().map(|path| (position(path), position(path))).collect();
            all.push(plan(&new));
            all.push(Event::PlanDevice(PlannedDevice { device: "d".to_owned(), ranges }));
        }
        all
    }

    fn from_events(events: impl IntoIterator<Item = Event>) -> Result<RunLog, LogError> {
        log_of(on_device(events))
    }

    fn plan(tests: &[&str]) -> Event {
        let tests = tests.iter().map(|test| PlannedTest::unplanned(test)).collect();
        Event::Plan(PlannedTests { tests })
    }

    /// The start of the test `s::a` or `s::b`, which are the first ones of the plan.
    fn started(test: &str) -> Event {
        Event::Started(Started {
            test: u32::from(test == "s::b@d"),
            device: "d".to_owned(),
            time: SystemTime::UNIX_EPOCH + 2 * TIME,
            attempt: 1,
            worker: None,
            slot: None,
            pid: None,
        })
    }

    fn passed(test: &str) -> Event {
        Event::finished(result(test, Outcome::Passed))
    }

    fn failed(test: &str) -> Event {
        let outcome = Outcome::Failed { message: "no".to_owned(), location: None };
        Event::finished(result(test, outcome))
    }

    fn repeated(test: &str) -> Event {
        let outcome = Outcome::Failed { message: "no".to_owned(), location: None };
        Event::repeated(result(test, outcome))
    }

    fn flaky_event(tolerated: bool) -> Event {
        let flaky = TestResult { tolerated, ..flaky("s::a@d", Outcome::Passed) };
        let line = serde_json::to_vec(&Event::finished(flaky)).unwrap();
        serde_json::from_slice(&line).unwrap()
    }

    fn end() -> Event {
        end_after(false, Duration::from_secs(9))
    }

    fn end_after(interrupted: bool, duration: Duration) -> Event {
        Event::End(End { interrupted, duration, exit_status: 0, counts: BTreeMap::new() })
    }

    fn verdicts(log: &RunLog) -> Vec<(&str, Verdict)> {
        log.results.iter().map(|result| (result.test.as_str(), result.verdict)).collect()
    }

    #[test]
    fn one_result_for_each_planned_test() {
        use Verdict::{Fail, NotRun, Pass};
        let cases: [(_, Vec<Event>, &[_]); 9] = [
            (
                "in the plan's order",
                vec![plan(&["s::a@d", "s::b@d"]), passed("s::b@d"), failed("s::a@d")],
                &[("s::a@d", Fail), ("s::b@d", Pass)],
            ),
            ("never started", vec![plan(&["s::a@d"])], &[("s::a@d", NotRun)]),
            ("never finished", vec![plan(&["s::a@d"]), started("s::a@d")], &[("s::a@d", NotRun)]),
            (
                "a later result replaces that of an attempt that is repeated",
                vec![plan(&["s::a@d"]), repeated("s::a@d"), started("s::a@d"), passed("s::a@d")],
                &[("s::a@d", Pass)],
            ),
            (
                "a rerun that never finished leaves the first result",
                vec![plan(&["s::a@d"]), repeated("s::a@d"), started("s::a@d")],
                &[("s::a@d", Fail)],
            ),
            (
                "a repetition does not replace a worse result",
                vec![plan(&["s::a@d"]), failed("s::a@d"), started("s::a@d"), passed("s::a@d")],
                &[("s::a@d", Fail)],
            ),
            (
                "the last attempt of a repetition counts",
                vec![plan(&["s::a@d"]), passed("s::a@d"), repeated("s::a@d"), passed("s::a@d")],
                &[("s::a@d", Pass)],
            ),
            (
                "a repetition whose repeat did not end counts",
                vec![plan(&["s::a@d"]), passed("s::a@d"), repeated("s::a@d"), started("s::a@d")],
                &[("s::a@d", Fail)],
            ),
            (
                "not planned, or planned twice",
                vec![plan(&["s::a@d"]), plan(&["s::a@d", "s::b@d"]), passed("s::x@d")],
                &[("s::a@d", NotRun), ("s::b@d", NotRun), ("s::x@d", Pass)],
            ),
        ];
        for (case, events, expected) in cases {
            let log = from_events([begin()].into_iter().chain(events)).unwrap();
            assert_eq!(verdicts(&log), expected, "{case}");
        }
    }

    #[test]
    fn a_run_that_goes_on_has_the_worst_results_of_all_repetitions() {
        let repetitions = [[failed, passed], [passed, failed], [passed, passed]];
        let statuses = [UNEXPECTED, UNEXPECTED, SUCCESS];
        for ([first, later], status) in repetitions.into_iter().zip(statuses) {
            let mut sum = Sum::default();
            let events = [begin(), plan(&["s::a@d"]), first("s::a@d"), later("s::a@d")];
            for event in on_device(events) {
                sum.add(event, None).unwrap();
            }
            let verdict = sum.planned().next().expect("a test").0.verdict;
            assert_eq!(verdict == Verdict::Pass, status == SUCCESS);
            assert_eq!(sum.counts(), BTreeMap::from([(verdict.name().to_owned(), 1)]));
            assert_eq!(sum.status(false), status);
            let log = sum.finish();
            assert_eq!(
                (log.status_of(&log.results, false), log.results[0].verdict),
                (status, verdict)
            );
            assert_eq!(log.results[0].counts.as_ref().unwrap().ran, 2);
        }
    }

    #[test]
    fn the_worst_result_of_workers_counts_however_they_are_numbered() {
        let id = "worker::crash@d";
        let crashed = || result(id, Outcome::signal("SIGSEGV"));
        let crash = || Event::finished(crashed());
        let flaky = || Event::finished(TestResult { verdict: Verdict::Flaky, ..crashed() });
        let cases = [
            (vec![flaky(), flaky()], Verdict::Flaky),
            (vec![crash(), flaky()], Verdict::Crash),
            (vec![flaky(), crash()], Verdict::Crash),
        ];
        for (events, expected) in cases {
            let earlier = events.len() - 1;
            let log = from_events([begin()].into_iter().chain(events)).unwrap();
            assert_eq!(verdicts(&log), [(id, expected)]);
            assert_eq!(log.results[0].earlier.len(), earlier);
        }
    }

    #[test]
    fn a_worker_without_a_test_counts() {
        let worker = |number| {
            Event::WorkerStarted(WorkerStarted {
                device: "d".to_owned(),
                worker: number,
                time: SystemTime::UNIX_EPOCH,
                duration: Duration::ZERO,
                error: None,
                sees_others: None,
            })
        };
        let mut sum = Sum::default();
        for event in [begin(), worker(Some(2)), worker(Some(1)), worker(None)] {
            sum.add(event, None).unwrap();
        }
        assert_eq!(sum.workers, 2);
    }

    #[test]
    fn a_path_may_have_an_at() {
        let ranges = vec![(0, 1)];
        let events = [
            Event::Run(Box::new(header(vec![device("pocl-cpu", "PoCL")]))),
            plan(&["s::a@b", "s::c"]),
            Event::PlanDevice(PlannedDevice { device: "d".to_owned(), ranges }),
            passed("s::a@b@d"),
        ];
        let log = log_of(events).unwrap();
        assert_eq!(verdicts(&log), [("s::a@b@d", Verdict::Pass), ("s::c@d", Verdict::NotRun)]);
    }

    #[test]
    fn earlier_attempts_are_kept() {
        let attempt =
            |number, outcome| changed(result("s::a@d", outcome), |r| r.attempt.number = number);
        let crashed = Outcome::signal("SIGSEGV");
        let first = attempt(1, Outcome::Failed { message: "no".to_owned(), location: None });
        let second = attempt(2, crashed);
        let third = attempt(3, Outcome::Passed);
        let cases: [(&[&TestResult], &[&TestResult]); 4] = [
            (&[&first], &[]),
            (&[&first, &second, &third], &[&first, &second]),
            // The result of an attempt was changed.
            (&[&first, &first], &[]),
            (&[&first, &second, &third, &second], &[&first, &third]),
        ];
        for (attempts, expected) in cases {
            let finished = attempts.iter().map(|&result| Event::repeated(result.clone()));
            let log = from_events([begin()].into_iter().chain(finished)).unwrap();
            let [result] = &log.results[..] else { panic!("{:?}", log.results) };
            assert_eq!(result.earlier.iter().collect::<Vec<_>>(), expected);
            let last = attempts.last().expect("an attempt");
            assert_eq!(result.attempt.number, last.attempt.number);
        }
    }

    #[test]
    fn properties_of_devices_are_read_back() {
        let known = IndexMap::from([("get_pocl_version".to_owned(), "7.0".to_owned())]);
        let event = |device: &str, properties: &IndexMap<_, _>, error: Option<&str>| {
            let (device, properties) = (device.to_owned(), properties.clone());
            let error = error.map(str::to_owned);
            let event = Event::Characterized(Characterized { device, properties, error });
            let line = serde_json::to_vec(&event).unwrap();
            serde_json::from_slice(&line).unwrap()
        };
        let events = [
            begin(),
            event("pocl-cpu", &known, None),
            event("intel-cpu", &IndexMap::new(), Some("it hung")),
            end(),
        ];
        let log = from_events(events).unwrap();
        assert_eq!(log.properties["pocl-cpu"], Ok(known));
        assert_eq!(log.properties["intel-cpu"], Err("it hung".to_owned()));
    }

    #[test]
    fn events_that_are_no_log() {
        let other = Event::Run(Box::new(RunHeader { format: FORMAT + 1, ..header(Vec::new()) }));
        let cases = [
            (vec![], LogError::NoHeader),
            (vec![end(), begin()], LogError::NoHeader),
            (vec![begin(), begin()], LogError::SecondHeader),
            (vec![other], LogError::Format(FORMAT + 1)),
        ];
        for (events, expected) in cases {
            assert_eq!(from_events(events).unwrap_err(), expected);
        }
    }

    #[test]
    fn success_needs_an_end_a_result_and_nothing_unexpected() {
        let no_device = Event::Run(Box::new(header(Vec::new())));
        let absent = Event::DeviceAbsent(DeviceAbsent { expected: "intel-*".to_owned() });
        let driver = |strict| Event::DriverFailed(DriverFailed { failed: failed_driver(), strict });
        let cut_short = end_after(true, Duration::ZERO);
        let text = |text: &str| text.to_owned();
        let lost = Event::DeviceLost(DeviceLost {
            device: text("d"),
            reason: text("hung"),
            after: Some("s::a@d".into()),
            suspects: Vec::new(),
        });
        let cases = [
            (vec![begin(), passed("s::a@d"), end()], true),
            (vec![begin(), passed("s::a@d")], false),
            (vec![begin(), passed("s::a@d"), cut_short], false),
            (vec![begin(), failed("s::a@d"), end()], false),
            (vec![begin(), flaky_event(false), end()], false),
            (vec![begin(), flaky_event(true), end()], true),
            (vec![begin(), plan(&["s::a@d"]), end()], false),
            (vec![begin(), absent, passed("s::a@d"), end()], false),
            (vec![begin(), passed("s::a@d"), lost, end()], false),
            (vec![begin(), driver(false), passed("s::a@d"), end()], true),
            (vec![begin(), driver(true), passed("s::a@d"), end()], false),
            (vec![no_device.clone(), passed("s::a@host"), end()], true),
            (vec![no_device, end()], false),
        ];
        for (events, expected) in cases {
            let log = from_events(events.clone()).unwrap();
            assert_eq!(log.status() == SUCCESS, expected, "{events:?}");
        }
    }

    #[test]
    fn the_worse_exit_status_counts() {
        for (event, recorded, status) in [
            (failed("s::a@d"), 0, UNEXPECTED),
            (passed("s::a@d"), 0, SUCCESS),
            (passed("s::a@d"), 1, UNEXPECTED),
            (passed("s::a@d"), 8, CANNOT_RUN),
        ] {
            let (duration, counts) = (Duration::from_secs(9), BTreeMap::new());
            let end = End { interrupted: false, duration, exit_status: recorded, counts };
            let log = from_events([begin(), event, Event::End(end)]).unwrap();
            assert_eq!(log.exit_status(), status, "{recorded}");
        }
    }

    /// The log of a whole run as a file.
    fn bytes() -> Vec<u8> {
        let crashed = Outcome::signal("SIGSEGV");
        let events = [
            begin(),
            plan(&["s::a@d", "s::b@d"]),
            Event::DeviceAbsent(DeviceAbsent { expected: "intel-*".to_owned() }),
            Event::DriverFailed(DriverFailed { failed: failed_driver(), strict: true }),
            started("s::a@d"),
            passed("s::a@d"),
            started("s::b@d"),
            Event::finished(result("s::b@d", crashed)),
            end(),
        ];
        let line = |event| serde_json::to_string(event).unwrap() + "\n";
        on_device(events).iter().map(line).collect::<String>().into_bytes()
    }

    #[test]
    fn reads_back_what_was_written_and_wherever_it_was_cut_off() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("events.jsonl");
        let bytes = bytes();
        fs::write(&path, &bytes).unwrap();
        let whole = RunLog::read(&path).unwrap();
        assert_eq!(verdicts(&whole), [("s::a@d", Verdict::Pass), ("s::b@d", Verdict::Crash)]);
        assert_eq!((whole.interrupted, whole.duration), (false, Duration::from_secs(9)));
        assert_eq!(whole.absent, ["intel-*"]);
        assert_eq!((whole.failed_drivers, whole.strict_drivers), (vec![failed_driver()], true));

        let header = bytes.iter().position(|&byte| byte == b'\n').unwrap();
        for length in header..bytes.len() {
            fs::write(&path, &bytes[..length]).unwrap();
            let cut = RunLog::read(&path).unwrap();
            assert!(cut.results.len() <= 2 && cut.header == whole.header, "cut at {length}");
            // Without its newline, the last line is whole all the same.
            assert_eq!(cut.interrupted, length < bytes.len() - 1, "cut at {length}");
        }
    }

    #[test]
    fn a_resumed_run_is_open_again_and_its_pause_does_not_count() {
        let at = |seconds| SystemTime::UNIX_EPOCH + TIME + Duration::from_secs(seconds);
        let parent = Some(goes_on_with(&header(Vec::new()).run_id));
        let header = RunHeader { time: at(1000), parent, ..header(Vec::new()) };
        let resumed = Event::Run(Box::new(header));
        let mut late = result("s::b@d", Outcome::Passed);
        late.attempt.started = at(1002);
        let Event::End(first) = end_after(true, Duration::from_secs(5)) else { unreachable!() };
        let first = Event::End(End { exit_status: 3, ..first });
        let events = [
            begin(),
            plan(&["s::a@d", "s::b@d"]),
            passed("s::a@d"),
            first,
            resumed,
            Event::finished(late),
        ];
        let sum = |events: &[Event]| from_events(events.to_vec()).unwrap();
        let cut = sum(&events);
        assert_eq!((cut.has_ended, cut.interrupted, cut.recorded_status), (false, true, None));
        assert_eq!(cut.duration, Duration::from_millis(7250));
        let whole = sum(&[&events[..], &[end()]].concat());
        assert_eq!((whole.status() == SUCCESS, whole.duration), (true, Duration::from_secs(9)));
    }

    #[test]
    fn a_result_has_the_expectation_of_its_number() {
        let written = |reason: &str| {
            let written = expectation(ExpectedStatus::Fail, reason).written;
            let number = if reason == "bug 8" { 2 } else { 1 };
            Event::Expectation(Arc::new(WrittenExpectation { number, ..(*written).clone() }))
        };
        let finished = |test: &str, number: u32| {
            let line = serde_json::to_value(passed(test)).unwrap();
            let mut line = line.as_object().unwrap().clone();
            line.insert("expectation".to_owned(), number.into());
            serde_json::from_value::<Event>(line.into()).unwrap()
        };
        let parent = Some(goes_on_with(&header(Vec::new()).run_id));
        let resumed = RunHeader { parent, ..header(Vec::new()) };
        let events = [
            begin(),
            written("bug 7"),
            written("bug 8"),
            plan(&["s::a@d", "s::b@d", "s::c@d", "s::d@d"]),
            finished("s::a@d", 2),
            finished("s::b@d", 2),
            Event::Run(Box::new(resumed)),
            written("bug 9"),
            finished("s::c@d", 1),
            finished("s::d@d", 2),
        ];
        let log = from_events(events).unwrap();
        let of = |result: &TestResult| result.expected();
        let known = |number| Some(format!("expected: fail: bug {number}"));
        let found: Vec<_> = log.results.iter().map(of).collect();
        assert_eq!(found, [known(8), known(8), known(9), None]);
        let [first, second, ..] = &log.results[..] else { panic!("four results") };
        let [first, second] = [first, second].map(|result| result.expectation.as_ref().unwrap());
        assert!(Arc::ptr_eq(first, second));
    }

    #[test]
    fn a_broken_line_in_the_middle_is_named() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("events.jsonl");
        fs::write(&path, [&bytes()[..], b"{\"event\":\"fin\n", b"{}\n"].concat()).unwrap();
        let message = RunLog::read(&path).unwrap_err().to_string();
        let expected = format!("{}:11: not an event: ", path.display());
        assert!(message.starts_with(&expected), "{message}");
    }
}
