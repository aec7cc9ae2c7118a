//! The rules that a driver breaks in one test.

use std::cell::RefCell;
use std::fmt::Display;
use std::thread;

/// Collects the rules that a driver breaks, and panics with all of them when it is dropped.
#[derive(Default)]
pub struct Findings(RefCell<Vec<String>>);

impl Findings {
    /// Adds a broken rule: the call with the argument or query, the rule with its section of the
    /// OpenCL 3.0 API specification, and the driver's answer.
    pub fn add(&self, call: impl Display, rule: impl Display, answer: impl Display) {
        self.0.borrow_mut().push(format!("{call}: {rule}; the driver: {answer}"));
    }

    /// Adds a broken rule unless `holds`.
    pub fn check(&self, holds: bool, call: impl Display, rule: impl Display, answer: impl Display) {
        if !holds {
            self.add(call, rule, answer);
        }
    }
}

impl Drop for Findings {
    fn drop(&mut self) {
        let broken = self.0.take();
        if !broken.is_empty() && !thread::panicking() {
            panic!("{}", broken.join("\n"));
        }
    }
}
