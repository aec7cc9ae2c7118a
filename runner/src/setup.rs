//! From options and environment to the devices under test and their settings.

use std::collections::{HashMap, HashSet};
use std::ffi::OsString;
use std::io;
use std::num::NonZeroUsize;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use clmatrix::select::DeviceType;

use crate::case::Case;
use crate::config::{
    Config, ConfigError, Contexts, DEFAULT_PROFILE, DeviceExpectations, DeviceSettings,
    EmbeddedConfig, Profile, Retries, Slots, TimeoutFactor, Together,
};
use crate::devices::cache::{self, MachineCache};
use crate::devices::icd::Variables;
use crate::devices::selection::{Choice, NoDevices, select};
use crate::devices::{DeviceAddress, FailedDriver, Machine, TestDevice};
use crate::folders::{cargo_target, path_variable, state_folder};
use crate::os;
use crate::result::worker_end::WorkerEnd;
use crate::run::plan::{Plan, Planned};
use crate::run::so_far::SoFar;
use crate::run::state::{PlanExpectations, Repeat, Run, WorkerConfig};
use crate::variable::{self, VariableError, text_variable};
use crate::worker::commands::WorkerCommands;
use crate::worker::driver_probe::{self, Probe};
use crate::worker::parent::WorkerCommand;
use crate::worker::protocol::Role;

/// The options of a run.
#[derive(Clone, Debug, Default)]
pub struct Options {
    /// The configuration in the executable.
    pub embedded: Option<EmbeddedConfig>,
    /// `--config`.
    pub config: Option<PathBuf>,
    /// `--profile`.
    pub profile: Option<String>,
    /// `--devices`.
    pub devices: Option<String>,
    /// `--icd`, repeated; CLMATRIX_ICD adds to it.
    pub icd: Vec<PathBuf>,
    /// `--strict-drivers`; the profile may set it as well.
    pub strict_drivers: bool,
    /// `--timeout`.
    pub timeout: Option<Duration>,
    /// `--timeout-factor`.
    pub timeout_factor: Option<TimeoutFactor>,
    /// `--slots`.
    pub slots: Option<Slots>,
    /// `--retries`.
    pub retries: Option<u32>,
    /// `--contexts`.
    pub contexts: Option<Contexts>,
    /// Allows the drivers' answers of a recent run.
    pub cached_devices: bool,
    /// The command that shows a shell the device of the feature `provision`.
    pub provision: String,
    /// Arguments that lead this executable to its worker's entry.
    pub worker_arguments: Vec<OsString>,
}

/// The reason why a run cannot be made: exit status 2.
#[derive(Debug, thiserror::Error)]
pub enum SetupError {
    /// The configuration is broken.
    #[error(transparent)]
    Config(#[from] ConfigError),
    /// A variable has a wrong value.
    #[error(transparent)]
    Variable(#[from] VariableError),
    /// There is no device to test.
    #[error(transparent)]
    NoDevices(#[from] NoDevices),
    /// Drivers that the user named show no platform.
    #[error("{0}")]
    NamedDrivers(String),
    /// The folder for files that are kept between runs, and the error.
    #[error("{folder}: {1}", folder = .0.display())]
    State(PathBuf, io::Error),
}

/// The machine, the configuration, and the selected parts of both.
pub struct Setup {
    /// All devices of the machine.
    pub machine: Machine,
    /// Devices that the profile expects and that were not found.
    pub absent: Vec<String>,
    /// Configuration and expectations.
    pub config: Config,
    /// The chosen profile.
    pub profile: Profile,
    /// Its name.
    pub profile_name: String,
    options: Options,
    choice: Choice,
    state: PathBuf,
    /// The answers of recent runs, if they are allowed.
    answers: Option<MachineCache>,
}

impl Setup {
    /// Returns the drivers of `--icd` and CLMATRIX_ICD.
    pub fn added_drivers(&self) -> &[PathBuf] {
        &self.options.icd
    }

    /// Reads the configuration and queries the drivers.
    pub fn new(mut options: Options) -> Result<Self, SetupError> {
        if let Some(added) = variable::value("CLMATRIX_ICD") {
            let paths = std::env::split_paths(&added);
            options.icd.extend(paths.filter(|path| !path.as_os_str().is_empty()));
        }
        let (config, profile_name) = options.configuration()?;
        let profile = config.profile(&profile_name)?;
        let choice = Choice::find(options.devices.clone(), profile.devices.clone())?;
        choice.refuse_empty_entries()?;
        let state =
            state_folder().map_err(|error| SetupError::State(std::env::temp_dir(), error))?;
        let cache = MachineCache::new(&state, &options.icd);
        let probe = Probe {
            added: &options.icd,
            arguments: &options.worker_arguments,
            state: &state,
            limit: driver_probe::limit()?,
        };
        let cache_is_wanted = cache::is_wanted()?;
        let uses_answers = cache_is_wanted.unwrap_or(options.cached_devices);
        let answers = uses_answers.then(|| cache.clone());
        let remembered = answers.as_ref().and_then(MachineCache::read);
        let machine = remembered.unwrap_or_else(|| {
            let machine = probe.machine();
            // A driver that failed may work the next time.
            if cache_is_wanted != Some(false)
                && machine.failed.is_empty()
                && machine.positions().next().is_some()
            {
                cache.write(&machine);
            }
            machine
        });
        let absent = profile.absent(&machine.ids_with_addresses());
        Ok(Self { machine, absent, config, profile, profile_name, options, choice, state, answers })
    }

    /// Returns the devices under test.
    ///
    /// # Errors
    ///
    /// A driver that the user named has failed, or the selection selects nothing.
    pub fn devices(&self) -> Result<Vec<TestDevice>, SetupError> {
        let named = self.machine.failed.iter().filter(|failed| failed.named);
        let lines: Vec<_> = named.map(|failed| format!("cannot use driver {failed}")).collect();
        if !lines.is_empty() {
            return Err(SetupError::NamedDrivers(lines.join("\n")));
        }
        Ok(select(&self.machine, &self.choice).map_err(|error| match error {
            NoDevices::None(reason) => NoDevices::None(reason + &self.options.provision_advice()),
            error => error,
        })?)
    }

    /// Returns the devices under test; none on a machine without devices, where tests that need no device
    /// can run.
    ///
    /// # Errors
    ///
    /// A driver that the user named has failed, or the selection is at fault.
    pub fn devices_if_any(&self) -> Result<Vec<TestDevice>, SetupError> {
        match self.devices() {
            Err(SetupError::NoDevices(NoDevices::None(_))) => Ok(Vec::new()),
            devices => devices,
        }
    }

    /// Checks that the tests of `plan` that need a device have one.
    ///
    /// # Errors
    ///
    /// The machine has no device; the error has the reason.
    pub fn require_devices(&self, plan: &Plan) -> Result<(), SetupError> {
        if plan.lacks_devices() { self.devices().map(drop) } else { Ok(()) }
    }

    /// Returns whether a driver that has failed fails the run.
    pub fn strict_drivers(&self) -> bool {
        self.options.strict_drivers || self.profile.strict_drivers
    }

    /// Returns the drivers that fail the run.
    pub fn unusable_drivers(&self) -> &[FailedDriver] {
        if self.strict_drivers() { &self.machine.failed } else { &[] }
    }

    /// Looks up the expectations for a plan.
    fn expectations(&self, plan: &Plan) -> PlanExpectations {
        let expectations = &self.config.expectations;
        let devices = plan.devices.iter().map(|device| Some(&device.run)).chain([None]);
        let devices = devices.map(|device| expectations.for_device(device));
        let devices: Vec<_> = devices.map(|on| on.strict(self.profile.strict_versions)).collect();
        let of_test = |(position, entry)| {
            Some((position, devices[place(plan, entry)].lookup(&plan.path(entry))?))
        };
        let of_worker = |device: &DeviceExpectations<'_>| {
            let known = |end: WorkerEnd| Some((end, device.lookup(end.path())?));
            WorkerEnd::ALL.into_iter().filter_map(known).collect()
        };
        PlanExpectations {
            tests: plan.positions().filter_map(of_test).collect(),
            of_workers: devices.iter().map(of_worker).collect(),
        }
    }

    /// Returns the `test` globs of the expectations for the suites of `tests`, all tests of this target, that match
    /// none of them.
    pub fn unmatched_expectations(&self, tests: &[Case], home: &str) -> Vec<&str> {
        let of_workers = WorkerEnd::ALL.map(|end| end.path().to_owned());
        let paths: Vec<_> = tests.iter().map(|test| test.path(home)).chain(of_workers).collect();
        self.config.expectations.without_test(&paths)
    }

    /// Returns warnings about the expectations for the devices of a plan, and about parts of the configuration without
    /// effect. `tests` are all tests of this target.
    pub fn warnings(&self, plan: &Plan, tests: &[Case], home: &str) -> Vec<String> {
        let devices: Vec<_> = plan.devices.iter().map(|device| &device.run).collect();
        let mut warnings = self.config.expectations.warnings(&devices);
        let paths: Vec<String> = tests.iter().map(|test| test.path(home)).collect();
        let platforms = self.machine.platforms.iter().map(|platform| &platform.info);
        warnings.extend(self.config.without_effect(&paths, &Vec::from_iter(platforms)));
        if self.profile.limits_memory() && !os::LIMITS_MEMORY {
            warnings.push(format!("the key `memory` has no effect on {}", std::env::consts::OS));
        }
        warnings
    }

    /// Returns the folder of the reports.
    pub fn report_folder(&self) -> PathBuf {
        report_folder(&self.profile)
    }

    /// Adds the configuration of the workers and the expectations to a plan.
    pub fn run<'a>(&self, plan: &'a Plan) -> Result<Run<'a>, SetupError> {
        let types = |device: &TestDevice| device.run.info.device_type;
        let tested: HashSet<u32> = plan.entries.iter().filter_map(|entry| entry.device).collect();
        let is_cpu = |at: &&u32| types(&plan.devices[**at as usize]).contains(DeviceType::CPU);
        let together = Together {
            processors: std::thread::available_parallelism().map_or(1, NonZeroUsize::get),
            devices: tested.len(),
            cpus: tested.iter().filter(is_cpu).count(),
        };
        let config = |device| {
            let mut config = self.worker_config(device)?;
            config.settings.slots = config.settings.slots.on(types(device), together);
            Ok(config)
        };
        let devices: Vec<_> = plan.devices.iter().map(config).collect::<Result<_, SetupError>>()?;
        let arguments = self.options.worker_arguments.clone();
        let command = WorkerCommand { role: Role::Host, arguments, environment: Vec::new() };
        let host = WorkerConfig {
            commands: WorkerCommands::new(command, None),
            settings: self.options.settings(self.profile.settings_for(None)),
        };
        let shared = devices.iter().chain([&host]).map(|config| config.settings.clone());
        let shared: Vec<_> = shared.map(Arc::new).collect();
        Ok(Run {
            plan,
            settings: self.settings(plan, &shared),
            devices,
            host,
            expectations: self.expectations(plan),
            answers: self.answers.clone(),
            include_ignored: false,
            run_skipped: false,
            max_fail: None,
            seed: None,
            repeat: Repeat::default(),
            so_far: SoFar::nothing(plan),
            durations: HashMap::new(),
            deadline: self.profile.deadline,
            flaky_result: self.profile.flaky_result,
            unexpected_pass: self.profile.unexpected_pass,
            echo: false,
            not_run: None,
            device_query: None,
        })
    }

    /// Returns the settings of each test of a plan: those `shared` by the tests of its device or of the host, if no
    /// override is for the test.
    fn settings(&self, plan: &Plan, shared: &[Arc<DeviceSettings>]) -> Vec<Arc<DeviceSettings>> {
        let settings = |entry: &Planned| {
            let device = plan.device(entry).map(|device| &device.run);
            match self.profile.test_settings(&plan.path(entry), device) {
                Some(own) => Arc::new(self.options.settings(own)),
                None => shared[place(plan, entry)].clone(),
            }
        };
        plan.entries.iter().map(settings).collect()
    }

    /// Returns the configuration of the workers of a device.
    pub fn worker_config(&self, device: &TestDevice) -> Result<WorkerConfig, SetupError> {
        let variables = device.driver.environment(&self.state);
        let variables = variables.map_err(|error| SetupError::State(self.state.clone(), error))?;
        let alone = device.visible.as_ref().map(|visible| {
            let variable = (visible.variable.into(), Some(visible.value.clone().into()));
            let with_own = variables.iter().cloned().chain([variable]).collect();
            self.device_command(&visible.address, with_own)
        });
        let among_others = self.device_command(&device.address, variables);
        Ok(WorkerConfig {
            commands: WorkerCommands::new(among_others, alone),
            settings: self.options.settings(self.profile.settings_for(Some(&device.run))),
        })
    }

    fn device_command(&self, address: &DeviceAddress, mut environment: Variables) -> WorkerCommand {
        // `create_some_context` in a test gives the device under test. The values of the runner's
        // environment count all drivers; a worker sees one.
        let DeviceAddress { platform, device, .. } = address;
        environment.push(("PYOPENCL_CTX".into(), Some(format!("{platform}:{device}").into())));
        environment.push(("PYOPENCL_TEST".into(), None));
        let arguments = self.options.worker_arguments.clone();
        WorkerCommand { role: Role::Device(address.clone()), arguments, environment }
    }
}

impl Options {
    /// Replaces the settings that the options set.
    fn settings(&self, mut settings: DeviceSettings) -> DeviceSettings {
        settings.timeout = self.timeout.unwrap_or(settings.timeout);
        settings.timeout_factor = self.timeout_factor.unwrap_or(settings.timeout_factor);
        settings.slots = self.slots.unwrap_or(settings.slots);
        settings.retries = self.retries.map_or(settings.retries, Retries::from);
        settings.contexts = self.contexts.unwrap_or(settings.contexts);
        settings
    }

    /// Returns the last lines of the error for a machine without a device.
    fn provision_advice(&self) -> String {
        #[cfg(feature = "provision")]
        if let Some(advice) = crate::provision::advice(&self.provision) {
            return format!("\n{advice}");
        }
        String::new()
    }

    /// Reads the configuration, and finds the name of the profile.
    pub fn configuration(&self) -> Result<(Config, String), ConfigError> {
        let config = Config::load(self.config.as_deref(), self.embedded)?;
        let given = self.profile.clone().map(Some);
        let name = given.map_or_else(|| text_variable("CLMATRIX_PROFILE"), Ok)?;
        Ok((config, name.unwrap_or_else(|| DEFAULT_PROFILE.to_owned())))
    }

    /// Returns the folder of the reports without a query of a driver.
    pub fn report_folder(&self) -> Result<PathBuf, ConfigError> {
        let (config, profile) = self.configuration()?;
        Ok(report_folder(&config.profile(&profile)?))
    }
}

/// Returns the place of the device of a test in a list of all devices, behind which is the host.
fn place(plan: &Plan, entry: &Planned) -> usize {
    entry.device.map_or(plan.devices.len(), |device| device as usize)
}

/// Returns the folder that CLMATRIX_REPORT_DIR names, else the profile's, else `clmatrix` in the target folder.
fn report_folder(profile: &Profile) -> PathBuf {
    path_variable("CLMATRIX_REPORT_DIR")
        .or_else(|| profile.report_dir.clone())
        .unwrap_or_else(|| cargo_target().unwrap_or_else(|| "target".into()).join("clmatrix"))
}
