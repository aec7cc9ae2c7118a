//! Known failures, test by test and driver by driver.
//!
//! Each `[[expect]]` selects tests and devices by patterns, and gives the statuses with which the tests may end
//! there, and the evidence. Files are read in the order of their names, those in the executable first. The last entry
//! that matches a test and a device counts: put general entries first, and exceptions for one version of a driver
//! below them.
//!
//! If none matches, an entry that was seen at another version of the driver counts, unless it skips the test or a
//! `[[tried]]` has the test and the version; of several, the one that was seen at the last version.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::sync::Arc;
use std::time::SystemTime;

use serde::{Deserialize, Serialize};
use toml::de::{DeTable, Deserializer};

use super::device_match::{DRIVER_VERSION, DeviceKinds, DeviceMatch, Mismatch};
use super::error::ConfigError;
use super::expectation::Expectation;
use super::expected_statuses::ExpectedStatuses;
use super::value::{
    IdPattern, LastDay, MessagePattern, NamePattern, PlatformName, Reason, TestPattern, Ticket,
    Timeout,
};
use super::version_range::{Narrowed, VersionNumbers, VersionPattern, VersionRange};
use crate::devices::run_device::RunDevice;

/// All expectations, in the order in which they were read.
#[derive(Clone, Debug)]
pub struct Expectations {
    entries: Vec<Entry>,
    tried: Vec<Tried>,
    /// The number of entries from files on disk, which are the last ones.
    pub(super) own: usize,
    /// The time of the run.
    now: SystemTime,
}

/// The expectations for one device.
#[derive(Clone, Debug)]
pub struct DeviceExpectations<'a> {
    all: &'a Expectations,
    /// For each entry its reach.
    reaches: Vec<Reach>,
    /// The tests that were tried with this version of the driver.
    tried: Vec<&'a TestPattern>,
    /// True if entries that were seen only at other versions do not count.
    is_strict: bool,
}

/// The reach of an entry on a device.
#[derive(Clone, Debug, PartialEq)]
enum Reach {
    /// The device meets all conditions.
    Seen,
    /// The driver has another version than those at which the entry was seen, the last of them this one. It is excluded
    /// for tests that were tried with this driver.
    Assumed(VersionNumbers, Exclusion),
    /// The entry does not count.
    Excluded(Exclusion),
}

/// The reason why an entry does not count for a device.
#[derive(Clone, Debug, PartialEq)]
pub enum Exclusion {
    /// It counted until a day in the past.
    Ended,
    /// The device does not meet a condition.
    Device(Mismatch),
}

/// An entry whose glob matches a test.
#[derive(Clone, Debug)]
pub struct Match<'a> {
    /// The entry as it is written.
    pub written: &'a WrittenExpectation,
    /// Its effect on the test.
    pub effect: Effect<'a>,
}

/// The effect of an entry on a test that its glob matches.
#[derive(Clone, Debug, PartialEq)]
pub enum Effect<'a> {
    /// It is the expectation for the test.
    Counts,
    /// It is the expectation, although it was seen only at other versions of the driver.
    Assumed,
    /// This later entry counts.
    Hidden(&'a WrittenExpectation),
    /// It does not count for the device.
    Excluded(&'a Exclusion),
}

#[derive(Clone, Debug)]
struct Entry {
    test: TestPattern,
    on: DeviceMatch,
    until: Option<LastDay>,
    expectation: Expectation,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct ExpectationsFile {
    #[serde(default)]
    expect: Vec<EntryKeys>,
    #[serde(default)]
    tried: Vec<Tried>,
}

/// Tests that were tried at some versions of a driver: expectations of other versions do not count for them there.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case", expecting = "a table")]
struct Tried {
    tests: Vec<TestPattern>,
    platform: PlatformName,
    #[serde(rename = "type")]
    device_type: Option<DeviceKinds>,
    driver_version: VersionPattern,
}

/// An expectation as it is written.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct WrittenExpectation {
    /// Its number among the expectations of the run, from 1.
    pub number: u32,
    /// The file.
    pub file: String,
    /// The line in it, from 1.
    pub line: u64,
    /// The other keys.
    pub keys: BTreeMap<String, String>,
    /// The expected status, or several.
    pub status: ExpectedStatuses,
    /// The reason.
    pub reason: String,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case", expecting = "a table")]
struct EntryKeys {
    test: TestPattern,
    id: Option<IdPattern>,
    platform: Option<PlatformName>,
    device: Option<NamePattern>,
    vendor: Option<NamePattern>,
    driver_version: Option<VersionPattern>,
    opencl: Option<VersionRange>,
    #[serde(rename = "type")]
    device_type: Option<DeviceKinds>,
    status: ExpectedStatuses,
    message: Option<MessagePattern>,
    timeout: Option<Timeout>,
    until: Option<LastDay>,
    #[serde(default, rename = "ticket")]
    _ticket: Option<Ticket>,
    #[serde(rename = "reason")]
    _reason: Reason,
}

impl Expectations {
    /// Returns no expectations for a run at this time.
    pub(super) fn new(now: SystemTime) -> Self {
        Self { entries: Vec::new(), tried: Vec::new(), own: 0, now }
    }

    /// Adds those in the text of the file `path`.
    pub(super) fn add(&mut self, path: &Path, text: &str) -> Result<(), ConfigError> {
        let in_error = |error| ConfigError::from_toml(path, text, &error);
        let table = DeTable::parse(text).map_err(in_error)?;
        let file = Deserializer::from(table.clone());
        let file = ExpectationsFile::deserialize(file).map_err(in_error)?;
        self.tried.extend(file.tried);
        let entries = table.get_ref().get("expect").and_then(|all| all.get_ref().as_array());
        // Entries have the order of the file.
        let (mut line, mut rest) = (1, 0);
        for (keys, entry) in file.expect.into_iter().zip(entries.into_iter().flatten()) {
            let span = entry.span();
            if keys.message.is_some() && !keys.status.may_have_message() {
                let problem = "`message` has no effect: only `fail` and `crash` have a message";
                return Err(ConfigError::mistake(path, text, span, problem.to_owned()));
            }
            line += text[rest..span.start].matches('\n').count() as u64;
            rest = span.start;
            let values = entry.get_ref().as_table().into_iter().flatten();
            let texts = values.filter_map(|(key, value)| Some((key, value.get_ref().as_str()?)));
            let texts = texts.map(|(key, text)| (key.get_ref().to_string(), text.to_owned()));
            let mut texts: BTreeMap<String, String> = texts.collect();
            texts.remove("status");
            let reason = texts.remove("reason").unwrap_or_default().trim().to_owned();
            let written = Arc::new(WrittenExpectation {
                number: self.entries.len() as u32 + 1,
                file: path.display().to_string(),
                line,
                keys: texts,
                status: keys.status,
                reason,
            });
            self.entries.push(keys.split(written));
        }
        Ok(())
    }

    /// Returns all entries as they are written.
    pub fn written(&self) -> Vec<Arc<WrittenExpectation>> {
        self.entries.iter().map(|entry| entry.expectation.written.clone()).collect()
    }

    /// Returns the number of entries.
    pub fn count(&self) -> usize {
        self.entries.len()
    }

    /// Returns the expectations for `device`, or with `None` for tests without one.
    pub fn for_device(&self, device: Option<&RunDevice>) -> DeviceExpectations<'_> {
        let reach = |entry: &Entry| {
            if entry.until.is_some_and(|until| until.is_over(self.now)) {
                return Reach::Excluded(Exclusion::Ended);
            }
            let Some(mismatch) = entry.on.mismatch(device) else { return Reach::Seen };
            let may_be_assumed =
                mismatch.key == DRIVER_VERSION && !entry.expectation.written.status.is_skip();
            let version = Some(&*mismatch.found).filter(|_| may_be_assumed);
            match version.and_then(|version| entry.on.last_seen(version)) {
                Some(version) => Reach::Assumed(version, Exclusion::Device(mismatch)),
                None => Reach::Excluded(Exclusion::Device(mismatch)),
            }
        };
        let tried = self.tried.iter().filter(|tried| tried.on().mismatch(device).is_none());
        DeviceExpectations {
            all: self,
            reaches: self.entries.iter().map(reach).collect(),
            tried: tried.flat_map(|tried| &tried.tests).collect(),
            is_strict: false,
        }
    }

    /// Returns the entries from files on disk, as they are written.
    pub fn own(&self) -> impl ExactSizeIterator<Item = &WrittenExpectation> {
        let own = &self.entries[self.entries.len() - self.own..];
        own.iter().map(|entry| &*entry.expectation.written)
    }

    /// Returns the versions of the driver of an entry without those at which its tests have passed.
    pub fn without_passed(
        &self,
        written: &WrittenExpectation,
        passed: &BTreeSet<VersionNumbers>,
    ) -> Narrowed {
        self.entries[written.position()].on.without(passed)
    }

    /// The platforms of all entries that are for one.
    pub(super) fn platforms(&self) -> impl Iterator<Item = &PlatformName> {
        self.entries.iter().filter_map(|entry| entry.on.platform.as_ref())
    }

    /// Returns warnings about entries for `devices`: ranges with which the version of the driver cannot be compared,
    /// and entries that end soon or have ended.
    pub fn warnings(&self, devices: &[&RunDevice]) -> Vec<String> {
        let warnings = self.entries.iter().flat_map(|entry| {
            let written = &entry.expectation.written;
            let mut mismatches =
                devices.iter().map(|&device| (&device.id, entry.on.mismatch(Some(device))));
            let incomparable = mismatches.clone().find_map(|(id, mismatch)| {
                let Mismatch { key, found, .. } = mismatch.filter(|found| !found.is_comparable)?;
                let range = &written.keys[key];
                Some(format!("`{key}` of {id}, {found:?}, cannot be compared with {range:?}"))
            });
            let is_for_one = mismatches.any(|(_, mismatch)| mismatch.is_none());
            let until = entry.until.filter(|until| is_for_one && until.is_near(self.now));
            let ending = until.map(|until| {
                let verb = if until.is_over(self.now) { "counted" } else { "counts" };
                let ticket = written.keys.get("ticket").map(|ticket| format!(" ({ticket})"));
                let day = &written.keys["until"];
                format!("the expectation {verb} until {day}{}", ticket.unwrap_or_default())
            });
            let place = written.place();
            incomparable.into_iter().chain(ending).map(move |text| format!("{place}: {text}"))
        });
        warnings.collect()
    }

    /// Returns the `test` globs that name a suite of `tests`, given without their devices, and match none of them.
    pub fn without_test(&self, tests: &[String]) -> Vec<&str> {
        let patterns = self.entries.iter().map(|entry| &entry.test);
        let unmatched = patterns.filter(|pattern| pattern.is_unmatched(tests));
        unmatched.map(|pattern| &*pattern.0.text).collect()
    }
}

impl WrittenExpectation {
    /// Returns the versions of the driver, if there is a condition.
    pub fn driver_version(&self) -> Option<&str> {
        self.keys.get(DRIVER_VERSION).map(String::as_str)
    }

    /// Returns the last version of the driver that it names.
    pub fn last_seen(&self) -> Option<VersionNumbers> {
        self.driver_version().and_then(|text| VersionNumbers::all(text).max())
    }

    /// Returns its position among all entries, from 0.
    pub fn position(&self) -> usize {
        (self.number as usize).wrapping_sub(1)
    }

    /// Returns the file and the line.
    pub fn place(&self) -> String {
        format!("{}:{}", self.file, self.line)
    }
}

impl<'a> DeviceExpectations<'a> {
    /// Returns these without the entries that were seen only at other versions of the driver, if `is_strict`.
    pub fn strict(self, is_strict: bool) -> Self {
        Self { is_strict, ..self }
    }

    /// Returns whether `test`, given without its device, was tried with this version of the driver.
    pub fn was_tried(&self, test: &str) -> bool {
        self.tried.iter().any(|tried| tried.0.matches(test))
    }

    /// Returns the expectation for `test`, given without its device: `suite::test::case`.
    pub fn lookup(&self, test: &str) -> Option<Expectation> {
        let position = self.counting(test)?;
        let is_assumed = self.reaches[position] != Reach::Seen;
        Some(Expectation { is_assumed, ..self.all.entries[position].expectation.clone() })
    }

    /// Returns the position of the entry that counts for a test: the last one that was seen here, else the one that
    /// was seen at the last version.
    fn counting(&self, test: &str) -> Option<usize> {
        let rank = |position: &usize| match &self.reaches[*position] {
            Reach::Seen => Some((true, None)),
            Reach::Assumed(version, _) => Some((false, Some(version))),
            Reach::Excluded(_) => None,
        };
        let matches = |position: &usize| {
            rank(position).is_some() && self.all.entries[*position].test.0.matches(test)
        };
        // The last one of the highest rank counts.
        let counting = (0..self.reaches.len()).filter(matches).max_by_key(rank)?;
        let is_seen = self.reaches[counting] == Reach::Seen;
        (is_seen || self.may_assume(test)).then_some(counting)
    }

    /// Returns whether entries that were seen at other versions count for a test.
    fn may_assume(&self, test: &str) -> bool {
        !self.is_strict && !self.was_tried(test)
    }

    /// Returns the entries that count for this device, for any test.
    pub fn entries(&self) -> impl Iterator<Item = &WrittenExpectation> {
        let counting = self.all.entries.iter().zip(&self.reaches);
        let counting = counting.filter(|(_, reach)| !matches!(reach, Reach::Excluded(_)));
        counting.map(|(entry, _)| &*entry.expectation.written)
    }

    /// Returns all entries whose globs match `test`, in their order.
    pub fn matches(&self, test: &str) -> Vec<Match<'_>> {
        let (counting, may_assume) = (self.counting(test), self.may_assume(test));
        let written = |at: usize| &*self.all.entries[at].expectation.written;
        let effect = |position: usize| match (&self.reaches[position], counting) {
            (Reach::Excluded(exclusion), _) => Effect::Excluded(exclusion),
            (Reach::Assumed(_, exclusion), _) if !may_assume => Effect::Excluded(exclusion),
            (_, Some(other)) if other != position => Effect::Hidden(written(other)),
            (Reach::Seen, _) => Effect::Counts,
            (Reach::Assumed(..), _) => Effect::Assumed,
        };
        let at = (0..self.reaches.len()).filter(|at| self.all.entries[*at].test.0.matches(test));
        at.map(|at| Match { written: written(at), effect: effect(at) }).collect()
    }
}

impl Tried {
    fn on(&self) -> DeviceMatch {
        DeviceMatch {
            platform: Some(self.platform.clone()),
            device_type: self.device_type.clone(),
            driver_version: Some(self.driver_version.clone()),
            ..DeviceMatch::default()
        }
    }
}

impl EntryKeys {
    fn split(self, written: Arc<WrittenExpectation>) -> Entry {
        let Self { id, platform, device, vendor, driver_version, opencl, device_type, .. } = self;
        let on = DeviceMatch { id, platform, device, vendor, driver_version, opencl, device_type };
        let expectation = Expectation {
            written,
            is_assumed: false,
            message: self.message,
            timeout: self.timeout.map(|timeout| timeout.0),
        };
        Entry { test: self.test, on, until: self.until, expectation }
    }
}
