//! The first line of an event log: what was run, where, when, on what.

use std::time::{SystemTime, UNIX_EPOCH};

use crate::log::events::{Event, RunHeader};
use crate::log::read::FORMAT;
use crate::os;
use crate::run::plan::Plan;
use crate::target::Target;

/// The header of a run that begins now.
pub fn header(target: &Target, plan: &Plan, rerun_command: String) -> RunHeader {
    let time = SystemTime::now();
    let since_epoch = time.duration_since(UNIX_EPOCH).unwrap_or_default();
    let mut versions = vec![("clmatrix-harness".to_owned(), env!("CARGO_PKG_VERSION").to_owned())];
    if target.package != env!("CARGO_PKG_NAME") {
        versions.push((target.package.to_owned(), target.version.to_owned()));
    }
    RunHeader {
        format: FORMAT,
        run_id: format!("{:x}-{:x}", since_epoch.as_millis(), std::process::id()),
        time,
        host: os::host_name(),
        versions,
        command_line: std::env::args_os().map(|word| word.to_string_lossy().into()).collect(),
        rerun_command,
        devices: plan.devices.iter().map(|device| device.run.clone()).collect(),
    }
}

impl Event {
    /// The ids of all that is planned.
    pub fn plan(plan: &Plan) -> Self {
        Self::Plan { tests: plan.entries.iter().map(|entry| plan.id(entry)).collect() }
    }
}
