//! The versions of drivers of a run beside the record of those that were tried.

use std::path::Path;

use anyhow::{Result, ensure};
use clmatrix_runner::config::{Config, Expectations};
use clmatrix_runner::log::run_log::RunLog;

use crate::workspace::Workspace;

/// Fails if expectations of other versions of a driver count for a test of this log.
pub fn check(workspace: &Workspace, log: &Path) -> Result<()> {
    let config = Config::load(Some(&workspace.root.join("config/clmatrix.toml")), None)?;
    let read = RunLog::read(log)?;
    let found = complaints(&config.expectations, &read);
    ensure!(found.is_empty(), "add to config/expectations/tried.toml:\n{}", found.join("\n"));
    println!("{}: each expectation is for the versions of its drivers", log.display());
    Ok(())
}

/// Returns the tests for which an expectation of another version counts, with its place.
fn complaints(expectations: &Expectations, log: &RunLog) -> Vec<String> {
    let complaints = log.header.devices.iter().flat_map(|device| {
        let for_device = expectations.for_device(Some(device));
        let results = log.results.iter().filter(|result| result.test.device() == device.id);
        results.filter_map(move |result| {
            let known = for_device.lookup(result.test.path()).filter(|known| known.is_assumed)?;
            let version = &device.info.driver_version;
            Some(format!("{}: version {version}, not as {}", result.test, known.written.place()))
        })
    });
    complaints.collect()
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use clmatrix_runner::config::sample::Project;
    use clmatrix_runner::log::sample::{device, result, run_log};
    use clmatrix_runner::verdict::Outcome;

    use super::*;

    #[test]
    fn a_test_that_was_not_tried_is_named() {
        let entry = |test: &str| {
            format!(
                "[[expect]]\ntest = '{test}'\nplatform = 'PoCL'\ndriver-version = '3.0'\n\
                status = 'fail'\nreason = 'x'\n"
            )
        };
        let tried = "[[tried]]\ntests = ['s::a']\nplatform = 'PoCL'\ndriver-version = '3.1'\n";
        let text = entry("s::a") + &entry("s::b") + tried;
        let project = Project::new(&[("clmatrix.toml", ""), ("expectations/a.toml", &text)]);
        let expectations = project.config().unwrap().expectations;
        let tests = ["s::a@d", "s::b@d", "s::c@d"].map(|test| result(test, Outcome::Passed));
        let log = run_log(vec![device("d", "PoCL")], tests.to_vec(), Duration::ZERO);
        let [named] = &complaints(&expectations, &log)[..] else { panic!("one complaint") };
        assert!(named.starts_with("s::b@d: version 3.1, not as "), "{named}");
    }
}
