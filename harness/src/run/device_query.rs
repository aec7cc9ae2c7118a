//! The question about the properties of a device.

use crate::worker::job_call::JobCall;

/// The question about the properties of each device that has tests, which the log records.
#[derive(Clone, Debug)]
pub struct DeviceQuery {
    /// A job whose output is a map of texts.
    pub call: JobCall,
    /// True if no test runs in the worker that has answered, so that the first test finds its driver as ever.
    pub ends_worker: bool,
}
