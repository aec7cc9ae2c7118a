//! Tests that pass only while others run: on other devices, or on another slot of the same one.

use std::collections::HashMap;

use clmatrix_runner::verdict::Verdict;

use crate::faulty::MEETING;
use crate::support::{
    COMMAND, Ended, Folder, LIBTEST, child, child_as_written, events, output, results,
};
use crate::{check, cpu};

/// How many devices there are.
fn devices() -> usize {
    let listing = output(child(LIBTEST, &["--list", "faulty::meets_one"]));
    listing.stdout.lines().count()
}

/// Runs a child whose tests wait until `expected` of them have begun. The reports are in the folder.
fn meet(expected: usize, role: &str, arguments: &[&str], config: &str) -> (Ended, Folder) {
    let folder = Folder::new();
    let meeting = folder.at("meeting").with_extension(expected.to_string());
    std::fs::create_dir(&meeting).expect("the folder can be made");
    let mut command = child_as_written(role, arguments);
    command.env(MEETING, meeting).env("CLMATRIX_REPORT_DIR", folder.path());
    folder.configure(&mut command, config);
    (output(command), folder)
}

check!(devices_do_not_wait_for_each_other, {
    for threads in ["1", "16"] {
        let arguments = ["faulty::meets_one", "--test-threads", threads];
        let (run, _) = meet(devices(), LIBTEST, &arguments, "");
        assert!(run.status.success(), "with --test-threads {threads}");
    }
});

check!(slots_share_a_device, {
    two_meet_on_each_device("[profile.default]\nslots = 2\n", &[]);
});

check!(slots_follow_from_the_machine, {
    let processors = std::thread::available_parallelism().expect("a number").get();
    let slots = |config: &str, options: &[&str]| {
        let arguments = [&["run", "faulty::passes"], options].concat();
        let (_, folder) = meet(1, COMMAND, &arguments, config);
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
});

check!(the_option_replaces_the_slots, {
    let one = "[[override]]\nid = \"*\"\nslots = 1\n";
    two_meet_on_each_device(one, &["--slots", "2"]);
    let arguments = ["faulty::meets_", "--test-threads", "2"];
    assert!(meet(2 * devices(), LIBTEST, &arguments, one).0.status.success());
});

fn two_meet_on_each_device(config: &str, options: &[&str]) {
    let arguments = [&["run", "faulty::meets_*"], options].concat();
    let (run, _) = meet(2 * devices(), COMMAND, &arguments, config);
    assert!(run.status.success());
    assert!(run.stdout.contains(&format!("{} passed", 2 * devices())), "{}", run.stdout);
}

check!(a_failure_after_a_crash_in_another_slot_is_repeated_alone, {
    let arguments = ["run", "beside", "--slots", "2", "--devices", cpu::platform()];
    let (run, folder) = meet(2, COMMAND, &arguments, "");
    assert_eq!(run.status.code(), Some(1));
    let log = folder.log();
    let [crashed] = results(&log, "crashes_beside_another")[..] else { panic!("one result") };
    assert_eq!((crashed.verdict, crashed.attempt.number), (Verdict::Crash, 1));
    let [passed] = results(&log, "fails_beside_a_crash")[..] else { panic!("one result") };
    assert_eq!((passed.verdict, passed.attempt.number), (Verdict::Pass, 2));
});

check!(a_test_may_be_alone_on_its_device, {
    let folder = Folder::new();
    assert!(output(folder.run(&["faulty::alone::", "--slots", "3"])).status.success());
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
    assert_eq!(listing.matches("  alone\n").count(), 2);
});

check!(the_longest_tests_come_first, {
    let folder = Folder::new();
    let reports = folder.path().to_str().expect("a path in UTF-8");
    let arguments = ["run", "faulty::order::", "--slots", "2", "--report-dir", reports];
    assert!(output(child(COMMAND, &arguments)).status.success());
    assert!(meet(2, COMMAND, &arguments, "").0.status.success());
});
