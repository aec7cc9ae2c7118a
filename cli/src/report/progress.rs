//! The progress of a run, on standard error: a bar per device on a terminal, elsewhere a line per
//! device at intervals; slow tests; and the results of tests that have ended.

use std::collections::HashMap;
use std::io::{IsTerminal, Write};
use std::time::{Duration, Instant};

use clmatrix_runner::devices::run_device::HOST;
use clmatrix_runner::log::Observer;
use clmatrix_runner::log::events::DeviceLost;
use clmatrix_runner::os::Source;
use clmatrix_runner::report::echo::Echo;
use clmatrix_runner::result::test_id::TestId;
use clmatrix_runner::result::test_result::TestResult;
use clmatrix_runner::run::entry::Entry;
use clmatrix_runner::run::plan::{Plan, Planned};
use clmatrix_runner::run::state::Run;
use clmatrix_runner::terminal::{self, status_line};
use clmatrix_runner::text;
use clmatrix_runner::verdict::Verdict;
use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use parking_lot::{Condvar, Mutex};

use super::result_line::result_line;
use crate::bars::BARS;

/// The time between two updates of the bars.
const TICK: Duration = Duration::from_secs(1);

/// The amount of output during a run.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Detail {
    /// Nothing.
    Quiet,
    /// Bars or lines, and unexpected results.
    Normal,
    /// All results as well.
    Verbose,
}

/// The display of a run in progress.
#[derive(Clone, Copy, Debug)]
pub struct Display {
    /// The amount of output.
    pub detail: Detail,
    /// The time between two lines of a device without bars; zero for no lines.
    pub interval: Duration,
    /// The time after which a running test is named, and again at each doubling.
    pub slow_after: Duration,
}

impl Display {
    /// Returns whether the progress of devices is shown.
    pub fn has_progress(&self) -> bool {
        self.detail != Detail::Quiet && (has_cursor() || !self.interval.is_zero())
    }
}

/// Shows the progress of a run.
pub struct Progress<'a> {
    plan: &'a Plan,
    display: Display,
    /// The durations of the entries of the plan in an earlier run; their mean if they are unknown.
    expected: Vec<Duration>,
    echo: Option<Echo>,
    /// The devices of the plan, and the host.
    devices: Vec<DeviceProgress>,
    begin: Instant,
    /// True if the tests are repeated, an unknown number of times.
    repeats: bool,
    has_ended: Mutex<bool>,
    all_ended: Condvar,
}

/// The tests of one device.
struct DeviceProgress {
    name: String,
    total: usize,
    /// The sum of the expected durations of the tests.
    expected: Duration,
    bar: ProgressBar,
    state: Mutex<DeviceCounts>,
}

#[derive(Default)]
struct DeviceCounts {
    ended: usize,
    unexpected: usize,
    not_run: usize,
    /// The sum of the expected durations of the tests that have ended.
    done: Duration,
    running: Vec<Running>,
    /// The test whose output was shown last.
    echoed: Option<Entry>,
}

/// A running test.
struct Running {
    /// The position in the plan.
    position: Entry,
    start: Instant,
    /// The time from the start after which the test is named next.
    slow_at: Duration,
}

impl<'a> Progress<'a> {
    /// Creates the progress of a run in which only the tests that ended before have run; they are not shown. A run
    /// that echoes output of tests has no bars. `durations` are those of an earlier run, by the ids of the tests.
    pub fn new(run: &Run<'a>, display: Display, durations: &HashMap<TestId, Duration>) -> Self {
        let Run { plan, so_far, echo, .. } = run;
        if display.detail != Detail::Quiet && !echo && has_cursor() {
            BARS.set_draw_target(ProgressDrawTarget::stderr());
        }
        let mean = durations.values().sum::<Duration>() / durations.len().max(1) as u32;
        let mean = mean.max(Duration::from_millis(1));
        let known =
            |entry| if durations.is_empty() { None } else { durations.get(&plan.id(entry)) };
        let expected = plan.entries.iter().map(|entry| known(entry).copied().unwrap_or(mean));
        let expected: Vec<Duration> = expected.collect();
        let mut totals = vec![(0, Duration::ZERO); plan.devices.len() + 1];
        for (position, entry) in plan.positions() {
            if !so_far.ended.contains(&position) {
                let (tests, time) = &mut totals[device_of(plan, entry)];
                *tests += 1;
                *time += expected[position];
            }
        }
        let names = plan.devices.iter().map(|device| device.run.id.as_str()).chain([HOST]);
        let width = names.clone().map(str::len).max().unwrap_or(0);
        let template = format!("{{prefix:{width}}} {{bar:8}} {{pos:>4}}/{{len:4}} {{wide_msg}}");
        let style = ProgressStyle::with_template(&template).expect("the template is well-formed");
        let device = |(name, (total, expected)): (&str, (usize, Duration))| {
            let bar = ProgressBar::new(total as u64);
            let bar = bar.with_style(style.clone()).with_prefix(name.to_owned());
            // A device without tests has no bar.
            let bar = if total > 0 { BARS.add(bar) } else { bar };
            DeviceProgress { name: name.to_owned(), total, expected, bar, state: Mutex::default() }
        };
        Self {
            plan,
            display,
            devices: names.zip(totals).map(device).collect(),
            expected,
            echo: echo.then(|| Echo::new(plan.device_ids())),
            begin: Instant::now(),
            repeats: run.repeat.is_on(),
            has_ended: Mutex::new(false),
            all_ended: Condvar::new(),
        }
    }

    /// Updates the bars, or prints the lines, and names slow tests, until the run has ended. Returns at
    /// once where nothing is shown.
    pub fn watch(&self) {
        if self.display.detail == Detail::Quiet {
            return;
        }
        let pause = if BARS.is_hidden() { self.display.interval } else { TICK };
        // An interval without an end prints no lines.
        let next_update = || if pause.is_zero() { None } else { Instant::now().checked_add(pause) };
        let mut update = next_update();
        while !*self.has_ended.lock() {
            let until_slow = self.name_slow_tests();
            if update.is_some_and(|update| update <= Instant::now()) {
                for device in &self.devices {
                    let state = device.state.lock();
                    if self.repeats || state.ended < device.total {
                        self.show(device, &state);
                    }
                }
                update = next_update();
            }
            let left = update.map(|update| update.saturating_duration_since(Instant::now()));
            let pause = left.map_or(until_slow, |left| left.min(until_slow));
            let mut has_ended = self.has_ended.lock();
            self.all_ended.wait_while_for(&mut has_ended, |has_ended| !*has_ended, pause);
        }
    }

    /// Names the tests that have been running for `slow_after` or, since they were named, for twice as long. Returns
    /// the time until the next test may be slow. A test that starts meanwhile is slow later.
    fn name_slow_tests(&self) -> Duration {
        let (mut until_slow, mut slow) = (self.display.slow_after, Vec::new());
        for device in &self.devices {
            for test in &mut device.state.lock().running {
                slow.extend(test.is_slow().map(|time| (test.position, time)));
                until_slow = until_slow.min(test.slow_at.saturating_sub(test.start.elapsed()));
            }
        }
        // Without a lock, as tests go on while standard error is full.
        for (position, time) in slow {
            let (id, time) = (self.id(position), text::human(time));
            status_line(&format!("SLOW {id} ({time} so far)"));
        }
        until_slow
    }

    fn show(&self, device: &DeviceProgress, state: &DeviceCounts) {
        let status = self.status(device, state);
        match BARS.is_hidden() {
            true => status_line(&status.line(&device.name)),
            false => device.bar.set_message(status.message()),
        }
    }

    fn status(&self, device: &DeviceProgress, state: &DeviceCounts) -> Status {
        let oldest = state.running.iter().min_by_key(|test| test.start);
        let spent = |test: &Running| self.expected[test.position].min(test.start.elapsed());
        let spent: Duration = state.running.iter().map(spent).sum();
        Status {
            ended: state.ended,
            total: (!self.repeats).then_some(device.total),
            unexpected: state.unexpected,
            elapsed: self.begin.elapsed(),
            done: (state.done + spent).div_duration_f64(device.expected),
            slowest: oldest.map(|test| (self.id(test.position), test.start.elapsed())),
        }
    }

    /// Prints the last line of a device, where there are no bars.
    fn end_device(&self, device: &DeviceProgress, state: &DeviceCounts) {
        if BARS.is_hidden() && self.display.detail != Detail::Quiet {
            status_line(&self.status(device, state).last_line(&device.name, state.not_run));
        }
    }

    fn device(&self, position: Entry) -> &DeviceProgress {
        &self.devices[device_of(self.plan, &self.plan.entries[position])]
    }

    fn id(&self, position: Entry) -> TestId {
        self.plan.id(&self.plan.entries[position])
    }

    /// Shows lines of a test's output below its id.
    fn show_output(&self, position: Entry, lines: &[String]) {
        let Some(echo) = self.echo.as_ref().filter(|_| !lines.is_empty()) else { return };
        let mut state = self.device(position).state.lock();
        let mut text = String::new();
        if state.echoed != Some(position) {
            state.echoed = Some(position);
            let head = format!("--- {}\n", text::one_line(&self.id(position)));
            text = echo.with_device(position, &head);
        }
        text.extend(lines.iter().map(|line| terminal::harmless(line)));
        // Under the lock of the device, so that other lines of it do not come between.
        let _ = std::io::stderr().write_all(text.as_bytes());
    }
}

impl Observer for Progress<'_> {
    fn started(&self, position: Entry) {
        let (start, slow_at) = (Instant::now(), self.display.slow_after);
        self.device(position).state.lock().running.push(Running { position, start, slow_at });
    }

    fn waits(&self, position: Entry) {
        self.device(position).state.lock().running.retain(|test| test.position != position);
    }

    fn wrote(&self, position: Entry, from: Source, bytes: &[u8]) {
        if let Some(echo) = &self.echo {
            self.show_output(position, &echo.wrote(position, from, bytes));
        }
    }

    fn repeated(&self, position: Entry) {
        if let Some(echo) = &self.echo {
            echo.repeated(position);
        }
    }

    fn device_lost(&self, lost: &DeviceLost) {
        if self.display.detail != Detail::Quiet {
            status_line(&format!("DEVICE LOST {}: {}", lost.device, lost.reason));
        }
    }

    fn of_worker(&self, result: &TestResult) {
        if self.display.detail != Detail::Quiet {
            status_line(&result_line(result));
        }
    }

    fn ended(&self) {
        for device in self.devices.iter().filter(|device| self.repeats && device.total > 0) {
            self.end_device(device, &device.state.lock());
        }
        *self.has_ended.lock() = true;
        self.all_ended.notify_all();
    }

    fn finished(&self, position: Entry, result: &TestResult) {
        self.waits(position);
        if let Some(echo) = &self.echo {
            let lines = echo.finished(position).into_iter().map(|(_, line)| line);
            self.show_output(position, &lines.collect::<Vec<_>>());
        }
        let is_shown = match self.display.detail {
            Detail::Quiet => false,
            Detail::Normal => result.is_unexpected(),
            Detail::Verbose => result.verdict != Verdict::NotRun,
        };
        if is_shown {
            status_line(&result_line(result));
        }
        let device = self.device(position);
        let mut state = device.state.lock();
        state.done += self.expected[position];
        state.ended += 1;
        state.unexpected += usize::from(result.is_unexpected());
        state.not_run += usize::from(result.verdict == Verdict::NotRun);
        if !BARS.is_hidden() {
            let length = if self.repeats { state.ended } else { device.total };
            device.bar.set_length(length as u64);
            device.bar.set_position(state.ended as u64);
            self.show(device, &state);
        }
        if !self.repeats && state.ended == device.total {
            self.end_device(device, &state);
        }
    }
}

impl Running {
    /// Returns the time since the start if the test must be named, and doubles the time for the next naming.
    fn is_slow(&mut self) -> Option<Duration> {
        let time = self.start.elapsed();
        let is_slow = time >= self.slow_at;
        while self.slow_at <= time {
            self.slow_at *= 2;
        }
        is_slow.then_some(time)
    }
}

/// The state of a device at one moment.
struct Status {
    ended: usize,
    /// The number of tests; `None` if they are repeated.
    total: Option<usize>,
    unexpected: usize,
    elapsed: Duration,
    /// The part of the expected time of all tests that has been spent, from 0 to 1.
    done: f64,
    /// The running test that was started first, and its time so far.
    slowest: Option<(TestId, Duration)>,
}

impl Status {
    /// Returns the text beside a bar.
    fn message(&self) -> String {
        let slowest = self
            .slowest
            .as_ref()
            .map(|(id, time)| format!("{}s {}", time.as_secs(), text::escaped(id.path(), &[])));
        self.joined(&clock(self.elapsed), slowest, " ")
    }

    /// Returns the line of a device where there are no bars.
    fn line(&self, device: &str) -> String {
        let running =
            |(id, time): &(TestId, Duration)| format!("running {id} for {} s", time.as_secs());
        let slowest = self.slowest.as_ref().map(running);
        let of = self.total.map_or_else(String::new, |total| format!(" of {total}"));
        let ended = format!("{device}: {}{of} in {}", self.ended, clock(self.elapsed));
        self.joined(&ended, slowest, ", ")
    }

    fn joined(&self, first: &str, slowest: Option<String>, gap: &str) -> String {
        let left = self.time_left().map(|time| format!("ETA {}", clock(time)));
        let unexpected = format!("{} unexpected", self.unexpected);
        let parts = [Some(first.to_owned()), left, Some(unexpected), slowest];
        parts.into_iter().flatten().collect::<Vec<_>>().join(gap)
    }

    /// Returns the line of a device whose results are all final.
    fn last_line(&self, device: &str, not_run: usize) -> String {
        let (done, time) = (self.ended - not_run, clock(self.elapsed));
        let line = format!("{device}: {done} done in {time}, {} unexpected", self.unexpected);
        if not_run > 0 { format!("{line}, {not_run} not run") } else { line }
    }

    /// Returns the time for the other tests, at the pace so far; none before the first result, and if tests are
    /// repeated.
    fn time_left(&self) -> Option<Duration> {
        self.total.filter(|total| (1..*total).contains(&self.ended))?;
        let left = self.elapsed.as_secs_f64() * (1.0 - self.done) / self.done;
        Duration::try_from_secs_f64(left).ok()
    }
}

/// Returns the position of the device of an entry of the plan.
fn device_of(plan: &Plan, entry: &Planned) -> usize {
    entry.device.map_or(plan.devices.len(), |device| device as usize)
}

/// Returns a time as `1:02:03` or `2:03`.
fn clock(time: Duration) -> String {
    let (minutes, seconds) = (time.as_secs() / 60, time.as_secs() % 60);
    match minutes / 60 {
        0 => format!("{minutes}:{seconds:02}"),
        hours => format!("{hours}:{:02}:{seconds:02}", minutes % 60),
    }
}

/// Returns whether standard error is a terminal whose cursor can be moved.
fn has_cursor() -> bool {
    std::io::stderr().is_terminal() && !terminal::is_dumb()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_status_has_times_counts_and_the_slowest_test() {
        let status = Status {
            ended: 20,
            total: Some(80),
            unexpected: 2,
            elapsed: Duration::from_secs(62),
            done: 0.25,
            slowest: Some(("pool::grows::n_1@pocl-cpu".into(), Duration::from_millis(12_900))),
        };
        assert_eq!(status.message(), "1:02 ETA 3:06 2 unexpected 12s pool::grows::n_1");
        assert_eq!(
            status.line("pocl-cpu"),
            "pocl-cpu: 20 of 80 in 1:02, ETA 3:06, 2 unexpected, \
             running pool::grows::n_1@pocl-cpu for 12 s"
        );
        let none = Status { ended: 0, ..status };
        assert_eq!(none.time_left(), None, "there is no pace yet");
        let longest_first = Status { ended: 20, done: 0.5, ..none };
        assert_eq!(longest_first.time_left(), Some(Duration::from_secs(62)));
        let status = longest_first;
        let repeats = Status { total: None, slowest: None, ..status };
        assert_eq!(repeats.line("d"), "d: 20 in 1:02, 2 unexpected");
        assert_eq!(repeats.message(), "1:02 2 unexpected");
        let first = Status { total: Some(80), ended: 0, unexpected: 0, ..repeats };
        assert_eq!(first.message(), "1:02 0 unexpected");
        let last = Status { ended: 80, elapsed: Duration::from_secs(3723), ..first };
        assert_eq!(last.message(), "1:02:03 0 unexpected");
        assert_eq!(last.last_line("d", 0), "d: 80 done in 1:02:03, 0 unexpected");
        assert_eq!(last.last_line("d", 3), "d: 77 done in 1:02:03, 0 unexpected, 3 not run");
    }

    #[test]
    fn a_running_test_is_slow_at_each_doubling() {
        let ago = |seconds| Instant::now() - Duration::from_secs(seconds);
        let second = Duration::from_secs(1);
        let mut test =
            Running { position: Entry(0), start: Instant::now(), slow_at: 1000 * second };
        assert_eq!(test.is_slow(), None);
        for (seconds, next) in [(1001, 2000), (2001, 4000), (9000, 16000)] {
            test.start = ago(seconds);
            assert!(test.is_slow().is_some_and(|time| time >= seconds as u32 * second));
            assert_eq!((test.is_slow(), test.slow_at), (None, next * second));
        }
    }
}
