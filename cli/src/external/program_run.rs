//! A process of a program that runs one of its tests on a device.

use std::time::Duration;

use clmatrix_runner::devices::device_address::DeviceAddress;
use clmatrix_runner::os::StopSignal;
use clmatrix_runner::outside::Watch;
use clmatrix_runner::worker::parent::WorkerCommand;
use clmatrix_runner::worker::protocol::Role;

use super::external_test::ExternalTest;
use super::process::{Environment, ProgramProcess};
use super::running_test::RunningTest;

/// A test of a program, to run in a process on a device.
pub(crate) struct ProgramRun<'a> {
    pub test: &'a ExternalTest,
    /// The limit of the test.
    pub limit: Duration,
    /// The most resident memory of the process, in bytes.
    pub memory: Option<u64>,
    /// The command of a worker of the device.
    pub worker: &'a WorkerCommand,
    pub stop: &'a StopSignal,
}

impl<'a> ProgramRun<'a> {
    /// Returns the program's name of the test.
    pub(super) fn name(&self) -> &'a str {
        self.test.name.as_deref().unwrap_or_default()
    }

    /// Starts the program with these arguments and variables, and those of the suite and the device. `last` follows
    /// the arguments of the suite.
    pub(super) fn start(
        &self,
        arguments: &[&str],
        last: &[&str],
        variables: &Environment,
        watch: &'a mut dyn Watch,
    ) -> Result<RunningTest<'a>, String> {
        let program = &self.test.program;
        let suite = &program.suite;
        let own = suite.args.iter().map(String::as_str);
        let arguments: Vec<&str> =
            arguments.iter().copied().chain(own).chain(last.iter().copied()).collect();
        let mut environment = self.worker.environment.clone();
        environment.extend(variables.iter().cloned());
        let DeviceAddress { platform, device, .. } = self.address();
        let own = suite.environment(*platform, *device);
        environment.extend(own.into_iter().map(|(name, value)| (name.into(), Some(value.into()))));
        let process = ProgramProcess::start(program, &arguments, &environment, self.memory)?;
        Ok(RunningTest::new(process, self.stop, watch))
    }

    /// Returns the position of the device in a process that sees only its driver.
    pub(super) fn address(&self) -> &DeviceAddress {
        match &self.worker.role {
            Role::Device(address) => address,
            role => unreachable!("an outside test has a device, and no {role:?}"),
        }
    }
}
