//! The results of a log so far.

use std::collections::HashMap;
use std::time::SystemTime;

use foldhash::fast::RandomState;
use indexmap::IndexMap;

use super::events::Started;
use super::plan::PlannedTest;
use crate::result::attempt::Attempt;
use crate::result::crash_cause::CrashCause;
use crate::result::not_run_reason::NotRunReason;
use crate::result::test_id::TestId;
use crate::result::test_result::TestResult;
use crate::verdict::{Outcome, Verdict};

/// A test that was running so many times when its run was cut short does not run again.
const MOST_CUTS: u32 = 3;

/// A test that was running so many times when the machine stopped has crashed.
const MOST_RESTARTS: u32 = 2;

/// A start of a machine: its name, and the id of the start.
pub(super) type Boot = (String, String);

/// The executions of a test on a device.
#[derive(Clone, Copy, Debug, Default)]
pub struct Execution {
    /// The number of attempts.
    pub attempts: u32,
    /// True if the test has its result.
    pub has_ended: bool,
    is_running: bool,
    /// The number of times that the test was running when the run was cut short.
    cuts: u32,
    /// The number of those after which the machine was started again.
    restarts: u32,
}

impl Execution {
    /// Returns whether the test was running when the run was cut short, and has no result.
    pub fn was_cut(&self) -> bool {
        !self.has_ended && self.cuts > 0
    }

    /// Returns the outcome of a test that is not to run again, since it was cut short too often.
    pub fn outcome_of_cuts(&self) -> Option<Outcome> {
        let outcome = match *self {
            Self { restarts: MOST_RESTARTS.., .. } => {
                Outcome::Crashed { cause: CrashCause::Machine }
            }
            Self { cuts: MOST_CUTS.., .. } => Outcome::NotRun { reason: NotRunReason::Killed },
            _ => return None,
        };
        (!self.has_ended).then_some(outcome)
    }
}

/// The results in the plan's order; tests that are not in the plan follow.
#[derive(Default)]
pub(super) struct Results {
    pub run_started: Option<SystemTime>,
    /// The start of the machine of the last part, if it is known.
    pub boot: Option<Boot>,
    pub in_order: Vec<TestResult>,
    /// The executions of each of their tests.
    pub executions: Vec<Execution>,
    /// The place of the last test that each slot of a device has begun in this part of the run.
    last_begun: HashMap<(u32, u32), usize, RandomState>,
    /// True if a test was started or has a result.
    pub have_begun: bool,
    /// The attempts at tests that have ended before, and whose present repetition has not, by their places.
    unfinished: HashMap<usize, TestResult>,
    /// The tests by their paths.
    pub tests: IndexMap<String, PlannedTest, RandomState>,
    /// For each device, the place in `in_order` of each test, if it has one.
    places: IndexMap<String, Vec<Option<u32>>, RandomState>,
    /// Tests, and devices, that have no place yet.
    planned: Vec<(u32, u32)>,
}

impl Results {
    /// Adds tests to the list.
    pub fn plan(&mut self, tests: Vec<PlannedTest>) {
        self.tests.extend(tests.into_iter().map(|test| (test.path.clone(), test)));
    }

    pub fn plan_on(&mut self, device: String, ranges: Vec<(u32, u32)>) {
        let device = self.device(&device);
        let known = self.tests.len() as u32;
        let tests = |(first, last): (u32, u32)| first..last.saturating_add(1).min(known);
        self.planned.extend(ranges.into_iter().flat_map(tests).map(|test| (test, device)));
    }

    fn device(&mut self, device: &str) -> u32 {
        let position = self.places.get_index_of(device);
        position.unwrap_or_else(|| self.places.insert_full(device.to_owned(), Vec::new()).0) as u32
    }

    /// Assigns each planned test its place: test by test, in the order of the devices.
    pub fn lay_out(&mut self) {
        let mut planned = std::mem::take(&mut self.planned);
        planned.sort_unstable();
        for (test, device) in planned {
            self.at(test, device);
        }
    }

    /// Returns the place for the result of a test on a device.
    fn at(&mut self, test: u32, device: u32) -> usize {
        let (path, _) = self.tests.get_index(test as usize).expect("a known test");
        let (id, places) = self.places.get_index_mut(device as usize).expect("a known device");
        let (in_order, executions) = (&mut self.in_order, &mut self.executions);
        let started = self.run_started.unwrap_or(SystemTime::UNIX_EPOCH);
        places.resize(places.len().max(test as usize + 1), None);
        let place = *places[test as usize].get_or_insert_with(|| {
            in_order.push(not_run(TestId::new(path, id), started));
            executions.push(Execution::default());
            in_order.len() as u32 - 1
        });
        place as usize
    }

    /// Returns the place for the result of the test with this id.
    pub fn place(&mut self, id: &TestId) -> usize {
        self.lay_out();
        let path = id.path();
        let device = self.device(id.device());
        let test = self.tests.get_index_of(path).unwrap_or_else(|| {
            self.tests.insert_full(path.to_owned(), PlannedTest::unplanned(path)).0
        });
        self.at(test as u32, device)
    }

    pub fn start(&mut self, started: Started) {
        if started.test as usize >= self.tests.len() {
            return;
        }
        self.have_begun = true;
        self.lay_out();
        let device = self.device(&started.device);
        let place = self.at(started.test, device);
        let ended = started.slot.and_then(|slot| self.last_begun.insert((device, slot), place));
        if let Some(ended) = ended {
            self.executions[ended].is_running = false;
        }
        let execution = &mut self.executions[place];
        (execution.attempts, execution.is_running) = (started.attempt, true);
        let result = &mut self.in_order[place];
        if result.verdict == Verdict::NotRun {
            result.attempt.started = started.time;
        }
    }

    /// Ends a part of the run, `now` that the machine was started so. A test that is running was cut short, by a restart
    /// of the machine, as far as is known, or otherwise.
    pub fn cut(&mut self, now: Option<Boot>) {
        let before = std::mem::replace(&mut self.boot, now.clone());
        let by_restart =
            before.zip(now).is_some_and(|(before, now)| before.0 == now.0 && before.1 != now.1);
        self.last_begun.clear();
        for execution in &mut self.executions {
            let was_running = std::mem::take(&mut execution.is_running);
            execution.cuts += u32::from(was_running);
            execution.restarts += u32::from(was_running && by_restart);
        }
        for (place, attempts) in std::mem::take(&mut self.unfinished) {
            self.in_order[place].add_repeated(attempts);
        }
    }

    /// Adds an attempt, which is `repeated` if another one takes its place. After the result of a test, there is another
    /// one for each repetition.
    pub fn finish(&mut self, mut result: TestResult, repeated: bool) {
        self.have_begun = true;
        let place = self.place(&result.test);
        let (known, execution) = (&mut self.in_order[place], &mut self.executions[place]);
        execution.is_running = false;
        if result.test.of_worker().is_some() && known.verdict != Verdict::NotRun {
            return known.add_of_worker(result);
        }
        if execution.has_ended {
            if let Some(mut earlier) = self.unfinished.remove(&place) {
                earlier.supersede(result);
                result = earlier;
            }
            if repeated {
                self.unfinished.insert(place, result);
            } else {
                known.add_repeated(result);
            }
            return;
        }
        execution.has_ended = !repeated && result.verdict != Verdict::NotRun;
        // The place keeps its own text, which stands beside those of other tests in memory.
        std::mem::swap(&mut result.test, &mut known.test);
        known.supersede(result);
    }
}

fn not_run(test: TestId, started: SystemTime) -> TestResult {
    let outcome = Outcome::NotRun { reason: NotRunReason::NoResult };
    TestResult::new(test, Attempt { started, ..Attempt::new(outcome) }, None)
}
