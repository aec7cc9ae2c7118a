//! Tests that take their time, and tests that have their device for themselves.

use std::thread;
use std::time::Duration;

use rstest::rstest;

#[rstest]
#[clmatrix_harness::test]
fn takes_its_time(#[values(1, 2, 3, 4, 5, 6)] _number: u32) {
    thread::sleep(Duration::from_millis(100));
}

#[rstest]
#[clmatrix_harness::test(alone)]
fn is_alone(#[values(1, 2)] _number: u32) {
    thread::sleep(Duration::from_millis(300));
}
