//! Tests that show whether the long ones were started first.

use std::path::PathBuf;
use std::thread;
use std::time::Duration;

use clmatrix::Device;
use clmatrix_harness::device;
use rstest::rstest;

use super::MEETING;

/// The files of the long tests of a device in the folder in which tests meet, if there is one.
fn files(device: &Device) -> Option<[PathBuf; 2]> {
    let folder = PathBuf::from(std::env::var_os(MEETING)?);
    let device = device.name();
    Some([1, 2].map(|number| folder.join(format!("{number} {device}"))))
}

/// If tests meet, both long tests must have begun.
#[clmatrix_harness::test]
fn ends_at_once(device: Device) {
    assert!(files(&device).iter().flatten().all(|file| file.exists()), "before a long test");
}

/// Takes its time. If tests meet, waits for the other long test instead.
#[rstest]
#[clmatrix_harness::test(timeout = "100s")]
fn takes_long(device: Device, #[values(1, 2)] number: usize) {
    let Some(files) = files(&device) else { return thread::sleep(Duration::from_millis(500)) };
    std::fs::write(&files[number - 1], "").expect("the folder can be written to");
    while !files.iter().all(|file| file.exists()) {
        thread::sleep(Duration::from_millis(5));
    }
}
