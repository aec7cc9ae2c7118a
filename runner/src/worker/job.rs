//! Work for workers that a crate registers.

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

/// Returns the job of this name.
pub fn find(name: &str) -> Option<&'static Job> {
    inventory::iter::<Job>.into_iter().find(|job| job.name == name)
}
