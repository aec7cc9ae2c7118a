//! A result on one line.

use clmatrix_runner::report::headline;
use clmatrix_runner::result::test_result::TestResult;
use clmatrix_runner::text::first_line;
use clmatrix_runner::verdict::Verdict;

use super::table::cut;
use super::verdict_word;

/// The widest reason of a result on one line, in columns.
const WIDEST_REASON: usize = 300;

/// Returns a result on one line: the verdict, the test, its time, and the reason.
pub(crate) fn result_line(result: &TestResult) -> String {
    let seconds = result.attempt.duration.as_secs_f64();
    let line = format!("{} {} ({seconds:.2} s)", verdict_word(result), result.test);
    let reason = match result.verdict {
        _ if result.attempts().is_some() => headline(result),
        Verdict::Pass => return line,
        Verdict::ExpectedFail | Verdict::AssumedFail | Verdict::UnexpectedPass => {
            result.expected().unwrap_or_default()
        }
        Verdict::Fail
        | Verdict::Crash
        | Verdict::Timeout
        | Verdict::Skip
        | Verdict::Ignored
        | Verdict::Flaky
        | Verdict::NotRun => result.attempt.outcome.to_string(),
    };
    format!("{line}: {}", cut(&first_line(&reason), WIDEST_REASON))
}

#[cfg(test)]
mod tests {
    use clmatrix_runner::log::sample::{
        differing, expectation, flaky, judged, passes_alone, result,
    };
    use clmatrix_runner::verdict::{ExpectedStatus, Outcome};

    use super::*;

    #[test]
    fn a_result_on_one_line() {
        let failed = Outcome::Failed { message: "\nleft: 1\nright: 2".to_owned(), location: None };
        let known = expectation(ExpectedStatus::Fail, "bug 7\nmore");
        let results = [
            result("s::t@d", Outcome::Passed),
            result("s::t@d", failed.clone()),
            flaky("s::t@d", failed.clone()),
            differing("s::t@d", failed.clone()),
            passes_alone("s::t@d"),
            judged("s::t@d", failed, Some(known.clone())),
            judged("s::t@d", Outcome::Passed, Some(known)),
        ];
        insta::assert_snapshot!(results.each_ref().map(result_line).join("\n"));
    }
}
