//! Reads an event log back: from what happened, in its order, to one result for each test.

use std::collections::HashMap;
use std::fs::File;
use std::io::{self, BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

use indexmap::IndexMap;

use crate::characterize::Characterization;
use crate::devices::failure::FailedDriver;
use crate::log::events::{Event, RunHeader, TestResult};
use crate::verdict::{Outcome, Verdict};

/// The version of the event log's format that is written and read.
pub const FORMAT: u32 = 1;

/// A log, read back: the input of every report.
#[derive(Clone, Debug, PartialEq)]
pub struct RunLog {
    /// The first line.
    pub header: RunHeader,
    /// Expected devices that are not there.
    pub absent: Vec<String>,
    /// Drivers that show no platform.
    pub failed_drivers: Vec<FailedDriver>,
    /// True if one of them fails the run.
    pub strict_drivers: bool,
    /// What each device is like, by its id, or why that is not known; none where no test was run.
    pub characterizations: IndexMap<String, Result<Box<Characterization>, String>>,
    /// One result for each planned test, in the plan's order; `NotRun` where the log has none.
    pub results: Vec<TestResult>,
    /// True if the run was cut short, or its log ends early.
    pub interrupted: bool,
    /// Wall time of the run; zero where the log ends early.
    pub duration: Duration,
}

/// A log that cannot be read.
#[derive(Debug, thiserror::Error)]
pub enum ReadError {
    /// The file cannot be read.
    #[error("{}: cannot be read: {error}", path.display())]
    Io {
        /// The log.
        path: PathBuf,
        /// What happened.
        error: io::Error,
    },
    /// A line is not an event.
    #[error("{}:{line}: not an event: {error}", path.display())]
    Line {
        /// The log.
        path: PathBuf,
        /// The line, from 1.
        line: usize,
        /// What is wrong with it.
        error: serde_json::Error,
    },
    /// The events do not make a log.
    #[error("{}: {error}", path.display())]
    Log {
        /// The log.
        path: PathBuf,
        /// What is wrong with them.
        error: LogError,
    },
}

/// Events that are not those of one run.
#[derive(Debug, PartialEq, thiserror::Error)]
pub enum LogError {
    /// It does not say what was run.
    #[error("not a log of a run: it does not begin with a `run` event")]
    NoHeader,
    /// Two logs in one file.
    #[error("the log of more than one run: it has a second `run` event")]
    SecondHeader,
    /// Written by another version.
    #[error("the log has format {0}, but this version reads format {FORMAT}")]
    Format(u32),
}

impl RunLog {
    /// Reads the log of a run, whether or not that run came to its end.
    ///
    /// A last line without its newline was being written when the runner was killed, and does not
    /// count unless it is whole.
    pub fn read(path: &Path) -> Result<Self, ReadError> {
        let io = |error| ReadError::Io { path: path.to_owned(), error };
        let mut reader = BufReader::new(File::open(path).map_err(io)?);
        let mut events = Vec::new();
        let mut line = Vec::new();
        for number in 1.. {
            line.clear();
            if reader.read_until(b'\n', &mut line).map_err(io)? == 0 {
                break;
            }
            match serde_json::from_slice(&line) {
                Ok(event) => events.push(event),
                Err(_) if !line.ends_with(b"\n") => break,
                Err(error) => {
                    return Err(ReadError::Line { path: path.to_owned(), line: number, error });
                }
            }
        }
        Self::from_events(events).map_err(|error| ReadError::Log { path: path.to_owned(), error })
    }

    /// Sums up the events of a run.
    ///
    /// A later result of a test replaces an earlier one. A test that was started but did not
    /// finish has not run: whether it would have passed is not known.
    pub fn from_events(events: impl IntoIterator<Item = Event>) -> Result<Self, LogError> {
        let mut events = events.into_iter();
        let Some(Event::Run(header)) = events.next() else {
            return Err(LogError::NoHeader);
        };
        if header.format != FORMAT {
            return Err(LogError::Format(header.format));
        }
        let mut results = Results::new(header.time);
        let mut log = Self {
            header,
            absent: Vec::new(),
            failed_drivers: Vec::new(),
            strict_drivers: false,
            characterizations: IndexMap::new(),
            results: Vec::new(),
            interrupted: true,
            duration: Duration::ZERO,
        };
        for event in events {
            match event {
                Event::Run(_) => return Err(LogError::SecondHeader),
                Event::Plan { tests } => tests.into_iter().for_each(|test| {
                    results.of(test);
                }),
                Event::DeviceAbsent { expected } => log.absent.push(expected),
                Event::DriverFailed { failed, strict } => {
                    log.failed_drivers.push(failed);
                    log.strict_drivers |= strict;
                }
                Event::Characterized { device, characterization, error } => {
                    let unknown = || error.unwrap_or_else(|| "the log does not say".to_owned());
                    log.characterizations.insert(device, characterization.ok_or_else(unknown));
                }
                Event::Started { test, time } => results.of(test).started = time,
                Event::Finished(result) => {
                    let place = results.of(result.test.clone());
                    *place = result;
                }
                Event::End { interrupted, duration } => {
                    log.interrupted = interrupted;
                    log.duration = duration;
                }
            }
        }
        log.results = results.in_order;
        Ok(log)
    }

    /// Whether all went as expected: to the end, with every expected device present and no driver
    /// failed that must not, and at least one result.
    pub fn is_success(&self) -> bool {
        !self.interrupted
            && self.absent.is_empty()
            && (self.failed_drivers.is_empty() || !self.strict_drivers)
            && !self.results.is_empty()
            && self.results.iter().all(|result| result.verdict.is_as_expected())
    }
}

/// The results so far, in the order in which the tests were first named: the plan's.
struct Results {
    run_started: SystemTime,
    in_order: Vec<TestResult>,
    positions: HashMap<String, usize>,
}

impl Results {
    fn new(run_started: SystemTime) -> Self {
        Self { run_started, in_order: Vec::new(), positions: HashMap::new() }
    }

    /// The place for the result of `test`; `NotRun` until it is known.
    fn of(&mut self, test: String) -> &mut TestResult {
        let next = self.in_order.len();
        let position = *self.positions.entry(test).or_insert_with_key(|test| {
            self.in_order.push(not_run(test, self.run_started));
            next
        });
        &mut self.in_order[position]
    }
}

fn not_run(test: &str, started: SystemTime) -> TestResult {
    TestResult {
        test: test.to_owned(),
        outcome: Outcome::NotRun { reason: "the log has no result of it".to_owned() },
        verdict: Verdict::NotRun,
        expected_status: None,
        expectation: None,
        duration: Duration::ZERO,
        started,
        stdout: String::new(),
        stderr: String::new(),
        properties: Vec::new(),
        left_behind: Vec::new(),
        source: None,
    }
}

#[cfg(test)]
mod tests {
    use std::fs;

    use clmatrix::characterize::Facts;

    use super::*;
    use crate::log::sample::{TIME, device, failed_driver, header, result};

    fn begin() -> Event {
        Event::Run(header(vec![device("pocl-cpu", "PoCL")]))
    }

    fn plan(tests: &[&str]) -> Event {
        Event::Plan { tests: tests.iter().map(|&test| test.to_owned()).collect() }
    }

    fn started(test: &str) -> Event {
        Event::Started { test: test.to_owned(), time: SystemTime::UNIX_EPOCH + 2 * TIME }
    }

    fn passed(test: &str) -> Event {
        Event::Finished(result(test, Outcome::Passed))
    }

    fn failed(test: &str) -> Event {
        let outcome = Outcome::Failed { message: "no".to_owned(), location: None };
        Event::Finished(result(test, outcome))
    }

    fn end() -> Event {
        Event::End { interrupted: false, duration: Duration::from_secs(9) }
    }

    fn verdicts(log: &RunLog) -> Vec<(&str, Verdict)> {
        log.results.iter().map(|result| (result.test.as_str(), result.verdict)).collect()
    }

    #[test]
    fn one_result_for_each_planned_test() {
        use Verdict::{Fail, NotRun, Pass};
        let cases: [(_, Vec<Event>, &[_]); 6] = [
            (
                "in the plan's order",
                vec![plan(&["s::a@d", "s::b@d"]), passed("s::b@d"), failed("s::a@d")],
                &[("s::a@d", Fail), ("s::b@d", Pass)],
            ),
            ("never started", vec![plan(&["s::a@d"])], &[("s::a@d", NotRun)]),
            ("never finished", vec![plan(&["s::a@d"]), started("s::a@d")], &[("s::a@d", NotRun)]),
            (
                "a later result replaces an earlier one",
                vec![plan(&["s::a@d"]), failed("s::a@d"), started("s::a@d"), passed("s::a@d")],
                &[("s::a@d", Pass)],
            ),
            (
                "a rerun that never finished leaves the first result",
                vec![plan(&["s::a@d"]), failed("s::a@d"), started("s::a@d")],
                &[("s::a@d", Fail)],
            ),
            (
                "not planned, or planned twice",
                vec![plan(&["s::a@d"]), passed("s::x@d"), plan(&["s::a@d", "s::b@d"])],
                &[("s::a@d", NotRun), ("s::x@d", Pass), ("s::b@d", NotRun)],
            ),
        ];
        for (case, events, expected) in cases {
            let log = RunLog::from_events([begin()].into_iter().chain(events)).unwrap();
            assert_eq!(verdicts(&log), expected, "{case}");
        }
    }

    #[test]
    fn characterizations_are_read_back() {
        let known = Characterization {
            facts: Facts { local_mem_size: 32 << 10, ..Facts::default() },
            table: serde_json::from_str(r#"{"get_pocl_version": {"value": null, "warnings": []}}"#)
                .unwrap(),
        };
        let event =
            |device: &str, characterization: Option<&Characterization>, error: Option<&str>| {
                let device = device.to_owned();
                let characterization = characterization.cloned().map(Box::new);
                let error = error.map(str::to_owned);
                let event = Event::Characterized { device, characterization, error };
                serde_json::from_str(&serde_json::to_string(&event).unwrap()).unwrap()
            };
        let events = [
            begin(),
            event("pocl-cpu", Some(&known), None),
            event("intel-cpu", None, Some("it hung")),
            end(),
        ];
        let log = RunLog::from_events(events).unwrap();
        assert_eq!(log.characterizations["pocl-cpu"], Ok(Box::new(known)));
        assert_eq!(log.characterizations["intel-cpu"], Err("it hung".to_owned()));
    }

    #[test]
    fn events_that_are_no_log() {
        let other = Event::Run(RunHeader { format: FORMAT + 1, ..header(Vec::new()) });
        let cases = [
            (vec![], LogError::NoHeader),
            (vec![end(), begin()], LogError::NoHeader),
            (vec![begin(), begin()], LogError::SecondHeader),
            (vec![other], LogError::Format(FORMAT + 1)),
        ];
        for (events, expected) in cases {
            assert_eq!(RunLog::from_events(events).unwrap_err(), expected);
        }
    }

    #[test]
    fn success_needs_an_end_a_result_and_nothing_unexpected() {
        let no_device = Event::Run(header(Vec::new()));
        let absent = Event::DeviceAbsent { expected: "intel-*".to_owned() };
        let driver = |strict| Event::DriverFailed { failed: failed_driver(), strict };
        let cut_short = Event::End { interrupted: true, duration: Duration::ZERO };
        let cases = [
            (vec![begin(), passed("s::a@d"), end()], true),
            (vec![begin(), passed("s::a@d")], false),
            (vec![begin(), passed("s::a@d"), cut_short], false),
            (vec![begin(), failed("s::a@d"), end()], false),
            (vec![begin(), plan(&["s::a@d"]), end()], false),
            (vec![begin(), absent, passed("s::a@d"), end()], false),
            (vec![begin(), driver(false), passed("s::a@d"), end()], true),
            (vec![begin(), driver(true), passed("s::a@d"), end()], false),
            (vec![no_device.clone(), passed("s::a@host"), end()], true),
            (vec![no_device, end()], false),
        ];
        for (events, expected) in cases {
            let log = RunLog::from_events(events.clone()).unwrap();
            assert_eq!(log.is_success(), expected, "{events:?}");
        }
    }

    /// The log of a whole run as it lies in a file.
    fn bytes() -> Vec<u8> {
        let crashed = Outcome::Crashed { how: "SIGSEGV \u{1f4a5}".to_owned() };
        let events = [
            begin(),
            plan(&["s::a@d", "s::b@d"]),
            Event::DeviceAbsent { expected: "intel-*".to_owned() },
            Event::DriverFailed { failed: failed_driver(), strict: true },
            started("s::a@d"),
            passed("s::a@d"),
            started("s::b@d"),
            Event::Finished(result("s::b@d", crashed)),
            end(),
        ];
        let line = |event| serde_json::to_string(event).unwrap() + "\n";
        events.iter().map(line).collect::<String>().into_bytes()
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
    fn a_broken_line_in_the_middle_is_named() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("events.jsonl");
        fs::write(&path, [&bytes()[..], b"{\"event\":\"fin\n", b"{}\n"].concat()).unwrap();
        let message = RunLog::read(&path).unwrap_err().to_string();
        let expected = format!("{}:10: not an event: ", path.display());
        assert!(message.starts_with(&expected), "{message}");
    }
}
