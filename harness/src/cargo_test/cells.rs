//! Hands results and output from the threads that run tests to the thread that prints them.

use std::io::{self, Write};
use std::sync::Arc;

use parking_lot::{Condvar, Mutex};

use crate::log::events::DeviceLost;
use crate::log::observer::Observer;
use crate::os::Source;
use crate::report::echo::Echo;
use crate::result::test_result::TestResult;
use crate::run::plan::Plan;

/// The results and the lines of output of all tests, until they are printed.
pub struct Cells {
    echo: Option<Echo>,
    cells: Mutex<Vec<Cell>>,
    changed: Condvar,
    workers: Mutex<Workers>,
    all_ended: Condvar,
    devices: Mutex<Devices>,
    begun: Condvar,
}

/// The devices of the plan, and the tests without one.
struct Devices {
    /// The number of those that have not begun.
    waiting: usize,
    lost: Vec<DeviceLost>,
}

/// The results of workers.
#[derive(Default)]
struct Workers {
    have_ended: bool,
    results: Vec<TestResult>,
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
        Arc::new(Self {
            echo,
            cells: Mutex::new(cells),
            changed: Condvar::new(),
            workers: Mutex::default(),
            all_ended: Condvar::new(),
            devices: Mutex::new(Devices { waiting: plan.devices.len() + 1, lost: Vec::new() }),
            begun: Condvar::new(),
        })
    }

    /// Waits until the tests of each device begin or the device is lost. Returns the devices that were lost
    /// before their first tests.
    pub fn wait_for_devices(&self) -> Vec<DeviceLost> {
        let mut devices = self.devices.lock();
        self.begun.wait_while(&mut devices, |devices| devices.waiting > 0);
        devices.lost.iter().filter(|lost| lost.after.is_none()).cloned().collect()
    }

    /// Returns whether a test was not run since its device was lost.
    pub fn is_not_run_by_loss(&self, result: &TestResult) -> bool {
        self.devices.lock().lost.iter().any(|lost| lost.is_reason_of(result))
    }

    /// Takes the devices that were lost.
    pub fn take_lost(&self) -> Vec<DeviceLost> {
        std::mem::take(&mut self.devices.lock().lost)
    }

    /// Waits until all tests and workers have ended. Returns the results of workers.
    pub fn wait_for_workers(&self) -> Vec<TestResult> {
        let mut workers = self.workers.lock();
        self.all_ended.wait_while(&mut workers, |workers| !workers.have_ended);
        workers.results.clone()
    }

    fn change(&self, position: usize, change: impl FnOnce(&mut Cell)) {
        change(&mut self.cells.lock()[position]);
        self.changed.notify_all();
    }

    /// Waits for the result of a test and prints its lines meanwhile. `after_name`: the name of the
    /// test stands at the beginning of the line.
    pub fn wait(&self, position: usize, after_name: bool) -> TestResult {
        let mut cells = self.cells.lock();
        let mut ends_line = after_name;
        loop {
            let lines = std::mem::take(&mut cells[position].lines);
            if !lines.is_empty() {
                drop(cells);
                if std::mem::take(&mut ends_line) {
                    let _ = io::stdout().write_all(b"\n");
                }
                print_lines(&lines);
                cells = self.cells.lock();
            } else if let Some(result) = cells[position].result.take() {
                return result;
            } else {
                self.changed.wait(&mut cells);
            }
        }
    }
}

/// Prints each line to the stream that it comes from. Errors are ignored: the reports have the output.
fn print_lines(lines: &[(Source, String)]) {
    for (from, line) in lines {
        let _ = match from {
            Source::Stderr => io::stderr().write_all(line.as_bytes()),
            _ => io::stdout().write_all(line.as_bytes()),
        };
    }
}

impl Observer for Cells {
    fn wrote(&self, position: usize, from: Source, bytes: &[u8]) {
        let Some(echo) = &self.echo else { return };
        let lines = echo.wrote(position, from, bytes);
        if !lines.is_empty() {
            self.change(position, |cell| {
                cell.lines.extend(lines.into_iter().map(|line| (from, line)));
            });
        }
    }

    fn repeated(&self, position: usize) {
        if let Some(echo) = &self.echo {
            echo.repeated(position);
        }
    }

    fn device_begins(&self) {
        self.devices.lock().waiting -= 1;
        self.begun.notify_all();
    }

    fn device_lost(&self, lost: &DeviceLost) {
        self.devices.lock().lost.push(lost.clone());
    }

    fn ended(&self) {
        self.workers.lock().have_ended = true;
        self.all_ended.notify_all();
    }

    fn of_worker(&self, result: &TestResult) {
        let results = &mut self.workers.lock().results;
        results.retain(|known| known.test != result.test);
        results.push(result.clone());
    }

    fn finished(&self, position: usize, result: &TestResult) {
        let lines = self.echo.as_ref().map(|echo| echo.finished(position)).unwrap_or_default();
        self.change(position, |cell| {
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
                after: after.map(str::to_owned),
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
