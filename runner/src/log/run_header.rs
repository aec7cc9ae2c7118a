//! The first line of an event log: the description of the run.

use std::collections::BTreeMap;
use std::time::SystemTime;

use serde::{Deserialize, Serialize};

use super::program_record::ProgramRecord;
use super::selected_tests::SelectedTests;
use crate::config::{DeviceSettings, JunitOptions};
use crate::devices::run_device::RunDevice;
use crate::serde_time::Rfc3339;
use crate::shard::Shard;

/// The description of a run: its time, place and settings.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct RunHeader {
    /// The version of the format.
    pub format: u32,
    /// The id of the run. Ids sort by time.
    pub run_id: String,
    /// The time of the start.
    #[serde(with = "Rfc3339")]
    pub time: SystemTime,
    /// The machine's name.
    pub host: String,
    /// Names and versions of the packages that ran the tests (`clmatrix-runner`, the tests' crate).
    pub versions: Vec<(String, String)>,
    /// The package of a test target.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub package: Option<String>,
    /// The name of the test target or of the command.
    pub target: String,
    /// The command line, word by word.
    pub command_line: Vec<String>,
    /// The command that reruns one test; its id is appended, quoted.
    pub rerun_command: String,
    /// The selected devices, which have events of their own.
    #[serde(skip)]
    pub devices: Vec<RunDevice>,
    /// The profile.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub profile: Option<String>,
    /// The configuration file, if there is one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub configuration: Option<String>,
    /// The drivers that `--icd` adds: absolute paths, or names that the system's linker looks up.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub added_drivers: Vec<String>,
    /// The settings of tests that need no device.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub host_settings: Option<DeviceSettings>,
    /// The contents of JUnit files.
    #[serde(default)]
    pub junit: JunitOptions,
    /// The address of a line of a source, with `{file}` and `{line}`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub source_url: Option<String>,
    /// The environment variables that loaders and drivers read.
    #[serde(default)]
    pub environment: BTreeMap<String, String>,
    /// The id of this start of the machine, where the system has one (Linux).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub boot_id: Option<String>,
    /// The kernel's name, release and version.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub kernel: Option<String>,
    /// The model of the first processor.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cpu: Option<String>,
    /// The number of processors that this process may use.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cpus: Option<u32>,
    /// The memory of the machine, in bytes.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub memory: Option<u64>,
    /// The build id of the executable, in hexadecimal digits.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub build_id: Option<String>,
    /// The other programs whose tests are run.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub programs: Vec<ProgramRecord>,
    /// The arguments that select a part of the tests.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub filter: Vec<String>,
    /// The list of tests that `--tests` or `--rerun` selects.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub selected_tests: Option<SelectedTests>,
    /// True if the tests that are marked `#[ignore]` are run.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub include_ignored: bool,
    /// True if the tests that only an expectation skips are run.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub run_skipped: bool,
    /// The seed of the order of the tests on each device. Absent if it is the order of the sources.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub seed: Option<u64>,
    /// The part of the tests. Absent if the run has all.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub shard: Option<Shard>,
    /// The run that has the tests of this one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub parent: Option<Parent>,
    /// The runs that were merged into this one.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub merged: Vec<MergedRun>,
}

/// The run whose results select the tests of another one.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Parent {
    /// The id of the run.
    pub run_id: String,
    /// True if the other run resumes this one: its folder is beside this one's, and this log has the devices, the
    /// plan and the results so far.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub goes_on: bool,
    /// The first difference from the machine, executable and configuration of the run so far, if there is one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub difference: Option<String>,
}

/// A run that is a part of a merged run.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct MergedRun {
    /// The id of the run.
    pub run_id: String,
    /// The machine's name.
    pub host: String,
    /// The part of the tests. Absent if the run has all.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub shard: Option<Shard>,
}

impl RunHeader {
    /// Returns the id of the unfinished run that this one resumes.
    pub fn goes_on_with(&self) -> Option<&str> {
        self.parent.as_ref().filter(|parent| parent.goes_on).map(|parent| &*parent.run_id)
    }

    /// Returns whether arguments select a part of the tests. A shard is a part of the selected tests.
    pub fn is_filtered(&self) -> bool {
        !self.filter.is_empty() || self.selected_tests.is_some()
    }

    /// Returns whether the run has all tests of its executable.
    pub fn is_whole(&self) -> bool {
        !self.is_filtered() && self.shard.as_ref().is_none_or(|shard| shard.total <= 1)
    }

    /// Returns whether `clmatrix` itself made the run. A wrapper, or a target of `cargo test`, has no command for
    /// reports.
    pub fn is_of_clmatrix(&self) -> bool {
        self.rerun_command.starts_with("clmatrix run")
    }
}
