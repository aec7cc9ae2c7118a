//! The configuration: profiles, overrides for single devices, and known failures.
//!
//! ```toml
//! builtin-expectations = true      # whether those in the executable hold as well
//!
//! [profile.default]
//! timeout = "60s"                  # for one test on one device
//! timeout-factor = 1.0             # multiplies all limits, those of tests as well
//! deadline = "80m"                 # then the run stops; never without the key
//! shard = "auto"                   # the part of the tests that CI names; all without the key
//! slots = "auto"                   # or a number: tests at a time on one device
//! tests-per-worker = 100           # then a new process; no limit without the key
//! leftovers = "note"               # or "fail": tests that change their process for the next one
//! retries = 0                      # repeats of a test that goes wrong; also { count = 2, on = ["crash"] }
//! flaky-result = "fail"            # or "pass": a test that passes when repeated does not fail the run
//! unexpected-pass = "fail"         # or "report": a test that passes unexpectedly does not fail the run
//! contexts = "reuse"               # or "fresh": new contexts for each test; without the key as the device's type
//! leaks = "report"                 # or "fail", "off": tests that leave objects of the driver behind
//! sync = "1s"                      # how often the log goes to the disk; "each": before each test; "off"
//! keep-runs = 10                   # runs in the report folder
//! devices = "pocl;nvidia:0"        # in the grammar of CLMATRIX_TEST; all without the key
//! report-dir = "reports"           # `clmatrix` in cargo's target folder without the key
//!
//! [profile.ci]                     # absent keys have the values of `default`
//! expected-devices = ["pocl-*"]    # each glob that no device matches fails the run
//! strict-drivers = true            # so does a driver of this machine that shows no platform
//! strict-versions = true           # expectations count only at the versions of a driver where they were seen
//!
//! [[override]]                     # all given patterns must match; later overrides win
//! platform = "oclgrind"            # as in --devices; also: device, vendor, driver-version, opencl, type, id
//! timeout = "5m"
//! diagnostics = ['^Invalid read']  # lines on standard error that fail a test
//!
//! [[override]]
//! tests = "pool::exhaustion::*"    # tests by their paths; also with the patterns for devices
//! group = "big-memory"
//!
//! [group.big-memory]               # tests of which only some run at the same time
//! max = 1
//! per = "host"                     # or "device"
//!
//! [[external]]                     # tests of other programs
//! name = "cts"                     # their ids: cts::PROGRAM::TEST@DEVICE
//! kind = "opencl-cts"              # or "libtest"
//! programs = "/opt/cts/test_conformance/*/test_*"
//! ```
//!
//! The file is `--config FILE`, else the one that `CLMATRIX_CONFIG` names, else `clmatrix.toml` or
//! `config/clmatrix.toml` in the current folder or the nearest one above it. Known failures are in the folder
//! `expectations` beside the file; see [`Expectations`].
//!
//! An executable can hold a configuration of its own: `main!(config = "...")` and `command!` include one at build
//! time, see [`EmbeddedConfig`]. It applies where there is no file. A file adds to it:
//!
//! - a key of a profile in the file replaces the same key of the same profile in the executable;
//! - the file's overrides and expectations come last, so they win;
//! - `builtin-expectations = false` in the file drops the expectations in the executable.
//!
//! The included file may have the key `builtin-expectations` too, where it changes nothing. In the
//! checkout that holds the included files, `builtin-expectations = false` makes the files on disk
//! the only expectations: none counts twice, and an edit takes effect without a build.

mod choices;
mod device_match;
mod error;
mod expectation;
mod expectations;
mod expected_device;
mod expected_statuses;
mod external;
mod profile;
mod retries;
pub mod sample;
mod slots;
mod value;
mod version_range;

use std::collections::{BTreeMap, BTreeSet};
use std::env;
use std::ffi::OsString;
use std::fs::File;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::SystemTime;

use clmatrix::select::PlatformInfo;
use serde::Deserialize;
use serde::de::DeserializeOwned;

use crate::folders::{entries, is_absent, with_extension};
use crate::{files, variable};

use choices::GroupKeys;
pub use choices::{
    Contexts, FlakyResult, Group, GroupScope, JunitFlavor, JunitOptions, JunitOutput, Leaks,
    Leftovers, ProfileShard, Sync, UnexpectedPass,
};
pub use device_match::Mismatch;
pub use error::ConfigError;
use error::hint;
pub use expectation::{Expectation, judge, short_limit};
pub use expectations::{
    DeviceExpectations, Effect, Exclusion, Expectations, Match, WrittenExpectation,
};
pub use expected_statuses::ExpectedStatuses;
pub use external::{ExternalKind, ExternalSuite};
pub use profile::{DeviceSettings, Profile};
use profile::{Override, ProfileKeys};
pub use retries::{Retries, RetryCause};
pub use slots::{Slots, Together};
use value::PlatformName;
pub use value::{Diagnostics, TimeoutFactor, exact_test, time_limit};
pub use version_range::{Narrowed, VersionNumbers, VersionRange};

const BUILTIN: &str = include_str!("builtin.toml");

/// The profile that all others fall back to.
pub const DEFAULT_PROFILE: &str = "default";

/// Profiles, overrides and expectations, read and checked.
#[derive(Clone, Debug)]
pub struct Config {
    source: Source,
    /// True if the executable holds a configuration.
    is_embedded: bool,
    /// The profiles in the executable, then those in the file.
    profiles: Vec<BTreeMap<String, ProfileKeys>>,
    /// The overrides of the harness, those in the executable, then those in the file.
    overrides: Arc<[Override]>,
    /// The groups in the executable, then those in the file.
    groups: Arc<BTreeMap<String, GroupKeys>>,
    /// The suites of the tests of other programs.
    pub external: Vec<Arc<ExternalSuite>>,
    /// The known failures.
    pub expectations: Expectations,
    /// The files that they are from.
    pub expectation_files: ExpectationFiles,
}

/// The texts of a configuration folder, which `main!(config = "...")` and `command!` include at
/// build time.
#[derive(Clone, Copy, Debug)]
pub struct EmbeddedConfig {
    /// The text of `clmatrix.toml`.
    pub config: &'static str,
    /// The path, `expectations/NAME.toml`, and the text of each file of expectations, in the order
    /// of their names.
    pub expectations: &'static [(&'static str, &'static str)],
}

/// The paths and the texts of the files of expectations: those in the executable, and those in the folder beside the
/// configuration.
#[derive(Clone, Debug, Default)]
pub struct ExpectationFiles {
    /// The files in the executable.
    builtin: Vec<(PathBuf, String)>,
    /// The files on disk, in the order of their names.
    pub own: BTreeMap<PathBuf, String>,
}

/// The origin of a configuration.
#[derive(Clone, Debug, PartialEq)]
struct Source {
    /// The file; `None` if no file was named or found.
    file: Option<PathBuf>,
    /// The folder from which relative paths start: the one in which the search found the file, so
    /// that reports do not depend on the folder in which a run is started; else the current folder.
    root: PathBuf,
    /// True if `--config` or CLMATRIX_CONFIG named the file.
    is_named: bool,
}

/// The contents of `clmatrix.toml`.
#[derive(Debug, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
struct ConfigFile {
    /// True if the expectations of the executable count.
    #[serde(default = "yes", rename = "builtin-expectations")]
    builtin_expectations: bool,
    /// The profiles, of which `--profile` selects one.
    #[serde(default)]
    profile: BTreeMap<String, ProfileKeys>,
    /// Settings for some devices, or for some tests.
    #[serde(default, rename = "override")]
    #[cfg_attr(feature = "schema", schemars(with = "Vec<profile::OverrideKeys>"))]
    overrides: Vec<Override>,
    /// The groups of tests that exclude each other.
    #[serde(default)]
    group: BTreeMap<String, GroupKeys>,
    /// The tests of other programs.
    #[serde(default)]
    #[cfg_attr(feature = "schema", schemars(with = "Vec<external::ExternalKeys>"))]
    external: Vec<ExternalSuite>,
}

/// Returns the JSON Schema of `clmatrix.toml`.
#[cfg(feature = "schema")]
pub fn schema() -> schemars::Schema {
    schemars::schema_for!(ConfigFile)
}

fn yes() -> bool {
    true
}

impl Config {
    /// Returns the file, if `--config` or CLMATRIX_CONFIG named it.
    pub fn named_file(&self) -> Option<&Path> {
        self.source.file.as_deref().filter(|_| self.source.is_named)
    }

    /// Finds and reads the configuration; `explicit` is the file of `--config`, `embedded` is the
    /// part of the executable.
    pub fn load(
        explicit: Option<&Path>,
        embedded: Option<EmbeddedConfig>,
    ) -> Result<Self, ConfigError> {
        let current = env::current_dir().unwrap_or_default();
        let source = Source::find(explicit, variable::value("CLMATRIX_CONFIG"), &current);
        Self::from_source(source, embedded, SystemTime::now())
    }

    fn from_source(
        source: Source,
        embedded: Option<EmbeddedConfig>,
        now: SystemTime,
    ) -> Result<Self, ConfigError> {
        let mut layers: Vec<ConfigFile> = vec![parse_toml(Path::new("built-in"), BUILTIN)?];
        let mut expectation_files = ExpectationFiles::default();
        if let Some(EmbeddedConfig { config, expectations }) = embedded {
            let path = |name: &str| PathBuf::from(format!("built-in {name}"));
            layers.push(parse_toml(&path("clmatrix.toml"), config)?);
            let texts = expectations.iter().map(|(name, text)| (path(name), (*text).to_owned()));
            expectation_files.builtin = texts.collect();
        }
        if let Some(path) = &source.file {
            let open = if source.is_named { files::open_named } else { files::open_found };
            let text = read_toml(path, open(path))?;
            let file: ConfigFile = parse_toml(path, &text)?;
            if !file.builtin_expectations {
                expectation_files.builtin.clear();
            }
            layers.push(file);
        }
        let (mut profiles, mut overrides, mut external) = (Vec::new(), Vec::new(), Vec::new());
        let mut groups = BTreeMap::new();
        for mut file in layers {
            profiles.push(file.profile);
            overrides.extend(file.overrides);
            groups.extend(file.group);
            file.external.iter_mut().for_each(|suite| suite.start_from(&source.root));
            external.extend(file.external.into_iter().map(Arc::new));
        }
        for folder in expectation_folders(&source, &external) {
            expectation_files.own.extend(read_folder(&folder)?);
        }
        let mut used = overrides.iter().filter_map(|each: &Override| each.keys.group.as_ref());
        if let Some(name) = used.find(|name| !groups.contains_key(*name)) {
            let hint = hint(name, &Vec::from_iter(groups.keys().cloned()));
            let problem = format!("no [group.{name}] for the group of an [[override]]; {hint}");
            return Err(ConfigError::Mistake(problem));
        }
        Ok(Self {
            source,
            is_embedded: embedded.is_some(),
            profiles,
            overrides: overrides.into(),
            groups: groups.into(),
            external,
            expectations: expectation_files.parse(now)?,
            expectation_files,
        })
    }

    /// Returns warnings about parts that have no effect on any of `tests`, given without their devices: overrides
    /// and groups without a test, platforms that are neither among `platforms` nor usual, and files that are not
    /// read.
    pub fn without_effect(&self, tests: &[String], platforms: &[&PlatformInfo]) -> Vec<String> {
        let patterns = self.overrides.iter().filter_map(|each| each.keys.tests.as_ref());
        let unmatched = patterns.filter(|pattern| pattern.is_unmatched(tests)).map(|pattern| {
            format!("no test of this target matches the [[override]] of tests {:?}", pattern.0.text)
        });
        let used = || self.overrides.iter().filter_map(|each| each.keys.group.as_ref());
        let unused = self.groups.keys().filter(|group| !used().any(|used| used == *group));
        let unused = unused.map(|group| format!("no [[override]] has the group {group:?}"));
        let is_here =
            |known: &PlatformName| platforms.iter().any(|p| known.matches(&p.name, &p.vendor));
        let named = self.overrides.iter().filter_map(|each| each.on.platform.as_ref());
        let named = named.chain(self.expectations.platforms());
        let unknown = named.filter(|known| !known.is_usual() && !is_here(known));
        let unknown: BTreeSet<&str> = unknown.map(|known| &*known.text).collect();
        let unknown = unknown.into_iter().map(|text| {
            format!("no platform of this machine, and no usual one, matches the platform {text:?}")
        });
        let folders = expectation_folders(&self.source, &self.external).into_iter();
        let unread = folders
            .flat_map(|folder| unread(&folder))
            .map(|file| format!("{} is not read: its name must end in .toml", file.display()));
        unmatched.chain(unused).chain(unknown).chain(unread).collect()
    }

    /// The configuration file, if one was named or found.
    pub fn file(&self) -> Option<&Path> {
        self.source.file.as_deref()
    }

    /// Returns the sources of the configuration and the number of expectations, on one line.
    pub fn summary(&self) -> String {
        let (sources, count) = (self.sources(), self.expectations.count());
        let has_both = self.source.file.is_some() && self.is_embedded;
        let yours = has_both.then(|| format!(" ({} yours)", self.expectations.own));
        let yours = yours.unwrap_or_default();
        format!("configuration: {sources}; expectations: {count}{yours}")
    }

    fn sources(&self) -> String {
        let file = self.source.file.as_ref().map(|file| file.display().to_string());
        let built_in = (file.is_none() || self.is_embedded).then(|| "built-in".to_owned());
        Vec::from_iter(file.into_iter().chain(built_in)).join(" and ")
    }

    /// Returns the profile `name`. There always is a `default`.
    pub fn profile(&self, name: &str) -> Result<Profile, ConfigError> {
        let names = self.profiles.iter().flat_map(BTreeMap::keys).cloned();
        let known: BTreeSet<String> = names.chain([DEFAULT_PROFILE.to_owned()]).collect();
        if !known.contains(name) {
            let (sources, hint) = (self.sources(), hint(name, &Vec::from_iter(known)));
            let problem = format!("no profile `{name}` (configuration: {sources}); {hint}");
            return Err(ConfigError::Mistake(problem));
        }
        let mut layers: Vec<&ProfileKeys> = Vec::new();
        for layer in [DEFAULT_PROFILE, name] {
            layers.extend(self.profiles.iter().filter_map(|profiles| profiles.get(layer)));
        }
        let (overrides, groups) = (self.overrides.clone(), self.groups.clone());
        Ok(Profile::new(&layers, &self.source.root, overrides, groups))
    }
}

impl ExpectationFiles {
    /// Reads the texts.
    pub fn parse(&self, now: SystemTime) -> Result<Expectations, ConfigError> {
        let mut all = Expectations::new(now);
        self.builtin.iter().try_for_each(|(path, text)| all.add(path, text))?;
        let builtin = all.count();
        self.own.iter().try_for_each(|(path, text)| all.add(path, text))?;
        all.own = all.count() - builtin;
        Ok(all)
    }
}

impl Source {
    fn find(explicit: Option<&Path>, variable: Option<OsString>, current: &Path) -> Self {
        let variable = variable.filter(|name| !name.is_empty()).map(PathBuf::from);
        if let Some(file) = explicit.map(Path::to_owned).or(variable) {
            return Self { file: Some(file), root: current.to_owned(), is_named: true };
        }
        let found = current.ancestors().find_map(|folder| {
            let files = ["clmatrix.toml", "config/clmatrix.toml"].map(|name| folder.join(name));
            let file = files.into_iter().find(|file| !is_absent(file))?;
            Some(Self { file: Some(file), root: folder.to_owned(), is_named: false })
        });
        found.unwrap_or_else(|| Self { file: None, root: current.to_owned(), is_named: false })
    }
}

/// Returns the folders of the expectations on disk: one for all tests, and one for each suite of other programs.
fn expectation_folders(source: &Source, external: &[Arc<ExternalSuite>]) -> BTreeSet<PathBuf> {
    let Some(file) = &source.file else { return BTreeSet::new() };
    let folder = file.with_file_name("expectations");
    let suites = external.iter().filter_map(|suite| suite.name.split("::").next());
    suites.map(|suite| folder.join(suite)).chain([folder.clone()]).collect()
}

/// Returns the files in `folder` whose extension is `toml` in other letters.
fn unread(folder: &Path) -> impl Iterator<Item = PathBuf> + use<> {
    let is_toml = |file: &PathBuf| {
        let extension = file.extension().unwrap_or_default();
        extension.eq_ignore_ascii_case("toml") && extension != "toml"
    };
    entries(folder).unwrap_or_default().into_iter().filter(is_toml)
}

/// Returns the texts of all `*.toml` in `folder`; a folder that does not exist has none.
fn read_folder(folder: &Path) -> Result<BTreeMap<PathBuf, String>, ConfigError> {
    let paths = with_extension(folder, "toml")
        .map_err(|error| ConfigError::Read(folder.to_owned(), error))?;
    let read = |path: PathBuf| {
        let text = read_toml(&path, files::open_found(&path))?;
        Ok((path, text))
    };
    paths.into_iter().map(read).collect()
}

/// Reads a file of the configuration, once it is open.
fn read_toml(path: &Path, file: io::Result<File>) -> Result<String, ConfigError> {
    /// The most bytes of a file.
    const MOST: u64 = 16 << 20;
    let text = file.and_then(|file| files::read_text(file, MOST));
    text.map_err(|error| ConfigError::Read(path.to_owned(), error))
}

fn parse_toml<T: DeserializeOwned>(path: &Path, text: &str) -> Result<T, ConfigError> {
    toml::from_str(text).map_err(|error| ConfigError::from_toml(path, text, &error))
}

#[cfg(test)]
mod tests;
