//! Writes results to the event log at once, and passes them to the observer when they are settled.

use std::fs::{self, File};
use std::io::{self, BufRead, BufReader, Write};
use std::path::{Path, PathBuf};
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::SystemTime;

use crate::characterize::Characterization;
use crate::log::events::{Event, TestResult};
use crate::os::Source;
use crate::verdict::Outcome;

/// Follows a run. Threads that run tests call the methods, with positions in the plan.
pub trait Observer: Sync {
    /// A worker starts a test.
    fn started(&self, _position: usize) {}

    /// A running test has written these bytes to standard output or error. Called where the run
    /// echoes output.
    fn wrote(&self, _position: usize, _from: Source, _bytes: &[u8]) {}

    /// A test is run again, to find out whether the crash is its own.
    fn repeated(&self, _position: usize) {}

    /// A test that was started has ended. Its result may still change.
    fn finished(&self, _position: usize) {}

    /// The result of a test is final. Called once for each entry of the plan.
    fn settled(&self, position: usize, result: &TestResult);
}

/// Writes the log and notifies the observer.
pub struct Recorder<'a> {
    sinks: Mutex<Sinks>,
    /// True if some test was not run.
    lacks_results: AtomicBool,
    observer: &'a dyn Observer,
}

struct Sinks {
    log: Option<EventLog>,
    /// True if each event goes to standard output as well, until the first error there.
    to_stdout: bool,
    /// The first error of standard output.
    stdout_error: Option<io::Error>,
    /// The first error of the log; after it no more is written there.
    error: Option<io::Error>,
}

impl<'a> Recorder<'a> {
    /// Writes to `log`, if there is one.
    pub fn new(log: Option<EventLog>, to_stdout: bool, observer: &'a dyn Observer) -> Self {
        let sinks = Sinks { log, to_stdout, stdout_error: None, error: None };
        Self { sinks: Mutex::new(sinks), lacks_results: AtomicBool::new(false), observer }
    }

    /// Adds a line to the log.
    pub fn record(&self, event: &Event) {
        let mut line = serde_json::to_vec(event).expect("events are plain data");
        line.push(b'\n');
        self.sinks.lock().unwrap_or_else(|poisoned| poisoned.into_inner()).write(&line);
    }

    /// Returns whether events go anywhere.
    pub fn is_kept(&self) -> bool {
        let sinks = self.sinks.lock().unwrap_or_else(|poisoned| poisoned.into_inner());
        sinks.log.is_some() || sinks.to_stdout
    }

    /// Records the characteristics of a device, or why they are unknown.
    pub fn characterized(
        &self,
        device: &str,
        characterization: Result<Box<Characterization>, String>,
    ) {
        let device = device.to_owned();
        let (characterization, error) = match characterization {
            Ok(characterization) => (Some(characterization), None),
            Err(error) => (None, Some(error)),
        };
        self.record(&Event::Characterized { device, characterization, error });
    }

    /// Records that a test goes to a worker.
    pub fn started(&self, position: usize, test: &str, time: SystemTime) {
        self.record(&Event::Started { test: test.to_owned(), time });
        self.observer.started(position);
    }

    /// Passes the output of a running test to the observer.
    pub fn wrote(&self, position: usize, from: Source, bytes: &[u8]) {
        self.observer.wrote(position, from, bytes);
    }

    /// Tells the observer that a test is run again.
    pub fn repeated(&self, position: usize) {
        self.observer.repeated(position);
    }

    /// Records the result of a test; a later result of the same test replaces it.
    pub fn finished(&self, position: usize, result: &TestResult) {
        if let Outcome::NotRun { .. } = result.outcome {
            self.lacks_results.store(true, Ordering::Relaxed);
        }
        self.record(&Event::Finished(result.clone()));
        self.observer.finished(position);
    }

    /// Returns whether some test was not run.
    pub fn lacks_results(&self) -> bool {
        self.lacks_results.load(Ordering::Relaxed)
    }

    /// Passes a result that nothing can change any more to the observer.
    pub fn settled(&self, position: usize, result: &TestResult) {
        self.observer.settled(position, result);
    }

    /// Takes the first error of standard output.
    pub fn take_stdout_error(&self) -> Option<io::Error> {
        self.sinks.lock().unwrap_or_else(|poisoned| poisoned.into_inner()).stdout_error.take()
    }

    /// Returns the log, still locked, or the first error of writing it.
    pub fn finish(self) -> io::Result<Option<EventLog>> {
        let sinks = self.sinks.into_inner().unwrap_or_else(|poisoned| poisoned.into_inner());
        sinks.error.map_or(Ok(sinks.log), Err)
    }
}

impl Sinks {
    fn write(&mut self, line: &[u8]) {
        if let Some(log) = self.log.as_mut().filter(|_| self.error.is_none()) {
            // One call a line, so that a log that ends early ends at a line, or within its last.
            self.error = log.file.write_all(line).err();
        }
        if self.to_stdout {
            self.stdout_error = io::stdout().write_all(line).err();
            self.to_stdout = self.stdout_error.is_none();
        }
    }
}

/// The file `events.jsonl` of a report folder, locked against other runs.
pub struct EventLog {
    file: File,
}

impl EventLog {
    /// Starts a new log in `folder`; the reports of an earlier run are removed with theirs.
    pub fn create(folder: &Path) -> io::Result<Self> {
        fs::create_dir_all(folder)?;
        let file = File::options().create(true).append(true).open(Self::path(folder))?;
        if file.try_lock().is_err() {
            return Err(io::Error::new(
                io::ErrorKind::ResourceBusy,
                "another run writes its reports there; give this run a folder of its own with \
                 --report-dir or CLMATRIX_REPORT_DIR",
            ));
        }
        if !is_a_log(&Self::path(folder))? {
            return Err(io::Error::new(
                io::ErrorKind::AlreadyExists,
                "its events.jsonl is not a log of clmatrix; it is left alone",
            ));
        }
        file.set_len(0)?;
        remove_reports(&folder.join("junit"), "xml")?;
        Ok(Self { file })
    }

    /// Where the log of a report folder stands.
    pub fn path(folder: &Path) -> PathBuf {
        folder.join("events.jsonl")
    }
}

/// Returns whether a file is empty or begins as a log does.
fn is_a_log(file: &Path) -> io::Result<bool> {
    let mut first_line = String::new();
    BufReader::new(File::open(file)?).read_line(&mut first_line)?;
    Ok(first_line.is_empty()
        || matches!(serde_json::from_str(&first_line), Ok(Event::Run(_)))
        // An earlier run was killed while it wrote this line.
        || !first_line.ends_with('\n') && first_line.starts_with("{\"event\":\"run\""))
}

/// Removes the files in `folder` that have this extension: reports of what this run may not have.
pub(crate) fn remove_reports(folder: &Path, extension: &str) -> io::Result<()> {
    let entries = match fs::read_dir(folder) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(()),
        entries => entries?,
    };
    for entry in entries {
        let file = entry?.path();
        if file.extension().is_some_and(|its| its == extension) {
            fs::remove_file(file)?;
        }
    }
    Ok(())
}
