//! The progress of a run, on standard error: a bar per device on a terminal, elsewhere a line per
//! device at intervals; and the results of tests that have ended.

use std::collections::HashSet;
use std::io::{IsTerminal, Write};
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};

use crate::devices::run_device::HOST;
use crate::log::events::{DeviceLost, TestResult};
use crate::log::recorder::Observer;
use crate::os::Source;
use crate::report;
use crate::run::echo::Echo;
use crate::run::plan::{Plan, Planned};
use crate::terminal::{self, BARS, status_line};
use crate::verdict::Verdict;

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

/// Shows the progress of a run.
pub struct Progress<'a> {
    plan: &'a Plan,
    detail: Detail,
    /// The time between two lines of a device, where there are no bars.
    interval: Duration,
    echo: Option<Echo>,
    /// The devices of the plan, and the host.
    devices: Vec<DeviceProgress>,
    begin: Instant,
    /// The entries of the plan whose result is not final.
    left: Mutex<usize>,
    all_settled: Condvar,
}

/// The tests of one device.
struct DeviceProgress {
    name: String,
    total: usize,
    bar: ProgressBar,
    state: Mutex<DeviceCounts>,
}

#[derive(Default)]
struct DeviceCounts {
    settled: usize,
    unexpected: usize,
    not_run: usize,
    /// The positions of the running tests in the plan, and their starts.
    running: Vec<(usize, Instant)>,
    /// The test whose output was shown last.
    echoed: Option<usize>,
    /// The latest round, if there may be several.
    round: Option<Round>,
}

/// A round of a device.
#[derive(Clone, Copy, Default)]
struct Round {
    number: u32,
    settled: usize,
    /// The tests that ran in the first round, and run in the others.
    repeated: usize,
    /// The unexpected results of all rounds.
    unexpected: usize,
}

impl<'a> Progress<'a> {
    /// Begins with no test of `plan` started but those that have `ended`, which are not shown. `echoes` shows
    /// the output of running tests, instead of bars.
    pub fn new(
        plan: &'a Plan,
        ended: &HashSet<usize>,
        detail: Detail,
        interval: Duration,
        echoes: bool,
    ) -> Self {
        if detail != Detail::Quiet && !echoes && has_cursor() {
            BARS.set_draw_target(ProgressDrawTarget::stderr());
        }
        let mut totals = vec![0; plan.devices.len() + 1];
        let entries = plan.entries.iter().enumerate();
        let shown = entries.filter(|(position, _)| !ended.contains(position));
        shown.for_each(|(_, entry)| totals[device_of(plan, entry)] += 1);
        let left = totals.iter().sum();
        let names = plan.devices.iter().map(|device| device.run.id.as_str()).chain([HOST]);
        let width = names.clone().map(str::len).max().unwrap_or(0);
        let devices =
            names.zip(totals).map(|(name, total)| DeviceProgress::new(name, width, total));
        Self {
            plan,
            detail,
            interval,
            echo: echoes.then(|| Echo::new(plan)),
            devices: devices.collect(),
            begin: Instant::now(),
            left: Mutex::new(left),
            all_settled: Condvar::new(),
        }
    }

    /// Updates the bars, or prints the lines, until all results are final. Returns at once where there
    /// is nothing to show.
    pub fn watch(&self) {
        let has_bars = !BARS.is_hidden();
        if self.detail == Detail::Quiet || !has_bars && self.interval.is_zero() {
            return;
        }
        let pause = if has_bars { TICK } else { self.interval };
        while self.goes_on_after(pause) {
            self.devices.iter().for_each(|device| self.show(device));
        }
    }

    /// Waits for `pause`, or until all results are final. Returns whether some are not.
    fn goes_on_after(&self, pause: Duration) -> bool {
        let left = self.left.lock().unwrap_or_else(PoisonError::into_inner);
        let waited = self.all_settled.wait_timeout_while(left, pause, |left| *left > 0);
        *waited.unwrap_or_else(PoisonError::into_inner).0 > 0
    }

    fn show(&self, device: &DeviceProgress) {
        let state = device.state();
        if state.settled == device.total {
            return;
        }
        let status = self.status(device, &state);
        match BARS.is_hidden() {
            true => status_line(&status.line(&device.name)),
            false => device.bar.set_message(status.message()),
        }
    }

    fn status(&self, device: &DeviceProgress, state: &DeviceCounts) -> Status {
        let oldest = state.running.iter().min_by_key(|(_, start)| *start);
        Status {
            round: state.round.map(|round| round.number),
            settled: state.round.map_or(state.settled, |round| round.settled),
            total: match state.round {
                Some(round @ Round { number: 2.., .. }) => round.repeated,
                _ => device.total,
            },
            unexpected: state.round.map_or(state.unexpected, |round| round.unexpected),
            elapsed: self.begin.elapsed(),
            slowest: oldest.map(|(position, start)| (self.id(*position), start.elapsed())),
        }
    }

    /// Prints a result, if it is to be shown.
    fn print(&self, result: &TestResult) {
        let is_shown = match self.detail {
            Detail::Quiet => false,
            Detail::Normal => result.is_unexpected(),
            Detail::Verbose => result.verdict != Verdict::NotRun,
        };
        if is_shown {
            status_line(&report::result_line(result));
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
        let mut state = self.device(position).state();
        let mut text = String::new();
        if state.echoed != Some(position) {
            state.echoed = Some(position);
            text = echo.with_device(position, &format!("--- {}\n", self.id(position)));
        }
        text.extend(lines.iter().map(String::as_str));
        // Under the lock of the device, so that other lines of it do not come between.
        let _ = std::io::stderr().write_all(text.as_bytes());
    }
}

impl Observer for Progress<'_> {
    fn started(&self, position: usize) {
        self.device(position).state().running.push((position, Instant::now()));
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

    fn finished(&self, position: usize) {
        self.device(position).state().running.retain(|(running, _)| *running != position);
        if let Some(echo) = &self.echo {
            let lines: Vec<String> =
                echo.finished(position).into_iter().map(|(_, line)| line).collect();
            self.show_output(position, &lines);
        }
    }

    fn device_lost(&self, lost: &DeviceLost) {
        if self.detail != Detail::Quiet {
            status_line(&format!("DEVICE LOST {}: {}", lost.device, lost.reason));
        }
    }

    fn late(&self, result: &TestResult) {
        if self.detail != Detail::Quiet {
            status_line(&report::result_line(result));
        }
    }

    fn settled_in_round(&self, position: usize, result: &TestResult) {
        self.print(result);
        let device = self.device(position);
        let mut state = device.state();
        let round = state.round.get_or_insert_default();
        if result.round > round.number {
            (round.number, round.settled) = (result.round, 0);
        }
        // A crash may be attributed to a test of an earlier round.
        round.settled += usize::from(result.round == round.number);
        let is_repeated =
            !matches!(result.verdict, Verdict::Skip | Verdict::Ignored | Verdict::NotRun);
        round.repeated += usize::from(round.number == 1 && is_repeated);
        round.unexpected += usize::from(result.is_unexpected());
        let settled = round.settled;
        if !BARS.is_hidden() {
            let status = self.status(device, &state);
            device.bar.set_length(status.total as u64);
            device.bar.set_position(settled as u64);
            device.bar.set_message(status.message());
        }
    }

    fn settled(&self, position: usize, result: &TestResult) {
        let device = self.device(position);
        let mut state = device.state();
        if state.round.is_none() {
            self.print(result);
        }
        state.settled += 1;
        state.unexpected += usize::from(result.is_unexpected());
        state.not_run += usize::from(result.verdict == Verdict::NotRun);
        let (settled, unexpected) = (state.settled, state.unexpected);
        let status = Status { round: None, settled, unexpected, ..self.status(device, &state) };
        if !BARS.is_hidden() {
            device.bar.set_length(device.total as u64);
            device.bar.set_position(settled as u64);
            device.bar.set_message(status.message());
        } else if settled == device.total && self.detail != Detail::Quiet {
            status_line(&status.last_line(&device.name, state.not_run));
        }
        drop(state);
        let mut left = self.left.lock().unwrap_or_else(PoisonError::into_inner);
        *left -= 1;
        if *left == 0 {
            self.all_settled.notify_all();
        }
    }
}

impl DeviceProgress {
    fn new(name: &str, width: usize, total: usize) -> Self {
        let bar =
            ProgressBar::new(total as u64).with_style(style(width)).with_prefix(name.to_owned());
        let bar = if total > 0 { BARS.add(bar) } else { bar };
        Self { name: name.to_owned(), total, bar, state: Mutex::default() }
    }

    fn state(&self) -> MutexGuard<'_, DeviceCounts> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The state of a device at one moment.
struct Status {
    /// The round, if there may be several.
    round: Option<u32>,
    settled: usize,
    total: usize,
    unexpected: usize,
    elapsed: Duration,
    /// The running test that was started first, and its time so far.
    slowest: Option<(String, Duration)>,
}

impl Status {
    /// Returns the text beside a bar.
    fn message(&self) -> String {
        let test = |(id, time): &(String, Duration)| {
            let (path, _) = id.rsplit_once('@').unwrap_or((id, ""));
            format!("{}s {path}", time.as_secs())
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
            Some(format!("{} of {} in {}", self.settled, self.total, clock(self.elapsed))),
            self.time_left().map(|time| format!("ETA {}", clock(time))),
            Some(format!("{} unexpected", self.unexpected)),
            self.slowest.as_ref().map(test),
        ];
        format!("{device}: {}", parts.into_iter().flatten().collect::<Vec<_>>().join(", "))
    }

    /// Returns the line of a device whose results are all final.
    fn last_line(&self, device: &str, not_run: usize) -> String {
        let done = self.settled - not_run;
        let mut line = format!("{device}: {done} done in {}", clock(self.elapsed));
        line += &format!(", {} unexpected", self.unexpected);
        if not_run > 0 {
            line += &format!(", {not_run} not run");
        }
        line
    }

    /// Returns the time for the other tests, if they take as long as those so far.
    fn time_left(&self) -> Option<Duration> {
        // The elapsed time is that of all rounds.
        if self.round.is_some_and(|round| round > 1) {
            return None;
        }
        let settled = u32::try_from(self.settled).ok().filter(|settled| *settled > 0)?;
        let left = u32::try_from(self.total - self.settled).ok().filter(|left| *left > 0)?;
        self.elapsed.checked_mul(left).map(|time| time / settled)
    }
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
            settled: 20,
            total: 80,
            unexpected: 2,
            elapsed: Duration::from_secs(62),
            slowest: Some(("pool::grows::n_1@pocl-cpu".to_owned(), Duration::from_millis(12_900))),
        };
        assert_eq!(status.message(), "1:02 ETA 3:06 2 unexpected 12s pool::grows::n_1");
        assert_eq!(
            status.line("pocl-cpu"),
            "pocl-cpu: 20 of 80 in 1:02, ETA 3:06, 2 unexpected, \
             running pool::grows::n_1@pocl-cpu for 12 s"
        );
        let third = Status { round: Some(3), slowest: None, ..status };
        assert_eq!(third.line("d"), "d: round 3, 20 of 80 in 1:02, 2 unexpected");
        assert_eq!(third.message(), "round 3 1:02 2 unexpected");
        let first = Status { round: None, settled: 0, unexpected: 0, ..third };
        assert_eq!(first.message(), "1:02 0 unexpected");
        let last = Status { settled: 80, elapsed: Duration::from_secs(3723), ..first };
        assert_eq!(last.message(), "1:02:03 0 unexpected");
        assert_eq!(last.last_line("d", 0), "d: 80 done in 1:02:03, 0 unexpected");
        assert_eq!(last.last_line("d", 3), "d: 77 done in 1:02:03, 0 unexpected, 3 not run");
    }
}
