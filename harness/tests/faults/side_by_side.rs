//! Tests that pass only while others run: on other devices, or on another slot of the same one.

use std::process::Output;

use crate::Check;
use crate::faulty::MEETING;
use crate::support::{COMMAND, LIBTEST, child, output};

pub const CHECKS: &[Check] = &[
    ("side_by_side::devices_do_not_wait_for_each_other", devices_do_not_wait_for_each_other),
    ("side_by_side::slots_share_a_device", slots_share_a_device),
];

/// How many devices there are.
fn devices() -> usize {
    let listing = output(child(LIBTEST, &["--list", "faulty::meets_one"]));
    String::from_utf8_lossy(&listing.stdout).lines().count()
}

/// Runs a child whose tests wait until `expected` of them have begun.
fn meet(expected: usize, role: &str, arguments: &[&str], config: Option<&str>) -> Output {
    let folder = tempfile::tempdir().expect("a folder");
    let meeting = folder.path().join(format!("meeting.{expected}"));
    std::fs::create_dir(&meeting).expect("the folder can be made");
    let mut command = child(role, arguments);
    command.env(MEETING, meeting);
    if let Some(config) = config {
        let file = folder.path().join("clmatrix.toml");
        std::fs::write(&file, config).expect("the configuration can be written");
        command.env("CLMATRIX_CONFIG", file);
    }
    output(command)
}

fn devices_do_not_wait_for_each_other() {
    for threads in ["1", "16"] {
        let arguments = ["faulty::meets_one", "--test-threads", threads];
        let run = meet(devices(), LIBTEST, &arguments, None);
        assert!(run.status.success(), "with --test-threads {threads}");
    }
}

fn slots_share_a_device() {
    let two = "[profile.default]\nslots = 2\n";
    let folder = tempfile::tempdir().expect("a folder");
    let reports = folder.path().to_str().expect("a path in UTF-8");
    let arguments = ["run", "faulty::meets_*", "--report-dir", reports];
    let run = meet(2 * devices(), COMMAND, &arguments, Some(two));
    assert!(run.status.success());
    let text = String::from_utf8_lossy(&run.stdout);
    assert!(text.contains(&format!("{} passed", 2 * devices())), "{text}");
}
