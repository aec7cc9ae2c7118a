//! Hands results and output from the threads that run tests to the thread that prints them.

use std::io::{self, Write};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};

use crate::log::recorder::Observer;
use crate::log::test_result::TestResult;
use crate::os::Source;
use crate::run::echo::Echo;
use crate::run::plan::Plan;

/// The results and the lines of output of all tests, until they are printed.
pub struct Cells {
    echo: Option<Echo>,
    cells: Mutex<Vec<Cell>>,
    changed: Condvar,
    late: Mutex<Vec<TestResult>>,
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
        let echo = echoes.then(|| Echo::new(plan));
        Arc::new(Self {
            echo,
            cells: Mutex::new(cells),
            changed: Condvar::new(),
            late: Mutex::default(),
        })
    }

    /// Takes the results that came after all.
    pub fn take_late(&self) -> Vec<TestResult> {
        std::mem::take(&mut *self.late.lock().unwrap_or_else(PoisonError::into_inner))
    }

    fn change(&self, position: usize, change: impl FnOnce(&mut Cell)) {
        change(&mut self.lock()[position]);
        self.changed.notify_all();
    }

    fn lock(&self) -> MutexGuard<'_, Vec<Cell>> {
        self.cells.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Waits for the result of a test and prints its lines meanwhile. `after_name`: the name of the
    /// test stands at the beginning of the line.
    pub fn wait(&self, position: usize, after_name: bool) -> TestResult {
        let mut cells = self.lock();
        let mut ends_line = after_name;
        loop {
            let lines = std::mem::take(&mut cells[position].lines);
            if !lines.is_empty() {
                drop(cells);
                if std::mem::take(&mut ends_line) {
                    let _ = io::stdout().write_all(b"\n");
                }
                print_lines(&lines);
                cells = self.lock();
            } else if let Some(result) = cells[position].result.take() {
                return result;
            } else {
                cells = self.changed.wait(cells).unwrap_or_else(PoisonError::into_inner);
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

    fn finished(&self, position: usize) {
        if let Some(echo) = &self.echo {
            let lines = echo.finished(position);
            self.change(position, |cell| cell.lines.extend(lines));
        }
    }

    fn late(&self, result: &TestResult) {
        self.late.lock().unwrap_or_else(PoisonError::into_inner).push(result.clone());
    }

    fn settled(&self, position: usize, result: &TestResult) {
        self.change(position, |cell| cell.result = Some(result.clone()));
    }
}
