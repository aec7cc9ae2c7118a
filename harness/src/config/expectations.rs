//! Known failures, test by test and driver by driver.
//!
//! Each `[[expect]]` names tests and devices by patterns, gives the status with which the tests end
//! there, and the evidence. Files are read in the order of their names, those in the executable
//! first. The last entry that matches a test and a device counts: general entries come first,
//! exceptions for one version of a driver below them.

use std::ffi::OsStr;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use globset::{GlobSet, GlobSetBuilder};
use serde::Deserialize;

use super::device_match::DeviceMatch;
use super::error::ConfigError;
use super::value::{IdPattern, NamePattern, PlatformName, Reason, TestPattern};
use crate::devices::run_device::RunDevice;
use crate::verdict::{Expectation, ExpectedStatus};

/// All expectations, in the order in which they were read.
#[derive(Clone, Debug, Default)]
pub struct Expectations {
    /// The `test` glob of each entry, in the same order.
    tests: GlobSet,
    entries: Vec<Entry>,
    /// The number of entries from files on disk, which are the last ones.
    pub(super) own: usize,
}

/// The expectations for one device.
#[derive(Clone, Debug)]
pub struct DeviceExpectations<'a> {
    all: &'a Expectations,
    /// One flag per entry: it matches this device.
    applies: Vec<bool>,
}

#[derive(Clone, Debug)]
struct Entry {
    /// The glob as written.
    test: String,
    on: DeviceMatch,
    expectation: Expectation,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct ExpectationsFile {
    #[serde(default)]
    expect: Vec<EntryKeys>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case", expecting = "a table")]
struct EntryKeys {
    test: TestPattern,
    id: Option<IdPattern>,
    platform: Option<PlatformName>,
    device: Option<NamePattern>,
    vendor: Option<NamePattern>,
    driver_version: Option<NamePattern>,
    status: ExpectedStatus,
    reason: Reason,
}

/// Reads all `*.toml` in `folder`; a folder that does not exist has none.
pub(super) fn read_folder(folder: &Path) -> Result<Vec<ExpectationsFile>, ConfigError> {
    let files =
        toml_files(folder).map_err(|error| ConfigError::Read { path: folder.to_owned(), error })?;
    files.iter().map(|path| super::read_toml(path)).collect()
}

impl Expectations {
    /// Joins the expectations in the executable and those from files on disk.
    pub(super) fn new(
        builtin: Vec<ExpectationsFile>,
        own: Vec<ExpectationsFile>,
    ) -> Result<Self, ConfigError> {
        let own_count = own.iter().map(|file| file.expect.len()).sum();
        let mut tests = GlobSetBuilder::new();
        let mut entries = Vec::new();
        for keys in builtin.into_iter().chain(own).flat_map(|file| file.expect) {
            let (test, entry) = keys.split();
            tests.add(test.0);
            entries.push(entry);
        }
        let tests = tests.build().map_err(ConfigError::Globs)?;
        Ok(Self { tests, entries, own: own_count })
    }

    /// The number of entries.
    pub fn count(&self) -> usize {
        self.entries.len()
    }

    /// The expectations for `device`.
    pub fn for_device(&self, device: &RunDevice) -> DeviceExpectations<'_> {
        self.on(|on| on.matches(device))
    }

    /// The expectations for tests without a device.
    pub fn for_host(&self) -> DeviceExpectations<'_> {
        self.on(DeviceMatch::matches_host)
    }

    fn on(&self, applies: impl Fn(&DeviceMatch) -> bool) -> DeviceExpectations<'_> {
        let applies = self.entries.iter().map(|entry| applies(&entry.on)).collect();
        DeviceExpectations { all: self, applies }
    }
}

impl Expectations {
    /// The `test` globs that match none of `tests`, given without their devices.
    pub fn without_test<'a>(&self, tests: impl IntoIterator<Item = &'a str>) -> Vec<&str> {
        let mut matched = vec![false; self.entries.len()];
        for test in tests {
            self.tests.matches(test).into_iter().for_each(|entry| matched[entry] = true);
        }
        let unmatched = self.entries.iter().zip(matched).filter(|(_, matched)| !matched);
        unmatched.map(|(entry, _)| entry.test.as_str()).collect()
    }
}

impl<'a> DeviceExpectations<'a> {
    /// The expectation for `test`, given without its device: `suite::test::case`.
    pub fn lookup(&self, test: &str) -> Option<&'a Expectation> {
        let matching = self.all.tests.matches(test);
        let last = matching.into_iter().rev().find(|&entry| self.applies[entry])?;
        Some(&self.all.entries[last].expectation)
    }
}

impl EntryKeys {
    fn split(self) -> (TestPattern, Entry) {
        let Self { id, platform, device, vendor, driver_version, .. } = self;
        let on = DeviceMatch { id, platform, device, vendor, driver_version };
        let expectation = Expectation { status: self.status, reason: self.reason.0 };
        let test = self.test.0.glob().to_owned();
        (self.test, Entry { test, on, expectation })
    }
}

fn toml_files(folder: &Path) -> io::Result<Vec<PathBuf>> {
    let entries = match fs::read_dir(folder) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
        entries => entries?,
    };
    let mut files = entries.map(|entry| Ok(entry?.path())).collect::<io::Result<Vec<_>>>()?;
    files.retain(|file| file.extension() == Some(OsStr::new("toml")));
    files.sort();
    Ok(files)
}
