//! The device on which a check runs whose promise does not depend on the driver.

use std::sync::LazyLock;

use serde_json::Value;

use crate::support::{COMMAND, child, output};

/// PoCL, or Intel's CPU runtime on a processor that PoCL does not know.
static PLATFORM: LazyLock<&'static str> = LazyLock::new(|| {
    let devices = output(child(COMMAND, &["devices", "--format", "json"]));
    assert!(devices.status.success(), "{}", devices.stderr);
    let devices: Vec<Value> = serde_json::from_str(&devices.stdout).expect("JSON");
    let is_there = |platform: &&str| {
        let id = format!("{platform}-cpu");
        devices.iter().any(|device| device["id"] == id)
    };
    ["pocl", "intel"].into_iter().find(is_there).expect("PoCL or Intel's CPU runtime")
});

/// Returns whether the variable `POCL_DEVICES` makes several devices of it. If not, the check says that it is
/// skipped.
pub fn can_be_several() -> bool {
    let is_pocl = platform() == "pocl";
    if !is_pocl {
        println!("skipped: PoCL alone makes several devices of one processor");
    }
    is_pocl
}

/// Its platform as `--devices` and `CLMATRIX_TEST` take it.
pub fn platform() -> &'static str {
    *PLATFORM
}

/// Its ID.
pub fn id() -> String {
    format!("{}-cpu", platform())
}

/// The ID of a test on it.
pub fn test(path: &str) -> String {
    format!("{path}@{}", id())
}
