//! Tests that end their process, always or not, on different threads.

use std::thread;
use std::time::Duration;

use clmatrix_harness::CtxFactory;

use super::flakes::execution;
use super::{abort_on_a_foreign_thread, use_the_device};

#[clmatrix_harness::test]
fn harmless() {}

/// Waits for the end of the process.
fn wait_for_the_end() -> ! {
    thread::sleep(Duration::from_secs(20));
    panic!("the process has not ended");
}

#[clmatrix_harness::test]
fn crashes_first_on_a_thread_of_its_own() {
    if execution("crashes_first_on_a_thread_of_its_own") == 1 {
        thread::spawn(|| std::process::abort());
        wait_for_the_end();
    }
}

#[clmatrix_harness::test]
fn crashes_first_on_a_foreign_thread(ctx_factory: CtxFactory) {
    use_the_device(ctx_factory);
    if execution("crashes_first_on_a_foreign_thread") == 1 {
        abort_on_a_foreign_thread();
        wait_for_the_end();
    }
}

#[clmatrix_harness::test]
fn exits_at_first() {
    if execution("exits_at_first") == 1 {
        std::process::exit(7);
    }
}

#[clmatrix_harness::test]
fn exits_at_first_on_another_thread() {
    if execution("exits_at_first_on_another_thread") == 1 {
        thread::spawn(|| std::process::exit(7));
        wait_for_the_end();
    }
}

#[clmatrix_harness::test]
fn ends_at_first_without_a_word() {
    if execution("ends_at_first_without_a_word") == 1 {
        // SAFETY: the call takes a number, and ends the process.
        unsafe { libc::_exit(7) };
    }
}

#[clmatrix_harness::test(timeout = "8s")]
fn sleeps_for_four_seconds() {
    execution("sleeps_for_four_seconds");
    thread::sleep(Duration::from_secs(4));
}
