//! Entries that no result of some runs needs.

use std::collections::HashMap;
use std::mem;

use clmatrix_runner::config::{Effect, Exclusion, Expectations, WrittenExpectation};
use clmatrix_runner::log::run_log::RunLog;
use clmatrix_runner::result::test_result::TestResult;
use clmatrix_runner::verdict::Outcome;

use super::{RunExpectations, Strict};

/// Returns the entries from files on disk that matched no test, no device of these runs, only tests that were
/// skipped or not run, or were always hidden by a later one, each with that reason.
pub(crate) fn stale<'a>(
    expectations: &'a Expectations,
    logs: &[RunLog],
    strict: &Strict<'_>,
) -> Vec<(&'a WrittenExpectation, String)> {
    // The reason of each entry, and its number: the greater, the nearer is the entry to an effect.
    let mut uses: HashMap<usize, (u8, Option<String>)> = HashMap::new();
    for log in logs {
        let for_run = RunExpectations::new(expectations, log, strict);
        for result in &log.results {
            for found in for_run.on(result.test.device()).matches(result.test.path()) {
                let used = match found.effect {
                    Effect::Excluded(Exclusion::Ended) => {
                        (1, Some(format!("it ended on {}", found.written.keys["until"])))
                    }
                    Effect::Excluded(Exclusion::Device(_)) => {
                        (2, Some("no device of these runs matches".to_owned()))
                    }
                    Effect::Hidden(by) => {
                        (3, Some(format!("it is always hidden, such as by {}", by.place())))
                    }
                    Effect::Counts | Effect::Assumed if needs(found.written, result) => (5, None),
                    Effect::Counts | Effect::Assumed => {
                        (4, Some("its tests were not run".to_owned()))
                    }
                };
                let known = uses.entry(found.written.position()).or_default();
                *known = used.max(mem::take(known));
            }
        }
    }
    let reason = |written: &'a WrittenExpectation| match uses.remove(&written.position()) {
        None => Some((written, "no test of these runs matches".to_owned())),
        Some((_, reason)) => Some((written, reason?)),
    };
    expectations.own().filter_map(reason).collect()
}

/// Returns whether a result shows that its entry has an effect: the test has run, or the entry skips it.
fn needs(written: &WrittenExpectation, result: &TestResult) -> bool {
    let outcome = &result.attempt.outcome;
    // Skipped by an entry, not for a missing requirement.
    if let Outcome::Skipped { reason } = outcome {
        return written.status.is_skip()
            && result.expectation.as_ref().is_some_and(|known| known.reason == *reason);
    }
    outcome.status().is_some()
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;
    use clmatrix_runner::config::sample::{Project, own_place};
    use clmatrix_runner::log::sample::{device, expectation, judged, result, run_log};
    use clmatrix_runner::verdict::ExpectedStatus;

    #[test]
    fn entries_without_an_effect_are_found_with_the_reason() {
        let entries = [
            ("test = 's::fails'\nstatus = 'fail'", ""),
            ("test = 's::gone'\nstatus = 'fail'", "no test of these runs matches"),
            ("test = 's::*'\nstatus = 'fail'\nid = 'e'", "no device of these runs matches"),
            ("test = 's::fails'\nstatus = 'fail'\nuntil = '2025-12-31'", "it ended on 2025-12-31"),
            ("test = 's::hidden'\nstatus = 'fail'", "it is always hidden, such as by a.toml:23"),
            ("test = 's::hidden'\nstatus = 'crash'\nid = 'd'", ""),
            ("test = 's::{lacks,ignored,later}'\nstatus = 'skip'", "its tests were not run"),
            ("test = 's::skipped'\nstatus = 'skip'", ""),
        ];
        let text: String = entries
            .iter()
            .map(|(keys, _)| format!("[[expect]]\n{keys}\nreason = 'bug 7'\n"))
            .collect();
        let project = Project::new(&[("clmatrix.toml", ""), ("expectations/a.toml", &text)]);
        let config = project.config().unwrap();
        let failed = || Outcome::Failed { message: "no".to_owned(), location: None };
        let skipped = |reason: &str| Outcome::Skipped { reason: reason.to_owned() };
        let known = || Some(expectation(ExpectedStatus::Skip, "bug 7"));
        let first = run_log(
            vec![device("d", "PoCL")],
            vec![
                result("s::fails@d", failed()),
                result("s::hidden@d", failed()),
                judged("s::lacks@d", skipped("needs fp64"), known()),
                result("s::ignored@d", Outcome::Ignored { reason: None }),
                result("s::later@d", Outcome::not_run("Ctrl-C")),
                judged("s::skipped@d", skipped("bug 7"), known()),
            ],
            Duration::ZERO,
        );
        let found = |logs: &[RunLog]| -> Vec<(u32, String)> {
            let stale = stale(&config.expectations, logs, &|_| false).into_iter();
            let own_place = own_place(&project);
            stale.map(|(entry, reason)| (entry.number, reason.replace(&own_place, ""))).collect()
        };
        let reasons = (1..).zip(entries.map(|(_, reason)| reason.to_owned()));
        let mut expected: Vec<_> = reasons.filter(|(_, reason)| !reason.is_empty()).collect();
        assert_eq!(found(std::slice::from_ref(&first)), expected);

        let devices = vec![device("d", "PoCL"), device("e", "PoCL")];
        let results = vec![result("s::later@d", Outcome::Passed), result("s::fails@e", failed())];
        let second = run_log(devices, results, Duration::ZERO);
        expected.retain(|(number, _)| ![3, 7].contains(number));
        assert_eq!(found(&[first, second]), expected);
    }
}
