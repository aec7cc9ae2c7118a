//! A run from its first event to its reports.

use std::panic::{self, AssertUnwindSafe};
use std::path::{Path, PathBuf};
use std::sync::atomic::Ordering;
use std::sync::mpsc::{self, RecvTimeoutError};
use std::time::{Duration, Instant, SystemTime};

use crate::log::events::{DeviceAbsent, DriverFailed, End, Event};
use crate::log::store::{self, Place};
use crate::log::{DeviceRecord, LOG, Observer, Recorder, RunHeader, RunLog, Sum};
use crate::os::{self, StopSignal};
use crate::report::{self, WriteReports};
use crate::result::{Attempt, StopCause, TestResult};
use crate::run::{Plan, Run, schedule};
use crate::setup::Setup;
use crate::target::{CANNOT_RUN, NOT_ALL_RUN};
use crate::terminal::{AnyError, all_of, output_result, status_line};

/// The shortest time between two syncs of the log, unless each test is synced.
const SYNC_INTERVAL: Duration = Duration::from_secs(1);

/// A run that is ready to begin.
pub struct Execution<'a> {
    /// The machine and the configuration.
    pub setup: &'a Setup,
    /// The tests and their devices.
    pub plan: &'a Plan,
    /// The settings of workers, and the expectations.
    pub run: Run<'a>,
    /// The first line of the log.
    pub header: RunHeader,
    /// The place of the log and the reports; `None` if there are none.
    pub place: Option<Place>,
    /// The file for the JUnit files of all devices in one.
    pub junit_file: Option<PathBuf>,
    /// The sum of the run that is resumed; `None` for a new one.
    pub resumed: Option<Sum>,
    /// Runs before the first test.
    pub before_tests: Option<BeforeTests>,
    /// Writes the reports of the run at its end.
    pub write_reports: WriteReports,
    /// True if each event goes to standard output as well.
    pub print_events: bool,
}

/// Uses the devices before the first test, and records its findings.
pub type BeforeTests = fn(&Run<'_>, &Recorder<'_>, &StopSignal);

/// A run that has ended.
pub struct EndedRun<T> {
    /// The sum of its log, if there is one.
    pub log: Option<RunLog>,
    /// The result of the function that ran meanwhile.
    pub shown: T,
    /// The log, the reports or standard output could not be written.
    pub trouble: Option<AnyError>,
}

impl Execution<'_> {
    /// Runs all tests while `meanwhile` runs on this thread, then writes the reports.
    ///
    /// A panic in the schedule ends the process, since `meanwhile` may wait for a result that never
    /// comes.
    ///
    /// # Errors
    ///
    /// The report folder cannot be used. Nothing was run.
    pub fn run<T>(
        mut self,
        observer: &dyn Observer,
        meanwhile: impl FnOnce() -> T,
    ) -> Result<EndedRun<T>, AnyError> {
        let resumed = self.resumed.take();
        let profile = &self.setup.profile;
        let create = |place: &Place| {
            let created = place.create(profile.keep_runs, profile.sync);
            created.map_err(|error| in_folder(&place.folder, &error))
        };
        let (folder, file) = self.place.as_ref().map(create).transpose()?.unzip();
        let mut recorder = Recorder::new(file, profile.sync, self.print_events, observer);
        let stop = StopSignal::on_signals()?;
        let started = Instant::now();
        self.header.time = SystemTime::now();
        let before = match resumed {
            None => {
                self.record_head(&recorder);
                Duration::ZERO
            }
            Some(resumed) => self.go_on(&mut recorder, resumed),
        };
        if let Some(seed) = self.run.seed {
            status_line(&format!("shuffle seed: {seed}"));
        }
        let (shown, lacks_repeats) = std::thread::scope(|scope| {
            let (ended, end) = mpsc::channel::<()>();
            scope.spawn(|| self.attend(end, &recorder, &stop));
            let (run, recorder, stop) = (&self.run, &recorder, &*stop);
            let before_tests = self.before_tests;
            let runner = scope.spawn(move || {
                let run = || {
                    if let Some(before_tests) = before_tests {
                        before_tests(run, recorder, stop);
                    }
                    schedule::execute(run, recorder, stop)
                };
                let lacks_repeats = panic::catch_unwind(AssertUnwindSafe(run))
                    .unwrap_or_else(|_| os::exit_now(i32::from(CANNOT_RUN)));
                drop(ended);
                lacks_repeats
            });
            (meanwhile(), runner.join().expect("it catches panics"))
        });
        // Ctrl-C after the last test is not an interruption: all results are there.
        let interrupted = lacks_repeats
            || self.run.so_far.leaves_tests
            || stop.is_set() && recorder.lacks_results.load(Ordering::Relaxed);
        recorder.record_end(|sum| self.end(sum, interrupted, before + started.elapsed()));
        recorder.sync_if_dirty();
        let printed = recorder.take_stdout_error().map_or(Ok(()), Err);
        let (log, loss) = recorder.finish();
        let mut errors = Vec::from_iter(output_result(printed).err());
        let log = log.zip(folder).map(|(mut log, folder)| {
            errors.extend(loss.map(|loss| in_folder(&folder.path, &loss)));
            log.files.push(folder.path.join(LOG));
            let written = self.write_reports(&log, &folder.path);
            errors.extend(written.err().map(|error| in_folder(&folder.path, &error)));
            log
        });
        Ok(EndedRun { log, shown, trouble: all_of(errors).err() })
    }

    fn write_reports(&self, log: &RunLog, run: &Path) -> std::io::Result<()> {
        let reports = self.place.as_ref().map(|place| place.folder.as_path());
        let written = (self.write_reports)(log, run, reports);
        let published = reports.map_or(Ok(()), |reports| store::publish(reports, run));
        let write = |file: &PathBuf| report::write_in_one(log, file);
        let in_one = self.junit_file.as_ref().map_or(Ok(()), write);
        written.and(published).and(in_one)
    }

    /// Records all that is known before the first test.
    fn record_head(&self, recorder: &Recorder<'_>) {
        if !recorder.is_kept {
            return;
        }
        let Self { setup, run, .. } = self;
        self.record_begin(recorder);
        for (device, config) in self.plan.devices.iter().zip(&run.devices) {
            recorder.record(Event::Device(Box::new(DeviceRecord::new(device, &config.settings))));
        }
        self.plan.events().into_iter().for_each(|event| recorder.record(event));
        for expected in &setup.absent {
            recorder.record(Event::DeviceAbsent(DeviceAbsent { expected: expected.clone() }));
        }
        for failed in &setup.machine.failed {
            let (failed, strict) = (failed.clone(), setup.strict_drivers());
            recorder.record(Event::DriverFailed(DriverFailed { failed, strict }));
        }
    }

    /// Records the header and the expectations.
    fn record_begin(&self, recorder: &Recorder<'_>) {
        recorder.record(Event::Run(Box::new(self.header.clone())));
        let written = self.setup.config.expectations.written().into_iter();
        written.for_each(|known| recorder.record(Event::Expectation(known)));
    }

    /// Goes on with an unfinished run. Tests that were cut short too often do not run. Returns the wall time of the run
    /// so far.
    fn go_on(&self, recorder: &mut Recorder<'_>, so_far: Sum) -> Duration {
        let duration = so_far.log().expect("it has a header").duration;
        recorder.go_on(so_far);
        self.record_begin(recorder);
        let Run { plan, so_far, expectations, .. } = &self.run;
        let time = self.header.time;
        for (position, outcome) in &so_far.decided {
            let entry = &plan.entries[*position];
            let expectation = expectations.tests.get(position);
            let number = so_far.attempts[*position];
            let attempt = Attempt { number, started: time, ..Attempt::new(outcome.clone()) };
            let result = TestResult::new(plan.id(entry), attempt, expectation);
            recorder.finished(*position, &result);
        }
        duration
    }

    /// Syncs the log at most once a second, and stops the run at its deadline, until `end`.
    fn attend(&self, end: mpsc::Receiver<()>, recorder: &Recorder<'_>, stop: &StopSignal) {
        let started = Instant::now();
        let left = || self.run.deadline.map(|deadline| deadline.saturating_sub(started.elapsed()));
        while end.recv_timeout(left().map_or(SYNC_INTERVAL, |left| left.min(SYNC_INTERVAL)))
            == Err(RecvTimeoutError::Timeout)
        {
            recorder.sync_if_dirty();
            if left() == Some(Duration::ZERO) {
                stop.request(StopCause::Deadline { limit: self.run.deadline.unwrap_or_default() });
                let _ = end.recv();
            }
        }
    }

    fn end(&self, sum: Option<&Sum>, interrupted: bool, duration: Duration) -> End {
        let counts = sum.map(Sum::counts).unwrap_or_default();
        let exit_status = match sum {
            _ if self.plan.lacks_devices() => CANNOT_RUN,
            Some(sum) => sum.status(interrupted),
            None => NOT_ALL_RUN,
        };
        End { interrupted, duration, exit_status, counts }
    }
}

fn in_folder(folder: &Path, error: &dyn std::error::Error) -> AnyError {
    format!("the report folder {}: {error}", folder.display()).into()
}
