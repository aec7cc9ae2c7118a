//! The tests of an earlier run that run again.

use std::path::PathBuf;

use clap::ValueEnum;
use clmatrix_harness::private::log::run_log::RunLog;
use clmatrix_harness::private::result::test_result::TestResult;
use clmatrix_harness::private::shard::Shard;
use clmatrix_harness::private::terminal::AnyError;
use clmatrix_harness::private::verdict::Verdict;

use super::test_set::TestSet;

/// The results whose tests run again.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum Which {
    Failed,
    NotRun,
    Flaky,
    All,
}

impl Which {
    fn has(self, result: &TestResult) -> bool {
        match self {
            Self::Failed => {
                !matches!(result.verdict, Verdict::NotRun | Verdict::Flaky)
                    && !result.is_as_expected()
            }
            Self::NotRun => result.verdict == Verdict::NotRun,
            Self::Flaky => result.verdict == Verdict::Flaky,
            Self::All => true,
        }
    }
}

/// An earlier run, and those of its tests that run again.
pub struct Rerun {
    /// The id of the run.
    pub parent: String,
    /// The tests.
    pub tests: TestSet,
    /// The part of the tests that the run had.
    pub shard: Option<Shard>,
}

impl Rerun {
    /// Reads the values of `--rerun WHICH [RUN]`. `find` finds the log of a run.
    ///
    /// # Errors
    ///
    /// The values are wrong, or the run cannot be read or has no such test.
    pub fn new(
        values: &[String],
        find: impl FnOnce(&str) -> Result<PathBuf, String>,
    ) -> Result<Self, AnyError> {
        let (which, run) = match values {
            [which] => (which, "latest"),
            [which, run] => (which, run.as_str()),
            _ => return Err("--rerun takes failed, not-run, flaky or all, and a run".into()),
        };
        let parsed = Which::from_str(which, false)
            .map_err(|_| format!("--rerun: {which:?} is none of failed, not-run, flaky and all"))?;
        let log = RunLog::read(&find(run)?)?;
        let (parent, shard) = (log.header.run_id, log.header.shard);
        // Their devices are those of their hosts.
        if log.header.merged.iter().any(|run| run.shard.is_none()) {
            let reason = "is merged of several hosts; on each host, give its own run";
            return Err(format!("--rerun: the run {parent} {reason}").into());
        }
        let meant =
            log.results.iter().filter(|result| !result.is_of_worker() && parsed.has(result));
        let mut ids = meant.map(|result| result.test.clone()).peekable();
        if ids.peek().is_none() {
            return Err(format!("--rerun {which}: the run {parent} has no such test").into());
        }
        Ok(Self { parent, tests: ids.collect(), shard })
    }
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;
    use clmatrix_harness::private::log::events::Event;
    use clmatrix_harness::private::log::run_header::{MergedRun, RunHeader};
    use clmatrix_harness::private::log::sample::{flaky, header, passes_alone, result};
    use clmatrix_harness::private::shard::ShardRule;
    use clmatrix_harness::private::verdict::Outcome;

    #[test]
    fn the_run_of_several_hosts_does_not_run_again() {
        let folder = tempfile::tempdir().unwrap();
        let log = folder.path().join("log");
        let error = |shard: Option<Shard>| {
            let run = MergedRun { run_id: "r".to_owned(), host: "h".to_owned(), shard };
            let header = RunHeader { merged: vec![run], ..header(Vec::new()) };
            let events = [
                Event::Run(Box::new(header)),
                Event::finished(result("s::t@d%h", Outcome::Passed)),
            ];
            let lines = events.map(|event| serde_json::to_string(&event).unwrap() + "\n");
            fs::write(&log, lines.concat()).unwrap();
            let values = ["all".to_owned(), "run".to_owned()];
            Rerun::new(&values, |_| Ok(log.clone())).err().map(|error| error.to_string())
        };
        let of_hosts = error(None).expect("an error");
        assert!(of_hosts.contains("the run run-1 is merged of several hosts"), "{of_hosts}");
        let rule = ShardRule::Hash;
        assert_eq!(error(Some(Shard { index: 1, total: 1, rule })), None);
    }

    #[test]
    fn the_results_of_each_word() {
        let failed = || Outcome::Failed { message: "no".to_owned(), location: None };
        let tolerated = TestResult { tolerated: true, ..flaky("s::t@d", failed()) };
        let reason = || "stopped".to_owned();
        let results = [
            result("s::passed@d", Outcome::Passed),
            result("s::skipped@d", Outcome::Skipped { reason: reason() }),
            result("s::failed@d", failed()),
            result("s::crashed@d", Outcome::Crashed { how: "SIGSEGV".to_owned() }),
            passes_alone("s::alone@d"),
            flaky("s::flaky@d", failed()),
            tolerated,
            result("s::not_run@d", Outcome::NotRun { reason: reason() }),
        ];
        let cases = [
            (Which::Failed, vec![2, 3, 4]),
            (Which::NotRun, vec![7]),
            (Which::Flaky, vec![5, 6]),
            (Which::All, (0..8).collect()),
        ];
        for (which, expected) in cases {
            let found: Vec<_> = (0..8).filter(|place| which.has(&results[*place])).collect();
            assert_eq!(found, expected, "{which:?}");
        }
    }
}
