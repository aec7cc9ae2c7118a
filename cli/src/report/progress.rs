//! The progress of a run, on standard error: a bar per device on a terminal, elsewhere a line per
//! device at intervals; slow tests; and the results of tests that have ended.

use std::collections::HashMap;
use std::io::{IsTerminal, Write};
use std::time::{Duration, Instant};

use clmatrix_harness::private::devices::run_device::HOST;
use clmatrix_harness::private::log::events::{self, DeviceLost};
use clmatrix_harness::private::log::observer::Observer;
use clmatrix_harness::private::os::Source;
use clmatrix_harness::private::report::echo::Echo;
use clmatrix_harness::private::result::test_result::TestResult;
use clmatrix_harness::private::run::plan::{Plan, Planned};
use clmatrix_harness::private::run::state::{Run, WorkerConfig};
use clmatrix_harness::private::terminal::{self, status_line};
use clmatrix_harness::private::text;
use clmatrix_harness::private::verdict::Verdict;
use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use parking_lot::{Condvar, Mutex};

use super::result_line::result_line;
use crate::bars::BARS;

/// The time between two updates of the bars.
const TICK: Duration = Duration::from_secs(1);

/// The amount of output while a run goes on.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Detail {
    /// Nothing.
    Quiet,
    /// Bars or lines, and unexpected results.
    Normal,
    /// All results as well.
    Verbose,
}

/// The display of a run while it goes on.
#[derive(Clone, Copy, Debug)]
pub struct Display {
    /// The amount of output.
    pub detail: Detail,
    /// The time between two lines of a device, where there are no bars; zero: there are no lines.
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
    /// The durations of the entries of the plan in an earlier run, where they are known.
    expected: Vec<Option<Duration>>,
    echo: Option<Echo>,
    /// The devices of the plan, and the host.
    devices: Vec<DeviceProgress>,
    begin: Instant,
    /// The entries of the plan whose result is not final.
    left: Mutex<usize>,
    all_ended: Condvar,
}

/// The tests of one device.
struct DeviceProgress {
    name: String,
    total: usize,
    slots: usize,
    /// The time for all tests whose durations are known.
    known: Duration,
    bar: ProgressBar,
    state: Mutex<DeviceCounts>,
}

#[derive(Default)]
struct DeviceCounts {
    ended: usize,
    unexpected: usize,
    not_run: usize,
    /// The time for the tests without a result in their first round, as far as their durations are known.
    known_left: Duration,
    /// The number of such tests whose durations are not known.
    unknown_left: usize,
    /// The time that such tests took.
    unknown_took: Duration,
    running: Vec<Running>,
    /// The test whose output was shown last.
    echoed: Option<usize>,
    /// The latest round, if there may be several.
    round: Option<Round>,
}

/// A running test.
struct Running {
    /// The position in the plan.
    position: usize,
    start: Instant,
    /// The time from the start after which the test is named next.
    slow_at: Duration,
}

/// A round of a device.
#[derive(Clone, Copy, Default)]
struct Round {
    number: u32,
    ended: usize,
    total: usize,
    /// The unexpected results of all rounds.
    unexpected: usize,
}

impl<'a> Progress<'a> {
    /// Begins with no test of a run started but those that have ended before, which are not shown. A run that
    /// echoes output of tests has no bars. `durations` are those of an earlier run, by the ids of the tests.
    pub fn new(run: &Run<'a>, display: Display, durations: &HashMap<String, Duration>) -> Self {
        let Run { plan, so_far, echo, .. } = run;
        if display.detail != Detail::Quiet && !echo && has_cursor() {
            BARS.set_draw_target(ProgressDrawTarget::stderr());
        }
        let configs = run.devices.iter().chain([&run.host]);
        let names = plan.devices.iter().map(|device| device.run.id.as_str()).chain([HOST]);
        let width = names.clone().map(str::len).max().unwrap_or(0);
        let device = |(name, config): (&str, &WorkerConfig)| {
            DeviceProgress::new(name, config.settings.slots.count())
        };
        let mut devices: Vec<_> = names.zip(configs).map(device).collect();
        let known = |entry: &Planned| match durations.is_empty() {
            true => None,
            false => durations.get(&plan.id(entry)).copied(),
        };
        let expected: Vec<Option<Duration>> = plan.entries.iter().map(known).collect();
        let entries = plan.entries.iter().zip(&expected).enumerate();
        for (_, (entry, expected)) in entries.filter(|(at, _)| !so_far.ended.contains(at)) {
            devices[device_of(plan, entry)].add(*expected);
        }
        devices.iter_mut().for_each(|device| device.show_bar(width));
        Self {
            plan,
            display,
            expected,
            echo: echo.then(|| Echo::new(plan.device_ids())),
            left: Mutex::new(devices.iter().map(|device| device.total).sum()),
            devices,
            begin: Instant::now(),
            all_ended: Condvar::new(),
        }
    }

    /// Updates the bars, or prints the lines, and names slow tests, until all results are final. Returns at
    /// once where nothing is shown.
    pub fn watch(&self) {
        if self.display.detail == Detail::Quiet {
            return;
        }
        let pause = if BARS.is_hidden() { self.display.interval } else { TICK };
        // Without an end, there are no lines.
        let next_update = || if pause.is_zero() { None } else { Instant::now().checked_add(pause) };
        let mut update = next_update();
        loop {
            let until_update =
                update.map(|update| update.saturating_duration_since(Instant::now()));
            let until_slow = self.until_slow();
            if !self.goes_on_after(until_update.map_or(until_slow, |time| time.min(until_slow))) {
                return;
            }
            self.name_slow_tests();
            if update.is_some_and(|update| update <= Instant::now()) {
                self.devices.iter().for_each(|device| self.show(device));
                update = next_update();
            }
        }
    }

    /// Returns the time until the next test may be slow. A test that is started meanwhile is slow later.
    fn until_slow(&self) -> Duration {
        let of_device = |device: &DeviceProgress| {
            let state = device.state.lock();
            let running = state.running.iter();
            running.map(|test| test.slow_at.saturating_sub(test.start.elapsed())).min()
        };
        let running = self.devices.iter().filter_map(of_device);
        running.fold(self.display.slow_after, Duration::min)
    }

    /// Names the tests that have been running for `slow_after` or, since they were named, for twice as long.
    fn name_slow_tests(&self) {
        for device in &self.devices {
            let mut state = device.state.lock();
            let slow =
                state.running.iter_mut().filter_map(|test| Some((test.is_slow()?, test.position)));
            let lines: Vec<String> = slow
                .map(|(time, test)| {
                    format!("SLOW {} ({} so far)", self.id(test), text::human(time))
                })
                .collect();
            drop(state);
            lines.iter().for_each(|line| status_line(line));
        }
    }

    /// Waits for `pause`, or until all results are final. Returns whether some are not.
    fn goes_on_after(&self, pause: Duration) -> bool {
        let mut left = self.left.lock();
        self.all_ended.wait_while_for(&mut left, |left| *left > 0, pause);
        *left > 0
    }

    fn show(&self, device: &DeviceProgress) {
        let state = device.state.lock();
        if state.ended == device.total {
            return;
        }
        let status = self.status(device, &state);
        match BARS.is_hidden() {
            true => status_line(&status.line(&device.name)),
            false => device.bar.set_message(status.message()),
        }
    }

    fn status(&self, device: &DeviceProgress, state: &DeviceCounts) -> Status {
        let oldest = state.running.iter().min_by_key(|test| test.start);
        let spent = |test: &Running| Some(self.expected[test.position]?.min(test.start.elapsed()));
        let spent: Duration = state.running.iter().filter_map(spent).sum();
        Status {
            round: state.round.map(|round| round.number),
            ended: state.round.map_or(state.ended, |round| round.ended),
            total: state.round.map_or(device.total, |round| round.total),
            unexpected: state.round.map_or(state.unexpected, |round| round.unexpected),
            elapsed: self.begin.elapsed(),
            known_left: device.known_left(state, spent, self.begin.elapsed()),
            unknown_left: state.unknown_left,
            slowest: oldest.map(|test| (self.id(test.position), test.start.elapsed())),
        }
    }

    /// Prints a result, if it is to be shown.
    fn print(&self, result: &TestResult) {
        let is_shown = match self.display.detail {
            Detail::Quiet => false,
            Detail::Normal => result.is_unexpected(),
            Detail::Verbose => result.verdict != Verdict::NotRun,
        };
        if is_shown {
            status_line(&result_line(result));
        }
    }

    /// Shows the last output of a test that does not run any more.
    fn end(&self, position: usize) {
        self.waits(position);
        if let Some(echo) = &self.echo {
            let lines: Vec<String> =
                echo.finished(position).into_iter().map(|(_, line)| line).collect();
            self.show_output(position, &lines);
        }
    }

    fn device(&self, position: usize) -> &DeviceProgress {
        &self.devices[device_of(self.plan, &self.plan.entries[position])]
    }

    fn id(&self, position: usize) -> String {
        self.plan.id(&self.plan.entries[position])
    }

    /// Shows lines of a test's output below its id.
    fn show_output(&self, position: usize, lines: &[String]) {
        let Some(echo) = self.echo.as_ref().filter(|_| !lines.is_empty()) else { return };
        let mut state = self.device(position).state.lock();
        let mut text = String::new();
        if state.echoed != Some(position) {
            state.echoed = Some(position);
            let head = format!("--- {}\n", text::one_line(&self.id(position)));
            text = echo.with_device(position, &head);
        }
        text.extend(lines.iter().map(String::as_str));
        // Under the lock of the device, so that other lines of it do not come between.
        let _ = std::io::stderr().write_all(text.as_bytes());
    }
}

impl Observer for Progress<'_> {
    fn started(&self, position: usize) {
        let (start, slow_at) = (Instant::now(), self.display.slow_after);
        self.device(position).state.lock().running.push(Running { position, start, slow_at });
    }

    fn waits(&self, position: usize) {
        self.device(position).state.lock().running.retain(|test| test.position != position);
    }

    fn wrote(&self, position: usize, from: Source, bytes: &[u8]) {
        if let Some(echo) = &self.echo {
            self.show_output(position, &echo.wrote(position, from, bytes));
        }
    }

    fn repeated(&self, position: usize) {
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

    fn round_begins(&self, round: &events::Round, tests: usize) {
        let device = self.devices.iter().find(|device| device.name == round.device);
        let mut state = device.expect("a device of the plan").state.lock();
        let latest = state.round.get_or_insert_default();
        (latest.number, latest.ended, latest.total) = (round.number, 0, tests);
    }

    fn finished_in_round(&self, position: usize, result: &TestResult) {
        self.end(position);
        self.print(result);
        let device = self.device(position);
        let mut state = device.state.lock();
        let round = state.round.as_mut().expect("the round has begun");
        round.ended += 1;
        round.unexpected += usize::from(result.is_unexpected());
        let (ended, number) = (round.ended, round.number);
        if number == 1 {
            state.end(self.expected[position], result.duration);
        }
        if !BARS.is_hidden() {
            let status = self.status(device, &state);
            device.bar.set_length(status.total as u64);
            device.bar.set_position(ended as u64);
            device.bar.set_message(status.message());
        }
    }

    fn finished(&self, position: usize, result: &TestResult) {
        self.end(position);
        let device = self.device(position);
        let mut state = device.state.lock();
        if state.round.is_none() {
            self.print(result);
            state.end(self.expected[position], result.duration);
        }
        state.ended += 1;
        state.unexpected += usize::from(result.is_unexpected());
        state.not_run += usize::from(result.verdict == Verdict::NotRun);
        let (ended, unexpected) = (state.ended, state.unexpected);
        let status = Status { round: None, ended, unexpected, ..self.status(device, &state) };
        if !BARS.is_hidden() {
            device.bar.set_length(device.total as u64);
            device.bar.set_position(ended as u64);
            device.bar.set_message(status.message());
        } else if ended == device.total && self.display.detail != Detail::Quiet {
            status_line(&status.last_line(&device.name, state.not_run));
        }
        drop(state);
        let mut left = self.left.lock();
        *left -= 1;
        if *left == 0 {
            self.all_ended.notify_all();
        }
    }
}

impl DeviceProgress {
    fn new(name: &str, slots: usize) -> Self {
        let bar = ProgressBar::hidden();
        let (total, known, state) = (0, Duration::ZERO, Mutex::default());
        Self { name: name.to_owned(), total, slots, known, bar, state }
    }

    /// Adds a test.
    fn add(&mut self, expected: Option<Duration>) {
        self.total += 1;
        let state = self.state.get_mut();
        match expected {
            Some(duration) => {
                self.known += duration;
                state.known_left += duration;
            }
            None => state.unknown_left += 1,
        }
    }

    /// Shows the bar, where there are bars, if the device has tests.
    fn show_bar(&mut self, width: usize) {
        let bar = ProgressBar::new(self.total as u64);
        let bar = bar.with_style(style(width)).with_prefix(self.name.clone());
        self.bar = if self.total > 0 { BARS.add(bar) } else { bar };
    }

    /// Returns the time for the tests without a result whose durations are known. `spent` is the part of these
    /// durations that the running tests have had.
    fn known_left(&self, state: &DeviceCounts, spent: Duration, elapsed: Duration) -> Duration {
        let slots = self.slots.min(self.total) as u32;
        let done = self.known.saturating_sub(state.known_left) + spent + state.unknown_took;
        let left = state.known_left.saturating_sub(spent) / slots;
        let pace = pace(elapsed.saturating_mul(slots), done, self.known);
        Duration::try_from_secs_f64(left.as_secs_f64() * pace).unwrap_or(left)
    }
}

impl DeviceCounts {
    /// Takes into account that a test has its result in its first round.
    fn end(&mut self, expected: Option<Duration>, took: Duration) {
        match expected {
            Some(duration) => self.known_left = self.known_left.saturating_sub(duration),
            None => {
                self.unknown_left = self.unknown_left.saturating_sub(1);
                self.unknown_took += took;
            }
        }
    }
}

impl Running {
    /// Returns the time since the start if the test is to be named, and doubles the time for the next naming.
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
    /// The round, if there may be several.
    round: Option<u32>,
    ended: usize,
    total: usize,
    unexpected: usize,
    elapsed: Duration,
    /// The time for the other tests whose durations are known.
    known_left: Duration,
    /// The number of other tests.
    unknown_left: usize,
    /// The running test that was started first, and its time so far.
    slowest: Option<(String, Duration)>,
}

impl Status {
    /// Returns the text beside a bar.
    fn message(&self) -> String {
        let test = |(id, time): &(String, Duration)| {
            let (path, _) = id.rsplit_once('@').unwrap_or((id, ""));
            format!("{}s {}", time.as_secs(), text::escaped(path, &[]))
        };
        let parts = [
            self.round.map(|round| format!("round {round}")),
            Some(clock(self.elapsed)),
            self.time_left().map(|time| format!("ETA {}", clock(time))),
            Some(format!("{} unexpected", self.unexpected)),
            self.slowest.as_ref().map(test),
        ];
        parts.into_iter().flatten().collect::<Vec<_>>().join(" ")
    }

    /// Returns the line of a device where there are no bars.
    fn line(&self, device: &str) -> String {
        let test =
            |(id, time): &(String, Duration)| format!("running {id} for {} s", time.as_secs());
        let parts = [
            self.round.map(|round| format!("round {round}")),
            Some(format!("{} of {} in {}", self.ended, self.total, clock(self.elapsed))),
            self.time_left().map(|time| format!("ETA {}", clock(time))),
            Some(format!("{} unexpected", self.unexpected)),
            self.slowest.as_ref().map(test),
        ];
        format!("{device}: {}", parts.into_iter().flatten().collect::<Vec<_>>().join(", "))
    }

    /// Returns the line of a device whose results are all final.
    fn last_line(&self, device: &str, not_run: usize) -> String {
        let done = self.ended - not_run;
        let mut line = format!("{device}: {done} done in {}", clock(self.elapsed));
        line += &format!(", {} unexpected", self.unexpected);
        if not_run > 0 {
            line += &format!(", {not_run} not run");
        }
        line
    }

    /// Returns the time for the other tests: if their durations are not known, as long as those so far.
    fn time_left(&self) -> Option<Duration> {
        // The elapsed time is that of all rounds.
        if self.ended == self.total || self.round.is_some_and(|round| round > 1) {
            return None;
        }
        let ended = u32::try_from(self.ended).ok()?;
        let by_rate = match u32::try_from(self.unknown_left).ok()? {
            0 => Duration::ZERO,
            unknown => self.elapsed.checked_mul(unknown)?.checked_div(ended)?,
        };
        self.known_left.checked_add(by_rate)
    }
}

/// Returns the time that a device needs for a second of the `known` durations of its tests: 1 at the start, later
/// more, where starts of workers and probes take time or the machine is slower than before. The slots have taken the
/// time `busy` for tests of the durations `done`.
fn pace(busy: Duration, done: Duration, known: Duration) -> f64 {
    // The first workers take long to start.
    let inertia = 5.0 + known.as_secs_f64() / 10.0;
    (busy.as_secs_f64() + inertia) / (done.as_secs_f64() + inertia)
}

/// The position of the device of an entry of the plan.
fn device_of(plan: &Plan, entry: &Planned) -> usize {
    entry.device.map_or(plan.devices.len(), |device| device as usize)
}

/// Returns a time as `1:02:03` or `2:03`.
fn clock(time: Duration) -> String {
    let seconds = time.as_secs();
    let (hours, minutes, seconds) = (seconds / 3600, seconds / 60 % 60, seconds % 60);
    match hours {
        0 => format!("{minutes}:{seconds:02}"),
        _ => format!("{hours}:{minutes:02}:{seconds:02}"),
    }
}

/// Returns whether standard error is a terminal whose cursor can be moved.
fn has_cursor() -> bool {
    std::io::stderr().is_terminal() && !terminal::is_dumb()
}

fn style(width: usize) -> ProgressStyle {
    let template = format!("{{prefix:{width}}} {{bar:8}} {{pos:>4}}/{{len:4}} {{wide_msg}}");
    ProgressStyle::with_template(&template).expect("the template is well-formed")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_status_has_times_counts_and_the_slowest_test() {
        let status = Status {
            round: None,
            ended: 20,
            total: 80,
            unexpected: 2,
            elapsed: Duration::from_secs(62),
            known_left: Duration::ZERO,
            unknown_left: 60,
            slowest: Some(("pool::grows::n_1@pocl-cpu".to_owned(), Duration::from_millis(12_900))),
        };
        assert_eq!(status.message(), "1:02 ETA 3:06 2 unexpected 12s pool::grows::n_1");
        assert_eq!(
            status.line("pocl-cpu"),
            "pocl-cpu: 20 of 80 in 1:02, ETA 3:06, 2 unexpected, \
             running pool::grows::n_1@pocl-cpu for 12 s"
        );
        let known = Status { known_left: Duration::from_secs(7), unknown_left: 20, ..status };
        assert_eq!(known.time_left(), Some(Duration::from_secs(69)));
        let known = Status { ended: 0, ..known };
        assert_eq!(known.time_left(), None, "there is no rate yet");
        let known = Status { unknown_left: 0, ..known };
        assert_eq!(known.time_left(), Some(Duration::from_secs(7)));
        let status = Status { ended: 20, unknown_left: 60, ..known };
        let third = Status { round: Some(3), slowest: None, ..status };
        assert_eq!(third.line("d"), "d: round 3, 20 of 80 in 1:02, 2 unexpected");
        assert_eq!(third.message(), "round 3 1:02 2 unexpected");
        let first = Status { round: None, ended: 0, unexpected: 0, ..third };
        assert_eq!(first.message(), "1:02 0 unexpected");
        let last = Status { ended: 80, elapsed: Duration::from_secs(3723), ..first };
        assert_eq!(last.message(), "1:02:03 0 unexpected");
        assert_eq!(last.last_line("d", 0), "d: 80 done in 1:02:03, 0 unexpected");
        assert_eq!(last.last_line("d", 3), "d: 77 done in 1:02:03, 0 unexpected, 3 not run");
    }

    #[test]
    fn the_time_left_follows_the_pace_of_the_device() {
        let seconds = Duration::from_secs;
        assert!((pace(seconds(0), seconds(0), seconds(100)) - 1.0).abs() < 1e-9);
        assert!((pace(seconds(45), seconds(15), seconds(100)) - 2.0).abs() < 1e-9);
        let mut device = DeviceProgress::new("d", 3);
        for expected in [Some(seconds(90)), Some(seconds(60)), None] {
            device.add(expected);
        }
        device.state.lock().end(Some(seconds(90)), seconds(80));
        device.state.lock().end(None, seconds(10));
        // Three slots took 120 s for tests of 100 s and 10 s of the test that is running.
        let left = device.known_left(&device.state.lock(), seconds(10), seconds(40));
        let pace = (120.0 + 20.0) / (110.0 + 20.0);
        assert!((left.as_secs_f64() - 50.0 / 3.0 * pace).abs() < 1e-6, "{left:?}");
    }

    #[test]
    fn a_running_test_is_slow_at_each_doubling() {
        let ago = |seconds| Instant::now() - Duration::from_secs(seconds);
        let second = Duration::from_secs(1);
        let mut test = Running { position: 0, start: Instant::now(), slow_at: 1000 * second };
        assert_eq!(test.is_slow(), None);
        for (seconds, next) in [(1001, 2000), (2001, 4000), (9000, 16000)] {
            test.start = ago(seconds);
            assert!(test.is_slow().is_some_and(|time| time >= seconds as u32 * second));
            assert_eq!((test.is_slow(), test.slow_at), (None, next * second));
        }
    }
}
