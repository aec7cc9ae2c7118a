//! A round of a run, read as a run of its own.

use std::collections::HashMap;
use std::path::Path;

use clmatrix_harness::private::log::events::{DeviceLost, Event};
use clmatrix_harness::private::log::run_log::{NO_RESULT, RunLog};
use clmatrix_harness::private::log::sum::Sum;
use clmatrix_harness::private::result::test_result::TestResult;
use clmatrix_harness::private::verdict::Outcome;

use super::stored_run_error::StoredRunError;

/// Reads a round of the run with this log.
///
/// A test that does not run, such as one that is skipped, is in no later round: its result stands there, too.
pub(super) fn read(path: &Path, number: u32) -> Result<RunLog, StoredRunError> {
    let (mut events, mut sum) = (Events { number, begun: HashMap::new() }, Sum::default());
    sum.add_files(path, |event| events.have(event))?;
    let rounds = events.begun.into_values().max().unwrap_or(1);
    let mut log = sum.finish();
    if !log.header.merged.is_empty() {
        return Err(StoredRunError::Merged(path.to_owned()));
    }
    if number > rounds {
        return Err(StoredRunError::NoRound { log: path.to_owned(), round: number, last: rounds });
    }
    log.header.run_id += &format!(":{number}");
    log.recorded_status = None;
    let has_run = |result: &TestResult| result.outcome.status().is_some();
    let ran = log.results.iter().filter(|result| has_run(result));
    let start = ran.clone().map(|result| result.started).min().unwrap_or(log.header.time);
    let end = ran.map(|result| result.end()).max().unwrap_or(start);
    (log.header.time, log.duration) = (start, end.duration_since(start).unwrap_or_default());
    let mut lacks_a_result = false;
    for result in log.results.iter_mut().filter(|result| !has_run(result)) {
        result.started = start;
        let lost = log.lost.iter().find(|lost| lost.device == result.test_and_device().1);
        match &mut result.attempt.outcome {
            Outcome::NotRun { reason } if reason == NO_RESULT => {
                lacks_a_result |= lost.is_none();
                *reason =
                    lost.map_or_else(|| format!("not in round {number}"), DeviceLost::not_run);
            }
            _ => {}
        }
    }
    log.interrupted &= lacks_a_result;
    Ok(log)
}

/// The events of a round among those of its run.
struct Events {
    number: u32,
    /// The later rounds that devices have begun, by the ids of the devices.
    begun: HashMap<String, u32>,
}

impl Events {
    /// Returns whether the round has the next event of the run.
    fn have(&mut self, event: &Event) -> bool {
        match event {
            Event::Round(round) => {
                self.begun.insert(round.device.clone(), round.number);
                false
            }
            Event::Started(started) => self.running(&started.device) == self.number,
            Event::DeviceLost(lost) => self.running(&lost.device) <= self.number,
            Event::Finished(finished) => {
                let running = self.running(finished.result.test_and_device().1);
                let has_run = finished.result.outcome.status().is_some();
                running == self.number || running < self.number && !has_run
            }
            _ => true,
        }
    }

    fn running(&self, device: &str) -> u32 {
        self.begun.get(device).copied().unwrap_or(1)
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;
    use std::fs;
    use std::path::PathBuf;
    use std::time::Duration;

    use clmatrix_harness::private::log::events::{End, Round};
    use clmatrix_harness::private::log::plan::{PlannedDevice, PlannedTest, PlannedTests};
    use clmatrix_harness::private::log::run_header::{MergedRun, RunHeader};
    use clmatrix_harness::private::log::sample::{changed, header, result};
    use clmatrix_harness::private::target::{NOT_ALL_RUN, SUCCESS, UNEXPECTED};
    use clmatrix_harness::private::verdict::Verdict;

    use tempfile::TempDir;

    use super::*;

    const SECOND: Duration = Duration::from_secs(1);

    #[test]
    fn a_round_has_the_results_of_each_device_in_it() {
        use Verdict::{Crash, Fail, NotRun, Pass, Skip};
        let end = |test: &str, outcome| Event::finished(result(test, outcome));
        let passed = |test| end(test, Outcome::Passed);
        let failed = Outcome::Failed { message: "no".to_owned(), location: None };
        let crashed = Outcome::Crashed { how: "SIGSEGV".to_owned() };
        let skipped = Outcome::Skipped { reason: "no images".to_owned() };
        let round =
            |device: &str, number| Event::Round(Round { device: device.to_owned(), number });
        let (_folder, log) = write(vec![
            plan(&["s::a", "s::b", "s::c"]),
            plan_on("d", 2),
            plan_on("e", 2),
            passed("s::a@d"),
            passed("s::a@e"),
            end("s::b@d", failed),
            end("s::c@d", skipped),
            round("d", 2),
            passed("s::b@e"),
            passed("s::c@e"),
            passed("s::b@d"),
            passed("s::a@d"),
            round("e", 2),
            round("d", 3),
            passed("s::a@e"),
            end("s::a@d", crashed),
            passed("s::b@e"),
            passed("s::c@e"),
        ]);
        let cases = [
            (1, [Pass, Fail, Skip], [Pass, Pass, Pass], UNEXPECTED, false),
            (2, [Pass, Pass, Skip], [Pass, Pass, Pass], SUCCESS, false),
            // The run was killed in the third round of `d`.
            (3, [Crash, NotRun, Skip], [NotRun, NotRun, NotRun], UNEXPECTED, true),
        ];
        for (number, d, e, status, interrupted) in cases {
            let round = read(&log, number).unwrap();
            let on = |device| {
                let results = round.results.iter();
                let results = results.filter(move |result| result.test_and_device().1 == device);
                results.map(|result| result.verdict).collect::<Vec<_>>()
            };
            assert_eq!((on("d"), on("e")), (d.to_vec(), e.to_vec()), "round {number}");
            assert_eq!((round.exit_status(), round.interrupted), (status, interrupted));
            assert_eq!(round.header.run_id, format!("run-1:{number}"));
            assert!(round.rounds.is_empty());
        }
        let error = read(&log, 4).unwrap_err().to_string();
        assert!(error.ends_with("there is no round 4; they count from 1 to 3"), "{error}");
    }

    fn plan(paths: &[&str]) -> Event {
        let tests = paths.iter().map(|path| PlannedTest::unplanned(path)).collect();
        Event::Plan(PlannedTests { tests })
    }

    fn plan_on(device: &str, last: u32) -> Event {
        Event::PlanDevice(PlannedDevice { device: device.to_owned(), ranges: vec![(0, last)] })
    }

    /// Writes a log of these events, after a header.
    fn write(events: Vec<Event>) -> (TempDir, PathBuf) {
        let folder = tempfile::tempdir().unwrap();
        let log = folder.path().join("log");
        let events = [Event::Run(Box::new(header(Vec::new())))].into_iter().chain(events);
        let lines = events.map(|event| serde_json::to_string(&event).unwrap() + "\n");
        fs::write(&log, lines.collect::<String>()).unwrap();
        (folder, log)
    }

    #[test]
    fn a_device_may_be_lost_in_a_later_round() {
        let second = Round { device: "d".to_owned(), number: 2 };
        let lost = DeviceLost {
            device: "d".to_owned(),
            reason: "no answer".to_owned(),
            after: None,
            suspects: vec![],
        };
        let passed = |test| Event::finished(result(test, Outcome::Passed));
        let end = End {
            interrupted: true,
            duration: 9 * SECOND,
            exit_status: 3,
            counts: BTreeMap::new(),
        };
        let (_folder, log) = write(vec![
            plan(&["s::a", "s::b"]),
            plan_on("d", 1),
            passed("s::a@d"),
            passed("s::b@d"),
            Event::Round(second),
            passed("s::a@d"),
            Event::DeviceLost(lost.clone()),
            Event::End(end),
        ]);
        let first = read(&log, 1).unwrap();
        assert_eq!((first.exit_status(), first.lost), (SUCCESS, vec![]));
        let second = read(&log, 2).unwrap();
        assert_eq!((second.exit_status(), second.interrupted), (NOT_ALL_RUN, false));
        let [_, b] = &second.results[..] else { panic!("{:?}", second.results) };
        assert!(lost.is_reason_of(b) && second.is_not_run_by_loss(b), "{b:?}");
    }

    #[test]
    fn the_time_of_a_round_is_that_of_the_tests_that_ran() {
        let second = Round { device: "d".to_owned(), number: 2 };
        let at = |test, outcome, seconds| {
            let started = |result: &mut TestResult| result.started += seconds * SECOND;
            Event::finished(changed(result(test, outcome), started))
        };
        let skipped = Outcome::Skipped { reason: "no images".to_owned() };
        let (_folder, log) = write(vec![
            at("s::a@d", Outcome::Passed, 1),
            at("s::b@d", skipped, 2),
            Event::Round(second),
            at("s::a@d", Outcome::Passed, 60),
        ]);
        let round = read(&log, 2).unwrap();
        let [a, b] = &round.results[..] else { panic!("{:?}", round.results) };
        assert_eq!((round.header.time, b.started), (a.started, a.started));
        assert_eq!(round.duration, a.duration);
    }

    #[test]
    fn a_merged_run_has_no_rounds_of_its_own() {
        let part = MergedRun { run_id: "r".to_owned(), host: "h".to_owned(), shard: None };
        let header = RunHeader { merged: vec![part], ..header(Vec::new()) };
        let folder = tempfile::tempdir().unwrap();
        let log = folder.path().join("log");
        fs::write(&log, serde_json::to_string(&Event::Run(Box::new(header))).unwrap()).unwrap();
        let error = read(&log, 1).unwrap_err().to_string();
        assert!(error.contains("the run is merged"), "{error}");
    }
}
