//! `clmatrix provision`.

use std::process::ExitCode;

use clap::Args;

use crate::provision;
use crate::provision::environment::Format;
use crate::terminal::{AnyError, print, status_line};

pub const EXAMPLES: &str = "\
Examples:
  clmatrix provision                          download the driver, unless it is there
  eval \"$(clmatrix provision --print-env)\"    also show the device to the programs of this shell
  clmatrix provision --print-env=json         for other programs; null stands for a variable to unset";

#[derive(Args)]
pub struct ProvisionArguments {
    /// Print the variables that show this device, and no other, to OpenCL programs: as commands for a
    /// POSIX shell (`sh`, the default) or as a JSON object (`json`).
    #[arg(long, value_name = "FORMAT", value_enum, num_args = 0..=1, require_equals = true,
          default_missing_value = "sh", hide_possible_values = true)]
    print_env: Option<Format>,
}

/// `command` is the shell's command that shows the device.
pub fn provision(command: &str, arguments: &ProvisionArguments) -> Result<ExitCode, AnyError> {
    let environment = provision::provide()?;
    match arguments.print_env {
        Some(format) => print(&environment.to_text(format))?,
        None => status_line(&format!("Show it to this shell: {command}")),
    }
    Ok(ExitCode::SUCCESS)
}
