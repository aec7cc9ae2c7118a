//! The entries that match a test, and the one that counts.

use std::fmt::Write;

use clmatrix_runner::config::{Effect, Exclusion, Expectations, Match};
use clmatrix_runner::log::run_log::RunLog;
use clmatrix_runner::result::test_id::TestId;

use super::{RunExpectations, Strict};

/// Describes the entries for each test of a run whose id `accepts` accepts; empty if there is none.
pub(crate) fn explain(
    expectations: &Expectations,
    log: &RunLog,
    strict: &Strict<'_>,
    accepts: impl Fn(&TestId) -> bool,
) -> String {
    let for_run = RunExpectations::new(expectations, log, strict);
    let mut text = String::new();
    for result in log.results.iter().filter(|result| accepts(&result.test)) {
        let matches = for_run.on(result.test.device()).matches(result.test.path());
        let _ = writeln!(text, "{}: {} in this run", result.test, result.verdict.name());
        if matches.is_empty() {
            text += "  no entry matches\n";
        }
        matches.iter().for_each(|found| text += &line(found));
    }
    text
}

fn line(found: &Match<'_>) -> String {
    let written = found.written;
    let effect = match &found.effect {
        Effect::Counts => format!("counts: {}", written.reason.trim()),
        Effect::Assumed => {
            let versions = &written.keys["driver-version"];
            format!("counts, as seen at {versions}: {}", written.reason.trim())
        }
        Effect::Hidden(by) => format!("is hidden by {}", by.place()),
        Effect::Excluded(Exclusion::Ended) => {
            format!("does not count: it ended on {}", written.keys["until"])
        }
        Effect::Excluded(Exclusion::Device(unmet)) => {
            let (key, wanted) = (unmet.key, &written.keys[unmet.key]);
            let is = if unmet.is_comparable { "is" } else { "cannot be compared:" };
            format!("does not count: `{key}` {is} {:?}, not {wanted:?}", unmet.found)
        }
    };
    format!("  {}: {}, {effect}\n", written.place(), written.status)
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;
    use clmatrix_runner::config::sample::{Project, own_place};
    use clmatrix_runner::log::sample::{device, result, run_log};
    use clmatrix_runner::verdict::Outcome;

    #[test]
    fn each_entry_that_matches_says_why_it_counts_or_not() {
        let project = Project::new(&[
            ("clmatrix.toml", ""),
            (
                "expectations/a.toml",
                "[[expect]]\ntest = 's::*'\nstatus = 'fail'\nreason = 'everywhere'\n\
                 [[expect]]\ntest = '*::t'\nstatus = 'skip'\nreason = 'x'\nplatform = 'rusticl'\n\
                 [[expect]]\ntest = 's::t'\nstatus = 'fail'\nreason = 'x'\nuntil = '2025-12-31'\n\
                 [[expect]]\ntest = 's::u'\nstatus = 'fail'\nreason = 'of another test'\n",
            ),
            (
                "expectations/b.toml",
                "[[expect]]\ntest = '*'\nstatus = 'flaky'\nreason = ' last '\nid = 'd'\n\
                 [[expect]]\ntest = '*'\nstatus = 'fail'\nreason = 'x'\nid = 'd'\n\
                 driver-version = '>=4, <5'\n",
            ),
        ]);
        let config = project.config().unwrap();
        let mut odd = device("odd", "rusticl");
        odd.info.driver_version = "none".to_owned();
        let results = ["s::t@d", "s::t@odd", "s::t@host", "r::t@host", "r::a@host"]
            .map(|test| result(test, Outcome::Passed))
            .to_vec();
        let log = run_log(vec![device("d", "PoCL"), odd], results, Duration::ZERO);
        let explained = |id: &str| {
            let text = explain(&config.expectations, &log, &|_| false, |test| test == id);
            text.replace(&own_place(&project), "")
        };
        let ids = ["s::t@d", "s::t@odd", "r::t@host", "nothing"];
        insta::assert_snapshot!(ids.map(explained).join("\n"));
    }
}
