//! The arguments of `clmatrix run`.

use std::path::PathBuf;
use std::time::Duration;

use clap::{Args, ValueEnum, value_parser};
use clmatrix_harness::private::config::{Contexts, Slots, TimeoutFactor, time_limit};
use clmatrix_harness::private::log::run_header::RunHeader;

use super::common::Common;
use super::shard::ShardArguments;
use crate::characterize::option::Characterize;

pub const EXAMPLES: &str = "\
Examples:
  clmatrix run                              all tests on all devices
  clmatrix run buffer::                     one suite
  clmatrix run 'buffer::fill*@pocl-cpu'     tests and devices by a glob
  clmatrix run buffer::fill@                one test on every device
  clmatrix run --devices 'nvidia:*;pocl'    on some devices
  clmatrix run --icd /opt/lib/libpocl.so    with a driver that has no .icd file
  clmatrix run --profile ci                 fail if an expected device is absent
  clmatrix run --rerun failed               the tests that failed in the latest run
  clmatrix list --ids | grep rect | clmatrix run --tests -
  clmatrix run --resume                     go on with the latest run, which was killed
  clmatrix run --shard 2/8                  the second of eight parts of the tests";

#[derive(Args)]
pub struct RunArguments {
    /// Tests to run: parts of the id (`suite::test::case@device`), whole ids (with an `@`;
    /// `suite::test@` is the test on every device), or globs [default: all tests].
    pub filter: Vec<String>,
    /// Run the tests of this file: an id (`suite::test::case@device`) or a path (`suite::test::case`, on
    /// every device) in each line; `-` is standard input.
    #[arg(long, value_name = "FILE", conflicts_with = "rerun")]
    pub tests: Option<PathBuf>,
    /// Run tests of an earlier run again: those that `failed`, were `not-run`, were `flaky`, or `all`. The
    /// run is a folder, a log file, an id or its beginning [default: the latest run].
    #[arg(long, value_names = ["WHICH", "RUN"], num_args = 1..=2)]
    pub rerun: Option<Vec<String>>,
    /// Go on with a run that was killed or cut short: the tests without a result, with the options of
    /// that run, as a new run. A test that was running then runs again; one that was running twice has crashed.
    /// The run is a folder, a log file, an id or its beginning [default: the latest run].
    #[arg(
        long,
        value_name = "RUN",
        num_args = 0..=1,
        default_missing_value = "latest",
        conflicts_with_all = [
            "filter", "tests", "rerun", "shard", "shards", "balance", "profile", "config", "devices", "icd",
            "strict_drivers", "characterize", "include_ignored", "run_skipped", "timeout", "timeout_factor", "slots",
            "retries", "contexts", "shuffle", "seed", "repeat", "repeat_for", "until_fail",
        ],
    )]
    pub resume: Option<String>,
    /// Go on even if the executable, the devices, the versions of drivers, the settings or the expectations
    /// are others. The log has the differences.
    #[arg(long, requires = "resume")]
    pub anyway: bool,
    #[command(flatten)]
    pub sharding: ShardArguments,
    #[command(flatten)]
    pub common: Common,
    /// Write events.jsonl, report.html, junit/DEVICE.xml and summary.md to the folder `runs/RUN_ID` in this
    /// folder; a run without a FILTER also shows them in this folder itself
    /// [default: CLMATRIX_REPORT_DIR, else the profile's, else target/clmatrix].
    #[arg(long, value_name = "DIR")]
    pub report_dir: Option<PathBuf>,
    /// Print the matrix after the run, or each event as a line of JSON when it happens.
    #[arg(long, value_enum, default_value_t = RunFormat::Matrix)]
    pub format: RunFormat,
    /// Fail the run if a driver of this machine shows no platform [default: the profile's
    /// `strict-drivers`].
    #[arg(long)]
    pub strict_drivers: bool,
    /// Also record the properties of devices that need the build of a kernel (`builds`), and also measure
    /// each device before the tests, as `clmatrix characterize --measure` does (`measure`; half a minute
    /// for each device) [default without a value: builds].
    #[arg(
        long,
        value_enum,
        value_name = "WHAT",
        num_args = 0..=1,
        require_equals = true,
        default_missing_value = "builds",
    )]
    pub characterize: Option<Characterize>,
    /// Also run the tests that are marked `#[ignore]`.
    #[arg(long)]
    pub include_ignored: bool,
    /// Also run the tests that only an expectation skips. Their results do not fail the run.
    #[arg(long)]
    pub run_skipped: bool,
    /// The time limit of a test that has none of its own, also on devices with an override
    /// [default: the configuration's, else 60s].
    #[arg(long, value_name = "TIME", value_parser = time_limit)]
    pub timeout: Option<Duration>,
    /// Multiply the time limits of tests, also those that tests set [default: the profile's, else 1].
    #[arg(long, value_name = "NUMBER")]
    pub timeout_factor: Option<TimeoutFactor>,
    /// The number of tests that run at the same time on a device, also on devices with an override, or `auto`: the
    /// processors per processor device, at most 8, and up to 4 on a GPU [default: the configuration's, else auto].
    #[arg(long, value_name = "N", overrides_with = "slots")]
    pub slots: Option<Slots>,
    /// Repeat a test that goes wrong up to this number of times, alone [default: the configuration's,
    /// else 0].
    #[arg(long, value_name = "N")]
    pub retries: Option<u32>,
    /// The contexts of tests: new ones, or contexts that earlier tests have used, also on devices with an
    /// override [default: the configuration's, else reuse on GPUs and accelerators].
    #[arg(long, value_enum, value_name = "CONTEXTS")]
    pub contexts: Option<Contexts>,
    /// Run the tests of each device in a random order. The seed is printed and logged.
    #[arg(long)]
    pub shuffle: bool,
    /// Run the tests of each device in the order of this seed.
    #[arg(long, value_name = "N")]
    pub seed: Option<u64>,
    /// Run the tests of each device this number of times, in rounds.
    #[arg(long, value_name = "N", value_parser = value_parser!(u32).range(1..))]
    pub repeat: Option<u32>,
    /// Run the tests of each device in rounds, and start none after this time.
    #[arg(long = "for", value_name = "TIME", value_parser = humantime::parse_duration)]
    pub repeat_for: Option<Duration>,
    /// Run the tests of each device in rounds, until a result on the device is unexpected.
    #[arg(long)]
    pub until_fail: bool,
    /// Stop the run after this time, and write the reports [default: the profile's, else never].
    #[arg(long, value_name = "TIME", value_parser = time_limit)]
    pub deadline: Option<Duration>,
    /// Stop the run after this number of unexpected results.
    #[arg(long, value_name = "N", value_parser = value_parser!(u32).range(1..))]
    pub max_fail: Option<u32>,
    /// Stop the run after the first unexpected result.
    #[arg(long, conflicts_with = "max_fail")]
    pub fail_fast: bool,
    /// Show the output of running tests at once, line by line, on standard error.
    #[arg(long, visible_alias = "nocapture")]
    pub no_capture: bool,
    /// Show the end of the captured output of all tests, also of those that pass [default: of
    /// unexpected results, if there are at most ten].
    #[arg(long)]
    pub show_output: bool,
    /// Show all unexpected results, not only the first 20 of each device.
    #[arg(long)]
    pub all: bool,
    /// Print only the unexpected results and the summary.
    #[arg(short, long, conflicts_with = "verbose")]
    pub quiet: bool,
    /// Print each result when its test has ended.
    #[arg(short, long)]
    pub verbose: bool,
    /// Print a line per device at this interval, where standard error is not a terminal; 0s: never.
    #[arg(long, value_name = "TIME", value_parser = humantime::parse_duration, default_value = "30s")]
    pub progress_interval: Duration,
    /// Name a test when it has been running for this time, and again at each doubling, unless `--quiet`
    /// [default: the profile's, else 10s].
    #[arg(long, value_name = "TIME", value_parser = time_limit)]
    pub slow_after: Option<Duration>,
}

#[derive(Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum RunFormat {
    Matrix,
    Json,
}

impl RunArguments {
    /// Returns whether tests may run in several rounds.
    pub fn has_rounds(&self) -> bool {
        self.repeat.is_some() || self.repeat_for.is_some() || self.until_fail
    }

    /// Returns whether a run with this seed has the order of this one.
    pub fn has_order(&self, seed: Option<u64>) -> bool {
        if self.seed.is_some() { self.seed == seed } else { self.shuffle == seed.is_some() }
    }

    /// The arguments of an earlier run, with the display of `now`.
    pub fn again(self, header: &RunHeader, now: &Self) -> Self {
        let common = Common {
            profile: header.profile.clone(),
            config: header.configuration.as_ref().map(PathBuf::from),
            icd: header.added_drivers.iter().map(PathBuf::from).collect(),
            ..self.common
        };
        Self {
            common,
            resume: None,
            anyway: now.anyway,
            deadline: now.deadline.or(self.deadline),
            max_fail: now.max_fail.or(self.max_fail),
            fail_fast: now.fail_fast || self.fail_fast && now.max_fail.is_none(),
            format: now.format,
            no_capture: now.no_capture,
            show_output: now.show_output,
            all: now.all,
            quiet: now.quiet,
            verbose: now.verbose,
            progress_interval: now.progress_interval,
            slow_after: now.slow_after,
            ..self
        }
    }
}
