//! Unexpected results as a report of GitLab's code quality, which shows them at their places in a merge request.

use clmatrix_harness::private::log::run_log::RunLog;
use clmatrix_harness::private::report::{headline, place};
use clmatrix_harness::private::result::test_result::TestResult;
use clmatrix_harness::private::text::one_line;
use clmatrix_harness::private::verdict::{Location, Verdict};
use indexmap::IndexMap;
use serde_json::{Value, json};

use super::table::cut;

/// The longest description, in columns.
const WIDEST: usize = 400;

/// Returns an array with each test that has unexpected results and a place in a source of the project.
pub(crate) fn code_quality(log: &RunLog) -> Value {
    let mut tests: IndexMap<&str, Vec<&TestResult>> = IndexMap::new();
    for result in log.results.iter().filter(|result| result.is_unexpected()) {
        tests.entry(result.test_and_device().0).or_default().push(result);
    }
    tests.into_iter().filter_map(|(test, results)| entry(log, test, &results)).collect()
}

fn entry(log: &RunLog, test: &str, results: &[&TestResult]) -> Option<Value> {
    let Location { file, line } = place(log, results.first()?.decisive())?;
    // GitLab knows the files of the project only.
    if file.starts_with('/') {
        return None;
    }
    let crashed = |result: &&&TestResult| {
        matches!(result.decisive().verdict, Verdict::Crash | Verdict::Timeout)
    };
    let reasons = results.iter().map(|result| {
        format!("{}: {}", one_line(result.test_and_device().1), one_line(&headline(result)))
    });
    let reasons = reasons.collect::<Vec<_>>().join("; ");
    Some(json!({
        "description": cut(&format!("{}: {reasons}", one_line(test)), WIDEST),
        "check_name": one_line(test),
        "fingerprint": test,
        "severity": if results.iter().any(|result| crashed(&result)) { "critical" } else { "major" },
        "location": { "path": &*file, "lines": { "begin": line } },
    }))
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use clmatrix_harness::private::log::sample::{device, result, run_log};
    use clmatrix_harness::private::verdict::Outcome;

    use super::*;

    #[test]
    fn a_test_has_one_entry_at_its_place() {
        let failed = |test: &str, file: &str| {
            let location = Some(Location { file: file.into(), line: 7 });
            result(test, Outcome::Failed { message: "left: 1\nright: 2".to_owned(), location })
        };
        let results = vec![
            failed("s::t@d", "src/a.rs"),
            result("s::t@e", Outcome::Crashed { how: "SIGSEGV".to_owned() }),
            failed("s::u@d", "/root/.cargo/b.rs"),
            failed("s::v@d", "src/b.rs"),
            result("s::w@d", Outcome::Crashed { how: "SIGSEGV".to_owned() }),
            result("s::x@d", Outcome::Passed),
        ];
        let devices = vec![device("d", "PoCL"), device("e", "PoCL")];
        let found = code_quality(&run_log(devices, results, Duration::from_secs(1)));
        let entry = |test: &str, description: &str, severity: &str, path: &str| {
            json!({
                "description": description,
                "check_name": test,
                "fingerprint": test,
                "severity": severity,
                "location": { "path": path, "lines": { "begin": 7 } },
            })
        };
        let expected = json!([
            entry("s::t", "s::t: d: left: 1 right: 2; e: SIGSEGV", "critical", "src/a.rs"),
            entry("s::v", "s::v: d: left: 1 right: 2", "major", "src/b.rs"),
        ]);
        assert_eq!(found, expected);
    }
}
