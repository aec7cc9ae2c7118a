//! The results that share a new entry.

use std::collections::BTreeSet;
use std::time::Duration;

use clmatrix_harness::private::config::{VersionNumbers, VersionRange, exact_test, short_limit};
use clmatrix_harness::private::devices::run_device::HOST;
use clmatrix_harness::private::expected_statuses::ExpectedStatuses;
use clmatrix_harness::private::terminal::AnyError;
use clmatrix_harness::private::text::exact_glob;
use clmatrix_harness::private::verdict::{ExpectedStatus, Location, Outcome};
use indexmap::IndexMap;

use super::observed::Observed;
use super::{DRIVER_VERSION, TIMEOUT};
use crate::report::without_numbers::without_numbers;

/// The tests, and the platform with the version of its driver, for which an entry is made.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(super) struct EntryFor<'l> {
    /// A glob for the tests.
    pub(super) glob: String,
    driver: Option<(&'l str, &'l str)>,
}

/// The unexpected results of a test, or of the cases of a test function that went wrong alike.
pub(super) struct Group<'a, 'l> {
    pub(super) entry_for: EntryFor<'l>,
    pub(super) statuses: ExpectedStatuses,
    reason: String,
    timeout: Option<Duration>,
    pub(super) results: Vec<&'a Observed<'l>>,
}

/// A test on the devices of a driver.
struct OnDriver<'a, 'l> {
    test: &'l str,
    driver: Option<(&'l str, &'l str)>,
    /// The place of the test function, which its cases share.
    source: Option<Location>,
    results: Vec<&'a Observed<'l>>,
}

/// The features that the results of a group share: the place of the function, the driver, the statuses, and the
/// reason without its numbers. A test without a place is alone.
type Alike<'l> =
    (Result<(String, u32), &'l str>, Option<(&'l str, &'l str)>, BTreeSet<ExpectedStatus>, String);

/// Groups the results that need an entry. `absent` are the tests that are in no run, and `reason` returns the facts of a result that went wrong.
pub(super) fn groups<'a, 'l>(
    all: &'a [Observed<'l>],
    absent: &[&String],
    needs_entry: impl Fn(&Observed<'l>) -> bool,
    reason: impl Fn(&Observed<'l>) -> Option<String>,
) -> Result<Vec<Group<'a, 'l>>, AnyError> {
    let mut tests: IndexMap<_, OnDriver<'a, 'l>> = IndexMap::new();
    for observed in all {
        let (test, driver) = (observed.test, observed.driver());
        let new = || OnDriver { test, driver, source: observed.source(), results: Vec::new() };
        tests.entry((test, driver)).or_insert_with(new).results.push(observed);
    }
    let mut groups: IndexMap<Alike<'l>, (String, Vec<&OnDriver<'a, 'l>>)> = IndexMap::new();
    for test in tests.values() {
        if !test.results.iter().any(|observed| needs_entry(observed)) {
            continue;
        }
        let statuses = test.results.iter().flat_map(|observed| observed.statuses()).collect();
        let found = test.results.iter().find_map(|observed| reason(observed));
        let reason = found.unwrap_or("It passes.".to_owned());
        let function = test.function().ok_or(test.test);
        let alike = (function, test.driver, statuses, without_numbers(&reason));
        groups.entry(alike).or_insert_with(|| (reason, Vec::new())).1.push(test);
    }
    let group = |((_, driver, statuses, _), (reason, members)): (Alike<'l>, _)| {
        let members: Vec<&OnDriver<'a, 'l>> = members;
        let first = members[0];
        let is_case = |other: &&OnDriver<'_, '_>| {
            other.driver == driver
                && first.function().is_some()
                && other.function() == first.function()
        };
        let cases: Vec<_> = tests.values().filter(is_case).collect();
        let hangs = statuses.contains(&ExpectedStatus::Timeout);
        Ok(Group {
            entry_for: EntryFor { glob: glob(&members, &cases, absent), driver },
            timeout: hangs.then(|| limit(&cases)),
            statuses: ExpectedStatuses::from_several(statuses)?,
            reason,
            results: members.iter().flat_map(|test| test.results.iter().copied()).collect(),
        })
    };
    groups.into_iter().map(group).collect()
}

impl OnDriver<'_, '_> {
    /// The file and the line of the function.
    fn function(&self) -> Option<(String, u32)> {
        self.source.as_ref().map(|Location { file, line }| (file.to_string(), *line))
    }
}

/// Returns a glob for the tests of a group: for all cases of the function, or for some.
fn glob(members: &[&OnDriver<'_, '_>], cases: &[&OnDriver<'_, '_>], absent: &[&String]) -> String {
    let [first, others @ ..] = members else { return String::new() };
    if others.is_empty() {
        return exact_test(first.test);
    }
    // The parts of the path that all have.
    let shared = others.iter().fold(first.test, |shared, other| {
        let both = shared.split("::").zip(other.test.split("::"));
        let parts = both.take_while(|(part, other)| part == other);
        let length: usize = parts.map(|(part, _)| part.len() + 2).sum();
        &shared[..length.min(shared.len())]
    });
    let are_all = !absent.iter().any(|test| test.starts_with(shared));
    if members.len() == cases.len() && are_all {
        return exact_test(shared) + "*";
    }
    let rest: Vec<_> = members.iter().map(|test| exact_test(&test.test[shared.len()..])).collect();
    format!("{}{{{}}}", exact_test(shared), rest.join(","))
}

/// Returns a time limit for tests that hang, in whole seconds.
fn limit(cases: &[&OnDriver<'_, '_>]) -> Duration {
    let results = cases.iter().flat_map(|test| &test.results);
    let passed = results.filter(|observed| observed.result.outcome == Outcome::Passed);
    let longest = passed.map(|observed| observed.result.duration).max().unwrap_or_default();
    Duration::from_secs(short_limit(longest).as_secs_f64().ceil() as u64)
}

impl Group<'_, '_> {
    /// The time limit, if a test hangs.
    pub(super) fn limit(&self) -> Option<toml::Value> {
        self.timeout.map(|limit| humantime::format_duration(limit).to_string().into())
    }

    /// The keys and values of the new entry.
    pub(super) fn keys(&self) -> Result<Vec<(&'static str, toml::Value)>, AnyError> {
        let keys = self.entry_for.keys().into_iter().map(|(key, value)| (key, value.into()));
        let mut keys: Vec<(_, toml::Value)> = keys.collect();
        keys.push(("status", toml::Value::try_from(self.statuses)?));
        keys.extend(self.limit().map(|limit| (TIMEOUT, limit)));
        keys.push(("reason", self.reason.clone().into()));
        Ok(keys)
    }
}

impl EntryFor<'_> {
    /// The keys of an entry for this alone.
    pub(super) fn keys(&self) -> Vec<(&'static str, String)> {
        let mut keys = vec![("test", self.glob.clone())];
        let Some((platform, version)) = self.driver else {
            keys.push(("id", HOST.to_owned()));
            return keys;
        };
        keys.push(("platform", platform.to_owned()));
        let range = VersionNumbers::find(version).map(VersionRange::only);
        let version = range.map_or_else(|| exact_glob(version), |range| range.to_string());
        if !version.is_empty() {
            keys.push((DRIVER_VERSION, version));
        }
        keys
    }
}
