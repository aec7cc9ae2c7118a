//! `cargo xtask schema` starts this program.

mod valid;

use std::path::PathBuf;

use anyhow::{Context, Result, ensure};
use clap::Parser;
use clmatrix_harness::private::log::run_log::RunLog;

/// Prints the JSON Schema of a line of the event log, or validates logs against it
#[derive(Parser)]
struct Args {
    /// The profile of the logs
    #[arg(long, requires = "logs")]
    profile: Option<String>,
    /// Logs of whole runs on all devices that their profile expects
    logs: Vec<PathBuf>,
}

fn main() -> Result<()> {
    let args = Args::parse();
    if args.logs.is_empty() {
        println!("{}", serde_json::to_string_pretty(&clmatrix_harness::private::log::schema())?);
    }
    for path in args.logs {
        let lines = valid::validate(&path).with_context(|| path.display().to_string())?;
        let log = RunLog::read(&path)?;
        let shown = path.display();
        ensure!(!log.interrupted, "{shown}: the run was cut short");
        ensure!(log.absent.is_empty(), "{shown}: no device {:?}", log.absent);
        let profile = log.header.profile;
        ensure!(
            args.profile.is_none() || args.profile == profile,
            "{shown}: a log of the profile {profile:?}"
        );
        let devices: Vec<_> = log.header.devices.iter().map(|device| &device.id[..]).collect();
        println!("{shown}: {lines} valid lines, of {}", devices.join(", "));
    }
    Ok(())
}
