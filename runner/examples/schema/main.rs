//! `cargo xtask schema` starts this program.

mod valid;

use std::path::{Path, PathBuf};

use anyhow::{Context, Result, ensure};
use clap::Parser;
use clmatrix_runner::config;
use clmatrix_runner::log::{self, run_log::RunLog};

/// JSON Schemas of the files of clmatrix
#[derive(Parser)]
enum Args {
    /// Print the schema of a line of the event log
    Log,
    /// Print the schema of the configuration
    Config,
    /// Validate event logs against their schema
    Validate {
        /// The profile of the logs
        #[arg(long)]
        profile: Option<String>,
        /// Logs of whole runs on all devices that their profile expects
        logs: Vec<PathBuf>,
    },
}

fn main() -> Result<()> {
    match Args::parse() {
        Args::Log => println!("{}", serde_json::to_string_pretty(&log::schema())?),
        Args::Config => println!("{}", serde_json::to_string_pretty(&config::schema())?),
        Args::Validate { profile, logs } => {
            for path in logs {
                let shown = path.display().to_string();
                validate(&path, profile.as_ref()).context(shown)?;
            }
        }
    }
    Ok(())
}

fn validate(path: &Path, profile: Option<&String>) -> Result<()> {
    let lines = valid::validate(path)?;
    let log = RunLog::read(path)?;
    ensure!(!log.interrupted, "the run was cut short");
    ensure!(log.absent.is_empty(), "no device {:?}", log.absent);
    let found = log.header.profile;
    ensure!(profile.is_none() || profile == found.as_ref(), "a log of the profile {found:?}");
    let devices: Vec<_> = log.header.devices.iter().map(|device| &device.id[..]).collect();
    println!("{}: {lines} valid lines, of {}", path.display(), devices.join(", "));
    Ok(())
}
