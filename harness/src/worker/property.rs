//! What tests measure or find out, for the report.

use std::fmt::Display;
use std::mem;
use std::sync::{Mutex, PoisonError};

/// Those of the running test.
static RECORDED: Mutex<Vec<(String, String)>> = Mutex::new(Vec::new());

/// Adds a property to the report of the device under test: something that the running test has measured
/// or found out (pytest's `record_property`). It stands in the event log with the test's result, and
/// among the properties of the device's JUnit file.
///
/// From any thread of the test. What a test recorded that crashed or did not end in time is lost.
///
/// ```
/// clmatrix_harness::record_property("pool.ns-per-pair", 21.5);
/// ```
pub fn record_property(name: impl Into<String>, value: impl Display) {
    let property = (name.into(), value.to_string());
    RECORDED.lock().unwrap_or_else(PoisonError::into_inner).push(property);
}

/// Takes what has been recorded since the last time.
pub(crate) fn take() -> Vec<(String, String)> {
    mem::take(&mut *RECORDED.lock().unwrap_or_else(PoisonError::into_inner))
}
