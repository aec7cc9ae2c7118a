//! A program that runs a test.

use std::time::{Duration, Instant};

use clmatrix_runner::os::{Source, StopSignal};
use clmatrix_runner::outside::Watch;
use clmatrix_runner::worker::capture::Capture;

use super::process::{ProgramProcess, ProgramWaitEnd};

/// A program that runs a test, with its output so far.
pub(super) struct RunningTest<'a> {
    pub process: ProgramProcess,
    pub stdout: Capture,
    pub stderr: Capture,
    /// The time of the last output on standard output.
    pub last: Instant,
    begin: Instant,
    stop: &'a StopSignal,
    watch: &'a mut dyn Watch,
}

impl<'a> RunningTest<'a> {
    /// Starts the time, and passes the process to `watch`.
    pub fn new(process: ProgramProcess, stop: &'a StopSignal, watch: &'a mut dyn Watch) -> Self {
        watch.begins(process.id());
        let (stdout, stderr, now) = (Capture::default(), Capture::default(), Instant::now());
        Self { process, stdout, stderr, last: now, begin: now, stop, watch }
    }

    /// Waits until the process has ended, or a limit has passed.
    pub fn wait(&mut self, limit: Duration) -> ProgramWaitEnd {
        let Self { process, stdout, stderr, last, stop, watch, .. } = self;
        process.wait(limit, stop, &mut |from, bytes| {
            watch.wrote(from, bytes);
            match from {
                Source::Stderr => stderr.push(bytes),
                Source::Stdout => {
                    stdout.push(bytes);
                    *last = Instant::now();
                }
            }
            true
        })
    }

    /// Returns the time of the test: up to the last output if it has ended, else up to now.
    pub fn time(&self, has_ended: bool) -> Duration {
        let end = if has_ended { self.last } else { Instant::now() };
        end - self.begin
    }
}
