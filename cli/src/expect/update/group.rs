//! The results that share a new entry.

use std::collections::{BTreeSet, HashMap, HashSet};
use std::time::Duration;

use clmatrix_runner::config::{VersionNumbers, VersionRange, exact_test, short_limit};
use clmatrix_runner::devices::run_device::HOST;
use clmatrix_runner::expected_statuses::ExpectedStatuses;
use clmatrix_runner::terminal::AnyError;
use clmatrix_runner::text::exact_glob;
use clmatrix_runner::verdict::{ExpectedStatus, Location, Outcome};
use indexmap::IndexMap;

use super::observed::Observed;
use super::{DRIVER_VERSION, TIMEOUT};
use crate::report::without_numbers::without_numbers;

/// The conditions of an entry for some tests only, and for one platform with the version of its driver. The first one
/// is the glob for the tests.
pub(super) type Conditions = Vec<(&'static str, String)>;

/// The unexpected results of a test, or of the cases of a test function that went wrong in the same way.
pub(super) struct Group<'a, 'l> {
    pub(super) conditions: Conditions,
    pub(super) statuses: ExpectedStatuses,
    reason: String,
    /// The time limit, if a test hangs.
    pub(super) limit: Option<toml::Value>,
    pub(super) results: Vec<&'a Observed<'l>>,
}

/// A test on the devices of a driver, or on one of them.
struct OnDriver<'a, 'l> {
    test: &'l str,
    driver: Option<(&'l str, &'l str)>,
    /// The name of the device, if others of the driver differ.
    device: Option<&'l str>,
    /// The place of the test function, which its cases share.
    function: Option<Location>,
    results: Vec<&'a Observed<'l>>,
}

/// The features that the results of a group share: the place of the function, the driver, the device if others of the
/// driver differ, the statuses, and the reason without its numbers. A test without a place is alone.
type Alike<'l> = (
    Result<Location, &'l str>,
    Option<(&'l str, &'l str)>,
    Option<&'l str>,
    BTreeSet<ExpectedStatus>,
    String,
);

/// Groups the results that need an entry. `absent` are the tests that are in no run, and `reason` returns the facts
/// of a result that went wrong.
pub(super) fn groups<'a, 'l>(
    all: &'a [Observed<'l>],
    absent: &[&String],
    needs_entry: impl Fn(&Observed<'l>) -> bool,
    reason: impl Fn(&Observed<'l>) -> Option<String>,
) -> Result<Vec<Group<'a, 'l>>, AnyError> {
    let mut tests: IndexMap<_, OnDriver<'a, 'l>> = IndexMap::new();
    let differing = differing(all);
    for observed in all {
        let (test, driver) = (observed.test, observed.driver());
        let device = observed.own_name().filter(|_| differing.contains(&(test, driver)));
        let key = (test, driver, device);
        let new =
            || OnDriver { test, driver, device, function: observed.source(), results: Vec::new() };
        tests.entry(key).or_insert_with(new).results.push(observed);
    }
    let mut groups: IndexMap<Alike<'l>, (String, Vec<&OnDriver<'a, 'l>>)> = IndexMap::new();
    for test in tests.values() {
        if !test.results.iter().any(|observed| needs_entry(observed)) {
            continue;
        }
        let statuses = test.results.iter().flat_map(|observed| observed.statuses()).collect();
        let found = test.results.iter().find_map(|observed| reason(observed));
        let version = test.driver.map(|(_, version)| format!(" with version {version}"));
        let reason = found.unwrap_or_else(|| "passed".to_owned() + &version.unwrap_or_default());
        let function = test.function.clone().ok_or(test.test);
        let alike = (function, test.driver, test.device, statuses, without_numbers(&reason));
        groups.entry(alike).or_insert_with(|| (reason, Vec::new())).1.push(test);
    }
    let group = |((_, driver, device, statuses, _), (reason, members)): (Alike<'l>, _)| {
        let members: Vec<&OnDriver<'a, 'l>> = members;
        let first = members[0];
        let is_case = |other: &&OnDriver<'_, '_>| {
            (other.driver, other.device) == (driver, device)
                && first.function.is_some()
                && other.function == first.function
        };
        let cases: Vec<_> = tests.values().filter(is_case).collect();
        let hangs = statuses.contains(&ExpectedStatus::Timeout);
        Ok(Group {
            conditions: conditions(glob(&members, &cases, absent), driver, device),
            limit: hangs.then(|| limit(&cases)),
            statuses: ExpectedStatuses::from_several(statuses)?,
            reason,
            results: members.iter().flat_map(|test| test.results.iter().copied()).collect(),
        })
    };
    groups.into_iter().map(group).collect()
}

/// Returns the tests that ended differently on the devices of a driver in one run.
fn differing<'l>(all: &[Observed<'l>]) -> HashSet<(&'l str, Option<(&'l str, &'l str)>)> {
    let mut ends: HashMap<_, BTreeSet<ExpectedStatus>> = HashMap::new();
    let mut differing = HashSet::new();
    for observed in all.iter().filter(|observed| !observed.statuses().is_empty()) {
        let (test, driver) = (observed.test, observed.driver());
        let first = ends.entry((observed.run, test, driver)).or_insert_with(|| observed.statuses());
        if *first != observed.statuses() {
            differing.insert((test, driver));
        }
    }
    differing
}

/// Returns a glob for the tests of a group: for all cases of the function, or for some.
fn glob(members: &[&OnDriver<'_, '_>], cases: &[&OnDriver<'_, '_>], absent: &[&String]) -> String {
    let [first, others @ ..] = members else { return String::new() };
    if others.is_empty() {
        return exact_test(first.test);
    }
    // The parts of the path that all tests share.
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
fn limit(cases: &[&OnDriver<'_, '_>]) -> toml::Value {
    let results = cases.iter().flat_map(|test| &test.results);
    let passed = results.filter(|observed| observed.result.attempt.outcome == Outcome::Passed);
    let longest = passed.map(|observed| observed.result.attempt.duration).max().unwrap_or_default();
    let limit = Duration::from_secs(short_limit(longest).as_secs_f64().ceil() as u64);
    humantime::format_duration(limit).to_string().into()
}

fn conditions(glob: String, driver: Option<(&str, &str)>, device: Option<&str>) -> Conditions {
    let mut keys = vec![("test", glob)];
    match driver {
        None => keys.push(("id", HOST.to_owned())),
        Some(driver) => keys.extend(of_driver(driver)),
    }
    keys.extend(device.map(|name| ("device", exact_glob(name))));
    keys
}

/// Returns the conditions for a platform, and a version of its driver if it has one.
pub(super) fn of_driver(
    (platform, version): (&str, &str),
) -> impl Iterator<Item = (&'static str, String)> + use<> {
    let range = VersionNumbers::find(version).map(VersionRange::only);
    let version = range.map_or_else(|| exact_glob(version), |range| range.to_string());
    let version = Some((DRIVER_VERSION, version)).filter(|(_, version)| !version.is_empty());
    std::iter::once(("platform", platform.to_owned())).chain(version)
}

impl Group<'_, '_> {
    /// Returns the keys and values of the new entry.
    pub(super) fn keys(&self) -> Result<Vec<(&'static str, toml::Value)>, AnyError> {
        let conditions = self.conditions.iter();
        let mut keys: Vec<(_, toml::Value)> =
            conditions.map(|(key, value)| (*key, value.clone().into())).collect();
        keys.push(("status", toml::Value::try_from(self.statuses)?));
        keys.extend(self.limit.clone().map(|limit| (TIMEOUT, limit)));
        keys.push(("reason", self.reason.clone().into()));
        Ok(keys)
    }
}
