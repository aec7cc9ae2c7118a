//! `cargo xtask stress`: the suite `stress` with new seeds until the time is up, or with one seed.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;
use std::process::{Command, ExitCode};
use std::time::{Duration, Instant, SystemTime};

use anyhow::{Context, Result};
use clap::Args;
use clmatrix_runner::provision::Environment;
use clmatrix_runner::result::test_id::TestId;
use serde_json::Value;

use crate::files::{self, cannot};
use crate::process;
use crate::workspace::Workspace;

/// The number of seeds of one run of the suite.
const SEEDS: u64 = 8;

/// The options of `cargo xtask stress`.
#[derive(Args)]
pub struct Options {
    /// Run for this time with new seeds [default: 1, or one seed if there is a `--seed`]
    #[arg(long, value_name = "N", conflicts_with = "seconds")]
    minutes: Option<u64>,
    /// As `--minutes`, in seconds
    #[arg(long, value_name = "N")]
    seconds: Option<u64>,
    /// The first seed [default: from the clock]
    #[arg(long, value_name = "S")]
    seed: Option<u64>,
    /// The number of threads; with 1, the same commands run in the same order [default: 3]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(1..))]
    threads: Option<u64>,
    /// Make calls of all kinds, also invalid ones, check only that each returns, and print their numbers
    #[arg(long)]
    api: bool,
    /// Run on the devices whose ids match this glob
    #[arg(long, value_name = "GLOB", default_value = "*")]
    device: String,
    /// Print each command before it runs, on standard error
    #[arg(long)]
    trace: bool,
}

impl Options {
    /// The time for new seeds; `None` for one seed.
    fn time(&self) -> Option<Duration> {
        let minutes = self.minutes.map(|minutes| Duration::from_secs(60 * minutes));
        let time = minutes.or(self.seconds.map(Duration::from_secs));
        time.or(self.seed.is_none().then_some(Duration::from_secs(60)))
    }

    fn first_seed(&self) -> u64 {
        self.seed.unwrap_or_else(|| {
            let now = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH);
            now.map_or(0, |now| now.as_secs())
        })
    }

    /// The command for one run of the suite.
    fn command(&self, clmatrix: &Path, reports: &Path, seed: u64, seeds: u64) -> Command {
        let test = if self.api { "random_calls" } else { "random_commands" };
        let mut command = Command::new(clmatrix);
        command.args(["run", "--quiet", &format!("stress::{test}@{}", self.device)]);
        command.arg("--report-dir").arg(reports);
        if self.trace {
            command.arg("--no-capture").env("CLMATRIX_STRESS_TRACE", "1");
        }
        if let Some(threads) = self.threads {
            command.env("CLMATRIX_STRESS_THREADS", threads.to_string());
        }
        command.env("CLMATRIX_STRESS_SEED", seed.to_string());
        command.env("CLMATRIX_STRESS_SEEDS", seeds.to_string());
        command
    }
}

/// Runs the suite until the time is up or a run fails.
pub fn run(
    workspace: &Workspace,
    clmatrix: &Path,
    environment: &Environment,
    options: &Options,
) -> Result<ExitCode> {
    let begin = Instant::now();
    let time = options.time();
    let seeds = if time.is_some() { SEEDS } else { 1 };
    let mut seed = options.first_seed();
    let reports = workspace.target.join("stress");
    let mut calls = Calls::default();
    loop {
        let mut command = options.command(clmatrix, &reports, seed, seeds);
        command.current_dir(&workspace.root);
        environment.apply(&mut command);
        println!("seeds from {seed} on: {seeds}");
        files::remove_tree(&reports)?;
        let status = process::status(&mut command)?;
        for run in files::entries(&reports.join("runs"))? {
            let log = run.join("events.jsonl");
            calls.add(&fs::read_to_string(&log).with_context(|| cannot("read", &log))?)?;
        }
        if !status.success() || time.is_none_or(|time| begin.elapsed() >= time) {
            calls.print();
            return Ok(process::exit_code(status, true));
        }
        seed = seed.wrapping_add(seeds);
    }
}

/// The numbers of accepted and refused calls of each kind on each device.
#[derive(Default)]
struct Calls(BTreeMap<String, BTreeMap<String, [u64; 2]>>);

impl Calls {
    /// Adds the numbers that the tests of a run have printed.
    fn add(&mut self, log: &str) -> Result<()> {
        for line in log.lines() {
            let event: Value = serde_json::from_str(line)?;
            let test = TestId::parse(event["test"].as_str().unwrap_or_default());
            let printed = event["stderr"].as_str().unwrap_or_default();
            for (kind, [accepted, refused]) in printed.lines().filter_map(numbers) {
                let sums = self.0.entry(kind.to_owned()).or_default();
                let sum = sums.entry(test.device().to_owned()).or_default();
                *sum = [sum[0] + accepted, sum[1] + refused];
            }
        }
        Ok(())
    }

    fn print(&self) {
        for (kind, devices) in &self.0 {
            let numbers = devices.iter().map(|(device, [accepted, refused])| {
                format!("{device} {accepted} accepted, {refused} refused")
            });
            let sum: u64 = devices.values().flatten().sum();
            println!("{kind}: {sum} calls ({})", numbers.collect::<Vec<_>>().join("; "));
        }
    }
}

/// Returns what `stress::random_calls` has printed about a kind of calls.
fn numbers(line: &str) -> Option<(&str, [u64; 2])> {
    let (kind, numbers) = line.split_once(": ")?;
    let (accepted, refused) = numbers.strip_suffix(" refused")?.split_once(" accepted, ")?;
    Some((kind, [accepted.parse().ok()?, refused.parse().ok()?]))
}

#[cfg(test)]
mod tests {
    use clap::Parser;

    use super::*;

    #[derive(Parser)]
    struct Line {
        #[command(flatten)]
        options: Options,
    }

    fn options(line: &str) -> Options {
        Line::parse_from(format!("stress {line}").split_whitespace()).options
    }

    #[test]
    fn a_seed_alone_is_one_run() {
        for (line, seconds) in [
            ("", Some(60)),
            ("--minutes 2", Some(120)),
            ("--seconds 20", Some(20)),
            ("--seed 5", None),
            ("--seed 5 --seconds 20", Some(20)),
        ] {
            assert_eq!(options(line).time(), seconds.map(Duration::from_secs), "{line}");
        }
    }

    #[test]
    fn the_suite_gets_its_seed_and_threads() {
        let options = options("--seed 5 --threads 1 --device pocl-*");
        let command = options.command(Path::new("clmatrix"), Path::new("reports"), 5, 1);
        assert!(command.get_args().any(|arg| arg == "stress::random_commands@pocl-*"));
        let variable = |name: &str| {
            let found = command.get_envs().find(|(found, _)| *found == name);
            found.and_then(|(_, value)| value?.to_str())
        };
        assert_eq!(variable("CLMATRIX_STRESS_SEED"), Some("5"));
        assert_eq!(variable("CLMATRIX_STRESS_SEEDS"), Some("1"));
        assert_eq!(variable("CLMATRIX_STRESS_THREADS"), Some("1"));
        assert_eq!(variable("CLMATRIX_STRESS_TRACE"), None);
    }

    #[test]
    fn calls_of_all_kinds_are_a_test_of_their_own() {
        let command = options("--api").command(Path::new("clmatrix"), Path::new("reports"), 5, 1);
        assert!(command.get_args().any(|arg| arg == "stress::random_calls@*"));
    }

    #[test]
    fn calls_of_all_runs_are_added() {
        let event = |device: &str, printed: &str| {
            let test = format!("stress::random_calls@{device}");
            serde_json::json!({ "test": test, "stderr": printed }).to_string()
        };
        let mut calls = Calls::default();
        calls.add(&event("a", "[ERROR x] y: z\nmap: 2 accepted, 1 refused\n")).unwrap();
        let log = event("a", "map: 3 accepted, 4 refused")
            + "\n"
            + &event("b", "map: 5 accepted, 0 refused");
        calls.add(&log).unwrap();
        let devices = [("a".to_owned(), [5, 5]), ("b".to_owned(), [5, 0])];
        assert_eq!(calls.0, BTreeMap::from([("map".to_owned(), devices.into())]));
    }
}
