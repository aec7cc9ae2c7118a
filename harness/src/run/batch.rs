//! The tests of other programs that a slot runs. A process may run several of them.
//!
//! A process that ends early tells at most which test ended it. The others run again in further processes: half
//! as many at a time, and again twice as many after each process whose tests all have results. So do the tests
//! that passed in a process in which the driver complained.

use std::collections::{HashMap, VecDeque};
use std::time::{Instant, SystemTime};

use crate::case::Case;
use crate::external::OutsideTest;
use crate::external::program_run::{Ended, Found, ProgramRun, Watch};
use crate::log::events::{Started, TestName};
use crate::os::Source;
use crate::run::device_run::DeviceRun;
use crate::run::rounds::Taken;
use crate::run::state::RunState;
use crate::verdict::Outcome;
use crate::worker::parent::Attempt;

/// The tests of other programs that a slot has taken, and the results of their processes so far.
pub(super) struct Batch<'a> {
    device_run: &'a DeviceRun<'a>,
    /// The number of the slot.
    slot: u32,
    taken: VecDeque<Taken>,
    known: HashMap<usize, Attempt>,
    /// The most tests of the next process, if the suite allows that many.
    most: usize,
}

impl<'a> Batch<'a> {
    pub fn new(device_run: &'a DeviceRun<'a>, slot: u32) -> Self {
        let (taken, known) = (VecDeque::new(), HashMap::new());
        Self { device_run, slot, taken, known, most: usize::MAX }
    }

    /// The number of tests that were taken and are not run yet.
    pub fn len(&self) -> usize {
        self.taken.len()
    }

    /// Returns the next of the tests that were taken for the same process.
    pub fn next(&mut self) -> Option<Taken> {
        self.taken.pop_front()
    }

    /// Returns whether the result of a test is known.
    pub fn has_run(&self, position: usize) -> bool {
        self.known.contains_key(&position)
    }

    /// Returns the result of a test, and forgets it. Runs the test alone if there is none, as long as the device
    /// is to be used.
    pub fn attempt(&mut self, position: usize) -> Attempt {
        if let Some(known) = self.known.remove(&position) {
            return known;
        }
        if let Some(reason) = self.device_run.end() {
            return Attempt::without_running(Outcome::NotRun { reason });
        }
        self.run(&[position]);
        self.known.remove(&position).expect("a test that runs alone has a result")
    }

    /// Runs a test in one process with the next tests of its program, until its result is known.
    pub fn run_with_next(&mut self, test: &OutsideTest, taken: Taken) {
        let device_run = self.device_run;
        let batch = test.program.suite.batch;
        if self.taken.is_empty() && batch > 1 {
            let is_next = |position| match &device_run.entry(position).test {
                Case::Outside(next) => next.goes_with(test),
                Case::Registered(_) => false,
            };
            self.taken = device_run.rounds.take_more(batch - 1, device_run.slots(), is_next).into();
        }
        let mut others: Vec<usize> = self.taken.iter().map(|other| other.position).collect();
        others.retain(|position| {
            let expectation = device_run.expectation(*position);
            let entry = device_run.entry(*position);
            device_run.outcome_without_running(entry, expectation).is_none()
        });
        while !self.known.contains_key(&taken.position) && device_run.may_go_on() {
            others.retain(|position| !self.known.contains_key(position));
            let most = self.most.saturating_sub(1);
            let with = others.iter().copied().take(most);
            let positions: Vec<usize> = [taken.position].into_iter().chain(with).collect();
            self.run(&positions);
        }
    }

    /// Returns whether the driver complains in an output. The complaint may be about each test of the process, as
    /// standard output, which has the begins of the tests, and standard error are two pipes.
    fn have_complaint(&self, found: &[Option<Found>]) -> bool {
        let settings = &self.device_run.config.settings;
        let mut outputs = found.iter().flatten().map(|found| &found.attempt.stderr);
        outputs.any(|stderr| settings.complaint_in(stderr).is_some())
    }

    /// Runs tests of one program in one process.
    fn run(&mut self, positions: &[usize]) {
        let device_run = self.device_run;
        let RunState { recorder, stop, .. } = device_run.state;
        let test = |position: usize| match &device_run.entry(position).test {
            Case::Outside(test) => test,
            Case::Registered(_) => unreachable!("a registered test runs in a worker"),
        };
        let name = |position: usize| test(position).name.as_deref().unwrap_or_default();
        let first = test(positions[0]);
        let run = ProgramRun {
            program: &first.program,
            tests: positions.iter().map(|at| (name(*at), device_run.limit(*at))).collect(),
            is_ignored: first.is_ignored,
            worker: device_run.config.commands.current(),
        };
        let begin = Instant::now();
        let mut process = Following {
            device_run,
            positions,
            slot: self.slot,
            number: recorder.number_worker(),
            begun: vec![None; positions.len()],
            shown: 0,
            is_lost: false,
        };
        let Ended { mut found, exit } = run.run(stop.signal(), &mut process);
        process.show(0);
        let ending = process.ending(&found);
        if found.iter().all(Option::is_none) {
            device_run.hang_budget.add(begin.elapsed());
            process.note_loss();
        }
        let is_lost = found.iter().any(Option::is_none);
        let has_complaint = self.have_complaint(&found);
        if has_complaint && positions.len() > 1 {
            found.iter_mut().for_each(|found| drop(found.take_if(|found| found.has_passed())));
        }
        self.most = match is_lost || has_complaint {
            true => (positions.len() / 2).max(1),
            false => self.most.saturating_mul(2),
        };
        for (at, found) in found.into_iter().enumerate() {
            if let Some(found) = found {
                self.known.insert(positions[at], process.known(at, found));
            }
        }
        if is_lost {
            if let Some(attempt) = self.known.get(&ending)
                && let Some(outcome @ (Outcome::Crashed { .. } | Outcome::TimedOut { .. })) =
                    &attempt.outcome
            {
                let expectation = device_run.expectation(ending);
                let is_expected = expectation.is_some_and(|known| known.allows(outcome));
                device_run.health.note(&device_run.id(ending), outcome, is_expected);
            }
            device_run.probe(ending);
        }
        if let Some(outcome) = exit {
            if let Outcome::TimedOut { limit } = outcome {
                device_run.hang_budget.add_end(limit);
            }
            if device_run.config.settings.exit_check {
                device_run.record_end("exit", outcome, ending);
            }
        }
    }
}

/// A process while it runs.
struct Following<'a> {
    device_run: &'a DeviceRun<'a>,
    /// The positions of its tests in the plan.
    positions: &'a [usize],
    slot: u32,
    /// The number of the process among the workers of the run.
    number: u32,
    /// The attempt of each test that has begun, and its start.
    begun: Vec<Option<(u32, SystemTime, Instant)>>,
    /// The test that the observer takes for the running one: at first and at the end that of the slot.
    shown: usize,
    /// True if its loss is noted.
    is_lost: bool,
}

impl Following<'_> {
    fn begin(
        &mut self,
        test: usize,
        time: SystemTime,
        process: Option<u32>,
    ) -> (u32, SystemTime, Instant) {
        let RunState { run, recorder, .. } = self.device_run.state;
        let position = self.positions[test];
        let attempt = self.device_run.count_attempt(position);
        recorder.started(Started {
            test: TestName::Position(run.so_far.tests[position]),
            device: Some(run.plan.device_id(self.device_run.entry(position)).to_owned()),
            time,
            attempt,
            worker: Some(self.number),
            slot: Some(self.slot),
            pid: process,
        });
        let begun = (attempt, time, Instant::now());
        self.begun[test] = Some(begun);
        begun
    }

    /// Returns the position of the test that ended the process, else of the test that began last.
    fn ending(&self, found: &[Option<Found>]) -> usize {
        let ends = |found: &Option<Found>| {
            let outcome = found.as_ref().and_then(|found| found.attempt.outcome.as_ref());
            matches!(outcome, Some(Outcome::Crashed { .. } | Outcome::TimedOut { .. }))
        };
        let begun = self.begun.iter().enumerate();
        let last = || begun.filter_map(|(test, begun)| Some((begun.as_ref()?.2, test))).max();
        let test = found.iter().position(ends).or_else(|| last().map(|(_, test)| test));
        self.positions[test.unwrap_or(0)]
    }

    /// Tells the observer which test runs.
    fn show(&mut self, test: usize) {
        let from = std::mem::replace(&mut self.shown, test);
        if from != test {
            let [from, to] = [from, test].map(|test| self.positions[test]);
            self.device_run.state.recorder.passed_on(from, to);
        }
    }

    /// Notes the loss of the process, once: with stacks, before they are taken.
    fn note_loss(&mut self) {
        if !std::mem::replace(&mut self.is_lost, true) {
            self.device_run.note_loss(self.slot);
        }
    }

    /// Completes the result of a test.
    fn known(&mut self, test: usize, Found { mut attempt }: Found) -> Attempt {
        let device_run = self.device_run;
        let position = self.positions[test];
        let begun = self.begun[test];
        let (number, started, _) = match begun {
            Some(begun) => begun,
            // The run was stopped before the test began.
            None if attempt.outcome.is_none() => (1, SystemTime::now(), Instant::now()),
            // The output did not tell when, and so there is no duration.
            None => self.begin(test, SystemTime::now(), None),
        };
        attempt.number = number;
        attempt.started = Some(started);
        attempt.worker = Some(self.number);
        device_run.fail_by_settings(position, &mut attempt);
        if let Some(Outcome::TimedOut { .. }) = attempt.outcome {
            device_run.count_timeout(position, &attempt);
        }
        if let Some(Outcome::Crashed { .. }) = attempt.outcome {
            self.note_loss();
        }
        attempt.is_own_crash = true;
        attempt
    }
}

impl Watch for Following<'_> {
    fn begins(&mut self, test: usize, process: u32) {
        self.begin(test, SystemTime::now(), Some(process));
        self.show(test);
    }

    fn wrote(&mut self, test: usize, from: Source, bytes: &[u8]) {
        let RunState { run, recorder, .. } = self.device_run.state;
        if run.echo {
            recorder.wrote(self.positions[test], from, bytes);
        }
    }

    fn hangs(&mut self) {
        self.note_loss();
    }
}
