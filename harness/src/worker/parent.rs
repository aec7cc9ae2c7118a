//! The runner's side: start a worker, hand it tests, notice how each one ends.

use std::ffi::OsString;
use std::io::Write;
use std::process::Command;
use std::time::{Duration, Instant};

use super::capture::Capture;
use super::protocol::{Answer, ROLE_VARIABLE, Request, Role};
use crate::os::{Ending, Process, Source, StopSignal, Wakeup};
use crate::registry::Test;
use crate::verdict::Outcome;

/// How long a worker may take from its start until it is bound to its device.
pub const START_LIMIT: Duration = Duration::from_secs(60);

/// What a pipe holds on Linux, in bytes.
const PIPE_CAPACITY: usize = 64 * 1024;

/// How long a process that closed its connection may take to be gone.
const EXIT_GRACE: Duration = Duration::from_secs(2);

/// How to start a worker: the same for every worker of a device.
#[derive(Clone, Debug)]
pub struct Launch {
    /// What the worker is for.
    pub role: Role,
    /// Arguments that lead this executable to [`enter_if_asked`](super::child::enter_if_asked).
    pub arguments: Vec<OsString>,
    /// Variables to set, or with `None` to remove.
    pub environment: Vec<(OsString, Option<OsString>)>,
}

impl Launch {
    fn command(&self) -> std::io::Result<Command> {
        let mut command = Command::new(std::env::current_exe()?);
        command.args(&self.arguments);
        for (name, value) in &self.environment {
            match value {
                Some(value) => command.env(name, value),
                None => command.env_remove(name),
            };
        }
        let role = serde_json::to_string(&self.role).expect("a role is plain data");
        command.env(ROLE_VARIABLE, role);
        Ok(command)
    }
}

/// A running worker.
pub struct Worker {
    process: Process,
    /// Bytes of an answer that has not come whole yet.
    pending: Vec<u8>,
    stdout: Capture,
    stderr: Capture,
    /// Whether to show a test's output as it comes.
    echo: bool,
}

/// What came of one request.
pub enum Exchange {
    /// The worker answered.
    Answered(Answer),
    /// It died instead.
    Died(Ending),
    /// It did neither in time.
    TimedOut,
    /// The run was stopped meanwhile.
    Stopped,
}

/// One execution of a test.
pub struct Attempt {
    /// What it did, or `None` where the run was stopped.
    pub outcome: Option<Outcome>,
    /// How long it took.
    pub duration: Duration,
    /// What it wrote.
    pub stdout: String,
    /// What it wrote to standard error.
    pub stderr: String,
    /// Whether the worker is still good for another test.
    pub worker_survived: bool,
}

impl Attempt {
    /// For a test that was decided without a worker.
    pub fn without_running(outcome: Outcome) -> Self {
        Self {
            outcome: Some(outcome),
            duration: Duration::ZERO,
            stdout: String::new(),
            stderr: String::new(),
            worker_survived: false,
        }
    }
}

/// Why there is no worker.
#[derive(Debug, thiserror::Error)]
pub enum StartError {
    /// The run is being stopped.
    #[error("the run was stopped")]
    Stopped,
    /// It cannot be started, or died or hung before it was ready.
    #[error("{0}")]
    Failed(String),
}

impl Worker {
    /// Starts a worker and waits until it is bound to its device.
    pub fn start(launch: &Launch, echo: bool, stop: &StopSignal) -> Result<Self, StartError> {
        let mut worker = Self::spawn(launch, echo).map_err(StartError::Failed)?;
        let trouble = match worker.answer(Instant::now() + START_LIMIT, stop) {
            Exchange::Answered(Answer::Ready) => {
                // What a driver says while it loads belongs to no test.
                worker.drain();
                worker.stdout.take_text();
                worker.stderr.take_text();
                return Ok(worker);
            }
            Exchange::Answered(Answer::NoDevice(reason)) => reason,
            Exchange::Answered(other) => format!("unexpected answer {other:?}"),
            Exchange::Died(ending) => format!("the driver ended the worker: {ending}"),
            Exchange::TimedOut => format!("the driver did not load within {START_LIMIT:?}"),
            Exchange::Stopped => return Err(StartError::Stopped),
        };
        Err(StartError::Failed(with_last_words(&trouble, &worker.stderr.take_text())))
    }

    /// Starts a process in the given role, without waiting for anything.
    pub fn spawn(launch: &Launch, echo: bool) -> Result<Self, String> {
        let process = launch
            .command()
            .and_then(Process::spawn)
            .map_err(|error| format!("a worker process cannot be started: {error}"))?;
        Ok(Self {
            process,
            pending: Vec::new(),
            stdout: Capture::default(),
            stderr: Capture::default(),
            echo,
        })
    }

    /// Runs one test; afterwards the worker is only good for another if the attempt says so.
    pub fn run(&mut self, test: &Test, limit: Duration, stop: &StopSignal) -> Attempt {
        let started = Instant::now();
        let request = Request { module: test.module.to_owned(), name: test.name.to_owned() };
        // A worker that is gone does not take it; its end shows in the answer.
        let _ = self.request(&request);
        let exchange = self.answer(started + limit, stop);
        self.drain();
        let (outcome, duration) = match exchange {
            Exchange::Answered(Answer::Done { outcome, duration }) => (Some(outcome), duration),
            Exchange::Answered(other) => {
                let message = format!("the worker answered {other:?}");
                (Some(Outcome::Failed { message, location: None }), started.elapsed())
            }
            Exchange::Died(ending) => {
                let how = match ending {
                    Ending::Exited(_) => format!("{ending} in the middle of the test"),
                    Ending::Signalled(_) => ending.to_string(),
                    Ending::Killed => "closed its connection to the runner".to_owned(),
                };
                (Some(Outcome::Crashed { how }), started.elapsed())
            }
            Exchange::TimedOut => (Some(Outcome::TimedOut { limit }), started.elapsed()),
            Exchange::Stopped => (None, started.elapsed()),
        };
        // A failed test may leave anything behind, so the next one gets a fresh process.
        let worker_survived = matches!(outcome, Some(Outcome::Passed | Outcome::Skipped { .. }));
        Attempt {
            outcome,
            duration,
            stdout: self.stdout.take_text(),
            stderr: self.stderr.take_text(),
            worker_survived,
        }
    }

    fn request(&mut self, request: &Request) -> std::io::Result<()> {
        let mut line = serde_json::to_vec(request).expect("requests are plain data");
        line.push(b'\n');
        self.process.socket.write_all(&line)
    }

    /// Waits for the next answer, collecting output meanwhile.
    pub fn answer(&mut self, deadline: Instant, stop: &StopSignal) -> Exchange {
        loop {
            match self.process.wait(deadline, stop) {
                Wakeup::Deadline => return Exchange::TimedOut,
                Wakeup::Stopped => return Exchange::Stopped,
                Wakeup::Ready => {}
            }
            self.collect(Source::Stdout);
            self.collect(Source::Stderr);
            let ended = self.read_answer();
            if let Some(end) = self.pending.iter().position(|byte| *byte == b'\n') {
                let line: Vec<u8> = self.pending.drain(..=end).collect();
                if let Ok(answer) = serde_json::from_slice(&line) {
                    return Exchange::Answered(answer);
                }
            }
            if ended {
                return Exchange::Died(self.process.finish(EXIT_GRACE));
            }
        }
    }

    /// Reads from the connection; true at its end.
    fn read_answer(&mut self) -> bool {
        let mut buffer = [0; 4096];
        loop {
            match self.process.read(Source::Socket, &mut buffer) {
                Some(0) => return true,
                Some(count) => self.pending.extend_from_slice(&buffer[..count]),
                None => return false,
            }
        }
    }

    /// Takes all that has been written so far.
    ///
    /// That is what a pipe can hold; reading on until it is empty might never end, where a test
    /// left something behind that goes on writing.
    fn drain(&mut self) {
        for source in [Source::Stdout, Source::Stderr] {
            let mut left = PIPE_CAPACITY;
            while left > 0 {
                match self.collect(source) {
                    0 => break,
                    count => left = left.saturating_sub(count),
                }
            }
        }
    }

    /// Takes one piece of output and tells its length in bytes.
    fn collect(&mut self, source: Source) -> usize {
        let mut buffer = [0; PIPE_CAPACITY];
        let count = self.process.read(source, &mut buffer).unwrap_or(0);
        let bytes = &buffer[..count];
        // When showing fails there is nobody to see it; capturing goes on.
        match source {
            Source::Stderr => {
                self.stderr.push(bytes);
                if self.echo {
                    let _ = std::io::stderr().write_all(bytes);
                }
            }
            _ => {
                self.stdout.push(bytes);
                if self.echo {
                    let _ = std::io::stdout().write_all(bytes);
                }
            }
        }
        count
    }

    /// The last line that the process wrote to standard error, for a message.
    pub fn last_words(&mut self) -> String {
        self.drain();
        self.stderr.take_text()
    }
}

/// `trouble`, followed by the last line of what was said on standard error.
pub fn with_last_words(trouble: &str, stderr: &str) -> String {
    match stderr.lines().rev().find(|line| !line.trim().is_empty()) {
        Some(line) => format!("{trouble} (its last words: {})", line.trim()),
        None => trouble.to_owned(),
    }
}
