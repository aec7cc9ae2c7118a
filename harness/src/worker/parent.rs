//! The runner's side: starts a worker, sends tests to it, and detects how each test ends.

use std::ffi::OsString;
use std::process::Command;
use std::time::{Duration, Instant};

use super::capture::Capture;
use super::commands::WorkerCommands;
use super::job_call::JobCall;
use super::process_state::ProcessState;
use super::protocol::{Answer, ROLE_VARIABLE, Request, Role, Task};
use super::ran::Ran;
use crate::config::Contexts;
use crate::os::{Crash, ExitCause, Process, Source, StopSignal, Wakeup};
use crate::registry::Test;
use crate::result::attempt::Attempt;
use crate::result::findings::Findings;
use crate::stacks::Stacks;
use crate::text::size;
use crate::verdict::{KILLED_FROM_OUTSIDE, Outcome};

/// The time limit of a worker from its start until it is bound to its device, and again until it is
/// prepared for tests.
pub const START_LIMIT: Duration = Duration::from_secs(60);

/// The time limit of a probe while tests run, and before it of the start of its worker.
pub const PROBE_LIMIT: Duration = Duration::from_secs(10);

/// The time limit of a worker that leaves, and again of the exit handlers of its driver.
const LEAVE_LIMIT: Duration = Duration::from_secs(10);

/// Longer than any answer, in bytes: messages are cut before they are sent.
const LONGEST_ANSWER: usize = 16 << 20;

/// Most requests are shorter, in bytes.
const USUAL_REQUEST: usize = 256;

/// Stands for limits that no clock can hold.
const A_YEAR: Duration = Duration::from_secs(365 * 24 * 3600);

/// The capacity of a pipe on Linux, in bytes.
pub const PIPE_CAPACITY: usize = 64 * 1024;

/// The time that a process has to end after it closed its connection.
pub const EXIT_GRACE: Duration = Duration::from_secs(2);

/// Follows the exit status of a process that ends in a test.
pub const IN_THE_TEST: &str = "in the middle of the test";

/// Takes all that has been written so far, by a function that takes one piece and returns its length: at most
/// the capacity of a pipe. A process that a test left behind may go on writing, so the pipe may never be empty.
pub fn drain(mut collect: impl FnMut(Source) -> usize) {
    for source in [Source::Stdout, Source::Stderr] {
        let mut left = PIPE_CAPACITY;
        while left > 0 {
            match collect(source) {
                0 => break,
                count => left = left.saturating_sub(count),
            }
        }
    }
}

/// The command that starts a worker.
#[derive(Clone, Debug)]
pub struct WorkerCommand {
    /// The purpose of the worker.
    pub role: Role,
    /// Arguments that lead this executable to [`enter_if_asked`](super::child::enter_if_asked).
    pub arguments: Vec<OsString>,
    /// Variables to set, or with `None` to remove.
    pub environment: Vec<(OsString, Option<OsString>)>,
}

impl WorkerCommand {
    /// Returns the command for the operating system.
    pub fn command(&self) -> std::io::Result<Command> {
        // An executable that does not enter its worker would start workers without end.
        if std::env::var_os(ROLE_VARIABLE).is_some() {
            let reason = "this process is a worker: its `main` must call an entry point of clmatrix_harness first";
            return Err(std::io::Error::other(reason));
        }
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
    /// The number of the last request.
    number: u64,
    /// The buffer for reading output.
    buffer: Box<[u8]>,
    stdout: Capture,
    stderr: Capture,
    /// True if the worker keeps a context that a test has had.
    keeps_used_context: bool,
    /// True if its stacks are taken when it crashes or reaches the time limit of a test.
    pub takes_stacks: bool,
    /// True if the running test has ended the process, as far as the process has said.
    is_ended_by_test: bool,
    /// The stacks, once they are taken.
    stacks: Option<Box<Stacks>>,
    /// The time that this took.
    stacks_time: Duration,
}

/// Receives the output of a running test at once.
pub type OnOutput<'a> = &'a mut dyn FnMut(Source, &[u8]);

/// The reply to a request.
pub enum Reply {
    /// The worker answered.
    Answered(Answer),
    /// The worker died.
    Died(ExitCause),
    /// The worker did not answer in time.
    TimedOut,
    /// The run was stopped.
    Stopped,
}

/// The reason why a worker cannot be started or is lost.
#[derive(Debug, thiserror::Error)]
pub enum WorkerLost {
    /// The run is being stopped.
    #[error("the run was stopped")]
    Stopped,
    /// The worker cannot be started, or died or hung.
    #[error("{0}")]
    Failed(String),
    /// The worker did not find its device.
    #[error("{0}")]
    NotFound(String),
    /// The driver ended the worker at a step that it had announced.
    #[error("{reason}")]
    EndedAt {
        /// The step.
        step: String,
        /// The reason.
        reason: String,
    },
}

impl WorkerLost {
    /// Returns the reason, unless the run is being stopped.
    pub fn reason(self) -> Option<String> {
        match self {
            Self::Stopped => None,
            Self::Failed(reason) | Self::NotFound(reason) | Self::EndedAt { reason, .. } => {
                Some(reason)
            }
        }
    }
}

/// The signal, and whose it is where no driver sends it.
fn name_of_signal(name: String) -> String {
    if name == "SIGKILL" { KILLED_FROM_OUTSIDE.to_owned() } else { name }
}

/// The end of a process as an outcome. `when` follows an exit status.
pub fn crash(ending: ExitCause, when: &str) -> Outcome {
    let how = match ending {
        ExitCause::Exited(_) => format!("{ending} {when}"),
        ExitCause::Signalled(name) => name_of_signal(name),
        ExitCause::Killed => "closed its connection to the runner".to_owned(),
    };
    Outcome::Crashed { how }
}

/// The message of a test whose processes have more resident memory than their limit, both in bytes.
pub fn memory_failure(memory: u64, limit: u64) -> String {
    let [memory, limit] = [memory, limit].map(size);
    format!("its processes have {memory} of memory, and its limit is {limit} (`memory`)")
}

/// The end of a time limit that begins now.
pub fn deadline_in(limit: Duration) -> Instant {
    let now = Instant::now();
    now.checked_add(limit).unwrap_or(now + A_YEAR)
}

impl Worker {
    /// Starts a worker and waits until it is bound to its device.
    pub fn start(
        command: &WorkerCommand,
        limit: Duration,
        stop: &StopSignal,
    ) -> Result<Self, WorkerLost> {
        let mut worker = Self::spawn(command).map_err(WorkerLost::Failed)?;
        let trouble = match worker.answer(Instant::now() + limit, stop) {
            Reply::Answered(Answer::Ready) => {
                // The output of a driver that loads belongs to no test.
                worker.discard_output();
                return Ok(worker);
            }
            Reply::Answered(Answer::NoDevice(reason)) => {
                return Err(WorkerLost::NotFound(worker.with_last_stderr_line(&reason)));
            }
            Reply::Answered(other) => format!("unexpected answer {other:?}"),
            Reply::Died(ending) => format!("the driver ended the worker: {ending}"),
            Reply::TimedOut => format!("the driver did not load within {limit:?}"),
            Reply::Stopped => return Err(WorkerLost::Stopped),
        };
        Err(WorkerLost::Failed(worker.with_last_stderr_line(&trouble)))
    }

    /// Starts a process in the given role, without waiting for anything.
    pub fn spawn(command: &WorkerCommand) -> Result<Self, String> {
        let process = command
            .command()
            .and_then(Process::spawn)
            .map_err(|error| format!("a worker process cannot be started: {error}"))?;
        Ok(Self {
            process,
            pending: Vec::new(),
            number: 0,
            buffer: vec![0; PIPE_CAPACITY].into_boxed_slice(),
            stdout: Capture::default(),
            stderr: Capture::default(),
            keeps_used_context: false,
            takes_stacks: false,
            is_ended_by_test: false,
            stacks: None,
            stacks_time: Duration::ZERO,
        })
    }

    /// Makes the worker create a context and take its baseline, before its first test.
    ///
    /// # Errors
    ///
    /// The driver ends the process, or hangs, when it makes a context.
    pub fn prepare(
        &mut self,
        finds_leaks: bool,
        contexts: Contexts,
        stop: &StopSignal,
    ) -> Result<(), WorkerLost> {
        self.ask(
            Task::Prepare { finds_leaks, contexts },
            START_LIMIT,
            stop,
            |answer| match answer {
                Answer::Prepared { .. } => Ok(()),
                other => Err(other),
            },
        )
    }

    /// The process id.
    pub fn process_id(&self) -> u32 {
        self.process.id()
    }

    /// Runs one test, which with `is_fresh` gets new contexts only, and fails when the worker has more resident
    /// `memory`, in bytes; afterwards the worker is only good for another if the answer says so.
    pub fn run(
        &mut self,
        test: &Test,
        is_fresh: bool,
        (limit, memory): (Duration, Option<u64>),
        stop: &StopSignal,
        on_output: OnOutput<'_>,
    ) -> Ran {
        let started = Instant::now();
        self.process.limit_memory(memory);
        self.request(Task::Test { module: test.module.into(), name: test.name.into(), is_fresh });
        let exchange = self.answer_showing(deadline_in(limit), stop, on_output);
        self.drain(on_output);
        let (mut process, mut is_own_crash) = (ProcessState::default(), false);
        // A worker that dies does not say.
        process.has_reused_context = self.keeps_used_context && !is_fresh;
        let mut findings = Findings::default();
        let mut duration = started.elapsed().saturating_sub(self.stacks_time);
        let outcome = match exchange {
            Reply::Answered(Answer::Done { ended, process: left, .. }) => {
                process = left;
                process.is_as_before &= !self.process.has_closed_a_stream();
                // The test has survived the signal.
                (self.stacks, self.stacks_time) = (None, Duration::ZERO);
                self.keeps_used_context = process.keeps_used_context;
                (duration, findings) = (ended.duration, ended.findings);
                ended.outcome
            }
            Reply::Answered(other) => {
                let message = format!("the worker answered {other:?}");
                Outcome::Failed { message, location: None }
            }
            Reply::Died(ending) => {
                is_own_crash = self.is_ended_by_test;
                crash(ending, IN_THE_TEST)
            }
            Reply::TimedOut => {
                // A handler of a crash may hang.
                if self.stacks.is_none() {
                    self.take_stacks(None);
                }
                match self.process.memory_excess() {
                    Some(excess) => {
                        let message = memory_failure(excess, memory.unwrap_or_default());
                        Outcome::Failed { message, location: Some(test.location()) }
                    }
                    None => Outcome::TimedOut { limit },
                }
            }
            Reply::Stopped => Outcome::NotRun { reason: stop.reason() },
        };
        // A failed test may leave anything behind, so the next one gets a fresh process.
        let worker_survived =
            process.is_as_before && matches!(outcome, Outcome::Passed | Outcome::Skipped { .. });
        let mut ran = self.words(outcome);
        (ran.attempt.duration, ran.attempt.findings) = (duration, findings);
        Ran { process, is_own_crash, worker_survived, ..ran }
    }

    /// Waits for the whole time, without a request.
    ///
    /// # Errors
    ///
    /// The crash of the worker; `None` if the run is stopped.
    pub fn idle(&mut self, time: Duration, stop: &StopSignal) -> Result<(), Option<Outcome>> {
        match self.answer(deadline_in(time), stop) {
            Reply::Died(ending) => Err(Some(crash(ending, "after its last test"))),
            Reply::Stopped => Err(None),
            // No answer is due, so an answer is the writing of a test.
            Reply::TimedOut | Reply::Answered(_) => Ok(()),
        }
    }

    /// Gives effects of earlier tests the opportunity to end the worker.
    ///
    /// # Errors
    ///
    /// The crash or the hang of the worker; `None` if the run is stopped.
    pub fn leave(&mut self, stop: &StopSignal) -> Result<(), Option<Outcome>> {
        self.request(Task::Leave);
        match self.answer(deadline_in(LEAVE_LIMIT), stop) {
            Reply::Died(ending) => Err(Some(crash(ending, "after its last test"))),
            Reply::TimedOut => Err(Some(Outcome::TimedOut { limit: LEAVE_LIMIT })),
            Reply::Stopped => Err(None),
            Reply::Answered(_) => Ok(()),
        }
    }

    /// Ends the worker by `exit`.
    ///
    /// # Errors
    ///
    /// The crash or the hang of an exit handler; `None` if the run is stopped.
    pub fn exit(mut self, stop: &StopSignal) -> Result<(), Option<Outcome>> {
        self.request(Task::Exit);
        match self.answer(deadline_in(LEAVE_LIMIT), stop) {
            Reply::Died(ExitCause::Exited(0)) | Reply::Answered(_) => Ok(()),
            Reply::Died(ending) => Err(Some(crash(ending, "when it was asked to exit"))),
            Reply::TimedOut => Err(Some(Outcome::TimedOut { limit: LEAVE_LIMIT })),
            Reply::Stopped => Err(None),
        }
    }

    /// Takes the output since the last test, and the stacks, of a worker that has died.
    pub fn last_words(&mut self, outcome: Outcome) -> Ran {
        self.drain(&mut |_, _| {});
        self.words(outcome)
    }

    /// Makes an attempt of the output since the last test, and the stacks.
    fn words(&mut self, outcome: Outcome) -> Ran {
        let (stdout, stderr) = (self.stdout.take_text(), self.stderr.take_text());
        let stacks = self.stacks.take();
        Attempt { stdout, stderr, stacks, ..Attempt::new(outcome) }.into()
    }

    /// Checks in a worker of its own that a device works, within `limit` after the start of the worker. Returns
    /// that worker.
    ///
    /// # Errors
    ///
    /// The first call that failed, or the end of the worker.
    pub fn probe(
        commands: &WorkerCommands,
        start_limit: Duration,
        limit: Duration,
        stop: &StopSignal,
    ) -> Result<Self, WorkerLost> {
        let mut worker = commands.start(start_limit, stop)?;
        let probed = worker.ask(Task::Probe, limit, stop, |answer| match answer {
            Answer::Probed { result, .. } => Ok(result),
            other => Err(other),
        });
        probed?.map_err(WorkerLost::Failed)?;
        Ok(worker)
    }

    /// Runs a job, and returns its output or its error. The driver may end or hang the worker.
    pub fn job(
        &mut self,
        call: JobCall,
        limit: Duration,
        stop: &StopSignal,
    ) -> Result<Result<String, String>, WorkerLost> {
        self.ask(Task::Job(call), limit, stop, |answer| match answer {
            Answer::JobDone { output, .. } => Ok(output),
            other => Err(other),
        })
    }

    /// One request that is no test: what is written meanwhile belongs to no test either.
    fn ask<T>(
        &mut self,
        task: Task,
        limit: Duration,
        stop: &StopSignal,
        take: impl FnOnce(Answer) -> Result<T, Answer>,
    ) -> Result<T, WorkerLost> {
        self.request(task);
        let (deadline, mut step) = (deadline_in(limit), None);
        let exchange = loop {
            match self.answer(deadline, stop) {
                Reply::Answered(Answer::Trying { step: next, .. }) => step = Some(next),
                other => break other,
            }
        };
        let at = step.as_ref().map_or_else(String::new, |step| format!(" at {step}"));
        let (trouble, driver_fault) = match exchange {
            Reply::Answered(answer) => match take(answer) {
                Ok(answer) => {
                    self.discard_output();
                    return Ok(answer);
                }
                Err(other) => (format!("the worker answered {other:?}"), false),
            },
            Reply::Died(ExitCause::Signalled(name)) => match name_of_signal(name) {
                outside if outside == KILLED_FROM_OUTSIDE => {
                    (format!("the process was ended{at} ({outside})"), false)
                }
                name => (format!("the driver ended the process{at} ({name})"), true),
            },
            Reply::Died(ending) => (format!("the driver ended the process{at}: {ending}"), true),
            Reply::TimedOut => {
                let limit = humantime::format_duration(limit);
                (format!("the driver hung{at}: no answer within {limit}"), false)
            }
            Reply::Stopped => return Err(WorkerLost::Stopped),
        };
        let reason = self.with_last_stderr_line(&trouble);
        Err(match step.filter(|_| driver_fault) {
            Some(step) => WorkerLost::EndedAt { step, reason },
            None => WorkerLost::Failed(reason),
        })
    }

    fn request(&mut self, task: Task) {
        self.is_ended_by_test = false;
        self.number += 1;
        let request = Request { number: self.number, task };
        let mut line = Vec::with_capacity(USUAL_REQUEST);
        serde_json::to_writer(&mut line, &request).expect("requests are plain data");
        line.push(b'\n');
        self.process.send(&line);
    }

    /// Takes the stacks of the worker, which then goes on. Returns the time that this took.
    fn take_stacks(&mut self, crash: Option<Crash>) -> Duration {
        if !self.takes_stacks {
            crash.iter().for_each(|crash| self.process.go_on(crash));
            return Duration::ZERO;
        }
        let begin = Instant::now();
        let (stacks, is_of_executable) = self.process.take_stacks(crash);
        self.is_ended_by_test |= is_of_executable;
        self.stacks = Some(Box::new(stacks));
        let time = begin.elapsed();
        self.stacks_time += time;
        time
    }

    fn discard_output(&mut self) {
        self.drain(&mut |_, _| {});
        self.stdout.take_text();
        self.stderr.take_text();
    }

    /// Waits for the next answer, collecting output meanwhile.
    pub fn answer(&mut self, deadline: Instant, stop: &StopSignal) -> Reply {
        self.answer_showing(deadline, stop, &mut |_, _| {})
    }

    fn answer_showing(
        &mut self,
        mut deadline: Instant,
        stop: &StopSignal,
        on_output: OnOutput<'_>,
    ) -> Reply {
        let mut has_ended = false;
        loop {
            // Several may have come at once.
            match self.next_answer() {
                Some(Answer::Exiting { in_test }) => {
                    self.is_ended_by_test = in_test;
                    continue;
                }
                Some(Answer::Crashing(crash)) => {
                    self.is_ended_by_test = crash.in_test;
                    deadline += self.take_stacks(Some(crash));
                    // Without the wait for the stacks, no other thread would have answered meanwhile.
                    if self.process.ends_within(EXIT_GRACE) {
                        return Reply::Died(self.process.finish(Duration::ZERO));
                    }
                    continue;
                }
                Some(answer) => return Reply::Answered(answer),
                None if has_ended => return Reply::Died(self.process.finish(EXIT_GRACE)),
                None => {}
            }
            let (output, death) = match self.process.wait(&mut deadline, stop) {
                Wakeup::Deadline => return Reply::TimedOut,
                Wakeup::Stopped => return Reply::Stopped,
                Wakeup::Ready { output, death } => (output, death),
            };
            if output {
                self.collect(Source::Stdout, on_output);
                self.collect(Source::Stderr, on_output);
            }
            // Asked first, so that what a process says before it dies is read.
            let died = death && self.process.has_died();
            let closed = self.read_socket();
            has_ended = died || closed || self.pending.len() > LONGEST_ANSWER;
        }
    }

    /// Reads what has come on the connection; true at its end.
    fn read_socket(&mut self) -> bool {
        while self.pending.len() <= LONGEST_ANSWER {
            let count = match self.process.read(Source::Socket, &mut self.buffer) {
                Some(0) => return true,
                Some(count) => count,
                None => return false,
            };
            self.pending.extend_from_slice(&self.buffer[..count]);
            if count < self.buffer.len() {
                // No more has come.
                return false;
            }
        }
        false
    }

    /// The first of the lines that have come which answers the last request. A test can write
    /// anything to the connection, and what it forked answers too.
    fn next_answer(&mut self) -> Option<Answer> {
        while let Some(end) = self.pending.iter().position(|byte| *byte == b'\n') {
            // Text is parsed faster than bytes.
            let answer: Option<Answer> = str::from_utf8(&self.pending[..end])
                .ok()
                .and_then(|line| serde_json::from_str(line).ok());
            self.pending.drain(..=end);
            let is_other =
                |answer: &Answer| answer.number().is_some_and(|number| number != self.number);
            if let Some(answer) = answer.filter(|answer| !is_other(answer)) {
                return Some(answer);
            }
        }
        None
    }

    /// Takes all that has been written so far, as [`drain`] does.
    fn drain(&mut self, on_output: OnOutput<'_>) {
        if self.process.has_output() {
            drain(|source| self.collect(source, on_output));
        }
    }

    /// Takes one piece of output and returns its length in bytes.
    fn collect(&mut self, source: Source, on_output: OnOutput<'_>) -> usize {
        let count = self.process.read(source, &mut self.buffer).unwrap_or(0);
        let bytes = &self.buffer[..count];
        on_output(source, bytes);
        match source {
            Source::Stderr => self.stderr.push(bytes),
            _ => self.stdout.push(bytes),
        }
        count
    }

    /// `trouble`, followed by the last line that the process wrote to standard error.
    pub fn with_last_stderr_line(&mut self, trouble: &str) -> String {
        self.drain(&mut |_, _| {});
        let stderr = self.stderr.take_text();
        match stderr.lines().rev().find(|line| !line.trim().is_empty()) {
            Some(line) => format!("{trouble} (its last words: {})", line.trim()),
            None => trouble.to_owned(),
        }
    }
}
