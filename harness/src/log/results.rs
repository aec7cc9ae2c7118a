//! The results of a log so far.

use std::collections::HashSet;
use std::time::SystemTime;

use foldhash::fast::RandomState;
use indexmap::IndexMap;

use super::events::Started;
use super::plan::PlannedTest;
use crate::result::attempt::Attempt;
use crate::result::test_result::{TestResult, test_and_device};
use crate::verdict::{Outcome, Verdict};

/// The results of the running rounds, in the plan's order; tests that are not in the plan follow.
#[derive(Default)]
pub(super) struct Results {
    pub run_started: Option<SystemTime>,
    pub in_order: Vec<TestResult>,
    /// The tests by their paths.
    pub tests: IndexMap<String, PlannedTest, RandomState>,
    /// For each device, the place in `in_order` of each test, if it has one.
    places: IndexMap<String, Vec<Option<u32>>, RandomState>,
    /// Tests, and devices, that have no place yet.
    planned: Vec<(u32, u32)>,
    /// The places of tests whose latest attempt is repeated.
    repeated: HashSet<usize>,
}

impl Results {
    /// Adds tests to the list.
    pub fn plan(&mut self, tests: Vec<PlannedTest>) {
        self.tests.extend(tests.into_iter().map(|test| (test.path.clone(), test)));
    }

    pub fn plan_on(&mut self, device: String, ranges: Vec<(u32, u32)>) {
        let device = self.device(&device);
        let known = self.tests.len() as u32;
        for (first, last) in ranges {
            self.planned
                .extend((first..=last).take_while(|test| *test < known).map(|test| (test, device)));
        }
    }

    fn device(&mut self, device: &str) -> u32 {
        let position = self.places.get_index_of(device);
        position.unwrap_or_else(|| self.places.insert_full(device.to_owned(), Vec::new()).0) as u32
    }

    /// Gives each planned test its place: test by test, in the order of the devices.
    pub fn lay_out(&mut self) {
        let mut planned = std::mem::take(&mut self.planned);
        planned.sort_unstable();
        for (test, device) in planned {
            self.at(test, device);
        }
    }

    /// The results, when no more come.
    pub fn into_all(mut self) -> (Vec<TestResult>, IndexMap<String, PlannedTest, RandomState>) {
        self.lay_out();
        for result in &mut self.in_order {
            if let Outcome::NotRun { reason } = &mut result.outcome
                && reason.is_empty()
            {
                super::run_log::NO_RESULT.clone_into(reason);
            }
        }
        (self.in_order, self.tests)
    }

    /// The place for the result of a test on a device.
    fn at(&mut self, test: u32, device: u32) -> usize {
        let (path, _) = self.tests.get_index(test as usize).expect("a known test");
        let (id, places) = self.places.get_index_mut(device as usize).expect("a known device");
        let in_order = &mut self.in_order;
        let started = self.run_started.unwrap_or(SystemTime::UNIX_EPOCH);
        places.resize(places.len().max(test as usize + 1), None);
        let place = *places[test as usize].get_or_insert_with(|| {
            in_order.push(not_run([path, "@", id].concat(), started));
            in_order.len() as u32 - 1
        });
        place as usize
    }

    /// The place for the result of the test with this id.
    pub fn place(&mut self, id: &str) -> usize {
        self.lay_out();
        let (path, device) = test_and_device(id);
        let device = self.device(device);
        let test = self.tests.get_index_of(path).unwrap_or_else(|| {
            self.tests.insert_full(path.to_owned(), PlannedTest::unplanned(path)).0
        });
        self.at(test as u32, device)
    }

    pub fn start(&mut self, started: Started) {
        if started.test as usize >= self.tests.len() {
            return;
        }
        self.lay_out();
        let device = self.device(&started.device);
        let place = self.at(started.test, device);
        let result = &mut self.in_order[place];
        if result.verdict == Verdict::NotRun {
            result.started = started.time;
        }
    }

    /// Takes the results of the tests of a device that have run. Results of workers are those of all rounds.
    pub fn take_round(&mut self, device: &str) -> Vec<(usize, TestResult)> {
        let places = self.places.get(device).into_iter().flatten().flatten();
        let mut taken = Vec::new();
        for place in places.map(|place| *place as usize) {
            let result = &mut self.in_order[place];
            if result.verdict != Verdict::NotRun && !result.is_of_worker() {
                let none = not_run(result.test.clone(), result.started);
                taken.push((place, std::mem::replace(result, none)));
            }
        }
        taken
    }

    /// Adds an attempt. One that is `repeated` after the result runs for a note.
    pub fn finish(&mut self, mut result: TestResult, repeated: bool) {
        let place = self.place(&result.test);
        let known = &mut self.in_order[place];
        if result.is_of_worker() && known.verdict != Verdict::NotRun {
            return known.add_of_worker(result);
        }
        let was_repeated = self.repeated.remove(&place);
        if repeated && known.verdict != Verdict::NotRun && !was_repeated {
            return known.earlier.push(result);
        }
        if repeated {
            self.repeated.insert(place);
        }
        // The place keeps its own text, which stands beside those of other tests in memory.
        std::mem::swap(&mut result.test, &mut known.test);
        known.supersede(result);
    }
}

fn not_run(test: String, started: SystemTime) -> TestResult {
    // Results replace nearly all of these. `into_all` gives the others their reason.
    let outcome = Outcome::NotRun { reason: String::new() };
    TestResult::new(test, Attempt { started, ..Attempt::new(outcome) }, None)
}
