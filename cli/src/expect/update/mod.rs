//! Changes the expectations so that the results of stored runs are as expected.
//!
//! An entry that names a driver is removed, or left to other versions of the driver, if each result for which it
//! counts passed and should not. Each other unexpected result gets an entry for its test, platform and driver version
//! at the end of a file, where it counts; the cases of a test that went wrong in the same way share one. An entry that
//! was seen at other versions gets this one if all its tests end so here. At last the tests are recorded as tried with
//! this version, so that what is left of other versions' faults is unexpected, too. The results are judged again by
//! the changed expectations, so a second update changes nothing.

mod edit;
mod group;
mod observed;

use std::cmp::Reverse;
use std::collections::{BTreeSet, HashMap, HashSet};
use std::path::{Path, PathBuf};
use std::time::SystemTime;

use clmatrix_runner::config::{
    Effect, Expectation, ExpectationFiles, Expectations, Narrowed, WrittenExpectation, exact_test,
};
use clmatrix_runner::devices::run_device::without_host;
use clmatrix_runner::log::run_log::RunLog;
use clmatrix_runner::report::file_name;
use clmatrix_runner::result::test_id::suite;
use clmatrix_runner::terminal::AnyError;
use clmatrix_runner::verdict::ExpectedStatus;
use indexmap::IndexMap;

use self::group::{Conditions, Group, groups, of_driver};
use self::observed::Observed;
use super::{RunExpectations, Strict};

/// The key of the driver's version.
const DRIVER_VERSION: &str = "driver-version";

/// The file of the tests that were tried, and its table.
const TRIED: &str = "tried";

/// The key of the time limit.
const TIMEOUT: &str = "timeout";

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
    /// The table, keys and values of a new one.
    Add(PathBuf, &'static str, Vec<(&'static str, toml::Value)>),
}

/// Changes the expectations by the results of runs that have ended. `folder` is the folder of the files, `tests` are
/// all tests of this executable.
///
/// # Errors
///
/// An entry cannot be changed, or a new one would have no effect.
pub(crate) fn update(
    files: &ExpectationFiles,
    folder: &Path,
    logs: &[RunLog],
    strict: &Strict<'_>,
    tests: &[String],
    now: SystemTime,
) -> Result<Updated, AnyError> {
    let logs: Vec<_> = logs.iter().filter(|log| !log.interrupted).collect();
    let results = logs.iter().flat_map(|log| &log.results);
    let in_runs: HashSet<&str> = results.map(|result| result.test.path()).collect();
    let absent: Vec<_> = tests.iter().filter(|test| !in_runs.contains(test.as_str())).collect();
    let observed: Vec<_> =
        logs.iter().enumerate().flat_map(|(run, log)| Observed::all(run, log)).collect();
    let mut updated = Updated { files: files.clone(), changes: Vec::new() };
    let mut added = HashSet::new();
    loop {
        let expectations = updated.files.parse(now)?;
        let for_runs = logs.iter().map(|log| RunExpectations::new(&expectations, log, strict));
        let state = State {
            expectations: &expectations,
            for_runs: for_runs.collect(),
            observed: &observed,
            absent: &absent,
            folder,
        };
        let mut edits = state.outdated();
        if edits.is_empty() {
            edits = state.missing(&mut added)?;
        }
        if edits.is_empty() {
            edits = state.seen_here().into_iter().collect();
        }
        if edits.is_empty() {
            edits = state.tried();
        }
        if edits.is_empty() {
            return Ok(updated);
        }
        // From the last line of a file to the first, so that the other lines stay where they are. New entries come
        // first, at the end of the file.
        edits.sort_by_key(|edit| match edit {
            Edit::Remove(written) | Edit::Set(written, ..) => Reverse(written.line),
            Edit::Add(..) => Reverse(u64::MAX),
        });
        edits.iter().try_for_each(|edit| updated.apply(edit))?;
    }
}

impl Updated {
    fn apply(&mut self, edit: &Edit<'_>) -> Result<(), AnyError> {
        let path: &Path = match edit {
            Edit::Remove(written) | Edit::Set(written, ..) => Path::new(&written.file),
            Edit::Add(path, ..) => path,
        };
        let text = self.files.own.get(path).map_or("", String::as_str);
        let (changed, change) = match edit {
            Edit::Remove(written) => {
                let change = format!("{} removed: {:?}", written.place(), written.keys["test"]);
                (edit::remove(text, written.line), change)
            }
            Edit::Set(written, key, value) => {
                let (place, test) = (written.place(), &written.keys["test"]);
                let change = format!("{place} changed: {test:?}: {key} = {value}");
                (edit::set(text, written.line, key, &value.to_string()), change)
            }
            Edit::Add(_, table, keys) => {
                let lines = keys.iter().map(|(key, value)| format!("\n  {key} = {value}"));
                let change = format!("{} added:{}", path.display(), lines.collect::<String>());
                (edit::append(text, table, keys), change)
            }
        };
        let changed = changed.ok_or_else(|| {
            format!("{}: cannot be changed: write its entries as [[expect]]", path.display())
        })?;
        self.files.own.insert(path.to_owned(), changed);
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
    fn expectation(&self, observed: &Observed<'_>) -> Option<Expectation> {
        self.for_runs[observed.run].on(observed.device_id).lookup(observed.test)
    }

    /// Returns the results for which each entry counts, by the numbers of the entries, and whether it was seen at other
    /// versions only; without the entries that match tests that are in no run.
    fn uses(&self) -> HashMap<u32, Vec<(&Observed<'l>, bool)>> {
        let mut uses: HashMap<u32, Vec<_>> = HashMap::new();
        for observed in self.observed {
            if let Some(Expectation { written, is_assumed, .. }) = self.expectation(observed) {
                uses.entry(written.number).or_default().push((observed, is_assumed));
            }
        }
        let everywhere = self.expectations.for_device(None);
        for found in self.absent.iter().flat_map(|test| everywhere.matches(test)) {
            uses.remove(&found.written.number);
        }
        uses
    }

    /// Returns the removal, or the other versions, of each entry whose results all passed and should not.
    fn outdated(&self) -> Vec<Edit<'a>> {
        let uses = self.uses();
        let edit = |written: &'a WrittenExpectation| {
            let uses = uses.get(&written.number).filter(|uses| is_outdated(written, uses))?;
            let passed = uses.iter().map(|(observed, _)| observed.version());
            let passed: Option<BTreeSet<_>> = passed.collect();
            let is_assumed = uses.iter().all(|(_, is_assumed)| *is_assumed);
            let narrowed = passed.map(|passed| self.expectations.without_passed(written, &passed));
            match narrowed.unwrap_or(Narrowed::Nowhere) {
                Narrowed::To(versions) => Some(Edit::Set(written, DRIVER_VERSION, versions.into())),
                Narrowed::Nowhere if !is_assumed => Some(Edit::Remove(written)),
                // The tests get an exception.
                Narrowed::Nowhere | Narrowed::Not => None,
            }
        };
        self.expectations.own().filter_map(edit).collect()
    }

    /// Returns the first entry whose tests have all ended as it was seen at other versions, with this version as one
    /// more.
    fn seen_here(&self) -> Option<Edit<'a>> {
        let uses = self.uses();
        let passed = BTreeSet::from([ExpectedStatus::Pass]);
        let edit = |written: &'a WrittenExpectation| {
            let uses = uses.get(&written.number)?.iter();
            let assumed: Vec<_> = uses.filter(|(_, is_assumed)| *is_assumed).collect();
            let version = assumed.first()?.0.version()?;
            let ends_so = |statuses: BTreeSet<ExpectedStatus>| {
                !statuses.is_empty()
                    && statuses.iter().all(|status| written.status.contains(*status))
            };
            let is_seen = assumed.iter().all(|(observed, _)| ends_so(observed.statuses()))
                && assumed.iter().any(|(observed, _)| observed.statuses() != passed);
            let versions = format!("{}, ={version}", written.driver_version()?);
            is_seen.then(|| Edit::Set(written, DRIVER_VERSION, versions.into()))
        };
        self.expectations.own().find_map(edit)
    }

    /// Returns the record of the tests that were tried with a version of a driver for the first time, for each such
    /// version: suites of which all tests have ended, and single tests.
    fn tried(&self) -> Vec<Edit<'a>> {
        let has_ended = |observed: &&Observed<'l>| !observed.statuses().is_empty();
        let unknown = self.observed.iter().filter(|observed| !has_ended(observed));
        let absent = self.absent.iter().map(|test| test.as_str());
        let in_part = unknown.map(|observed| observed.test).chain(absent).filter_map(suite);
        let in_part: HashSet<_> = in_part.collect();
        let glob = |observed: &Observed<'l>| {
            let suite = suite(observed.test).filter(|_| observed.log.header.is_whole());
            let suite = suite.filter(|suite| !in_part.contains(suite));
            suite.map_or_else(|| exact_test(observed.test), |suite| exact_test(suite) + "::*")
        };
        let mut drivers: IndexMap<_, BTreeSet<String>> = IndexMap::new();
        for observed in self.observed.iter().filter(has_ended) {
            let on_device = self.for_runs[observed.run].on(observed.device_id);
            let driver = observed.driver().filter(|(_, version)| !version.is_empty());
            if let Some(driver) = driver.filter(|_| !on_device.was_tried(observed.test)) {
                drivers.entry(driver).or_default().insert(glob(observed));
            }
        }
        let record = |(driver, tests): ((&str, &str), BTreeSet<String>)| {
            let tests: Vec<_> = tests.into_iter().map(toml::Value::from).collect();
            let driver = of_driver(driver).map(|(key, value)| (key, value.into()));
            let keys = std::iter::once(("tests", tests.into())).chain(driver).collect();
            Edit::Add(self.folder.join(TRIED).with_extension("toml"), TRIED, keys)
        };
        drivers.into_iter().map(record).collect()
    }

    /// Returns an entry for each test, platform and version with an unexpected result, or for the cases of a test.
    fn missing(&self, added: &mut HashSet<Conditions>) -> Result<Vec<Edit<'a>>, AnyError> {
        let needs_entry =
            |observed: &Observed<'l>| observed.is_unexpected(self.expectation(observed).as_ref());
        let reason = |observed: &Observed<'l>| observed.reason(self.expectation(observed).as_ref());
        let edit = |group: Group<'_, 'l>| {
            if let Some(own) = self.entry_of(&group) {
                if let Some(limit) = group.limit.filter(|_| !own.keys.contains_key(TIMEOUT)) {
                    return Ok(Edit::Set(own, TIMEOUT, limit));
                }
                let statuses = own.status.and(group.statuses);
                return Ok(Edit::Set(own, "status", toml::Value::try_from(statuses)?));
            }
            let edit = Edit::Add(self.file_for(&group.results), "expect", group.keys()?);
            match added.replace(group.conditions) {
                None => Ok(edit),
                Some(again) => {
                    Err(format!("no entry for {} has an effect: write it", again[0].1).into())
                }
            }
        };
        groups(self.observed, self.absent, needs_entry, reason)?.into_iter().map(edit).collect()
    }

    /// Returns the entry that counts, if it is for these tests, the platform and the version alone.
    fn entry_of(&self, group: &Group<'_, '_>) -> Option<&'a WrittenExpectation> {
        let expectation = group.results.iter().find_map(|observed| self.expectation(observed))?;
        let mut own = self.expectations.own();
        let written = own.find(|written| written.number == expectation.written.number)?;
        let mut conditions = written.keys.clone();
        conditions.remove(TIMEOUT);
        let keys = group.conditions.iter().map(|(key, value)| ((*key).to_owned(), value.clone()));
        Some(written).filter(|_| conditions == keys.collect())
    }

    /// Returns the last file with an entry for this test or for this driver, so that an entry at its end counts; else
    /// a file named after the device.
    fn file_for(&self, results: &[&Observed<'_>]) -> PathBuf {
        let own: HashSet<_> = self.expectations.own().map(|own| own.number).collect();
        let files = results.iter().flat_map(|observed| {
            let for_device = self.for_runs[observed.run].on(observed.device_id);
            let of_test = for_device.matches(observed.test).into_iter();
            let of_test = of_test.filter(|found| !matches!(found.effect, Effect::Excluded(_)));
            of_test
                .map(|found| found.written)
                .chain(for_device.entries().filter(|written| names_driver(written)))
        });
        let own_files = files.filter(|written| own.contains(&written.number));
        let last = own_files.max_by_key(|written| written.number);
        let name = || format!("{}.toml", file_name(without_host(results[0].device_id)));
        last.map_or_else(|| self.folder.join(name()), |written| PathBuf::from(&written.file))
    }
}

/// Returns whether an entry has a condition that names a driver.
fn names_driver(written: &WrittenExpectation) -> bool {
    DRIVER_KEYS.iter().any(|key| written.keys.contains_key(*key))
}

/// Returns whether all results for which an entry counts passed, and should not. The entry must name a driver, since
/// otherwise other drivers than those of the runs may need it. An entry for several tests needs a run without a
/// filter or a list of tests.
fn is_outdated(written: &WrittenExpectation, uses: &[(&Observed<'_>, bool)]) -> bool {
    let passed = BTreeSet::from([ExpectedStatus::Pass]);
    let is_for_one_test = !written.keys["test"].contains(['*', '?', '[', '{', '\\']);
    names_driver(written)
        && !written.status.contains(ExpectedStatus::Pass)
        && !written.status.is_skip()
        && uses.iter().all(|(observed, _)| observed.statuses() == passed)
        && (is_for_one_test || uses.iter().any(|(observed, _)| !observed.log.header.is_filtered()))
}

#[cfg(test)]
mod tests;
