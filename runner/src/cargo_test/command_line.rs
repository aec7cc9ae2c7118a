//! The options of a target of `cargo test`: those of libtest, with their meaning here.

use std::num::NonZeroUsize;

use clap::Parser;
use libtest_mimic::{Arguments, ColorSetting, FormatSetting};

use super::under_nextest;
use crate::case::Case;
use crate::devices::TestDevice;
use crate::log::store::Place;
#[cfg(feature = "provision")]
use crate::provision::Runtime;
use crate::registry::{Ignore, ShouldPanic};
use crate::result::test_id::TestId;
use crate::run::plan::Plan;
use crate::setup::Setup;
use crate::shard::{Engine, Shard};
use crate::target::Target;
use crate::variable;

const AFTER_HELP: &str = "\
A test's name is `suite::test::case@device`. Each device runs its tests one after the other in \
worker processes, and all devices run side by side.

Environment variables:
  RUST_TEST_NOCAPTURE=1                   the same as --no-capture
  RUST_TEST_THREADS, RUST_TEST_SHUFFLE    no effect
  CLMATRIX_CONFIG, CLMATRIX_PROFILE, CLMATRIX_TEST, CLMATRIX_ICD, CLMATRIX_REPORT_DIR
                                          as for the command `clmatrix run`";

/// Runs the tests of this target on every selected OpenCL device.
#[derive(Parser)]
#[command(
    disable_version_flag = true,
    override_usage = "[OPTIONS] [FILTER]...",
    after_help = AFTER_HELP
)]
pub struct CommandLine {
    /// Run only the tests whose name contains one of these.
    #[arg(value_name = "FILTER")]
    filters: Vec<String>,
    /// Also run the tests that are marked `#[ignore]`.
    #[arg(long)]
    pub include_ignored: bool,
    /// Run only the tests that are marked `#[ignore]`.
    #[arg(long)]
    pub ignored: bool,
    /// Leave out the tests that are marked `#[should_panic]`.
    #[arg(long)]
    exclude_should_panic: bool,
    /// Run tests and no benchmarks: no effect, there are no benchmarks.
    #[arg(long, conflicts_with = "bench")]
    test: bool,
    /// Run benchmarks and no tests: runs nothing, there are no benchmarks.
    #[arg(long)]
    bench: bool,
    /// List the tests instead of running them.
    #[arg(long)]
    pub list: bool,
    /// Write the results to this file instead of standard output.
    #[arg(long, value_name = "PATH")]
    pub logfile: Option<String>,
    /// Print the output of each test below its name, line by line, instead of capturing it.
    #[arg(long = "no-capture", visible_alias = "nocapture")]
    no_capture: bool,
    /// Run one test below a debugger or another tool, such as `gdb --args`, `rr record`, `valgrind` or `strace -f`, in
    /// a process that has the terminal, no time limit and no capture.
    #[arg(long, value_name = "COMMAND")]
    pub debugger: Option<String>,
    /// The number of tests that run at the same time on each device, instead of the configuration's `slots`.
    #[arg(long, value_name = "N")]
    pub test_threads: Option<NonZeroUsize>,
    /// Leave out the tests whose name contains this; may be repeated.
    #[arg(long, value_name = "FILTER")]
    skip: Vec<String>,
    /// Print one character per test; the same as `--format terse`.
    #[arg(short, long, conflicts_with = "format")]
    quiet: bool,
    /// Match filters with the whole name; without `@device`, with the test on every device.
    #[arg(long)]
    exact: bool,
    /// Use colours: `always`, `never`, or `auto`, on a terminal unless NO_COLOR is set or TERM is `dumb`
    /// [default: auto].
    #[arg(long, value_enum, value_name = "WHEN", hide_possible_values = true)]
    color: Option<ColorSetting>,
    /// Print a line per test (`pretty`), a character per test (`terse`) or JSON events (`json`)
    /// [default: pretty]. JUnit files are written in any case.
    #[arg(long, value_enum, value_name = "FORMAT", hide_possible_values = true)]
    pub format: Option<FormatSetting>,
    /// Print the captured output of tests that pass, after the summary; no effect on JSON.
    #[arg(long)]
    pub show_output: bool,
    /// No effect (`-Z unstable-options`): no option needs it.
    #[arg(short = 'Z', value_name = "FLAG", value_parser = ["unstable-options"], hide_possible_values = true)]
    unstable: Vec<String>,
    /// No effect: the JUnit files have the time of each test.
    #[arg(long)]
    report_time: bool,
    /// Refused: limit the time of a test with `timeout`.
    #[arg(long)]
    ensure_time: bool,
    /// Refused: tests always run in worker processes.
    #[arg(long)]
    force_run_in_process: bool,
    /// Run the tests of each device in a random order. The seed is printed and logged.
    #[arg(long)]
    pub shuffle: bool,
    /// Run the tests of each device in the order of this seed.
    #[arg(long, value_name = "SEED")]
    pub shuffle_seed: Option<u64>,
    /// Run no test. Install an OpenCL device for the CPU from PyPI in the cache folder of the user, unless it is
    /// there, and print the commands that show it to a POSIX shell: PoCL, or Intel's CPU runtime (large,
    /// proprietary) where PoCL does not work.
    #[cfg(feature = "provision")]
    #[arg(long)]
    pub provision: bool,
    /// The driver of `--provision`: `pocl` or `intel` [default: the first of these that works].
    #[cfg(feature = "provision")]
    #[arg(long, value_enum, hide_possible_values = true, requires = "provision")]
    pub driver: Option<Runtime>,
}

impl CommandLine {
    /// Returns whether a text is the help of a target of this project.
    pub fn has_help(text: &str) -> bool {
        text.contains("CLMATRIX_CONFIG")
    }

    /// Returns an error for an option that is not supported.
    pub fn check(&self) -> Result<(), String> {
        let (option, reason) = if self.ensure_time {
            ("--ensure-time", "limit the time of a test with `timeout`")
        } else if self.force_run_in_process {
            ("--force-run-in-process", "tests always run in worker processes")
        } else {
            return Ok(());
        };
        Err(format!("{option} is not supported: {reason}"))
    }

    /// Returns whether the output of tests is printed while they run.
    pub fn echoes(&self) -> bool {
        self.no_capture || variable::value("RUST_TEST_NOCAPTURE").is_some_and(|v| v != "0")
    }

    /// Returns whether each test has a line of its own.
    pub fn is_pretty(&self) -> bool {
        !self.quiet && matches!(self.format, None | Some(FormatSetting::Pretty))
    }

    /// Returns the options with which libtest-mimic prints the results. The tests are selected already.
    pub fn printing(&self) -> Arguments {
        Arguments {
            // Trials only wait; one thread prints them in their order, as they begin and end.
            test_threads: Some(1),
            logfile: self.logfile.clone(),
            quiet: self.quiet,
            color: self.color,
            format: self.format,
            ..Arguments::default()
        }
    }

    /// Returns the tests of a shard that the filters, `--skip`, `--ignored`, `--exclude-should-panic` and `--bench`
    /// let through.
    pub fn plan(
        &self,
        home: &'static str,
        tests: &[Case],
        devices: Vec<TestDevice>,
        shard: Option<&Shard>,
    ) -> Plan {
        // nextest counts a test that is skipped here as a pass, but does not run ignored tests.
        let list_for_nextest = self.list && under_nextest();
        Plan::new(home, tests, devices, |id, entry, device| {
            let cannot =
                || device.is_some_and(|device| entry.test.missing(&device.run.info).is_some());
            let ignored = || entry.test.ignore() != Ignore::No || list_for_nextest && cannot();
            let matches = |pattern: &String| self.matches(pattern, id);
            let left_out =
                self.exclude_should_panic && entry.test.should_panic() != ShouldPanic::No;
            shard.is_none_or(|shard| shard.has_by_hash(id.path()))
                && !(self.bench || left_out)
                && (self.filters.is_empty() || self.filters.iter().any(matches))
                && !self.skip.iter().any(matches)
                && (!self.ignored || ignored())
        })
    }

    /// Returns the folder of the run's reports, if it has any.
    ///
    /// nextest runs each test in a process of its own, and writes its own report. `cargo test
    /// FILTER` starts every target, and most have no test that matches.
    pub(crate) fn place(
        &self,
        target: Target,
        setup: &Setup,
        plan: &Plan,
        shard: Option<&(Engine, Shard)>,
        run_id: &str,
    ) -> Option<Place> {
        if under_nextest() || self.is_filtered() && plan.entries.is_empty() {
            return None;
        }
        let by_engine = shard.and_then(|(engine, _)| engine.report_folder());
        let folder = by_engine.unwrap_or_else(|| setup.report_folder());
        let folder = folder.join(target.package).join(target.name);
        Some(Place {
            folder: shard.map_or(folder.clone(), |(_, shard)| folder.join(shard.folder())),
            run_id: run_id.to_owned(),
            is_full: !self.is_filtered() && !plan.lacks_devices(),
            resumes: None,
        })
    }

    /// Returns the arguments that select a part of the target's tests.
    pub(crate) fn selection(&self) -> Vec<String> {
        let skipped = self.skip.iter().map(|filter| format!("--skip={filter}"));
        let ignored = self.ignored.then(|| "--ignored".to_owned());
        self.filters.iter().cloned().chain(skipped).chain(ignored).collect()
    }

    /// Returns whether the command line selects a part of the target's tests.
    fn is_filtered(&self) -> bool {
        !self.selection().is_empty() || self.exclude_should_panic || self.bench
    }

    /// Returns whether a filter or a `--skip` matches a test. With `--exact`, an id without its device, as
    /// editors send it, matches the test on every device.
    fn matches(&self, pattern: &str, id: &TestId) -> bool {
        if self.exact { *id == pattern || id.path() == pattern } else { id.contains(pattern) }
    }
}

#[cfg(test)]
mod tests {
    use clap::CommandFactory;

    use super::*;

    // The options that libtest of Rust 1.95 names; its own `--help` is compared by hand.
    #[test]
    fn help_names_every_option_of_libtest() {
        let help = CommandLine::command().render_long_help().to_string();
        let options = "--include-ignored --ignored --force-run-in-process --exclude-should-panic --test \
            --bench --list --logfile --no-capture --nocapture --test-threads --skip -q --quiet \
            --exact --color --format --show-output -Z --report-time --ensure-time --shuffle \
            --shuffle-seed";
        for option in options.split(' ') {
            let mut words = help.split([' ', '\n', ',', '[', ']']);
            assert!(words.any(|word| word == option), "{option}: {help}");
        }
        assert!(!help.contains("libtest-mimic"), "{help}");
    }

    #[test]
    fn options_of_libtest_are_taken_or_refused() {
        let read = |words: &str| CommandLine::try_parse_from(format!("t {words}").split(' '));
        for (words, is_taken) in [
            ("--test-threads 7", true),
            ("--test-threads=1", true),
            ("--test-threads 0", false),
            ("--report-time -Zunstable-options", true),
            ("--test", true),
            ("--exclude-should-panic --skip a --skip b", true),
            ("--no-capture --show-output", true),
            ("--color never", true),
            ("--format terse", true),
            ("--format junit", false),
            ("--quiet", true),
            ("--bogus", false),
        ] {
            assert_eq!(read(words).is_ok(), is_taken, "{words}");
        }
        for option in ["--ensure-time", "--force-run-in-process"] {
            let error = read(option).unwrap().check().unwrap_err();
            assert!(error.starts_with(&format!("{option} is not supported: ")), "{error}");
        }
    }
}
