//! The runner's side: starts a worker, sends tests to it, and detects the end of each test.

use std::ffi::OsString;
use std::process::Command;
use std::time::{Duration, Instant};

use super::capture::Capture;
use super::protocol::{Answer, ROLE_VARIABLE, Role, Task, TestEnd};
use super::{ProcessAttempt, WorkerAfter, WorkerCommands};
use crate::config::Contexts;
use crate::os::{Crash, ExitCause, LastWord, Process, Source, StopSignal, Wakeup};
use crate::registry::Test;
use crate::result::{Attempt, ContextUse, CrashCause, ExitTime};
use crate::stacks::Stacks;
use crate::variable;
use crate::verdict::Outcome;

/// The time limit of a worker from its start until it is bound to its device, and again until it is
/// prepared for tests.
pub const START_LIMIT: Duration = Duration::from_secs(60);

/// The time limit of a probe while tests run, and before it of the start of its worker.
pub const PROBE_LIMIT: Duration = Duration::from_secs(10);

/// The time limit of a command behind a user event that is set.
pub const GATE_LIMIT: Duration = Duration::from_secs(2);

/// The time limit of a worker that leaves, and again of the exit handlers of its driver.
const LEAVE_LIMIT: Duration = Duration::from_secs(10);

/// A size above that of any answer, in bytes: messages are cut before they are sent.
const LONGEST_ANSWER: usize = 16 << 20;

/// A size above that of most requests, in bytes.
const USUAL_REQUEST: usize = 256;

/// The limit in place of limits that no clock can hold.
const A_YEAR: Duration = Duration::from_secs(365 * 24 * 3600);

/// The capacity of a pipe on Linux, in bytes.
pub const PIPE_CAPACITY: usize = 64 * 1024;

/// The time that a process has to end after it closed its connection.
pub const EXIT_GRACE: Duration = Duration::from_secs(2);

/// Takes all output that has been written so far, by a function that takes one piece and returns its length: at most
/// the capacity of a pipe. A process that a test left behind may keep writing, so the pipe may never be empty.
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
    /// Adds the arguments and the variables to a command.
    pub(crate) fn apply_to(&self, command: &mut Command) {
        command.args(&self.arguments);
        for (name, value) in &self.environment {
            match value {
                Some(value) => command.env(name, value),
                None => command.env_remove(name),
            };
        }
    }

    /// Returns the command for the operating system.
    pub fn command(&self) -> std::io::Result<Command> {
        // An executable that does not enter its worker would start workers without end.
        if variable::value(ROLE_VARIABLE).is_some() {
            let reason = "this process is a worker: its `main` must call an entry point of clmatrix_harness first";
            return Err(std::io::Error::other(reason));
        }
        let mut command = Command::new(std::env::current_exe()?);
        self.apply_to(&mut command);
        let role = serde_json::to_string(&self.role).expect("a role is plain data");
        command.env(ROLE_VARIABLE, role);
        Ok(command)
    }
}

/// A running worker.
pub struct Worker<'a> {
    process: Process,
    /// Ends each wait for an answer.
    stop: &'a StopSignal,
    /// The bytes of an incomplete answer.
    pending: Vec<u8>,
    /// The number of the last request.
    number: u64,
    /// The buffer for reading output.
    buffer: Box<[u8]>,
    /// The output since the last test, by its [`Source`].
    output: [Capture; 2],
    /// Its state after the tests that it has run.
    pub after: WorkerAfter,
    /// True if its stacks are taken when it crashes or reaches the time limit of a test.
    pub takes_stacks: bool,
    /// True if the running test has ended the process, as the process has reported.
    is_ended_by_test: bool,
    /// The stacks, once they are taken.
    stacks: Option<Box<Stacks>>,
    /// The time that the stacks took.
    stacks_time: Duration,
}

/// A function that receives the output of a running test at once.
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
        (!matches!(self, Self::Stopped)).then(|| self.to_string())
    }
}

/// The limits of a test.
pub struct TestLimits {
    /// Its time.
    pub time: Duration,
    /// The time that it may wait without the use of a processor.
    pub idle: Option<Duration>,
    /// The resident memory of the worker in bytes.
    pub memory: Option<u64>,
}

/// Returns the end of a process as an outcome.
pub fn crash(exit: ExitCause, when: ExitTime) -> Outcome {
    Outcome::Crashed { cause: CrashCause::new(exit, when) }
}

/// Returns the end of a time limit that begins now.
pub fn deadline_in(limit: Duration) -> Instant {
    let now = Instant::now();
    now.checked_add(limit).unwrap_or(now + A_YEAR)
}

impl<'a> Worker<'a> {
    /// Starts a worker and waits until it is bound to its device.
    pub fn start(
        command: &WorkerCommand,
        limit: Duration,
        stop: &'a StopSignal,
    ) -> Result<Self, WorkerLost> {
        let mut worker = Self::spawn(command, stop).map_err(WorkerLost::Failed)?;
        let trouble = match worker.answer(Instant::now() + limit) {
            Reply::Answered(Answer::Ready) => {
                // The output while a driver is loaded belongs to no test.
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

    /// Starts a process in the given role, without a wait.
    pub fn spawn(command: &WorkerCommand, stop: &'a StopSignal) -> Result<Self, String> {
        let process = command
            .command()
            .and_then(Process::spawn)
            .map_err(|error| format!("a worker process cannot be started: {error}"))?;
        Ok(Self {
            process,
            stop,
            pending: Vec::new(),
            number: 0,
            buffer: vec![0; PIPE_CAPACITY].into_boxed_slice(),
            output: Default::default(),
            after: WorkerAfter::Clean,
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
    /// The driver ends the process, or hangs, when it creates a context.
    pub fn prepare(&mut self, finds_leaks: bool, contexts: Contexts) -> Result<(), WorkerLost> {
        self.ask(Task::Prepare { finds_leaks, contexts }, START_LIMIT).map(drop)
    }

    /// Returns the process id.
    pub fn process_id(&self) -> u32 {
        self.process.id()
    }

    /// Runs one test, which with `is_fresh` gets new contexts only, and fails if the worker exceeds `memory`, its
    /// resident memory in bytes, or waits for longer than `idle`. The worker may run another test only if the answer
    /// allows it.
    pub fn run(
        &mut self,
        test: &Test,
        is_fresh: bool,
        limits: TestLimits,
        on_output: OnOutput<'_>,
    ) -> ProcessAttempt {
        let TestLimits { time, idle, memory } = limits;
        let started = Instant::now();
        self.process.limit_memory(memory);
        self.request(Task::Test { module: test.module.into(), name: test.name.into(), is_fresh });
        let deadline = deadline_in(time);
        let exchange = self.answer_unless_idle(deadline, idle, on_output);
        let waited = idle.filter(|_| Instant::now() < deadline);
        self.drain(on_output);
        let duration = started.elapsed().saturating_sub(self.stacks_time);
        // A worker that dies does not report it.
        let may_be_used =
            matches!(self.after, WorkerAfter::KeepsUsedContext | WorkerAfter::SurvivedFailure);
        let context = if may_be_used && !is_fresh { ContextUse::Used } else { ContextUse::Fresh };
        let (mut is_on_thread, mut waits_in_vain) = (false, false);
        let outcome = match exchange {
            Reply::Answered(Answer::Done(end)) => {
                // The test has survived the signal.
                (self.stacks, self.stacks_time) = (None, Duration::ZERO);
                let is_closed = self.process.has_closed_a_stream();
                let TestEnd { outcome, duration, context, properties, left_behind, .. } = *end;
                let after = if is_closed { WorkerAfter::Spent } else { end.after };
                self.after = self.after.then(after);
                let attempt = Attempt::new(outcome);
                let resident = end.resident;
                let attempt =
                    Attempt { duration, context, properties, left_behind, resident, ..attempt };
                return ProcessAttempt {
                    after,
                    leaks: end.leaks,
                    ..self.with_words(attempt).into()
                };
            }
            Reply::Answered(other) => {
                let message = format!("the worker answered {other:?}");
                Outcome::Failed { message, location: None }
            }
            Reply::Died(ending) => {
                is_on_thread = self.is_ended_by_test;
                crash(ending, ExitTime::InTest)
            }
            Reply::TimedOut => {
                // A handler of a crash may hang.
                if self.stacks.is_none() {
                    self.take_stacks(None);
                }
                match self.process.memory_excess().zip(memory) {
                    Some((used, limit)) => {
                        Outcome::Crashed { cause: CrashCause::Memory { used, limit } }
                    }
                    None => {
                        waits_in_vain = waited.is_some();
                        Outcome::TimedOut { limit: waited.unwrap_or(time) }
                    }
                }
            }
            Reply::Stopped => Outcome::NotRun { reason: self.stop.not_run() },
        };
        let attempt = Attempt { duration, context, ..Attempt::new(outcome) };
        let attempt = self.with_words(attempt);
        ProcessAttempt { is_on_thread, waits_in_vain, ..attempt.into() }
    }

    /// Waits for an answer, or until the worker has used hardly any processor time for the time `idle`.
    fn answer_unless_idle(
        &mut self,
        deadline: Instant,
        idle: Option<Duration>,
        on_output: OnOutput<'_>,
    ) -> Reply {
        let Some(idle) = idle else { return self.answer_showing(deadline, on_output) };
        loop {
            let (used, now) = (self.process.processor_time(), Instant::now());
            let reply = self.answer_showing((now + idle).min(deadline), on_output);
            // The sum is smaller if a child has ended, which has worked.
            let used = used.zip(self.process.processor_time());
            let used = used.and_then(|(before, now)| now.checked_sub(before));
            let is_idle = used.is_some_and(|used| used < idle / 100);
            if !matches!(reply, Reply::TimedOut) || is_idle || Instant::now() >= deadline {
                return reply;
            }
        }
    }

    /// Waits for the whole time, without a request. Returns a crash.
    pub fn idle(&mut self, time: Duration) -> Option<Outcome> {
        let wrong_end = self.wait_for_end(time, ExitTime::AfterTests);
        // No answer is due.
        wrong_end.filter(|end| !matches!(end, Outcome::TimedOut { .. }))
    }

    /// Gives effects of earlier tests the opportunity to end the worker. Returns a crash or a hang.
    pub fn leave(&mut self) -> Option<Outcome> {
        self.request(Task::Leave);
        self.wait_for_end(LEAVE_LIMIT, ExitTime::AfterTests)
    }

    /// Ends the worker by `exit`. An exit handler may crash or hang, which is returned.
    pub fn exit(mut self) -> Option<Outcome> {
        self.request(Task::Exit);
        self.wait_for_end(LEAVE_LIMIT, ExitTime::AtExit)
    }

    /// Waits until the worker answers or ends, or the run is stopped. Returns a crash or a hang. Without a request, a
    /// test has written the answer.
    fn wait_for_end(&mut self, limit: Duration, when: ExitTime) -> Option<Outcome> {
        match self.answer(deadline_in(limit)) {
            Reply::Died(ExitCause::Exited(0)) if when == ExitTime::AtExit => None,
            Reply::Died(ending) => Some(crash(ending, when)),
            Reply::TimedOut => Some(Outcome::TimedOut { limit }),
            Reply::Stopped | Reply::Answered(_) => None,
        }
    }

    /// Takes the output since the last test, and the stacks, of a worker that has died.
    pub fn last_words(&mut self, outcome: Outcome) -> Attempt {
        self.drain(&mut |_, _| {});
        self.with_words(Attempt::new(outcome))
    }

    /// Adds the output since the last test, and the stacks.
    fn with_words(&mut self, attempt: Attempt) -> Attempt {
        let [stdout, stderr] = self.output.each_mut().map(Capture::take_text);
        let stacks = self.stacks.take();
        Attempt { stdout, stderr, stacks, ..attempt }
    }

    /// Checks in a worker of its own that a device works, within `limit` after the start of the worker. Returns that
    /// worker.
    ///
    /// # Errors
    ///
    /// The first call that failed, or the end of the worker.
    pub fn probe(
        commands: &WorkerCommands,
        start_limit: Duration,
        limit: Duration,
        stop: &'a StopSignal,
    ) -> Result<Self, WorkerLost> {
        let mut worker = commands.start(start_limit, stop)?;
        worker.ask(Task::Probe, limit)?.map_err(WorkerLost::Failed)?;
        Ok(worker)
    }

    /// Returns whether the device ends a command behind a user event that is set, within [`GATE_LIMIT`] after another
    /// command has ended; and the worker, if it may run tests.
    pub fn probe_gate(mut self) -> (bool, Option<Self>) {
        self.request(Task::ProbeGate);
        let mut reply = self.answer(deadline_in(PROBE_LIMIT));
        let ends_others = matches!(reply, Reply::Answered(Answer::Trying(_)));
        if ends_others {
            reply = self.answer(deadline_in(GATE_LIMIT));
        }
        self.discard_output();
        let may_run = matches!(reply, Reply::Answered(Answer::Ended(Ok(_))));
        let hangs = ends_others && matches!(reply, Reply::TimedOut);
        (!hangs, may_run.then_some(self))
    }

    /// Runs a task that is not a test, such as a job, and returns its output or its error. Output meanwhile belongs to
    /// no test either. The driver may end or hang the worker.
    pub fn ask(
        &mut self,
        task: Task,
        limit: Duration,
    ) -> Result<Result<String, String>, WorkerLost> {
        self.request(task);
        let (deadline, mut step) = (deadline_in(limit), None);
        let exchange = loop {
            match self.answer(deadline) {
                Reply::Answered(Answer::Trying(next)) => step = Some(next),
                other => break other,
            }
        };
        let at = step.as_ref().map_or_else(String::new, |step| format!(" at {step}"));
        let (trouble, driver_fault) = match exchange {
            Reply::Answered(Answer::Ended(result)) => {
                self.discard_output();
                return Ok(result);
            }
            Reply::Answered(other) => (format!("the worker answered {other:?}"), false),
            Reply::Died(ExitCause::Signalled(name)) => {
                match CrashCause::new(ExitCause::Signalled(name), ExitTime::InTest) {
                    outside @ CrashCause::Killed => {
                        (format!("the process was ended{at} ({outside})"), false)
                    }
                    cause => (format!("the driver ended the process{at} ({cause})"), true),
                }
            }
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
        let mut line = Vec::with_capacity(USUAL_REQUEST);
        serde_json::to_writer(&mut line, &(self.number, task)).expect("tasks are plain data");
        line.push(b'\n');
        self.process.send(&line);
    }

    /// Takes the stacks of the worker, and resumes it. Returns the time that this took.
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
        self.output = Default::default();
    }

    /// Waits for the next answer, and collects output meanwhile.
    pub fn answer(&mut self, deadline: Instant) -> Reply {
        self.answer_showing(deadline, &mut |_, _| {})
    }

    fn answer_showing(&mut self, mut deadline: Instant, on_output: OnOutput<'_>) -> Reply {
        let mut has_ended = false;
        loop {
            // Several may have come at once.
            match self.next_answer() {
                Some(Answer::LastWord(LastWord { in_test, crash })) => {
                    self.is_ended_by_test = in_test;
                    if crash.is_some() {
                        deadline += self.take_stacks(crash);
                        // Without the wait for the stacks, no other thread would have answered meanwhile.
                        if self.process.ends_within(EXIT_GRACE) {
                            return Reply::Died(self.process.finish(Duration::ZERO));
                        }
                    }
                    continue;
                }
                Some(answer) => return Reply::Answered(answer),
                None if has_ended => return Reply::Died(self.process.finish(EXIT_GRACE)),
                None => {}
            }
            let (output, death) = match self.process.wait(&mut deadline, self.stop) {
                Wakeup::Deadline => return Reply::TimedOut,
                Wakeup::Stopped => return Reply::Stopped,
                Wakeup::Ready { output, death } => (output, death),
            };
            if output {
                self.collect(Source::Stdout, on_output);
                self.collect(Source::Stderr, on_output);
            }
            // Read first, so that the last report of a process that dies is not lost.
            let died = death && self.process.has_died();
            let closed = self.read_socket();
            has_ended = died || closed || self.pending.len() > LONGEST_ANSWER;
        }
    }

    /// Reads the bytes on the connection; returns true at its end.
    fn read_socket(&mut self) -> bool {
        while self.pending.len() <= LONGEST_ANSWER
            && let Some(count) = self.process.receive(&mut self.buffer)
        {
            self.pending.extend_from_slice(&self.buffer[..count]);
            if count < self.buffer.len() {
                // No more bytes have come.
                return count == 0;
            }
        }
        false
    }

    /// Returns the first received line that answers the last request. A test can write anything to the connection,
    /// and processes that it forked answer, too.
    fn next_answer(&mut self) -> Option<Answer> {
        while let Some(end) = self.pending.iter().position(|byte| *byte == b'\n') {
            // Text is parsed faster than bytes.
            let line = str::from_utf8(&self.pending[..end]).unwrap_or_default();
            let answer = LastWord::parse(line).map(Answer::LastWord).or_else(|| {
                let (number, answer): (u64, _) = serde_json::from_str(line).ok()?;
                (number == self.number).then_some(answer)
            });
            self.pending.drain(..=end);
            if answer.is_some() {
                return answer;
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
        self.output[source as usize].push(bytes);
        count
    }

    /// Returns `trouble`, followed by the last line that the process wrote to standard error.
    pub fn with_last_stderr_line(&mut self, trouble: &str) -> String {
        self.drain(&mut |_, _| {});
        let stderr = self.output[Source::Stderr as usize].take_text();
        match stderr.lines().rev().find(|line| !line.trim().is_empty()) {
            Some(line) => format!("{trouble} (its last line on standard error: {})", line.trim()),
            None => trouble.to_owned(),
        }
    }
}
