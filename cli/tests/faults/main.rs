//! The promises of the harness when tests go wrong, on the real drivers of this machine.
//!
//! This executable is two things. As a child it is a command line like `clmatrix`, or a target
//! like one of a downstream crate, over the tests in [`faulty`], which crash, hang and flood. By
//! itself it runs that child and looks at what was reported.

mod again;
mod bisect;
mod characterize;
mod contexts;
mod cpu;
mod delayed;
mod drivers;
mod event_log;
mod expectations;
mod external;
mod faulty;
mod flakes;
mod leaks;
mod leftovers;
mod libtest;
mod merge;
mod reports;
mod resumed;
mod rounds;
mod run;
mod sick;
mod side_by_side;
mod stacks;
mod stop;
mod support;
mod terminal;
mod unreliable;
#[path = "../../../harness/examples/schema/valid.rs"]
mod valid;
mod visible;

use std::process::ExitCode;

use clmatrix_harness::Target;
use libtest_mimic::{Arguments, Failed, Trial};

const TARGET: Target =
    Target { home: "faults", package: "clmatrix-cli", version: "0", name: "faults", config: None };

/// A test of this target.
type Check = (&'static str, fn());

fn main() -> ExitCode {
    match std::env::var(support::ROLE).as_deref() {
        Ok(support::COMMAND) => return clmatrix_cli::main(TARGET),
        Ok(support::LIBTEST) => return clmatrix_harness::private::cargo_test::main(TARGET),
        Ok(support::MIMIC) => return external::mimic(),
        _ => {}
    }
    let checks = [
        run::CHECKS,
        expectations::CHECKS,
        external::CHECKS,
        side_by_side::CHECKS,
        rounds::CHECKS,
        again::CHECKS,
        resumed::CHECKS,
        stop::CHECKS,
        sick::CHECKS,
        delayed::CHECKS,
        unreliable::CHECKS,
        stacks::CHECKS,
        flakes::CHECKS,
        event_log::CHECKS,
        bisect::CHECKS,
        characterize::CHECKS,
        drivers::CHECKS,
        contexts::CHECKS,
        leaks::CHECKS,
        leftovers::CHECKS,
        libtest::CHECKS,
        merge::CHECKS,
        reports::CHECKS,
        terminal::CHECKS,
        visible::CHECKS,
    ]
    .concat();
    let trials =
        checks.into_iter().map(|(name, check): Check| Trial::test(name, move || run(check)));
    let mut arguments = Arguments::from_args();
    // Each check already keeps every device busy.
    arguments.test_threads = Some(1);
    libtest_mimic::run(&arguments, trials.collect()).exit_code()
}

fn run(check: fn()) -> Result<(), Failed> {
    support::take_transcript();
    std::panic::catch_unwind(check).map_err(|_| support::take_transcript().into())
}
