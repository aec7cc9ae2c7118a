//! Writes events to the log at once, adds them up, and passes results to the observer.

use std::fs::File;
use std::io::{self, Write};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::time::Duration;

use parking_lot::Mutex;

use crate::config::Sync;
use crate::log::{DeviceLost, End, Event, RunLog, Sum};
use crate::os::Source;
use crate::result::test_id::TestId;
use crate::result::test_result::TestResult;
use crate::run::entry::Entry;
use crate::terminal::status_line;
use crate::verdict::Outcome;

/// A size above that of most lines, in bytes.
const USUAL_LINE: usize = 512;

/// Follows a run. Threads that run tests call the methods, with positions in the plan.
pub trait Observer: std::marker::Sync {
    /// A worker starts a test.
    fn started(&self, _position: Entry) {}

    /// A running test has ended, and may run again when the other slots of the device have ended their tests.
    fn waits(&self, _position: Entry) {}

    /// A running test has written these bytes to standard output or error. Called where the run
    /// echoes output.
    fn wrote(&self, _position: Entry, _from: Source, _bytes: &[u8]) {}

    /// A test is run again.
    fn repeated(&self, _position: Entry) {}

    /// The tests of a device, or those without a device, begin, or the device is lost. Called once for each
    /// device, and once for the tests without one.
    fn device_begins(&self) {}

    /// A device is lost. Its other tests are not run.
    fn device_lost(&self, _lost: &DeviceLost) {}

    /// A device does not end commands behind user events: a test that waits for this time is ended.
    fn gates_hang(&self, device: &str, idle: Duration) {
        let idle = humantime::format_duration(idle);
        status_line(&format!(
            "note: {device} does not end commands behind user events: a test that waits for {idle} is ended"
        ));
    }

    /// All tests and all workers have ended.
    fn ended(&self) {}

    /// Workers of a device have a result, or a worse one. It belongs to no test of the plan.
    fn of_worker(&self, result: &TestResult);

    /// A test has ended. Called once for each entry of the plan, and after each repetition.
    fn finished(&self, position: Entry, result: &TestResult);
}

/// Ignores all events.
impl Observer for () {
    fn of_worker(&self, _result: &TestResult) {}

    fn finished(&self, _position: Entry, _result: &TestResult) {}
}

/// Writes the log and notifies the observer.
pub struct Recorder<'a> {
    sinks: Mutex<Sinks>,
    /// True if events go to a log or to standard output.
    pub is_kept: bool,
    sync: Sync,
    /// True if the log has lines that are not synced.
    is_dirty: AtomicBool,
    /// True if a test was not run.
    pub lacks_results: AtomicBool,
    /// The number of workers so far.
    workers: AtomicU32,
    /// Follows the run.
    pub observer: &'a dyn Observer,
}

struct Sinks {
    log: Option<Arc<File>>,
    /// The bytes of whole lines in the log.
    length: u64,
    /// The sum of all events, if there is a log.
    sum: Option<Sum>,
    /// True if each event goes to standard output as well, until the first error there.
    to_stdout: bool,
    /// The first error of standard output.
    stdout_error: Option<io::Error>,
    /// The first error of the log; after it no more is written there.
    loss: Option<Loss>,
}

/// The end of a log that could not be written.
#[derive(Debug, thiserror::Error)]
#[error("the event log cannot be written: {error}{}", missing(.first.as_ref()))]
pub struct Loss {
    error: io::Error,
    /// The first test whose result is not in the log.
    first: Option<TestId>,
}

fn missing(first: Option<&TestId>) -> String {
    first.map_or_else(String::new, |test| format!("; it has no results from {test} on"))
}

impl<'a> Recorder<'a> {
    /// Writes to `log`, if there is one.
    pub fn new(log: Option<File>, sync: Sync, to_stdout: bool, observer: &'a dyn Observer) -> Self {
        let sum = log.as_ref().map(|_| Sum::default());
        let is_kept = sum.is_some() || to_stdout;
        let log = log.map(Arc::new);
        let sinks = Sinks { log, length: 0, sum, to_stdout, stdout_error: None, loss: None };
        Self {
            sinks: Mutex::new(sinks),
            is_kept,
            sync,
            is_dirty: AtomicBool::new(false),
            lacks_results: AtomicBool::new(false),
            workers: AtomicU32::new(0),
            observer,
        }
    }

    /// Resumes with the sum of earlier logs, after its last worker.
    pub(crate) fn go_on(&mut self, sum: Sum) {
        self.workers = AtomicU32::new(sum.workers);
        self.sinks.get_mut().sum = Some(sum);
    }

    /// Adds a line to the log. Does nothing if events are not written.
    pub fn record(&self, event: Event) {
        if !self.is_kept {
            return;
        }
        let mut line = Vec::with_capacity(USUAL_LINE);
        serde_json::to_writer(&mut line, &event).expect("events are plain data");
        line.push(b'\n');
        let is_start = matches!(event, Event::Started(_));
        self.sinks.lock().write(&line, event);
        match self.sync {
            Sync::Each if is_start => self.sync_log(),
            _ => self.is_dirty.store(true, Ordering::Relaxed),
        }
    }

    /// Syncs the log if it has new lines and the profile requires regular syncs.
    pub fn sync_if_dirty(&self) {
        if self.sync != Sync::Off && self.is_dirty.swap(false, Ordering::Relaxed) {
            self.sync_log();
        }
    }

    /// Syncs the log. Linux reports an error of a sync once, and later writes succeed.
    fn sync_log(&self) {
        // Outside the lock: other threads write meanwhile.
        let log = self.sinks.lock().log.clone();
        if let Some(Err(error)) = log.map(|log| log.sync_data()) {
            self.sinks.lock().lose(error);
        }
    }

    /// Returns the number of a new worker, unique in the run.
    pub fn number_worker(&self) -> u32 {
        self.workers.fetch_add(1, Ordering::Relaxed) + 1
    }

    /// Records the result of an attempt, and notifies the observer that the test is run again.
    pub fn repeated(&self, position: Entry, result: TestResult) {
        self.record(Event::repeated(result));
        self.observer.repeated(position);
    }

    /// Records that a device is lost.
    pub fn device_lost(&self, lost: &DeviceLost) {
        self.observer.device_lost(lost);
        self.record(Event::DeviceLost(lost.clone()));
    }

    /// Records the result of a test, and notifies the observer.
    pub fn finished(&self, position: Entry, result: &TestResult) {
        self.record(Event::finished(result.clone()));
        if let Outcome::NotRun { .. } = result.attempt.outcome {
            self.lacks_results.store(true, Ordering::Relaxed);
        }
        self.observer.finished(position, result);
    }

    /// Records an attempt of a result of workers, and passes it to the observer if it `is_worse` than all before.
    pub fn of_worker(&self, result: &TestResult, is_worse: bool) {
        self.record(Event::finished(result.clone()));
        if is_worse {
            self.observer.of_worker(result);
        }
    }

    /// Records the end that `end` returns for the sum of all events so far.
    pub fn record_end(&self, end: impl FnOnce(Option<&Sum>) -> End) {
        let end = end(self.sinks.lock().sum.as_ref());
        self.record(Event::End(end));
    }

    /// Takes the first error of standard output.
    pub fn take_stdout_error(&self) -> Option<io::Error> {
        self.sinks.lock().stdout_error.take()
    }

    /// Returns the sum of all events, if there is a log, and the end of the log that is lost.
    pub fn finish(self) -> (Option<RunLog>, Option<Loss>) {
        let sinks = self.sinks.into_inner();
        (sinks.sum.map(Sum::finish), sinks.loss)
    }
}

impl Sinks {
    fn write(&mut self, line: &[u8], event: Event) {
        let start = self.length;
        if let Some(log) = &self.log
            && self.loss.is_none()
        {
            // One call a line, so that a log that ends early ends at a line, or within its last.
            match log.as_ref().write_all(line) {
                Ok(()) => self.length += line.len() as u64,
                Err(error) => {
                    let _ = log.set_len(start);
                    self.lose(error);
                }
            }
        }
        if let (Some(Loss { first: first @ None, .. }), Event::Finished(finished)) =
            (&mut self.loss, &event)
        {
            *first = Some(finished.result.test.clone());
        }
        if let Some(sum) = &mut self.sum {
            let in_file = self.loss.is_none().then_some(start..self.length);
            sum.add(event, in_file).expect("the events of a run make a log");
        }
        if self.to_stdout {
            self.stdout_error = io::stdout().write_all(line).err();
            self.to_stdout = self.stdout_error.is_none();
        }
    }

    /// Ends the log, unless an earlier error has.
    fn lose(&mut self, error: io::Error) {
        self.loss.get_or_insert(Loss { error, first: None });
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::log::events::Event;
    use crate::log::sample::{header, result};

    /// Records a run into `log`, with a result whose output is long.
    fn record(log: File) -> (RunLog, Option<Loss>) {
        let recorder = Recorder::new(Some(log), Sync::Off, false, &());
        recorder.record(Event::Run(Box::new(header(Vec::new()))));
        recorder.record(Event::finished(result("s::short@d", Outcome::Passed)));
        let mut long = result("s::long@d", Outcome::Passed);
        long.attempt.stdout = "long ".repeat(1000);
        recorder.repeated(Entry(1), long.clone());
        long.attempt.number = 2;
        recorder.record(Event::finished(TestResult { earlier: vec![long.clone()], ..long }));
        recorder.record_end(|sum| End {
            interrupted: false,
            duration: Duration::ZERO,
            exit_status: sum.expect("a log").status(false),
            counts: std::collections::BTreeMap::new(),
        });
        let (sum, loss) = recorder.finish();
        (sum.expect("there is a log"), loss)
    }

    #[test]
    fn the_sum_of_a_run_is_that_of_its_log() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("events.jsonl");
        let (mut sum, loss) = record(File::create(&path).unwrap());
        assert!(loss.is_none());
        sum.files = vec![path.clone()];
        let read = RunLog::read(&path).unwrap();
        assert_eq!(sum, read);
        let long = &read.results[1];
        assert_eq!(long.attempt.stdout, "");
        assert_eq!(read.with_output(long).attempt.stdout, "long ".repeat(1000));
        let [first] = &long.earlier[..] else { panic!("{:?}", long.earlier) };
        assert_eq!((first.attempt.number, long.attempt.number), (1, 2));
        assert_eq!(
            (&*first.attempt.stdout, &*read.with_output(first).attempt.stdout),
            ("", &*"long ".repeat(1000))
        );
    }

    #[test]
    fn outputs_stay_in_memory_if_the_log_is_lost() {
        let full = File::options().write(true).open("/dev/full").unwrap();
        let (sum, loss) = record(full);
        assert_eq!(sum.results[1].attempt.stdout, "long ".repeat(1000));
        let message = loss.unwrap().to_string();
        assert!(message.contains("it has no results from s::short@d on"), "{message}");
    }
}
