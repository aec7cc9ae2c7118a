//! Work for workers that a crate registers.

use std::borrow::Cow;

use serde::{Deserialize, Serialize};

use crate::os;

/// Work in a worker that is not a test, such as a query of the device. Runner and worker are one executable, so the
/// worker finds a job by the same name.
///
/// ```ignore
/// inventory::submit! {
///     Job { name: "my_crate::count", run: |input, _note| Ok(input.len().to_string()) }
/// }
/// ```
pub struct Job {
    /// The name, unique in an executable.
    pub name: &'static str,
    /// The work.
    pub run: RunJob,
}

/// Runs a job, from its input to its output, both in JSON. The function in the second argument announces a step in
/// which some drivers end the process.
pub type RunJob = fn(&str, &dyn Fn(&str)) -> Result<String, String>;

inventory::collect!(Job);

/// A call of a [`Job`].
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
        let job = inventory::iter::<Job>.into_iter().find(|job| job.name == self.job);
        let job = job.expect("runner and worker are one executable");
        let end = self.memory.map(os::AddressSpaceEnd::after);
        if let Some(None) = end {
            return Err("the memory of the process cannot be limited here".to_owned());
        }
        // The limit of memory stays until the job has ended.
        (job.run)(&self.input, note)
    }
}
