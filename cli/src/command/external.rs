//! `clmatrix external`.

use std::path::{Path, PathBuf};

use clap::Subcommand;
use clmatrix_runner::files::read_list;
use clmatrix_runner::target::SUCCESS;
use clmatrix_runner::terminal::{AnyError, print};

use crate::external::import::import;

pub const EXAMPLES: &str = "\
Examples:
  clmatrix external import opencl_conformance_tests_full.csv >> clmatrix.toml
  clmatrix external import --programs /opt/cts/test_conformance opencl_conformance_tests_quick.csv";

#[derive(Subcommand)]
pub enum ExternalCommand {
    /// Print a list of the OpenCL conformance test suite (opencl_conformance_tests_*.csv) as `[[external]]`
    /// tables for clmatrix.toml. A word with `*` behind a program becomes a glob in `tests`, any other word an
    /// argument in `args`: move the name of a test from there to `tests`.
    Import {
        /// The list; `-` is standard input.
        file: PathBuf,
        /// The name of the suite: the beginning of the paths of its tests.
        #[arg(long, default_value = "cts")]
        name: String,
        /// The folder of the programs, from which the paths in the list start [default: that of the list].
        #[arg(long, value_name = "DIR")]
        programs: Option<PathBuf>,
    },
}

pub fn external(command: &ExternalCommand) -> Result<u8, AnyError> {
    let ExternalCommand::Import { file, name, programs } = command;
    let in_file = |error: &dyn std::fmt::Display| format!("{}: {error}", file.display());
    let list = read_list(file).map_err(|error| in_file(&error))?;
    // The parent of a bare name is the empty path, which has no absolute form.
    let parent = file.parent().filter(|parent| !parent.as_os_str().is_empty());
    let folder = programs.as_deref().or(parent).unwrap_or(Path::new("."));
    let folder = std::path::absolute(folder)?;
    print(&import(&list, name, &folder).map_err(|error| in_file(&error))?)?;
    Ok(SUCCESS)
}
