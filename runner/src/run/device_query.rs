//! The query of the properties of a device.

use crate::worker::job_call::JobCall;

/// The query of the properties of each device that has tests, which the log records.
#[derive(Clone, Debug)]
pub struct DeviceQuery {
    /// A job whose output is a map of texts.
    pub call: JobCall,
    /// True if no test runs in the worker of the query, so that the first test has a fresh driver.
    pub ends_worker: bool,
}
