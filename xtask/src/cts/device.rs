//! A device, with the results of clmatrix.

use std::collections::{BTreeMap, BTreeSet, HashSet};
use std::path::PathBuf;
use std::time::Duration;

use anyhow::Result;
use serde_json::Value;

use super::alone::{Alone, EXIT};
use super::difference::Difference;
use super::group::Group;

/// A device of a run.
pub struct Device {
    pub id: String,
    pub platform: String,
    pub version: String,
    pub driver_version: String,
    /// The driver.
    pub library: PathBuf,
    /// The result of each test, by its path.
    pub results: BTreeMap<String, TestResult>,
}

/// The result of a test.
pub struct TestResult {
    /// `pass`, `fail` and `skip` as in the suite, else `crash`, `timeout` or `none`, where the program
    /// ended as it should and wrote no result.
    pub word: String,
    /// The first line of the message or the reason.
    pub message: String,
    /// The time of the last attempt.
    pub duration: Duration,
    /// False if clmatrix skipped the test, as an expectation says, or did not come to it.
    pub has_run: bool,
}

impl Device {
    /// Reads the event `device`.
    pub fn new(event: &Value) -> Self {
        let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
        let device = &event["device"];
        Self {
            id: text(&device["id"]),
            platform: text(&device["platform"]["name"]),
            version: text(&device["info"]["version"]),
            driver_version: text(&device["info"]["driver_version"]),
            library: text(&event["driver"]["file"]).into(),
            results: BTreeMap::new(),
        }
    }

    /// Adds the event `finished` of a test, in place of an earlier one. `skips` are the numbers of the
    /// expectations that skip tests.
    pub fn add(&mut self, test: &str, event: &Value, skips: &HashSet<u64>) {
        let text = |key: &str| event[key].as_str().unwrap_or_default();
        // The text of the cause, if it has one, else its kind.
        let cause = |key: &str, text: &str| {
            let known = [&event[key][text], &event[key]["kind"]];
            known.into_iter().find_map(Value::as_str).unwrap_or_default()
        };
        let (word, message) = match text("outcome") {
            "passed" => ("pass", ""),
            "failed" => ("fail", text("message")),
            "skipped" => ("skip", text("reason")),
            "crashed" => ("crash", cause("cause", "signal")),
            "timed-out" => ("timeout", ""),
            _ => ("none", cause("reason", "error")),
        };
        let is_skipped = event["expectation"].as_u64().is_some_and(|known| skips.contains(&known));
        let result = TestResult {
            word: word.to_owned(),
            message: message.lines().next().unwrap_or_default().to_owned(),
            duration: Duration::from_nanos(event["duration_ns"].as_u64().unwrap_or_default()),
            has_run: event["attempt"].is_u64() && !is_skipped,
        };
        self.results.insert(test.to_owned(), result);
    }

    /// Runs the tests of a group by themselves. Returns the results that differ, and the tests that only one of
    /// both lists. If the run has selected tests, the others are no difference.
    ///
    /// Tests that ended their process under clmatrix run in a process of their own, all others in one.
    pub fn compare(
        &self,
        group: &Group,
        listed: &BTreeSet<String>,
        has_selected: bool,
        alone: &Alone<'_>,
    ) -> Result<Vec<Difference>> {
        let prefix = group.prefix();
        let known: BTreeMap<&str, &TestResult> = self
            .results
            .iter()
            .filter_map(|(path, result)| Some((path.strip_prefix(&prefix)?, result)))
            .collect();
        let run: Vec<(&str, &TestResult)> = known
            .iter()
            .filter(|(_, result)| result.has_run)
            .map(|(test, result)| (*test, *result))
            .collect();
        let ends =
            |(_, result): &&(&str, &TestResult)| matches!(&*result.word, "crash" | "timeout");
        let names = |tests: Vec<&(&str, &TestResult)>| -> Vec<String> {
            tests.into_iter().map(|(test, _)| (*test).to_owned()).collect()
        };
        let (ending, others): (Vec<_>, Vec<_>) = run.iter().partition(ends);
        let mut words = alone.run(group, &names(others))?;
        for test in names(ending) {
            words.extend(alone.run(group, &[test])?);
        }
        let difference = |test: &str, ours: &str, own: &str| {
            let id = format!("{prefix}{test}@{}", self.id);
            let is_same = ours == own || own == EXIT && matches!(ours, "crash" | "none");
            (!is_same).then(|| Difference::new(id, ours, own))
        };
        let mut differences: Vec<Difference> = run
            .iter()
            .filter_map(|(test, result)| {
                difference(test, &result.word, words.get(*test).map_or("none", String::as_str))
            })
            .collect();
        let unknown = known.keys().filter(|test| !listed.contains(**test));
        differences.extend(unknown.filter_map(|test| difference(test, "listed", "not listed")));
        if !has_selected {
            let missing = listed.iter().filter(|test| !known.contains_key(&***test));
            differences.extend(missing.filter_map(|test| difference(test, "no result", "listed")));
        }
        Ok(differences)
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_test_that_an_expectation_skips_has_not_run() {
        let mut device = Device::new(&json!({"device": {"id": "a"}}));
        let skips = HashSet::from([2]);
        device.add("x", &json!({"outcome": "skipped", "attempt": 1, "expectation": 1}), &skips);
        device.add("y", &json!({"outcome": "skipped", "attempt": 1, "expectation": 2}), &skips);
        assert!(device.results["x"].has_run && !device.results["y"].has_run);
    }
}
