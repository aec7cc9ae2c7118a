//! The arguments of `clmatrix bisect`.

use std::path::PathBuf;

use clap::{Args, value_parser};

use super::common::Common;

pub const EXAMPLES: &str = "\
Examples:
  clmatrix bisect buffer::map::twice@pocl-cpu           in the latest run
  clmatrix bisect buffer::map::twice@pocl-cpu 19ec3     in the run whose id begins so
  clmatrix bisect buffer::map::twice@pocl-cpu --runs 200
  clmatrix bisect worker::crash@pocl-cpu                the test that was running, or the last one";

#[derive(Args)]
pub struct BisectArguments {
    /// The id of the test, with its device, or of a crash that belongs to no test.
    #[arg(value_name = "TEST")]
    pub test: String,
    /// The run: a folder, a log, an id or its beginning.
    #[arg(value_name = "RUN", default_value = "latest")]
    pub run: String,
    /// Compare the test after others with the test alone in at most this number of runs.
    #[arg(long, value_name = "N", default_value = "40", value_parser = value_parser!(u32).range(10..))]
    pub runs: u32,
    #[command(flatten)]
    pub common: Common,
    /// The report folder [default: CLMATRIX_REPORT_DIR, else the profile's, else target/clmatrix].
    #[arg(long, value_name = "DIR")]
    pub report_dir: Option<PathBuf>,
}
