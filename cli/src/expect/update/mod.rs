//! Changes the expectations so that the results of stored runs are as expected.
//!
//! An entry that names a driver is removed, or left to older versions of the driver, if each result for which it
//! counts passed unexpectedly. Each other unexpected result gets an entry for its test, platform and driver version at the
//! end of a file, where it counts. Since the results are judged anew by the changed expectations, a second
//! update changes nothing.

mod edit;
mod observed;

use std::cmp::Reverse;
use std::collections::{BTreeSet, HashMap, HashSet};
use std::path::{Path, PathBuf};
use std::time::SystemTime;

use clmatrix_harness::private::config::{
    Effect, Expectation, ExpectationFiles, Expectations, WrittenExpectation,
};
use clmatrix_harness::private::devices::run_device::without_host;
use clmatrix_harness::private::expected_statuses::ExpectedStatuses;
use clmatrix_harness::private::log::run_log::RunLog;
use clmatrix_harness::private::report::file_name;
use clmatrix_harness::private::result::test_result::TestResult;
use clmatrix_harness::private::terminal::AnyError;
use clmatrix_harness::private::text::first_line;
use clmatrix_harness::private::verdict::{ExpectedStatus, Location, Outcome};
use indexmap::IndexMap;

use self::observed::{EntryFor, Observed};
use super::RunExpectations;

/// The conditions that name a driver.
const DRIVER_KEYS: [&str; 4] = ["id", "platform", "device", "vendor"];

/// The changed files, and a line for each change.
pub(crate) struct Updated {
    pub(crate) files: ExpectationFiles,
    pub(crate) changes: Vec<String>,
}

/// A change of one entry.
enum Edit<'a> {
    Remove(&'a WrittenExpectation),
    Set(&'a WrittenExpectation, &'static str, toml::Value),
    /// The keys and values of a new one.
    Add(PathBuf, Vec<(&'static str, toml::Value)>),
}

impl Edit<'_> {
    /// The line of the entry. New entries come first, at the end of the file.
    fn line(&self) -> u64 {
        match self {
            Self::Remove(written) | Self::Set(written, ..) => written.line,
            Self::Add(..) => u64::MAX,
        }
    }
}

/// Changes the expectations by the results of runs that came to their end. `folder` is the folder of the files, `tests` are all tests of
/// this executable.
///
/// # Errors
///
/// An entry cannot be changed, or a new one would have no effect.
pub(crate) fn update(
    files: &ExpectationFiles,
    folder: &Path,
    logs: &[RunLog],
    tests: &[String],
    now: SystemTime,
) -> Result<Updated, AnyError> {
    let logs: Vec<_> = logs.iter().filter(|log| !log.interrupted).collect();
    let results = logs.iter().flat_map(|log| &log.results);
    let in_runs: HashSet<&str> = results.map(|result| result.test_and_device().0).collect();
    let absent: Vec<_> = tests.iter().filter(|test| !in_runs.contains(test.as_str())).collect();
    let observed: Vec<_> =
        logs.iter().enumerate().flat_map(|(run, log)| Observed::all(run, log)).collect();
    let mut updated = Updated { files: files.clone(), changes: Vec::new() };
    let mut added = HashSet::new();
    loop {
        let expectations = updated.files.parse(now)?;
        let state = State {
            expectations: &expectations,
            for_runs: logs.iter().map(|log| RunExpectations::new(&expectations, log)).collect(),
            observed: &observed,
            absent: &absent,
            folder,
        };
        let mut edits = state.outdated();
        if edits.is_empty() {
            edits = state.missing(&mut added)?;
        }
        if edits.is_empty() {
            return Ok(updated);
        }
        // From the last line of a file to the first, so that the other lines stay where they are.
        edits.sort_by_key(|edit| Reverse(edit.line()));
        edits.iter().try_for_each(|edit| updated.apply(edit))?;
    }
}

impl Updated {
    fn apply(&mut self, edit: &Edit<'_>) -> Result<(), AnyError> {
        let own = &mut self.files.own;
        let (path, text, change) = match edit {
            Edit::Remove(written) => {
                let path = Path::new(&written.file);
                let removed = own.get(path).and_then(|text| edit::remove(text, written.line));
                let change = format!("{} removed: {:?}", written.place(), written.keys["test"]);
                (path.to_owned(), removed, change)
            }
            Edit::Set(written, key, value) => {
                let path = Path::new(&written.file);
                let set = |text: &String| edit::set(text, written.line, key, &value.to_string());
                let test = &written.keys["test"];
                let change = format!("{} changed: {test:?}: {key} = {value}", written.place());
                (path.to_owned(), own.get(path).and_then(set), change)
            }
            Edit::Add(path, keys) => {
                let text = own.get(path).map_or("", String::as_str);
                let keys: Vec<_> =
                    keys.iter().map(|(key, value)| (*key, value.to_string())).collect();
                let shown: Vec<_> =
                    keys.iter().map(|(key, value)| format!("\n  {key} = {value}")).collect();
                let change = format!("{} added:{}", path.display(), shown.concat());
                (path.clone(), edit::append(text, &keys), change)
            }
        };
        let text = text.ok_or_else(|| {
            format!("{}: cannot be changed: write its entries as [[expect]]", path.display())
        })?;
        own.insert(path, text);
        self.changes.push(change);
        Ok(())
    }
}

/// The results, and the expectations by which they are judged.
struct State<'a, 'l> {
    expectations: &'a Expectations,
    for_runs: Vec<RunExpectations<'a>>,
    observed: &'a [Observed<'l>],
    /// The tests that are in no run.
    absent: &'a [&'a String],
    folder: &'a Path,
}

impl<'a, 'l> State<'a, 'l> {
    fn expectation(&self, observed: &Observed<'_>) -> Option<&'a Expectation> {
        self.for_runs[observed.run].on(observed.device_id).lookup(observed.test)
    }

    /// The removal, or the older versions, of each entry whose results all passed unexpectedly.
    fn outdated(&self) -> Vec<Edit<'a>> {
        let mut uses: HashMap<u32, Vec<&Observed<'_>>> = HashMap::new();
        for observed in self.observed {
            if let Some(expectation) = self.expectation(observed) {
                uses.entry(expectation.written.number).or_default().push(observed);
            }
        }
        let everywhere = self.expectations.for_host();
        let absent: HashSet<_> = self
            .absent
            .iter()
            .flat_map(|test| everywhere.matches(test))
            .map(|found| found.written.number)
            .collect();
        let edit = |written: &'a WrittenExpectation| {
            let uses = uses.get(&written.number).filter(|uses| is_outdated(written, uses))?;
            if absent.contains(&written.number) {
                return None;
            }
            let versions: Option<Vec<_>> = uses.iter().map(|observed| observed.version()).collect();
            let oldest = versions.and_then(|versions| versions.into_iter().min());
            let older = oldest.and_then(|oldest| self.expectations.older_than(written, &oldest));
            Some(match older {
                Some(older) => Edit::Set(written, "driver-version", older.to_string().into()),
                None => Edit::Remove(written),
            })
        };
        self.expectations.own().filter_map(edit).collect()
    }

    /// An entry for each test, platform and version with an unexpected result.
    fn missing(&self, added: &mut HashSet<EntryFor<'l>>) -> Result<Vec<Edit<'a>>, AnyError> {
        let mut groups: IndexMap<EntryFor<'l>, Vec<&Observed<'l>>> = IndexMap::new();
        for observed in self.observed {
            groups.entry(observed.entry_for()).or_default().push(observed);
        }
        groups.retain(|_, members| {
            members.iter().any(|observed| observed.is_unexpected(self.expectation(observed)))
        });
        let edit = |(entry_for, members): (EntryFor<'l>, Vec<&Observed<'l>>)| {
            if let Some(own) = self.entry_of(&entry_for, &members) {
                let flaky = toml::Value::try_from(ExpectedStatuses::flaky())?;
                return Ok(Edit::Set(own, "status", flaky));
            }
            let edit = self.new_entry(&entry_for, &members)?;
            match added.replace(entry_for) {
                None => Ok(edit),
                Some(again) => {
                    Err(format!("no entry for {} has an effect: write it", again.test).into())
                }
            }
        };
        groups.into_iter().map(edit).collect()
    }

    /// The entry that counts, if it is for this test, platform and version alone.
    fn entry_of(
        &self,
        entry_for: &EntryFor<'_>,
        members: &[&Observed<'_>],
    ) -> Option<&'a WrittenExpectation> {
        let expectation = members.iter().find_map(|observed| self.expectation(observed))?;
        let mut own = self.expectations.own();
        let written = own.find(|written| written.number == expectation.written.number)?;
        let keys = entry_for.keys().into_iter().map(|(key, value)| (key.to_owned(), value));
        Some(written).filter(|written| written.keys == keys.collect())
    }

    fn new_entry(
        &self,
        entry_for: &EntryFor<'_>,
        members: &[&Observed<'_>],
    ) -> Result<Edit<'a>, AnyError> {
        let wrong = members.iter().find_map(|observed| {
            Some(reason(observed.log, observed.wrong(self.expectation(observed))?))
        });
        let keys = entry_for.keys().into_iter().map(|(key, value)| (key, value.into()));
        let mut keys: Vec<(_, toml::Value)> = keys.collect();
        keys.push(("status", toml::Value::try_from(statuses(members)?)?));
        keys.push(("reason", wrong.unwrap_or("It passes.".to_owned()).into()));
        Ok(Edit::Add(self.file_for(members), keys))
    }

    /// The last file with an entry for this test or for this driver, so that an entry at its end counts; else a
    /// file named after the device.
    fn file_for(&self, members: &[&Observed<'_>]) -> PathBuf {
        let own: HashSet<_> = self.expectations.own().map(|own| own.number).collect();
        let files = members.iter().flat_map(|observed| {
            let for_device = self.for_runs[observed.run].on(observed.device_id);
            let of_test = for_device.matches(observed.test).into_iter();
            let of_test = of_test.filter(|found| !matches!(found.effect, Effect::Excluded(_)));
            of_test
                .map(|found| found.written)
                .chain(for_device.entries().filter(|written| names_driver(written)))
        });
        let own_files = files.filter(|written| own.contains(&written.number));
        let last = own_files.max_by_key(|written| written.number);
        let name = || format!("{}.toml", file_name(without_host(members[0].device_id)));
        last.map_or_else(|| self.folder.join(name()), |written| PathBuf::from(&written.file))
    }
}

/// Returns whether an entry has a condition that names a driver.
fn names_driver(written: &WrittenExpectation) -> bool {
    DRIVER_KEYS.iter().any(|key| written.keys.contains_key(*key))
}

/// Returns whether all results for which an entry counts passed, and should not. The entry must name a driver,
/// since other drivers than those of the runs may need it otherwise. An entry for several tests needs a run without
/// a filter or a list of tests.
fn is_outdated(written: &WrittenExpectation, uses: &[&Observed<'_>]) -> bool {
    let passed = BTreeSet::from([ExpectedStatus::Pass]);
    let is_for_one_test = !written.keys["test"].contains(['*', '?', '[', '{', '\\']);
    names_driver(written)
        && !written.status.contains(ExpectedStatus::Pass)
        && !written.status.is_skip()
        && uses.iter().all(|observed| observed.statuses() == passed)
        && (is_for_one_test || uses.iter().any(|observed| !observed.log.header.is_filtered()))
}

/// The statuses of the devices: `flaky` if those of one device differ.
fn statuses(members: &[&Observed<'_>]) -> Result<ExpectedStatuses, &'static str> {
    let mut devices: HashMap<_, BTreeSet<_>> = HashMap::new();
    for observed in members {
        let device = (&observed.log.header.host, observed.device_id);
        devices.entry(device).or_default().extend(observed.statuses());
    }
    match devices.values().any(|statuses| statuses.len() > 1) {
        true => Ok(ExpectedStatuses::flaky()),
        false => ExpectedStatuses::from_several(devices.into_values().flatten().collect()),
    }
}

/// The message of an attempt and its place in the source.
fn reason(log: &RunLog, wrong: &TestResult) -> String {
    let (message, place) = match &wrong.outcome {
        Outcome::Failed { message, location } => (message.clone(), location.clone()),
        outcome => (outcome.to_string(), None),
    };
    let place = place.or_else(|| log.source(wrong));
    let at =
        place.map_or_else(String::new, |Location { file, line }| format!(", at {file}:{line}"));
    let line = first_line(&message);
    let text = if line.is_empty() { "It fails" } else { &line };
    format!("{text}{at}")
}

#[cfg(test)]
mod tests;
