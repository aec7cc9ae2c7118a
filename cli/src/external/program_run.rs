//! A process of a program that runs one of its tests on a device.

use std::time::Duration;

use clmatrix_harness::private::devices::device_address::DeviceAddress;
use clmatrix_harness::private::worker::parent::WorkerCommand;
use clmatrix_harness::private::worker::protocol::Role;

use super::process::{Environment, ProgramProcess};
use super::program::Program;

/// A test of a program, to run in a process on a device.
pub(crate) struct ProgramRun<'a> {
    pub program: &'a Program,
    /// The name of the test.
    pub name: &'a str,
    /// The limit of the test.
    pub limit: Duration,
    /// The most resident memory of the process, in bytes.
    pub memory: Option<u64>,
    /// True if the program marks the test as ignored.
    pub is_ignored: bool,
    /// The command of a worker of the device.
    pub worker: &'a WorkerCommand,
}

impl ProgramRun<'_> {
    /// Starts the program with these arguments and variables, and those of the suite and the device. `last` follows
    /// the arguments of the suite.
    pub(super) fn start(
        &self,
        arguments: &[&str],
        last: &[&str],
        variables: &Environment,
    ) -> Result<ProgramProcess, String> {
        let suite = &self.program.suite;
        let own = suite.args.iter().map(String::as_str);
        let arguments: Vec<&str> =
            arguments.iter().copied().chain(own).chain(last.iter().copied()).collect();
        let mut environment = self.worker.environment.clone();
        environment.extend(variables.iter().cloned());
        let DeviceAddress { platform, device, .. } = self.address();
        let own = suite.environment(*platform, *device);
        environment.extend(own.into_iter().map(|(name, value)| (name.into(), Some(value.into()))));
        ProgramProcess::start(self.program, &arguments, &environment, self.memory)
    }

    /// The position of the device in a process that sees only its driver.
    pub(super) fn address(&self) -> &DeviceAddress {
        match &self.worker.role {
            Role::Device(address) => address,
            role => unreachable!("an outside test has a device, and no {role:?}"),
        }
    }
}
