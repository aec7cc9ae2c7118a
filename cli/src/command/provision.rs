//! `clmatrix provision`.

use std::path::{self, PathBuf};

use clap::Args;
use clmatrix_runner::provision::environment::Format;
use clmatrix_runner::provision::{self, Request, Runtime};
use clmatrix_runner::target::SUCCESS;
use clmatrix_runner::terminal::{AnyError, print, status_line};
use clmatrix_runner::text::shell_quoted;

use super::common::provision_command;

pub const EXAMPLES: &str = "\
Examples:
  clmatrix provision                          download a driver that works here, unless it is there
  eval \"$(clmatrix provision --print-env)\"    also show the device to the programs of this shell
  clmatrix provision --print-env=json         for other programs; null marks a variable to unset
  clmatrix provision --driver intel           Intel's runtime, also where PoCL works";

#[derive(Args)]
pub struct ProvisionArguments {
    /// Print the variables that show this device, and no other, to OpenCL programs: as commands for a
    /// POSIX shell (`sh`, the default) or as a JSON object (`json`).
    #[arg(long, value_name = "FORMAT", value_enum, num_args = 0..=1, require_equals = true,
          default_missing_value = "sh", hide_possible_values = true)]
    print_env: Option<Format>,
    /// The driver: `pocl` or `intel` [default: the first of these that works].
    #[arg(long, value_enum, hide_possible_values = true)]
    driver: Option<Runtime>,
    /// Download nothing: fail unless a working driver is installed.
    #[arg(long)]
    no_download: bool,
    /// Install in this folder [default: clmatrix/opencl in your cache folder].
    #[arg(long, value_name = "FOLDER")]
    folder: Option<PathBuf>,
}

pub fn provision(arguments: &ProvisionArguments) -> Result<u8, AnyError> {
    let ProvisionArguments { print_env, driver, no_download, folder } = arguments;
    let request = Request {
        // The variables are for processes in any folder.
        folder: folder.as_ref().map(path::absolute).transpose()?,
        driver: *driver,
        no_download: *no_download,
    };
    let environment = provision::provide(&request)?;
    match print_env {
        Some(format) => print(&environment.to_text(*format))?,
        None => {
            let driver = driver.map(|driver| format!(" --driver {}", driver.name()));
            let folder = request
                .folder
                .map(|folder| format!(" --folder {}", shell_quoted(&folder.to_string_lossy())));
            let options: String = driver.into_iter().chain(folder).collect();
            status_line(&format!("Show it to this shell: {}", provision_command(&options)));
        }
    }
    Ok(SUCCESS)
}
