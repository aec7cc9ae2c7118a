//! Unexpected results as a report of GitLab's code quality, which shows them at their places in a merge request.

use clmatrix_runner::log::run_log::RunLog;
use clmatrix_runner::report::{headline, place};
use clmatrix_runner::result::test_result::TestResult;
use clmatrix_runner::text::one_line;
use clmatrix_runner::verdict::{Location, Verdict};
use serde_json::{Value, json};

use super::table::cut;
use super::unexpected;

/// The longest description, in columns.
const WIDEST: usize = 400;

/// Returns an array with each test that has unexpected results and a place in a source of the project.
pub(crate) fn code_quality(log: &RunLog) -> Value {
    let tests = unexpected(log).into_iter();
    tests.filter_map(|(test, results)| entry(log, test, &results)).collect()
}

fn entry(log: &RunLog, test: &str, results: &[&TestResult]) -> Option<Value> {
    let Location { file, line } = place(log, results[0].decisive())?;
    // GitLab handles only files of the project.
    if file.starts_with('/') {
        return None;
    }
    let mut verdicts = results.iter().map(|result| result.decisive().verdict);
    let is_critical = verdicts.any(|verdict| matches!(verdict, Verdict::Crash | Verdict::Timeout));
    let reasons = results.iter().map(|result| {
        format!("{}: {}", one_line(result.test.device()), one_line(&headline(result)))
    });
    let reasons = reasons.collect::<Vec<_>>().join("; ");
    Some(json!({
        "description": cut(&format!("{}: {reasons}", one_line(test)), WIDEST),
        "check_name": one_line(test),
        "fingerprint": test,
        "severity": if is_critical { "critical" } else { "major" },
        "location": { "path": &*file, "lines": { "begin": line } },
    }))
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use clmatrix_runner::log::sample::{device, result, run_log};
    use clmatrix_runner::verdict::Outcome;
    use insta::assert_json_snapshot;

    use super::*;

    #[test]
    fn a_test_has_one_entry_at_its_place() {
        let failed = |test: &str, file: &str| {
            let location = Some(Location { file: file.into(), line: 7 });
            result(test, Outcome::Failed { message: "left: 1\nright: 2".to_owned(), location })
        };
        let results = vec![
            failed("s::t@d", "src/a.rs"),
            result("s::t@e", Outcome::signal("SIGSEGV")),
            failed("s::u@d", "/root/.cargo/b.rs"),
            failed("s::v@d", "src/b.rs"),
            result("s::w@d", Outcome::signal("SIGSEGV")),
            result("s::x@d", Outcome::Passed),
        ];
        let devices = vec![device("d", "PoCL"), device("e", "PoCL")];
        assert_json_snapshot!(code_quality(&run_log(devices, results, Duration::from_secs(1))));
    }
}
