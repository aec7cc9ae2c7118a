//! Tests that pass only while others run: on other devices, or on another slot of the same one.

use std::collections::HashMap;
use std::process::Output;

use clmatrix_harness::private::verdict::Verdict;

use crate::Check;
use crate::cpu;
use crate::faulty::MEETING;
use crate::support::{COMMAND, LIBTEST, child, child_as_written, events, log, output, results};

pub const CHECKS: &[Check] = &[
    ("side_by_side::devices_do_not_wait_for_each_other", devices_do_not_wait_for_each_other),
    ("side_by_side::slots_share_a_device", slots_share_a_device),
    ("side_by_side::slots_follow_from_the_machine", slots_follow_from_the_machine),
    ("side_by_side::the_option_replaces_the_slots", the_option_replaces_the_slots),
    (
        "side_by_side::a_failure_after_a_crash_in_another_slot_is_repeated_alone",
        a_failure_after_a_crash_in_another_slot_is_repeated_alone,
    ),
    ("side_by_side::a_test_may_be_alone_on_its_device", a_test_may_be_alone_on_its_device),
    ("side_by_side::the_longest_tests_come_first", the_longest_tests_come_first),
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
    let mut command = child_as_written(role, arguments);
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
    two_meet_on_each_device("[profile.default]\nslots = 2\n", &[]);
}

fn slots_follow_from_the_machine() {
    let processors = std::thread::available_parallelism().expect("a number").get();
    let slots = |config: &str, options: &[&str]| {
        let folder = tempfile::tempdir().expect("a folder");
        let reports = folder.path().to_str().expect("a path in UTF-8");
        let arguments = [&["run", "faulty::passes", "--report-dir", reports], options].concat();
        meet(1, COMMAND, &arguments, Some(config));
        let events = events(folder.path());
        let records = events.iter().filter(|event| event["event"] == "device");
        let slots = records.map(|record| record["settings"]["slots"].as_u64().expect("a number"));
        slots.collect::<Vec<u64>>()
    };
    let auto = slots("", &[]);
    // All devices of these checks are processors.
    assert_eq!(auto, vec![(processors / auto.len()).clamp(1, 8) as u64; auto.len()]);
    let of_override = "[profile.default]\nslots = 3\n[[override]]\nid = \"*\"\nslots = \"auto\"\n";
    assert_eq!(slots(of_override, &[]), auto);
    assert_eq!(slots("[profile.default]\nslots = 3\n", &["--slots", "auto"]), auto);
}

fn the_option_replaces_the_slots() {
    let one = "[[override]]\nid = \"*\"\nslots = 1\n";
    two_meet_on_each_device(one, &["--slots", "2"]);
    let arguments = ["faulty::meets_", "--test-threads", "2"];
    assert!(meet(2 * devices(), LIBTEST, &arguments, Some(one)).status.success());
}

fn two_meet_on_each_device(config: &str, options: &[&str]) {
    let folder = tempfile::tempdir().expect("a folder");
    let reports = folder.path().to_str().expect("a path in UTF-8");
    let arguments = [&["run", "faulty::meets_*", "--report-dir", reports], options].concat();
    let run = meet(2 * devices(), COMMAND, &arguments, Some(config));
    assert!(run.status.success());
    let text = String::from_utf8_lossy(&run.stdout);
    assert!(text.contains(&format!("{} passed", 2 * devices())), "{text}");
}

fn a_failure_after_a_crash_in_another_slot_is_repeated_alone() {
    let folder = tempfile::tempdir().expect("a folder");
    let reports = folder.path().to_str().expect("a path in UTF-8");
    let arguments =
        ["run", "beside", "--slots", "2", "--devices", cpu::platform(), "--report-dir", reports];
    let run = meet(2, COMMAND, &arguments, None);
    assert_eq!(run.status.code(), Some(1));
    let log = log(folder.path());
    let [crashed] = results(&log, "crashes_beside_another")[..] else { panic!("one result") };
    assert_eq!((crashed.verdict, crashed.number), (Verdict::Crash, 1));
    let [passed] = results(&log, "fails_beside_a_crash")[..] else { panic!("one result") };
    assert_eq!((passed.verdict, passed.number), (Verdict::Pass, 2));
}

fn a_test_may_be_alone_on_its_device() {
    let folder = tempfile::tempdir().expect("a folder");
    let reports = folder.path().to_str().expect("a path in UTF-8");
    let arguments = ["run", "faulty::alone::", "--slots", "3", "--report-dir", reports];
    assert!(output(child(COMMAND, &arguments)).status.success());
    let events = events(folder.path());
    let plan = events.iter().find(|event| event["event"] == "plan").expect("a plan");
    // The tests that run on each device, in the order of the log's lines.
    let mut running: HashMap<&str, Vec<&str>> = HashMap::new();
    let mut alone = 0;
    for event in &events {
        match event["event"].as_str() {
            Some("started") => {
                let position = event["test"].as_u64().expect("a position") as usize;
                let device = event["device"].as_str().expect("an id");
                let running = running.entry(device).or_default();
                running.push(plan["tests"][position]["path"].as_str().expect("a path"));
                if running.iter().any(|test| test.contains("is_alone")) {
                    assert_eq!(running.len(), 1, "{running:?} run on {device}");
                    alone += 1;
                }
            }
            Some("finished") => {
                let id = event["test"].as_str().expect("an id");
                let (path, device) = id.rsplit_once('@').expect("a device");
                let running = running.get_mut(device).expect("it was started");
                running.retain(|test| *test != path);
            }
            _ => {}
        }
    }
    assert_eq!(alone, 2 * devices());
    let listing = output(child(COMMAND, &["list", "faulty::alone::"])).stdout;
    assert_eq!(String::from_utf8_lossy(&listing).matches("  alone\n").count(), 2);
}

fn the_longest_tests_come_first() {
    let folder = tempfile::tempdir().expect("a folder");
    let reports = folder.path().to_str().expect("a path in UTF-8");
    let arguments = ["run", "faulty::order::", "--slots", "2", "--report-dir", reports];
    assert!(output(child(COMMAND, &arguments)).status.success());
    assert!(meet(2, COMMAND, &arguments, None).status.success());
}
