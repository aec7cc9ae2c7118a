//! Tests whose results depend on earlier executions, in the same process or in others.

use std::fs::OpenOptions;
use std::io::Write;
use std::sync::atomic::{AtomicBool, Ordering};

use clmatrix_harness::{CtxFactory, ctx_factory, skip};
use rstest::rstest;

use super::use_the_device;

/// Names the folder in which these tests count their executions.
pub const COUNTS: &str = "CLMATRIX_FAULTS_COUNTS";

/// Counts an execution of a test, in all processes. Skips the test where no check asks for it.
pub fn execution(test: &str) -> u64 {
    let Some(folder) = std::env::var_os(COUNTS) else { skip!("for the checks of flakes") };
    let path = std::path::Path::new(&folder).join(test);
    let mut file = OpenOptions::new().create(true).append(true).open(path).expect("a file");
    file.write_all(b"x").expect("it is written");
    file.metadata().expect("a length").len()
}

#[clmatrix_harness::test]
fn fails_at_first(ctx_factory: CtxFactory) {
    let execution = execution("fails_at_first");
    use_the_device(ctx_factory);
    println!("execution {execution}");
    assert_ne!(execution, 1, "the first execution");
}

#[clmatrix_harness::test]
fn aborts_at_first(ctx_factory: CtxFactory) {
    let execution = execution("aborts_at_first");
    use_the_device(ctx_factory);
    if execution == 1 {
        std::process::abort();
    }
}

#[clmatrix_harness::test]
fn fails_always(ctx_factory: CtxFactory) {
    let execution = execution("fails_always");
    use_the_device(ctx_factory);
    panic!("execution {execution}");
}

static IS_BROKEN: AtomicBool = AtomicBool::new(false);

#[clmatrix_harness::test]
fn breaks_a_later_test(ctx_factory: CtxFactory) {
    use_the_device(ctx_factory);
    IS_BROKEN.store(true, Ordering::Relaxed);
}

#[rstest]
#[clmatrix_harness::test]
fn runs_in_between(ctx_factory: CtxFactory, #[values(1, 2, 3, 4)] _number: u32) {
    use_the_device(ctx_factory);
}

#[clmatrix_harness::test]
fn needs_order(ctx_factory: CtxFactory) {
    execution("needs_order");
    use_the_device(ctx_factory);
    assert!(!IS_BROKEN.load(Ordering::Relaxed), "another test broke this one");
}

#[clmatrix_harness::test]
fn changes_its_folder(ctx_factory: CtxFactory) {
    execution("changes_its_folder");
    use_the_device(ctx_factory);
    std::env::set_current_dir("/").expect("there is a root");
}
