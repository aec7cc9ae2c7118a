//! The arguments of `clmatrix run`.

use std::path::PathBuf;
use std::time::Duration;

use clap::{Args, ValueEnum, value_parser};
use clmatrix_runner::config::{Contexts, Slots, TimeoutFactor, time_limit};
use clmatrix_runner::log::run_header::RunHeader;
use clmatrix_runner::run::state::Repeat;
use clmatrix_runner::text::shell_quoted;

use super::common::Common;
use super::shard::ShardArguments;

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
  clmatrix run --resume                     resume the latest run, which was killed
  clmatrix run --shard 2/8                  the second of eight parts of the tests";

/// The arguments of `clmatrix run`. The structure of an option decides on its value when a run is resumed.
#[derive(Args)]
pub struct RunArguments {
    #[command(flatten)]
    pub kept: KeptOptions,
    /// Resume a run that was killed or cut short: run the tests without a result, with the options of that run, as a
    /// new run. A test that was running then runs again, after the others; at the third time it is not run. The run is
    /// a folder, a log file, an id or its beginning [default: the latest run].
    #[arg(
        long,
        value_name = "RUN",
        num_args = 0..=1,
        default_missing_value = "latest",
        conflicts_with_all = ["KeptOptions", "SingleTestOptions", "Common", "ShardArguments"],
    )]
    pub resume: Option<String>,
    /// Resume even if the executable, the devices, the versions of drivers, the settings or the expectations differ.
    /// The log has the first difference.
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
    #[command(flatten)]
    pub limits: LimitOptions,
    #[command(flatten)]
    pub display: DisplayOptions,
}

/// The options that a run keeps: `--resume` refuses others.
#[derive(Args)]
pub struct KeptOptions {
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
    #[command(flatten)]
    pub single: SingleTestOptions,
    /// The number of tests that run at the same time on a device, also on devices with an override, or `auto`: the
    /// processors per processor device, at most 8, and up to 4 on a GPU [default: the configuration's, else auto].
    #[arg(long, value_name = "N", overrides_with = "slots")]
    pub slots: Option<Slots>,
    /// Repeat a test that goes wrong up to this number of times, alone [default: the configuration's,
    /// else 0].
    #[arg(long, value_name = "N")]
    pub retries: Option<u32>,
    /// Run the tests of each device in a random order. The seed is printed and logged.
    #[arg(long)]
    pub shuffle: bool,
    /// Run the tests of each device in the order of this seed.
    #[arg(long, value_name = "N")]
    pub seed: Option<u64>,
    /// Run the tests of each device this number of times. The worst result of a test counts.
    #[arg(long, value_name = "N", value_parser = value_parser!(u32).range(1..))]
    pub repeat: Option<u32>,
    /// Repeat the tests of each device, and start no repetition after this time.
    #[arg(long = "for", value_name = "TIME", value_parser = humantime::parse_duration)]
    pub repeat_for: Option<Duration>,
    /// Repeat the tests of each device until a result on the device is unexpected.
    #[arg(long)]
    pub until_fail: bool,
}

/// The options that a run keeps, and that decide how a single test runs and ends.
#[derive(Args)]
pub struct SingleTestOptions {
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
    /// The contexts of tests: new ones, or contexts that earlier tests have used, also on devices with an
    /// override [default: the configuration's, else reuse on GPUs and accelerators].
    #[arg(long, value_enum, value_name = "CONTEXTS")]
    pub contexts: Option<Contexts>,
}

/// The options that a run keeps unless `--resume` has others.
#[derive(Args)]
pub struct LimitOptions {
    /// Stop the run after this time, and write the reports [default: the profile's, else never].
    #[arg(long, value_name = "TIME", value_parser = time_limit)]
    pub deadline: Option<Duration>,
    /// Stop the run after this number of unexpected results.
    #[arg(long, value_name = "N", value_parser = value_parser!(u32).range(1..))]
    pub max_fail: Option<u32>,
    /// Stop the run after the first unexpected result.
    #[arg(long, conflicts_with = "max_fail")]
    pub fail_fast: bool,
}

/// The options that a run does not keep.
#[derive(Args, Clone)]
pub struct DisplayOptions {
    /// Print the matrix after the run, or each event as a line of JSON when it happens.
    #[arg(long, value_enum, default_value_t = RunFormat::Matrix)]
    pub format: RunFormat,
    /// Show the output of running tests at once, line by line, on standard error.
    #[arg(long, visible_alias = "nocapture")]
    pub no_capture: bool,
    /// Run one test below a debugger or another tool, such as `gdb --args`, `rr record`, `valgrind` or `strace -f`, in
    /// a process that has the terminal, no time limit and no capture.
    #[arg(long, value_name = "COMMAND")]
    pub debugger: Option<String>,
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

/// More properties of devices than those that cost nothing.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Characterize {
    /// Also the properties that need the build of a kernel.
    Builds,
    /// Also measurements, before the first test.
    Measure,
}

impl RunArguments {
    /// Returns the arguments of an earlier run, with the display of `now`.
    pub fn again(self, header: &RunHeader, now: &Self) -> Self {
        let common = Common {
            profile: header.profile.clone(),
            config: header.configuration.as_ref().map(PathBuf::from),
            icd: header.added_drivers.iter().map(PathBuf::from).collect(),
            ..self.common
        };
        let limits = LimitOptions {
            deadline: now.limits.deadline.or(self.limits.deadline),
            max_fail: now.limits.max_fail().or(self.limits.max_fail()),
            fail_fast: false,
        };
        let display = now.display.clone();
        Self { common, limits, display, resume: None, anyway: now.anyway, ..self }
    }
}

impl LimitOptions {
    /// Returns the number of unexpected results after which the run stops.
    pub fn max_fail(&self) -> Option<u32> {
        if self.fail_fast { Some(1) } else { self.max_fail }
    }
}

impl KeptOptions {
    /// Returns the repetition of tests.
    pub fn repetition(&self) -> Repeat {
        Repeat { times: self.repeat, time: self.repeat_for, until_fail: self.until_fail }
    }

    /// Returns whether a run with this seed has the order of this one.
    pub fn has_order(&self, seed: Option<u64>) -> bool {
        if self.seed.is_some() { self.seed == seed } else { self.shuffle == seed.is_some() }
    }

    /// Adds the options that decide how a single test runs and ends to the command that runs it again.
    pub fn add_to_rerun(&self, command: &mut String) {
        for (option, value) in self.single.values() {
            match value.as_deref() {
                None => {}
                Some("") => *command += &format!(" {option}"),
                Some(value) => *command += &format!(" {option} {}", shell_quoted(value)),
            }
        }
    }

    /// Returns the first option with which single tests run or end differently than with the options `before`.
    pub fn difference(&self, before: &Self) -> Option<&'static str> {
        let mut both = self.single.values().into_iter().zip(before.single.values());
        both.find(|(now, before)| now != before).map(|((option, _), _)| option)
    }
}

impl SingleTestOptions {
    /// Returns the options with their values; a flag has an empty one.
    fn values(&self) -> [(&'static str, Option<String>); 5] {
        // Each option is here, so that a new one is not forgotten.
        let Self { include_ignored, run_skipped, timeout, timeout_factor, contexts } = self;
        let contexts = contexts.and_then(|contexts| contexts.to_possible_value());
        [
            ("--timeout", timeout.map(|time| humantime::format_duration(time).to_string())),
            ("--timeout-factor", timeout_factor.map(|factor| factor.get().to_string())),
            ("--contexts", contexts.map(|value| value.get_name().to_owned())),
            ("--include-ignored", include_ignored.then(String::new)),
            ("--run-skipped", run_skipped.then(String::new)),
        ]
    }
}

#[cfg(test)]
mod tests {
    use clap::Parser;

    use super::*;

    #[derive(Parser)]
    struct Options {
        #[command(flatten)]
        kept: KeptOptions,
    }

    #[test]
    fn the_options_of_single_tests_are_kept_and_compared() {
        let kept = |words: &str| Options::parse_from(format!("run {words}").split(' ')).kept;
        let cases = [
            ("--timeout 5s", "--timeout"),
            ("--timeout-factor 2", "--timeout-factor"),
            ("--contexts fresh", "--contexts"),
            ("--include-ignored", "--include-ignored"),
            ("--run-skipped", "--run-skipped"),
        ];
        for (words, option) in cases {
            let mut command = String::new();
            kept(words).add_to_rerun(&mut command);
            assert_eq!(command, format!(" {words}"));
            assert_eq!(kept(words).difference(&kept("s::t")), Some(option), "{words}");
            assert_eq!(kept(words).difference(&kept(words)), None, "{words}");
        }
        assert_eq!(kept("--seed 7 --slots 2").difference(&kept("s::t")), None);
    }
}
