//! Properties that tests record for the report.

use std::fmt::Display;
use std::mem;

use parking_lot::Mutex;

/// The properties of the running test.
static RECORDED: Mutex<Vec<(String, String)>> = Mutex::new(Vec::new());

/// Adds a property to the result of the running test, such as a measured time (pytest's `record_property`). The
/// event log and the JUnit file have it with the test.
///
/// Any thread of the test may call this. The properties of a test that crashes or times out are lost.
///
/// ```
/// # use clmatrix_runner::worker::property as clmatrix_harness;
/// clmatrix_harness::record_property("pool.ns-per-pair", 21.5);
/// ```
pub fn record_property(name: impl Into<String>, value: impl Display) {
    let property = (name.into(), value.to_string());
    RECORDED.lock().push(property);
}

/// Takes the properties recorded since the last call.
pub(crate) fn take() -> Vec<(String, String)> {
    mem::take(&mut *RECORDED.lock())
}
