//! A call of a job.

use std::borrow::Cow;

use serde::{Deserialize, Serialize};

use super::job;
use crate::os;

/// The error of a job that needs a limit of its memory.
const NO_END_OF_MEMORY: &str = "the memory of the process cannot be limited here";

/// A call of a [`Job`](job::Job).
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct JobCall {
    /// The name of the job.
    pub job: Cow<'static, str>,
    /// Its input in JSON.
    pub input: String,
    /// The limit of the memory of the process, in bytes more than at the start of the job.
    pub memory: Option<u64>,
}

impl JobCall {
    /// Creates a call of a job without a limit of memory.
    pub fn new(job: &'static str, input: &impl Serialize) -> Self {
        let input = serde_json::to_string(input).expect("inputs are plain data");
        Self { job: job.into(), input, memory: None }
    }

    /// Runs the job in this process.
    pub(super) fn run(&self, note: &dyn Fn(&str)) -> Result<String, String> {
        let job = job::find(&self.job).expect("runner and worker are one executable");
        let end = self.memory.map(os::AddressSpaceEnd::after);
        if let Some(None) = end {
            return Err(NO_END_OF_MEMORY.to_owned());
        }
        // The limit of memory stays until the job has ended.
        (job.run)(&self.input, note)
    }
}
