//! A result on one line.

use clmatrix_harness::private::report::headline;
use clmatrix_harness::private::result::test_result::TestResult;
use clmatrix_harness::private::text::first_line;
use clmatrix_harness::private::verdict::Verdict;

use super::table::cut;

/// The widest reason of a result on one line, in columns.
const WIDEST_REASON: usize = 300;

/// Returns a result on one line: the verdict, the test, its time, and the reason.
pub(crate) fn result_line(result: &TestResult) -> String {
    let verdict = result.verdict.name().to_uppercase().replace('-', " ");
    let line = format!("{verdict} {} ({:.2} s)", result.test, result.duration.as_secs_f64());
    let reason = match result.verdict {
        _ if result.attempts().is_some() => headline(result),
        Verdict::Pass => return line,
        Verdict::ExpectedFail | Verdict::AssumedFail | Verdict::UnexpectedPass => {
            result.expected().unwrap_or_default()
        }
        _ => result.outcome.to_string(),
    };
    format!("{line}: {}", cut(&first_line(&reason), WIDEST_REASON))
}

#[cfg(test)]
mod tests {
    use clmatrix_harness::private::log::sample::{
        differing, expectation, flaky, judged, passes_alone, result,
    };
    use clmatrix_harness::private::verdict::{ExpectedStatus, Outcome};

    use super::*;

    #[test]
    fn a_result_on_one_line() {
        let failed = Outcome::Failed { message: "\nleft: 1\nright: 2".to_owned(), location: None };
        let known = expectation(ExpectedStatus::Fail, "bug 7\nmore");
        let cases = [
            (result("s::t@d", Outcome::Passed), "PASS s::t@d (0.25 s)"),
            (result("s::t@d", failed.clone()), "FAIL s::t@d (0.25 s): left: 1"),
            (
                flaky("s::t@d", failed.clone()),
                "FLAKY s::t@d (0.25 s): fail at attempt 1 of 2: left: 1 right: 2",
            ),
            (
                differing("s::t@d", failed.clone()),
                "PASS s::t@d (0.25 s): reused-context: failed: left: 1 right: 2",
            ),
            (
                passes_alone("s::t@d"),
                "CRASH s::t@d (0.25 s): passes alone: unreliable, or broken by a test before it (heap \
                 corruption strikes late); `clmatrix bisect s::t@d` tells: SIGSEGV",
            ),
            (
                judged("s::t@d", failed, Some(known.clone())),
                "EXPECTED FAIL s::t@d (0.25 s): expected: fail: bug 7",
            ),
            (
                judged("s::t@d", Outcome::Passed, Some(known)),
                "UNEXPECTED PASS s::t@d (0.25 s): expected: fail: bug 7",
            ),
        ];
        for (result, expected) in cases {
            assert_eq!(result_line(&result), expected);
        }
    }
}
