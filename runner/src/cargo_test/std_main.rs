//! Targets with libtest's own `main` (`harness = true`): one libtest entry covers all devices.
//!
//! A worker is this executable with `--exact NAME`. The test of that name finds the role of a worker in
//! the environment and serves the runner from inside libtest.

use std::ffi::OsString;
use std::sync::OnceLock;

use parking_lot::Mutex;

use crate::case::Case;
use crate::config::Sync;
use crate::log::{Observer, Recorder};
use crate::os::StopSignal;
use crate::registry::{self, Test};
use crate::result::test_result::{TestResult, left_behind_text};
use crate::run::entry::Entry;
use crate::run::plan::Plan;
use crate::run::schedule;
use crate::setup::{Options, Setup, SetupError};
use crate::terminal::{for_people, harmless};
use crate::worker::child;

/// The machine, enumerated once for all tests of this process.
static SETUP: OnceLock<Result<Setup, SetupError>> = OnceLock::new();

/// Serializes the tests on the devices: libtest runs them in parallel.
static TURN: Mutex<()> = Mutex::new(());

/// Runs a registered test on all selected devices; called by the `#[test]` beside it.
///
/// # Panics
///
/// A verdict is not as expected, or the run cannot be made. The message names the devices and the
/// failure on each.
pub fn run(module: &str, name: &str) {
    child::enter_if_asked();
    let test = registry::find(module, name).expect("the test registers itself");
    let setup = SETUP.get_or_init(|| Setup::new(options(test)));
    let setup = setup.as_ref().unwrap_or_else(|error| panic!("{error}"));
    let results = run_on_all_devices(setup, test).unwrap_or_else(|error| panic!("{error}"));
    for failed in &setup.machine.failed {
        eprintln!("warning: driver {}", for_people(&failed.to_string(), &[]));
    }
    report(&results);
    let absent = setup.absent.join(", ");
    assert!(absent.is_empty(), "the profile expects devices that were not found: {absent}");
    let are_usable = setup.unusable_drivers().is_empty();
    assert!(are_usable, "the profile has `strict-drivers`, and a driver has failed");
}

fn options(test: &Test) -> Options {
    let arguments =
        ["--exact", &test.libtest_name(), "--nocapture", "--include-ignored", "--test-threads=1"];
    Options {
        cached_devices: true,
        provision: "cargo install --path ../clmatrix/cli && \
                    eval \"$(clmatrix provision --print-env)\""
            .to_owned(),
        worker_arguments: arguments.into_iter().map(OsString::from).collect(),
        ..Options::default()
    }
}

fn run_on_all_devices(setup: &Setup, test: &'static Test) -> Result<Vec<TestResult>, SetupError> {
    let devices = setup.devices_if_any()?;
    let home = test.module.split("::").next().unwrap_or_default();
    let plan = Plan::new(home, &[Case::Registered(test)], devices, |_, _, _| true);
    setup.require_devices(&plan)?;
    let mut run = setup.run(&plan)?;
    // libtest has decided already.
    run.include_ignored = true;

    let results = Results::default();
    let recorder = Recorder::new(None, Sync::Off, false, &results);
    let never = StopSignal::new().expect("a descriptor can be made");
    let turn = TURN.lock();
    schedule::execute(&run, &recorder, &never);
    drop(turn);
    Ok(results.0.into_inner())
}

/// Collects the results.
#[derive(Default)]
struct Results(Mutex<Vec<TestResult>>);

impl Observer for Results {
    fn of_worker(&self, result: &TestResult) {
        let mut results = self.0.lock();
        results.retain(|earlier| earlier.test != result.test);
        results.push(result.clone());
    }

    fn finished(&self, _position: Entry, result: &TestResult) {
        self.0.lock().push(result.clone());
    }
}

fn report(results: &[TestResult]) {
    for result in results {
        for attempt in result.earlier.iter().chain([result]) {
            print!("{}", harmless(&attempt.attempt.stdout));
            eprint!("{}", harmless(&attempt.attempt.stderr));
            let stack = attempt.attempt.stacks.as_ref().map(|stacks| stacks.top(str::to_owned));
            stack.iter().flatten().for_each(|line| eprintln!("{line}"));
        }
        println!("{}", line(result));
        if !result.attempt.left_behind.is_empty() {
            println!("{}", for_people(&left_behind_text(&result.attempt.left_behind), &[]));
        }
    }
    let failed = results.iter().filter(|result| !result.is_as_expected());
    let failed: Vec<String> = failed.map(line).collect();
    if !failed.is_empty() {
        panic!("failed on {} of {} devices:\n{}", failed.len(), results.len(), failed.join("\n"));
    }
}

/// The id of a test and its result.
fn line(result: &TestResult) -> String {
    for_people(&format!("{}: {}", result.test, result.summary()), &[]).into_owned()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::log::sample::result;
    use crate::verdict::Outcome;

    #[test]
    fn a_line_has_nothing_that_a_terminal_acts_on() {
        let failed = Outcome::Failed { message: "a\u{1b}[2J\nb".to_owned(), location: None };
        let line = line(&result("s::t@d\u{202e}", failed));
        assert_eq!(line, "s::t@d\\u{202e}: fail: a\\u{1b}[2J\nb");
    }
}
