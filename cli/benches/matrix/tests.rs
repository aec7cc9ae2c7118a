//! The tests of the runs.

use clmatrix_harness::ctx_factory;
use clmatrix_runner::inventory;
use clmatrix_runner::registry::{Ignore, ShouldPanic, Test, TestReturn};

/// Registers a test for each number of four digits.
macro_rules! tests {
    ($a:literal $b:literal $c:literal $d:literal) => {
        inventory::submit! {
            test(
                concat!("matrix::suite_", $a, "::a_module_of_the_suite"),
                concat!("a_test_with_a_name_of_usual_length::case_", $b, $c, $d),
            )
        }
    };
    ($($digits:literal)*) => {
        tests!($($digits)* 0);
        tests!($($digits)* 1);
        tests!($($digits)* 2);
        tests!($($digits)* 3);
        tests!($($digits)* 4);
        tests!($($digits)* 5);
        tests!($($digits)* 6);
        tests!($($digits)* 7);
        tests!($($digits)* 8);
        tests!($($digits)* 9);
    };
}

#[cfg(not(debug_assertions))]
tests!();
// Ten are enough for the compiler's checks.
#[cfg(debug_assertions)]
tests!(0 0 0);

const fn test(module: &'static str, name: &'static str) -> Test {
    Test {
        module,
        name,
        file: file!(),
        line: line!(),
        run: make_a_context,
        ignore: Ignore::No,
        should_panic: ShouldPanic::No,
        once: false,
        alone: false,
        fresh_context: false,
        own_worker: false,
        requires: &[],
        timeout: None,
    }
}

fn make_a_context() -> TestReturn {
    let context = ctx_factory()().map_err(|error| error.to_string())?;
    drop(context);
    Ok(())
}
