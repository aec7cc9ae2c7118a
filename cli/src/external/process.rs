//! A process of another program.

use std::ffi::OsString;
use std::time::{Duration, Instant};

use clmatrix_runner::os::{ExitCause, Process, Source, StopSignal, Wakeup};
use clmatrix_runner::result::crash_cause::CrashCause;
use clmatrix_runner::stacks::Stacks;
use clmatrix_runner::worker::parent::{
    EXIT_GRACE, PIPE_CAPACITY, WorkerCommand, deadline_in, drain,
};
use clmatrix_runner::worker::protocol::Role;

use super::program::Program;

/// Variables to set, or with `None` to remove.
pub(super) type Environment = [(OsString, Option<OsString>)];

/// A process of another program, under a keeper like a worker. A drop ends the program and all processes that it has
/// started.
pub(super) struct ProgramProcess {
    process: Process,
    memory: Option<u64>,
    buffer: Box<[u8]>,
}

/// The end of a wait for a process.
pub(super) enum ProgramWaitEnd {
    /// It has ended.
    Died(ExitCause),
    /// It still runs.
    TimedOut,
    /// It exceeds its memory limit.
    HasTooMuchMemory(CrashCause),
    /// The run is being stopped.
    Stopped,
}

/// A function that receives output at once. It returns false to end the process.
pub(super) type OnProgramOutput<'a> = &'a mut dyn FnMut(Source, &[u8]) -> bool;

impl ProgramProcess {
    /// Starts a program in its folder, which may have this resident memory, in bytes.
    pub fn start(
        program: &Program,
        arguments: &[&str],
        environment: &Environment,
        memory: Option<u64>,
    ) -> Result<Self, String> {
        let words = arguments.iter().map(OsString::from);
        let command = WorkerCommand {
            role: Role::Program,
            arguments: [program.file.clone().into()].into_iter().chain(words).collect(),
            environment: environment.to_vec(),
        };
        let spawned = command.command().and_then(|mut command| {
            command.current_dir(program.folder());
            Process::spawn(command)
        });
        let mut process = spawned
            .map_err(|error| format!("{} cannot be started: {error}", program.file.display()))?;
        process.limit_memory(memory);
        Ok(Self { process, memory, buffer: vec![0; PIPE_CAPACITY].into_boxed_slice() })
    }

    /// Returns the id of the keeper.
    pub fn id(&self) -> u32 {
        self.process.id()
    }

    /// Waits until the process has ended and its output is read, or a limit has passed.
    ///
    /// # Errors
    ///
    /// The operating system could not start the program.
    pub fn wait(
        &mut self,
        limit: Duration,
        stop: &StopSignal,
        on_output: OnProgramOutput<'_>,
    ) -> Result<ProgramWaitEnd, String> {
        let mut deadline = deadline_in(limit);
        // The keeper's end of the connection has only the reason why a program was not started.
        let mut reason = Vec::new();
        loop {
            let (output, death) = match self.process.wait(&mut deadline, stop) {
                Wakeup::Deadline => break,
                Wakeup::Stopped => return Ok(ProgramWaitEnd::Stopped),
                Wakeup::Ready { output, death } => (output, death),
            };
            if output {
                for source in [Source::Stdout, Source::Stderr] {
                    self.collect(source, on_output, &mut deadline);
                }
            }
            let died = death && self.process.has_died();
            let closed = loop {
                match self.process.receive(&mut self.buffer) {
                    Some(0) => break true,
                    Some(count) => reason.extend_from_slice(&self.buffer[..count]),
                    None => break false,
                }
            };
            if died || closed {
                let cause = self.process.finish(EXIT_GRACE);
                drain(|source| self.collect(source, on_output, &mut deadline));
                let reason = String::from_utf8_lossy(&reason).into_owned();
                return reason.is_empty().then_some(ProgramWaitEnd::Died(cause)).ok_or(reason);
            }
            // A process that never stops writing is ready before each deadline.
            if Instant::now() >= deadline {
                break;
            }
        }
        let excess = self.process.memory_excess().zip(self.memory);
        let excess = excess.map(|(used, limit)| CrashCause::Memory { used, limit });
        Ok(excess.map_or(ProgramWaitEnd::TimedOut, ProgramWaitEnd::HasTooMuchMemory))
    }

    /// Takes the stacks of the program.
    pub fn stacks(&self) -> Box<Stacks> {
        Box::new(self.process.take_stacks(None).0)
    }

    /// Takes one piece of output and returns its length in bytes.
    fn collect(
        &mut self,
        source: Source,
        on_output: OnProgramOutput<'_>,
        deadline: &mut Instant,
    ) -> usize {
        let count = self.process.read(source, &mut self.buffer).unwrap_or(0);
        if count > 0 && !on_output(source, &self.buffer[..count]) {
            *deadline = Instant::now();
        }
        count
    }
}
