//! Hands results and output from the threads that run tests to the thread that prints them.

use std::io::{self, Write};
use std::sync::Arc;

use parking_lot::{Condvar, Mutex};

use crate::log::{DeviceLost, Observer};
use crate::os::Source;
use crate::report::echo::Echo;
use crate::result::test_result::TestResult;
use crate::run::entry::Entry;
use crate::run::plan::Plan;
use crate::terminal::harmless;

/// The results and the lines of output of all tests, until they are printed.
pub struct Cells {
    echo: Option<Echo>,
    state: Mutex<State>,
    changed: Condvar,
}

#[derive(Default)]
struct State {
    cells: Vec<Cell>,
    have_ended: bool,
    /// The results of workers.
    of_workers: Vec<TestResult>,
    /// The number of devices that have not begun; tests without a device count as one.
    waiting: usize,
    lost: Vec<DeviceLost>,
}

#[derive(Default)]
struct Cell {
    /// Lines that have not been printed.
    lines: Vec<(Source, String)>,
    result: Option<TestResult>,
}

impl Cells {
    /// Expects the results of `plan`, and with `echoes` the output.
    pub fn new(plan: &Plan, echoes: bool) -> Arc<Self> {
        let cells = plan.entries.iter().map(|_| Cell::default()).collect();
        let echo = echoes.then(|| Echo::new(plan.device_ids()));
        let waiting = plan.devices.len() + 1;
        let state = Mutex::new(State { cells, waiting, ..State::default() });
        Arc::new(Self { echo, state, changed: Condvar::new() })
    }

    /// Waits until the tests of each device begin or the device is lost. Returns the devices that were lost
    /// before their first tests.
    pub fn wait_for_devices(&self) -> Vec<DeviceLost> {
        let mut state = self.state.lock();
        self.changed.wait_while(&mut state, |state| state.waiting > 0);
        state.lost.iter().filter(|lost| lost.after.is_none()).cloned().collect()
    }

    /// Returns whether a test was not run since its device was lost.
    pub fn is_not_run_by_loss(&self, result: &TestResult) -> bool {
        self.state.lock().lost.iter().any(|lost| lost.is_reason_of(result))
    }

    /// Takes the devices that were lost.
    pub fn take_lost(&self) -> Vec<DeviceLost> {
        std::mem::take(&mut self.state.lock().lost)
    }

    /// Waits until all tests and workers have ended. Returns the results of workers.
    pub fn wait_for_workers(&self) -> Vec<TestResult> {
        let mut state = self.state.lock();
        self.changed.wait_while(&mut state, |state| !state.have_ended);
        state.of_workers.clone()
    }

    fn change(&self, change: impl FnOnce(&mut State)) {
        change(&mut self.state.lock());
        self.changed.notify_all();
    }

    /// Waits for the result of a test and prints its lines meanwhile. With `after_name`, the line begins with the
    /// name of the test.
    pub fn wait(&self, position: Entry, after_name: bool) -> TestResult {
        let mut state = self.state.lock();
        let mut ends_line = after_name;
        loop {
            let lines = std::mem::take(&mut state.cells[position].lines);
            if !lines.is_empty() {
                drop(state);
                if std::mem::take(&mut ends_line) {
                    let _ = io::stdout().write_all(b"\n");
                }
                for (from, line) in &lines {
                    // Errors are ignored: the reports have the output.
                    let _ = match from {
                        Source::Stderr => io::stderr().write_all(harmless(line).as_bytes()),
                        Source::Stdout => io::stdout().write_all(harmless(line).as_bytes()),
                    };
                }
                state = self.state.lock();
            } else if let Some(result) = state.cells[position].result.take() {
                return result;
            } else {
                self.changed.wait(&mut state);
            }
        }
    }
}

impl Observer for Cells {
    fn wrote(&self, position: Entry, from: Source, bytes: &[u8]) {
        let Some(echo) = &self.echo else { return };
        let lines = echo.wrote(position, from, bytes);
        if !lines.is_empty() {
            self.change(|state| {
                let lines = lines.into_iter().map(|line| (from, line));
                state.cells[position].lines.extend(lines);
            });
        }
    }

    fn repeated(&self, position: Entry) {
        if let Some(echo) = &self.echo {
            echo.repeated(position);
        }
    }

    fn device_begins(&self) {
        self.change(|state| state.waiting -= 1);
    }

    fn device_lost(&self, lost: &DeviceLost) {
        self.change(|state| state.lost.push(lost.clone()));
    }

    fn ended(&self) {
        self.change(|state| state.have_ended = true);
    }

    fn of_worker(&self, result: &TestResult) {
        let results = &mut self.state.lock().of_workers;
        results.retain(|known| known.test != result.test);
        results.push(result.clone());
    }

    fn finished(&self, position: Entry, result: &TestResult) {
        let lines = self.echo.as_ref().map(|echo| echo.finished(position)).unwrap_or_default();
        self.change(|state| {
            let cell = &mut state.cells[position];
            cell.lines.extend(lines);
            cell.result = Some(result.clone());
        });
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_device_that_was_tested_on_is_not_lost_before_its_first_test() {
        let cells = Cells::new(&Plan::new("", &[], Vec::new(), |_, _, _| true), false);
        let lose = |device: &str, after: Option<&str>| {
            cells.device_lost(&DeviceLost {
                device: device.to_owned(),
                reason: "no answer".to_owned(),
                after: after.map(Into::into),
                suspects: Vec::new(),
            });
        };
        lose("tested", Some("s::t@tested"));
        lose("never", None);
        cells.device_begins();
        let lost: Vec<_> = cells.wait_for_devices().into_iter().map(|lost| lost.device).collect();
        assert_eq!(lost, ["never"]);
        assert_eq!(cells.take_lost().len(), 2);
    }
}
