//! The results that share a new entry.

use std::collections::{BTreeSet, HashMap, HashSet};
use std::time::Duration;

use clmatrix_runner::config::{
    ExpectedStatuses, VersionNumbers, VersionRange, exact_test, short_limit,
};
use clmatrix_runner::devices::run_device::HOST;
use clmatrix_runner::terminal::AnyError;
use clmatrix_runner::text::exact_glob;
use clmatrix_runner::verdict::{ExpectedStatus, Location, Outcome};
use indexmap::IndexMap;

use super::observed::Observed;
use super::{DRIVER_VERSION, TIMEOUT};
use crate::report::without_numbers;

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

/// The tests of a function on the devices of a driver, or on one of them if others of the driver differ, with their
/// results.
type Cases<'a, 'l> = IndexMap<&'l str, Vec<&'a Observed<'l>>>;

/// Groups the results that need an entry: those of a function on a driver with the same statuses, and the same reason
/// but for its numbers. `absent` are the tests that are in no run, and `reason` returns the facts of a result that went
/// wrong.
pub(super) fn groups<'a, 'l>(
    all: &'a [Observed<'l>],
    absent: &[&String],
    needs_entry: impl Fn(&Observed<'l>) -> bool,
    reason: impl Fn(&Observed<'l>) -> Option<String>,
) -> Result<Vec<Group<'a, 'l>>, AnyError> {
    let differing = differing(all);
    // The first place of each test: that of its function, which its cases share.
    let places = all.iter().rev().filter_map(|observed| Some((observed.test, observed.source()?)));
    let places: HashMap<&str, Location> = places.collect();
    let mut functions: IndexMap<_, Cases<'a, 'l>> = IndexMap::new();
    for observed in all {
        let (test, driver) = (observed.test, observed.driver());
        let device = observed.own_name().filter(|_| differing.contains(&(test, driver)));
        // A test without a place is alone.
        let function = (places.get(test).ok_or(test), driver, device);
        functions.entry(function).or_default().entry(test).or_default().push(observed);
    }
    let mut groups = Vec::new();
    for ((_, driver, device), cases) in &functions {
        let mut alike: IndexMap<_, (String, Vec<&str>, Vec<&'a Observed<'l>>)> = IndexMap::new();
        for (test, results) in cases {
            if !results.iter().any(|observed| needs_entry(observed)) {
                continue;
            }
            let statuses = results.iter().flat_map(|observed| observed.statuses());
            let found = results.iter().find_map(|observed| reason(observed));
            let version = driver.map(|(_, version)| format!(" with version {version}"));
            let passed = || "passed".to_owned() + &version.unwrap_or_default();
            let reason = found.unwrap_or_else(passed);
            let end = (statuses.collect::<BTreeSet<_>>(), without_numbers(&reason));
            let new = || (reason, Vec::new(), Vec::new());
            let (_, tests, of_tests) = alike.entry(end).or_insert_with(new);
            tests.push(*test);
            of_tests.extend(results);
        }
        for ((statuses, _), (reason, tests, results)) in alike {
            let hangs = statuses.contains(&ExpectedStatus::Timeout);
            groups.push(Group {
                conditions: conditions(glob(&tests, cases.len(), absent), *driver, *device),
                limit: hangs.then(|| limit(cases)),
                statuses: ExpectedStatuses::from_several(statuses)?,
                reason,
                results,
            });
        }
    }
    Ok(groups)
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

/// Returns a glob for the tests of a group: for all cases of the function, of which there are `count`, or for some.
fn glob(tests: &[&str], count: usize, absent: &[&String]) -> String {
    let [first, others @ ..] = tests else { return String::new() };
    if others.is_empty() {
        return exact_test(first);
    }
    // The parts of the path that all tests share.
    let shared = others.iter().fold(*first, |shared, other| {
        let both = shared.split("::").zip(other.split("::"));
        let parts = both.take_while(|(part, other)| part == other);
        let length: usize = parts.map(|(part, _)| part.len() + 2).sum();
        &shared[..length.min(shared.len())]
    });
    let are_all = !absent.iter().any(|test| test.starts_with(shared));
    if tests.len() == count && are_all {
        return exact_test(shared) + "*";
    }
    let rest: Vec<_> = tests.iter().map(|test| exact_test(&test[shared.len()..])).collect();
    format!("{}{{{}}}", exact_test(shared), rest.join(","))
}

/// Returns a time limit for tests that hang, in whole seconds.
fn limit(cases: &Cases<'_, '_>) -> toml::Value {
    let results = cases.values().flatten();
    let passed = results.filter(|observed| observed.result.attempt.outcome == Outcome::Passed);
    let longest = passed.map(|observed| observed.result.attempt.duration).max().unwrap_or_default();
    let limit = Duration::from_secs(short_limit(longest).as_secs_f64().ceil() as u64);
    humantime::format_duration(limit).to_string().into()
}

fn conditions(glob: String, driver: Option<(&str, &str)>, device: Option<&str>) -> Conditions {
    let host = driver.is_none().then(|| ("id", HOST.to_owned()));
    let driver = driver.into_iter().flat_map(of_driver);
    let device = device.map(|name| ("device", exact_glob(name)));
    std::iter::once(("test", glob)).chain(host).chain(driver).chain(device).collect()
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
        let conditions = self.conditions.iter().map(|(key, value)| (*key, value.clone().into()));
        let status = ("status", toml::Value::try_from(self.statuses)?);
        let limit = self.limit.clone().map(|limit| (TIMEOUT, limit));
        let reason = ("reason", self.reason.clone().into());
        Ok(conditions.chain([status]).chain(limit).chain([reason]).collect())
    }
}
