//! Tests that know how often they have run on a device, by a file in the folder in which tests meet.

use std::fs::File;
use std::io::Write;
use std::path::PathBuf;

use clmatrix::Device;
use clmatrix_harness::skip;

use super::MEETING;

#[clmatrix_harness::test]
fn fails_the_second_time(device: Device) {
    let Some(folder) = std::env::var_os(MEETING) else { skip!("runs are not counted") };
    let count = PathBuf::from(folder).join(device.name());
    let mut count = File::options().create(true).append(true).open(count).expect("a file");
    count.write_all(b"x").expect("the file can be written");
    assert_ne!(count.metadata().expect("a length").len(), 2);
}

#[clmatrix_harness::test]
fn comes_after_it() {}
