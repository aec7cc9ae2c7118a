//! A round of a run, read as a run of its own.

use std::collections::HashMap;
use std::path::Path;

use clmatrix_harness::private::log::events::Event;
use clmatrix_harness::private::log::read_error::ReadError;
use clmatrix_harness::private::log::run_log::RunLog;
use clmatrix_harness::private::log::sum::Sum;
use clmatrix_harness::private::verdict::Verdict;

/// Reads a round of the run with this log; `Err` has the number of rounds if there are fewer.
///
/// A test that does not run, such as one that is skipped, is in no later round: its result stands there, too.
pub(super) fn read(log: &Path, number: u32) -> Result<Result<RunLog, u32>, ReadError> {
    let (mut events, mut sum) = (Events { number, begun: HashMap::new() }, Sum::default());
    sum.add_files(log, |event| events.have(event))?;
    let rounds = events.begun.into_values().max().unwrap_or(1);
    if number > rounds {
        return Ok(Err(rounds));
    }
    let mut round = sum.finish();
    round.header.run_id += &format!(":{number}");
    round.recorded_status = None;
    round.interrupted &= round.results.iter().any(|result| result.verdict == Verdict::NotRun);
    let ran = round.results.iter().filter(|result| result.outcome.status().is_some());
    if let Some(start) = ran.clone().map(|result| result.started).min() {
        let end = ran.map(|result| result.end()).max();
        round.header.time = start;
        round.duration = end.and_then(|end| end.duration_since(start).ok()).unwrap_or_default();
    }
    Ok(Ok(round))
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
    use std::fs;

    use clmatrix_harness::private::log::events::Round;
    use clmatrix_harness::private::log::plan::{PlannedDevice, PlannedTest, PlannedTests};
    use clmatrix_harness::private::log::sample::{header, result};
    use clmatrix_harness::private::target::{SUCCESS, UNEXPECTED};
    use clmatrix_harness::private::verdict::Outcome;

    use super::*;

    #[test]
    fn a_round_has_the_results_of_each_device_in_it() {
        use Verdict::{Crash, Fail, NotRun, Pass, Skip};
        let folder = tempfile::tempdir().unwrap();
        let log = folder.path().join("log");
        let end = |test: &str, outcome| Event::finished(result(test, outcome));
        let passed = |test| end(test, Outcome::Passed);
        let failed = Outcome::Failed { message: "no".to_owned(), location: None };
        let crashed = Outcome::Crashed { how: "SIGSEGV".to_owned() };
        let skipped = Outcome::Skipped { reason: "no images".to_owned() };
        let round =
            |device: &str, number| Event::Round(Round { device: device.to_owned(), number });
        let tests = ["s::a", "s::b", "s::c"].map(PlannedTest::unplanned).into();
        let plan = |device: &str| {
            Event::PlanDevice(PlannedDevice { device: device.to_owned(), ranges: vec![(0, 2)] })
        };
        let events = [
            Event::Run(Box::new(header(Vec::new()))),
            Event::Plan(PlannedTests { tests }),
            plan("d"),
            plan("e"),
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
        ];
        let lines = events.map(|event| serde_json::to_string(&event).unwrap() + "\n");
        fs::write(&log, lines.concat()).unwrap();
        let cases = [
            (1, [Pass, Fail, Skip], [Pass, Pass, Pass], UNEXPECTED, false),
            (2, [Pass, Pass, Skip], [Pass, Pass, Pass], SUCCESS, false),
            // The run was killed in the third round of `d`.
            (3, [Crash, NotRun, Skip], [NotRun, NotRun, NotRun], UNEXPECTED, true),
        ];
        for (number, d, e, status, interrupted) in cases {
            let round = read(&log, number).unwrap().unwrap();
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
        assert_eq!(read(&log, 4).unwrap().unwrap_err(), 3);
    }
}
