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
mod crashes;
mod delayed;
mod drivers;
mod event_log;
mod expectations;
mod external;
mod faulty;
mod files;
mod flakes;
mod leaks;
mod leftovers;
mod libtest;
mod merge;
mod repeat;
mod reports;
mod resumed;
mod run;
mod sick;
mod side_by_side;
mod stacks;
mod stop;
mod support;
mod terminal;
mod unreliable;
#[path = "../../../runner/examples/schema/valid.rs"]
mod valid;
mod visible;

use std::process::ExitCode;

use clmatrix_runner::inventory;
use clmatrix_runner::target::Target;
use libtest_mimic::{Arguments, Failed, Trial};

const TARGET: Target =
    Target { home: "faults", package: "clmatrix-cli", version: "0", name: "faults", config: None };

/// A test of this target.
struct Check {
    name: &'static str,
    run: fn(),
}

inventory::collect!(Check);

/// Declares a test of this target, whose name begins with its module.
macro_rules! check {
    ($name:ident, $body:block) => {
        clmatrix_runner::inventory::submit! {
            crate::Check { name: concat!(module_path!(), "::", stringify!($name)), run: $name }
        }

        fn $name() $body
    };
}
use check;

fn main() -> ExitCode {
    match std::env::var(support::ROLE).as_deref() {
        Ok(support::COMMAND) => return clmatrix_cli::main(TARGET),
        Ok(support::LIBTEST) => return clmatrix_runner::cargo_test::main(TARGET),
        Ok(support::MIMIC) => return external::mimic(),
        _ => {}
    }
    let mut checks: Vec<&Check> = inventory::iter::<Check>.into_iter().collect();
    checks.sort_by_key(|check| check.name);
    let trials = checks.into_iter().map(|check| {
        // The first part of a path is the name of this target.
        let (_, name) = check.name.split_once("::").expect("a module");
        Trial::test(name, || run(check.run))
    });
    let mut arguments = Arguments::from_args();
    // Most checks wait for most of their time, and each may keep every device busy.
    arguments.test_threads.get_or_insert(2);
    libtest_mimic::run(&arguments, trials.collect()).exit_code()
}

fn run(check: fn()) -> Result<(), Failed> {
    support::take_transcript();
    std::panic::catch_unwind(check).map_err(|_| support::take_transcript().into())
}
