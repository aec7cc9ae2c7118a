//! The configuration: profiles, what differs from device to device, and known failures.
//!
//! ```toml
//! [profile.default]
//! timeout = "60s"                  # for one test on one device
//! slots = 1                        # tests at a time on one device
//! tests-per-worker = 100           # then a new process; any number without it
//! devices = "pocl;nvidia:0"        # in the grammar of CLMATRIX_TEST; all without it
//! report-dir = "reports"           # `clmatrix` in cargo's target folder without it
//!
//! [profile.ci]                     # what a profile does not say it has from `default`
//! expected-devices = ["pocl-*"]    # each that no device matches fails the run
//!
//! [[override]]                     # all that is given must match; later overrides win
//! platform = "Oclgrind"            # or a glob; also: device, vendor, driver-version, id
//! timeout = "5m"
//! diagnostics = ['^Invalid read']  # lines on standard error that fail a test
//! ```
//!
//! The file is `--config FILE`, else the one that `CLMATRIX_CONFIG` names, else `clmatrix.toml` or
//! `config/clmatrix.toml` in the current folder or the nearest one above it. Without any file the
//! defaults hold. Known failures stand in the folder `expectations` beside the file; see
//! [`Expectations`].

mod device_match;
mod error;
mod expectations;
mod profile;
mod value;

use std::collections::BTreeMap;
use std::env;
use std::ffi::OsString;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use serde::Deserialize;
use serde::de::DeserializeOwned;

pub use error::{ConfigError, Mistake};
pub use expectations::{DeviceExpectations, Expectations};
pub use profile::{DeviceSettings, Profile};
use profile::{Override, ProfileKeys};

const BUILTIN: &str = include_str!("builtin.toml");

/// The profile that all others fall back to.
const DEFAULT_PROFILE: &str = "default";

/// Profiles, overrides and expectations, read and checked.
#[derive(Clone, Debug)]
pub struct Config {
    source: Source,
    profiles: BTreeMap<String, ProfileKeys>,
    /// The built-in ones, then the file's.
    overrides: Arc<[Override]>,
    /// What is known to go wrong.
    pub expectations: Expectations,
}

/// Where a configuration comes from.
#[derive(Clone, Debug, PartialEq)]
struct Source {
    /// `None` for the built-in one.
    file: Option<PathBuf>,
    /// What relative paths start from: the folder in which the search found the file, so that
    /// reports do not scatter with the folder that a run is started in; else the current folder.
    root: PathBuf,
}

/// The contents of `clmatrix.toml`.
#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
struct ConfigFile {
    #[serde(default)]
    profile: BTreeMap<String, ProfileKeys>,
    #[serde(default, rename = "override")]
    overrides: Vec<Override>,
}

impl Config {
    /// Finds and reads the configuration; `explicit` is the file of `--config`.
    pub fn load(explicit: Option<&Path>) -> Result<Self, ConfigError> {
        let current = env::current_dir().unwrap_or_default();
        Self::from_source(Source::find(explicit, env::var_os("CLMATRIX_CONFIG"), &current))
    }

    fn from_source(source: Source) -> Result<Self, ConfigError> {
        let ConfigFile { mut overrides, .. } = parse_toml(Path::new("built-in"), BUILTIN)?;
        let mut profiles = BTreeMap::new();
        let mut expectations = Expectations::default();
        if let Some(path) = &source.file {
            let file: ConfigFile = read_toml(path)?;
            profiles = file.profile;
            overrides.extend(file.overrides);
            expectations = Expectations::read(&path.with_file_name("expectations"))?;
        }
        Ok(Self { source, profiles, overrides: overrides.into(), expectations })
    }

    /// The file that was read; `None` where the built-in configuration holds.
    pub fn file(&self) -> Option<&Path> {
        self.source.file.as_deref()
    }

    /// The profile called `name`. There always is a `default`.
    pub fn profile(&self, name: &str) -> Result<Profile, ConfigError> {
        if name != DEFAULT_PROFILE && !self.profiles.contains_key(name) {
            return Err(self.unknown_profile(name));
        }
        let root = &self.source.root;
        let mut profile = Profile::new(self.overrides.clone());
        for layer in [DEFAULT_PROFILE, name] {
            if let Some(keys) = self.profiles.get(layer) {
                profile.apply(keys, root);
            }
        }
        Ok(profile)
    }

    fn unknown_profile(&self, name: &str) -> ConfigError {
        let mut known: Vec<_> = self.profiles.keys().cloned().collect();
        if !self.profiles.contains_key(DEFAULT_PROFILE) {
            known.push(DEFAULT_PROFILE.to_owned());
        }
        let file = match self.file() {
            Some(file) => file.display().to_string(),
            None => "the built-in configuration".to_owned(),
        };
        ConfigError::UnknownProfile { name: name.to_owned(), file, known }
    }
}

impl Source {
    fn find(explicit: Option<&Path>, variable: Option<OsString>, current: &Path) -> Self {
        let variable = variable.filter(|name| !name.is_empty()).map(PathBuf::from);
        if let Some(file) = explicit.map(Path::to_owned).or(variable) {
            return Self { file: Some(file), root: current.to_owned() };
        }
        let found = current.ancestors().find_map(|folder| {
            let files = ["clmatrix.toml", "config/clmatrix.toml"].map(|name| folder.join(name));
            let file = files.into_iter().find(|file| file.is_file())?;
            Some(Self { file: Some(file), root: folder.to_owned() })
        });
        found.unwrap_or_else(|| Self { file: None, root: current.to_owned() })
    }
}

fn read_toml<T: DeserializeOwned>(path: &Path) -> Result<T, ConfigError> {
    let text = fs::read_to_string(path)
        .map_err(|error| ConfigError::Read { path: path.to_owned(), error })?;
    parse_toml(path, &text)
}

fn parse_toml<T: DeserializeOwned>(path: &Path, text: &str) -> Result<T, ConfigError> {
    toml::from_str(text).map_err(|error| ConfigError::from_toml(path, text, &error))
}

#[cfg(test)]
mod tests;
