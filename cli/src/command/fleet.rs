//! `clmatrix fleet`.

use std::fs;
use std::io::{self, Write};
use std::path::{Path, PathBuf};

use clap::Args;
use clmatrix_runner::files::write_named;
use clmatrix_runner::target::{SUCCESS, UNEXPECTED};
use clmatrix_runner::terminal::AnyError;

use super::merge::{expected_hosts, log_of};
use crate::fleet::Fleet;
use crate::report::page::Format;

pub const EXAMPLES: &str = "\
Examples:
  clmatrix fleet nodes/*                    the runs of all nodes
  clmatrix fleet nodes/* --expect-hosts nodes.txt --write-lists lists
  clmatrix fleet nodes/* --format markdown";

#[derive(Args)]
pub struct FleetArguments {
    /// The runs, one of each host: report folders, folders of runs, or log files. A folder without a run
    /// is a missing host of this name.
    #[arg(required = true, value_name = "DIR")]
    runs: Vec<PathBuf>,
    /// The hosts of this list must have a run: a name a line; `-` is standard input.
    #[arg(long, value_name = "FILE")]
    expect_hosts: Option<PathBuf>,
    /// Print tables, JSON, or tables in Markdown.
    #[arg(long, value_enum, default_value_t = Format::Table)]
    format: Format,
    /// Write passed.txt and failed.txt to this folder, a host a line. Missing hosts have failed.
    #[arg(long, value_name = "DIR")]
    write_lists: Option<PathBuf>,
}

pub fn fleet(arguments: &FleetArguments) -> Result<u8, AnyError> {
    let mut expected = expected_hosts(arguments.expect_hosts.as_deref())?;
    let mut logs = Vec::new();
    for run in &arguments.runs {
        match log_of(run) {
            Ok(log) => logs.push(log),
            Err(_) if run.is_dir() => {
                let name = run.file_name().unwrap_or(run.as_os_str()).to_string_lossy();
                if !expected.iter().any(|host| *host == name) {
                    expected.push(name.into_owned());
                }
            }
            Err(error) => return Err(error),
        }
    }
    let fleet = Fleet::read(&logs, &expected)?;
    arguments.format.print(&fleet, fleet.pages().into_iter())?;
    if let Some(folder) = &arguments.write_lists {
        write_lists(&fleet, folder).map_err(|error| format!("{}: {error}", folder.display()))?;
    }
    Ok(if fleet.failed().next().is_some() { UNEXPECTED } else { SUCCESS })
}

fn write_lists(fleet: &Fleet, folder: &Path) -> io::Result<()> {
    fs::create_dir_all(folder)?;
    let (passed, failed): (Vec<_>, Vec<_>) = (fleet.passed().collect(), fleet.failed().collect());
    for (name, hosts) in [("passed.txt", passed), ("failed.txt", failed)] {
        let lines: String = hosts.iter().map(|host| format!("{host}\n")).collect();
        write_named(&folder.join(name), |file| file.write_all(lines.as_bytes()))?;
    }
    Ok(())
}
