//! A process of a program that runs some of its tests on a device.

use std::time::Duration;

use super::process::{Environment, ProgramProcess};
use super::program::Program;
use super::{libtest, opencl_cts};
use crate::config::ExternalKind;
use crate::os::{Source, StopSignal};
use crate::verdict::Outcome;
use crate::worker::parent::{Attempt, WorkerCommand};
use crate::worker::protocol::Role;

/// Tests of a program that run in one process on a device.
pub(crate) struct ProgramRun<'a> {
    pub program: &'a Program,
    /// The names of the tests, and the limit of each.
    pub tests: Vec<(&'a str, Duration)>,
    /// True if the program marks the tests as ignored.
    pub is_ignored: bool,
    /// The command of a worker of the device.
    pub worker: &'a WorkerCommand,
}

/// Follows a process. The tests are those of [`ProgramRun::tests`], by their positions.
pub(crate) trait Watch {
    /// A test begins in the process of this id.
    fn begins(&mut self, test: usize, process: u32);

    /// A test has written these bytes.
    fn wrote(&mut self, test: usize, from: Source, bytes: &[u8]);

    /// A test has reached its limit. Called before the stacks are taken.
    fn hangs(&mut self);
}

/// The result of a test in a process.
pub(crate) struct Found {
    pub attempt: Attempt,
}

impl Found {
    pub fn has_passed(&self) -> bool {
        self.attempt.outcome == Some(Outcome::Passed)
    }
}

/// The results of a process.
pub(crate) struct Ended {
    /// The result of each test, or `None` if another process must run the test: the process ended, and
    /// nothing tells its result. A single test always has a result.
    pub found: Vec<Option<Found>>,
    /// The crash or the hang of the process after its results.
    pub exit: Option<Outcome>,
}

impl ProgramRun<'_> {
    /// Runs the tests.
    pub fn run(&self, stop: &StopSignal, watch: &mut dyn Watch) -> Ended {
        match self.program.suite.kind {
            ExternalKind::OpenclCts => opencl_cts::run(self, stop, watch),
            ExternalKind::Libtest => libtest::run(self, stop, watch),
        }
    }

    /// Starts the program with these arguments and variables, and those of the suite and the device.
    pub(super) fn start(
        &self,
        arguments: &[&str],
        variables: &Environment,
    ) -> Result<ProgramProcess, String> {
        let suite = &self.program.suite;
        let own = suite.args.iter().map(String::as_str);
        let arguments: Vec<&str> = arguments.iter().copied().chain(own).collect();
        let mut environment = self.worker.environment.clone();
        environment.extend(variables.iter().cloned());
        let (platform, device) = self.position();
        let own = suite.environment(platform, device);
        environment.extend(own.into_iter().map(|(name, value)| (name.into(), Some(value.into()))));
        ProgramProcess::start(self.program, &arguments, &environment)
    }

    /// The positions of the platform and of the device in a process that sees only their driver.
    pub(super) fn position(&self) -> (usize, usize) {
        match &self.worker.role {
            Role::Device(address) => (address.platform, address.device),
            role => unreachable!("an outside test has a device, and no {role:?}"),
        }
    }
}
