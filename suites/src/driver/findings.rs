//! The rules that a driver breaks in one test.

use std::cell::RefCell;

use super::prelude::*;

/// Collects the rules that a driver breaks, and panics with all of them when it is dropped.
#[derive(Default)]
pub struct Findings(RefCell<Vec<String>>);

impl Findings {
    /// Adds a broken rule: the call with the argument or query, the rule with its section of the
    /// OpenCL 3.0 API specification, and the driver's answer.
    pub fn report(&self, call: impl Display, rule: impl Display, answer: impl Display) {
        self.0.borrow_mut().push(format!("{call}: {rule}; the driver: {answer}"));
    }

    /// Adds a broken rule unless the result is `Ok`.
    pub fn check_result(&self, result: Checked, call: impl Display, rule: impl Display) {
        result.unwrap_or_else(|answer| self.report(call, rule, answer));
    }

    /// Adds a broken rule unless the call has returned the code `wanted`.
    pub fn check_code(
        &self,
        found: cl_int,
        wanted: cl_int,
        call: impl Display,
        rule: impl Display,
    ) {
        let rule = format_args!("{}: {rule}", code_name(wanted));
        self.check(found == wanted, call, rule, code_name(found));
    }

    /// Adds a broken rule unless `holds`.
    pub fn check(&self, holds: bool, call: impl Display, rule: impl Display, answer: impl Display) {
        if !holds {
            self.report(call, rule, answer);
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
