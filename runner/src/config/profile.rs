//! A profile: the settings of a run, and the overrides for single devices and tests.

use std::collections::BTreeMap;
use std::num::NonZeroUsize;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use serde::{Deserialize, Serialize};

use super::device_match::{DeviceKinds, DeviceMatch};
use super::expected_device::ExpectedDevice;
use super::value::{IdPattern, NamePattern, PlatformName, Size, SourceUrl, TestPattern, Timeout};
use super::version_range::{VersionPattern, VersionRange};
use super::{
    Contexts, Diagnostics, FlakyResult, Group, GroupKeys, JunitFlavor, JunitOptions, JunitOutput,
    Leaks, Leftovers, ProfileShard, Retries, Slots, Sync, TimeoutFactor, UnexpectedPass,
};
use crate::devices::run_device::RunDevice;
use crate::serde_time::{Nanoseconds, is_default};

/// The settings of a run.
#[derive(Clone, Debug)]
pub struct Profile {
    /// The selected devices, in the grammar of `CLMATRIX_TEST`; `None`: all.
    pub devices: Option<String>,
    expected_devices: Vec<ExpectedDevice>,
    /// The folder for the reports, if one is given.
    pub report_dir: Option<PathBuf>,
    /// True if a driver that shows no platform fails the run.
    pub strict_drivers: bool,
    /// True if expectations that were seen only at other versions of a driver do not count.
    pub strict_versions: bool,
    /// The interval at which the event log is written to the disk.
    pub sync: Sync,
    /// The number of runs that a report folder keeps.
    pub keep_runs: usize,
    /// The time after which a run stops.
    pub deadline: Option<Duration>,
    /// The time after which a running test is named, and again at each doubling.
    pub slow_after: Duration,
    /// The effect of a flaky result on the run.
    pub flaky_result: FlakyResult,
    /// The effect of an unexpected pass on the run.
    pub unexpected_pass: UnexpectedPass,
    contexts: Option<Contexts>,
    /// The shard of each run.
    pub shard: Option<ProfileShard>,
    /// The contents of JUnit files.
    pub junit: JunitOptions,
    /// The address of a line of a source, with `{file}` and `{line}`.
    pub source_url: Option<String>,
    /// The settings of a device that no override matches.
    settings: DeviceSettings,
    overrides: Arc<[Override]>,
    groups: Arc<BTreeMap<String, GroupKeys>>,
}

/// The settings for the tests of one device, or for one of its tests.
// The default has no times: a profile gives them.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct DeviceSettings {
    /// The time limit of a test that has none of its own.
    #[serde(rename = "timeout_ns", with = "Nanoseconds")]
    pub timeout: Duration,
    /// The time limit that an override gives the test, in place of its own.
    #[serde(skip)]
    pub test_timeout: Option<Duration>,
    /// True if no other test runs on the device at the same time.
    #[serde(default, skip_serializing_if = "is_default")]
    pub alone: bool,
    /// The group of which only some tests run at the same time.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub group: Option<Group>,
    /// Multiplies the time limits of tests. Absent if it is 1.
    #[serde(default, skip_serializing_if = "is_default")]
    #[cfg_attr(feature = "schema", schemars(with = "f64"))]
    pub timeout_factor: TimeoutFactor,
    /// The number of tests that may run at the same time.
    pub slots: Slots,
    /// The number of tests after which a new worker replaces the old one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tests_per_worker: Option<usize>,
    /// The number of times that a test that goes wrong is repeated, or a table with conditions. Absent if it is 0.
    #[serde(default, skip_serializing_if = "is_default")]
    #[cfg_attr(feature = "schema", schemars(with = "super::retries::Written"))]
    pub retries: Retries,
    /// The most resident memory of the process of a test and those below it, in bytes.
    #[serde(rename = "memory_bytes", default, skip_serializing_if = "Option::is_none")]
    pub memory: Option<u64>,
    /// The verdict on changes that a test leaves behind in its process.
    pub leftovers: Leftovers,
    /// The time that may be spent on tests that do not end, on probes, and on the causes of crashes.
    #[serde(skip)]
    pub hang_budget: Duration,
    /// True if workers end by `exit`, so that exit handlers of the driver run.
    #[serde(skip)]
    pub exit_check: bool,
    /// The verdict on objects of the driver that a test leaves behind.
    #[serde(default)]
    pub leaks: Leaks,
    /// The contexts of tests.
    #[serde(default)]
    pub contexts: Contexts,
    /// The lines on standard error by which the driver reports an error of a test.
    #[serde(default, skip_serializing_if = "is_default")]
    #[cfg_attr(feature = "schema", schemars(with = "Vec<String>"))]
    pub diagnostics: Diagnostics,
}

/// `[profile.NAME]`, as written.
#[derive(Clone, Debug, Default, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields, rename_all = "kebab-case", expecting = "a table")]
pub(super) struct ProfileKeys {
    /// The selected devices, in the grammar of `--devices`. All without it.
    devices: Option<String>,
    /// The devices without which the run fails: globs for ids, or tables with `id` and `count`.
    expected_devices: Option<Vec<ExpectedDevice>>,
    /// The folder for reports, relative to the folder of the configuration.
    report_dir: Option<PathBuf>,
    /// True if a driver of the system that fails also fails the run.
    strict_drivers: Option<bool>,
    /// True if an expectation counts only at the versions of a driver where it was seen.
    strict_versions: Option<bool>,
    /// The interval at which the event log is written to the disk.
    sync: Option<Sync>,
    /// The number of runs that the report folder keeps.
    keep_runs: Option<NonZeroUsize>,
    /// The time after which the run stops and writes its reports.
    deadline: Option<Timeout>,
    /// The time after which a running test is named, and again at each doubling.
    slow_after: Option<Timeout>,
    /// The effect of a flaky test on the run.
    flaky_result: Option<FlakyResult>,
    /// The effect of a test that passes unexpectedly on the run.
    unexpected_pass: Option<UnexpectedPass>,
    /// Multiplies the time limits of tests, also those that tests set.
    timeout_factor: Option<TimeoutFactor>,
    /// The time limit of one test on one device.
    timeout: Option<Timeout>,
    /// The time per device for tests that do not end. The rest of its tests is not run when it is spent.
    hang_budget: Option<Timeout>,
    /// The tests that run at the same time per device.
    #[cfg_attr(feature = "schema", schemars(with = "Option<super::slots::Written>"))]
    slots: Option<Slots>,
    /// The tests after which a worker is replaced.
    tests_per_worker: Option<NonZeroUsize>,
    /// The repeats of a test that goes wrong.
    retries: Option<Retries>,
    /// The most resident memory of the process of a test and those below it.
    memory: Option<Size>,
    /// The verdict on a change that a test leaves behind in its process.
    leftovers: Option<Leftovers>,
    /// The verdict on objects of the driver that a test leaves behind.
    leaks: Option<Leaks>,
    /// The contexts of tests: new ones, or also those of earlier tests.
    contexts: Option<Contexts>,
    /// The source of the shard of a run.
    shard: Option<ProfileShard>,
    /// The tests whose output is in JUnit files.
    junit_output: Option<JunitOutput>,
    /// The most of each output in JUnit files.
    junit_output_limit: Option<Size>,
    /// The reader of JUnit files.
    junit_flavor: Option<JunitFlavor>,
    /// The address of a line of a source, with `{file}` and `{line}`.
    source_url: Option<SourceUrl>,
}

/// `[[override]]`: settings for some devices, or for some tests.
#[derive(Clone, Debug, Deserialize)]
#[serde(try_from = "OverrideKeys")]
pub(super) struct Override {
    pub(super) on: DeviceMatch,
    pub(super) keys: OverrideKeys,
}

/// The keys of `[[override]]`.
// Serde cannot both flatten a `DeviceMatch` and refuse unknown keys.
#[derive(Clone, Debug, Default, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields, rename_all = "kebab-case", expecting = "a table")]
pub(super) struct OverrideKeys {
    /// A glob for the id of the device.
    id: Option<IdPattern>,
    /// A part of the platform's name or vendor, or a glob.
    platform: Option<PlatformName>,
    /// A part of the device's name, or a glob.
    device: Option<NamePattern>,
    /// A part of the vendor's name, or a glob.
    vendor: Option<NamePattern>,
    /// A glob or a range for the driver's version.
    driver_version: Option<VersionPattern>,
    /// A range for the device's version of OpenCL.
    opencl: Option<VersionRange>,
    /// The type of the device, or several.
    #[serde(rename = "type")]
    device_type: Option<DeviceKinds>,
    /// A glob for the paths of tests. The override is for the devices without it.
    pub(super) tests: Option<TestPattern>,
    /// The time limit of one test on one device.
    timeout: Option<Timeout>,
    /// True if no other test runs on the device at the same time.
    alone: Option<bool>,
    /// The group of the tests.
    pub(super) group: Option<String>,
    /// The time per device for tests that do not end. The rest of its tests is not run when it is spent.
    hang_budget: Option<Timeout>,
    /// True if workers end by `exit`, so that exit handlers of the driver run.
    exit_check: Option<bool>,
    /// The tests that run at the same time per device.
    #[cfg_attr(feature = "schema", schemars(with = "Option<super::slots::Written>"))]
    slots: Option<Slots>,
    /// The tests after which a worker is replaced.
    tests_per_worker: Option<NonZeroUsize>,
    /// The repeats of a test that goes wrong.
    retries: Option<Retries>,
    /// The most resident memory of the process of a test and those below it.
    memory: Option<Size>,
    /// The verdict on a change that a test leaves behind in its process.
    leftovers: Option<Leftovers>,
    /// The verdict on objects of the driver that a test leaves behind.
    leaks: Option<Leaks>,
    /// The contexts of tests: new ones, or also those of earlier tests.
    contexts: Option<Contexts>,
    /// Regular expressions for lines on standard error by which a test fails.
    diagnostics: Option<Diagnostics>,
}

impl Profile {
    /// Returns for each setting the value of the last of `layers` that has its key, else the default. A relative
    /// `report-dir` starts from `root`.
    pub(super) fn new(
        layers: &[&ProfileKeys],
        root: &Path,
        overrides: Arc<[Override]>,
        groups: Arc<BTreeMap<String, GroupKeys>>,
    ) -> Self {
        let (timeout, hang_budget) = (Duration::from_secs(60), Duration::from_secs(600));
        let mut settings = DeviceSettings { timeout, hang_budget, ..DeviceSettings::default() };
        for keys in layers {
            put(&mut settings.timeout_factor, &keys.timeout_factor);
            settings.apply(&OverrideKeys {
                timeout: keys.timeout,
                hang_budget: keys.hang_budget,
                slots: keys.slots,
                tests_per_worker: keys.tests_per_worker,
                retries: keys.retries.clone(),
                memory: keys.memory,
                leftovers: keys.leftovers,
                leaks: keys.leaks,
                ..OverrideKeys::default()
            });
        }
        let expected_devices = last(layers, |keys| keys.expected_devices.clone());
        let limit = last(layers, |keys| keys.junit_output_limit);
        let limit = limit.map(|size| size.0.try_into().unwrap_or(usize::MAX));
        Self {
            devices: last(layers, |keys| keys.devices.clone()),
            expected_devices: expected_devices.unwrap_or_default(),
            report_dir: last(layers, |keys| Some(root.join(keys.report_dir.as_ref()?))),
            strict_drivers: last(layers, |keys| keys.strict_drivers).unwrap_or_default(),
            strict_versions: last(layers, |keys| keys.strict_versions).unwrap_or_default(),
            sync: last(layers, |keys| keys.sync).unwrap_or_default(),
            keep_runs: last(layers, |keys| keys.keep_runs).map_or(10, NonZeroUsize::get),
            deadline: last(layers, |keys| keys.deadline).map(|deadline| deadline.0),
            slow_after: last(layers, |keys| keys.slow_after)
                .map_or(Duration::from_secs(10), |time| time.0),
            flaky_result: last(layers, |keys| keys.flaky_result).unwrap_or_default(),
            unexpected_pass: last(layers, |keys| keys.unexpected_pass).unwrap_or_default(),
            contexts: last(layers, |keys| keys.contexts),
            shard: last(layers, |keys| keys.shard),
            junit: JunitOptions {
                output: last(layers, |keys| keys.junit_output).unwrap_or_default(),
                output_limit: limit.unwrap_or(JunitOptions::default().output_limit),
                flavor: last(layers, |keys| keys.junit_flavor).unwrap_or_default(),
            },
            source_url: last(layers, |keys| keys.source_url.clone()).map(|url| url.0),
            settings,
            overrides,
            groups,
        }
    }

    /// Returns the entries of `expected-devices` that too few of the devices match, given as ids with PCI addresses.
    pub fn absent(&self, present: &[(&str, Option<&str>)]) -> Vec<String> {
        self.expected_devices.iter().filter_map(|expected| expected.absent(present)).collect()
    }

    /// Returns the settings for `device`, or with `None` for tests without one: those of the profile, then those of each
    /// override that matches.
    pub fn settings_for(&self, device: Option<&RunDevice>) -> DeviceSettings {
        self.settings_by(device, None)
    }

    /// Returns the settings for the test with this path, without its device, if an override for tests matches.
    pub fn test_settings(&self, path: &str, device: Option<&RunDevice>) -> Option<DeviceSettings> {
        let mut of_tests = self.overrides.iter().filter(|each| each.keys.tests.is_some());
        let has_own = of_tests.any(|each| each.is_for(device, Some(path)));
        has_own.then(|| self.settings_by(device, Some(path)))
    }

    /// Returns whether the memory of some tests is limited.
    pub fn limits_memory(&self) -> bool {
        let limits = |each: &Override| each.keys.memory.is_some();
        self.settings.memory.is_some() || self.overrides.iter().any(limits)
    }

    fn settings_by(&self, device: Option<&RunDevice>, path: Option<&str>) -> DeviceSettings {
        let usual = device.map_or(Contexts::default(), |device| {
            self.contexts.unwrap_or(Contexts::usual_on(device.info.device_type))
        });
        let mut settings = DeviceSettings { contexts: usual, ..self.settings.clone() };
        let matching = self.overrides.iter().filter(|each| each.is_for(device, path));
        for Override { keys, .. } in matching {
            settings.apply(keys);
            if let Some(name) = &keys.group {
                settings.group = self.groups.get(name).map(|group| group.named(name));
            }
            if keys.tests.is_some() {
                let limit = keys.timeout.map(|limit| limit.0);
                settings.test_timeout = limit.or(settings.test_timeout);
            }
        }
        settings
    }
}

/// Returns the value of the last layer that has a key.
fn last<T>(layers: &[&ProfileKeys], value: impl Fn(&ProfileKeys) -> Option<T>) -> Option<T> {
    layers.iter().rev().find_map(|keys| value(keys))
}

impl DeviceSettings {
    /// Returns the time limit of a test: the smallest of the limits of the test and of its expectation, if
    /// there are any.
    pub fn limit(&self, own: impl IntoIterator<Item = Duration>) -> Duration {
        self.timeout_factor.times(own.into_iter().min().unwrap_or(self.timeout))
    }

    /// Returns the time limit of the probe before the first test: that of a test, and at least 30 s, since drivers
    /// fill their caches then, and several devices start in parallel.
    pub fn first_probe_limit(&self) -> Duration {
        self.limit(None).max(Duration::from_secs(30))
    }

    /// Returns the first line in which the driver reports an error.
    pub fn complaint_in<'a>(&self, stderr: &'a str) -> Option<&'a str> {
        stderr.lines().find(|line| self.diagnostics.0.is_match(line))
    }

    fn apply(&mut self, keys: &OverrideKeys) {
        put(&mut self.timeout, &keys.timeout.map(|timeout| timeout.0));
        put(&mut self.alone, &keys.alone);
        put(&mut self.hang_budget, &keys.hang_budget.map(|budget| budget.0));
        put(&mut self.exit_check, &keys.exit_check);
        put(&mut self.slots, &keys.slots);
        put(&mut self.retries, &keys.retries);
        put(&mut self.leftovers, &keys.leftovers);
        put(&mut self.leaks, &keys.leaks);
        put(&mut self.contexts, &keys.contexts);
        put(&mut self.diagnostics, &keys.diagnostics);
        let tests = keys.tests_per_worker.map(NonZeroUsize::get);
        self.tests_per_worker = tests.or(self.tests_per_worker);
        self.memory = keys.memory.map(|memory| memory.0).or(self.memory);
    }
}

/// Replaces a setting if there is a value.
fn put<T: Clone>(setting: &mut T, value: &Option<T>) {
    if let Some(value) = value {
        setting.clone_from(value);
    }
}

impl Override {
    /// Returns whether the override is for a device, or with `None` for tests without one: for all tests, or also for
    /// the test with this path.
    fn is_for(&self, device: Option<&RunDevice>, path: Option<&str>) -> bool {
        let is_of_test = |tests: &TestPattern| path.is_some_and(|path| tests.0.matches(path));
        self.keys.tests.as_ref().is_none_or(is_of_test) && self.on.mismatch(device).is_none()
    }
}

impl TryFrom<OverrideKeys> for Override {
    type Error = String;

    fn try_from(mut keys: OverrideKeys) -> Result<Self, String> {
        let of_devices = [
            ("hang-budget", keys.hang_budget.is_some()),
            ("exit-check", keys.exit_check.is_some()),
            ("slots", keys.slots.is_some()),
            ("tests-per-worker", keys.tests_per_worker.is_some()),
            ("contexts = \"reuse\"", keys.contexts == Some(Contexts::Reuse)),
        ];
        if let Some((key, _)) = of_devices.into_iter().find(|(_, is_there)| *is_there)
            && keys.tests.is_some()
        {
            return Err(format!(
                "an [[override]] with `tests` cannot have {key}, which is for devices"
            ));
        }
        let on = DeviceMatch {
            id: keys.id.take(),
            platform: keys.platform.take(),
            device: keys.device.take(),
            vendor: keys.vendor.take(),
            driver_version: keys.driver_version.take(),
            opencl: keys.opencl.take(),
            device_type: keys.device_type.take(),
        };
        Ok(Self { on, keys })
    }
}
