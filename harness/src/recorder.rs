//! Takes the results as they come: into the event log at once, and to whoever shows them when
//! they are settled.

use std::fs::{self, File};
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::sync::Mutex;
use std::time::SystemTime;

use crate::events::{Event, TestResult};

/// Told of each entry of the plan, once, when nothing can change its result any more.
pub type Observer<'a> = dyn Fn(usize, &TestResult) + Sync + 'a;

/// Writes the log and tells the observer.
pub struct Recorder<'a> {
    sinks: Mutex<Sinks>,
    observer: &'a Observer<'a>,
}

#[derive(Default)]
struct Sinks {
    log: Option<File>,
    /// Whether each event goes to standard output as well.
    to_stdout: bool,
    /// The first write that failed; later ones are not tried.
    error: Option<io::Error>,
}

impl<'a> Recorder<'a> {
    /// Writes to `log`, if there is one.
    pub fn new(log: Option<EventLog>, to_stdout: bool, observer: &'a Observer<'a>) -> Self {
        let sinks = Sinks { log: log.map(|log| log.file), to_stdout, error: None };
        Self { sinks: Mutex::new(sinks), observer }
    }

    /// Adds a line to the log.
    pub fn record(&self, event: &Event) {
        let mut line = serde_json::to_vec(event).expect("events are plain data");
        line.push(b'\n');
        self.sinks.lock().unwrap_or_else(|poisoned| poisoned.into_inner()).write(&line);
    }

    /// A test goes to a worker.
    pub fn started(&self, test: &str, time: SystemTime) {
        self.record(&Event::Started { test: test.to_owned(), time });
    }

    /// A test ended; this may be said again of the same test, and then counts instead.
    pub fn finished(&self, result: &TestResult) {
        self.record(&Event::Finished(result.clone()));
    }

    /// Nothing can change this result any more.
    pub fn settled(&self, position: usize, result: &TestResult) {
        (self.observer)(position, result);
    }

    /// The first error of writing, if any.
    pub fn into_result(self) -> io::Result<()> {
        let sinks = self.sinks.into_inner().unwrap_or_else(|poisoned| poisoned.into_inner());
        sinks.error.map_or(Ok(()), Err)
    }
}

impl Sinks {
    fn write(&mut self, line: &[u8]) {
        if self.error.is_some() {
            return;
        }
        // One call a line, so that a log that ends early ends at a line, or within its last one.
        let mut result = self.log.as_mut().map_or(Ok(()), |log| log.write_all(line));
        if self.to_stdout {
            result = result.and_then(|()| io::stdout().write_all(line));
        }
        self.error = result.err();
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
                "another run writes its reports there; give this one a --report-dir of its own",
            ));
        }
        file.set_len(0)?;
        match fs::remove_dir_all(folder.join("junit")) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => Err(error),
            _ => Ok(Self { file }),
        }
    }

    /// Where the log of a report folder stands.
    pub fn path(folder: &Path) -> PathBuf {
        folder.join("events.jsonl")
    }
}
