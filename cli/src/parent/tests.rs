//! Parents by generated logs.

use std::collections::BTreeMap;
use std::time::{Duration, SystemTime};

use clmatrix_runner::log::events::{End, Event, Finished, Started};
use clmatrix_runner::log::plan::{PlannedDevice, PlannedTest, PlannedTests};
use clmatrix_runner::log::program_record::ProgramRecord;
use clmatrix_runner::log::sample::{
    device, device_record, flaky, goes_on_with, header, passes_alone, result,
};
use clmatrix_runner::result::crash_cause::CrashCause;
use clmatrix_runner::result::not_run_reason::NotRunReason;
use clmatrix_runner::shard::{Shard, ShardRule};
use clmatrix_runner::verdict::{ExpectedStatus, Outcome};

use super::*;

/// The events before the first test: `s::a` and `s::b` are to run on the device `d`.
fn head(header: RunHeader) -> Vec<Event> {
    let test = |path: &str| PlannedTest {
        path: path.to_owned(),
        file: None,
        line: None,
        requires: Vec::new(),
    };
    vec![
        Event::Run(Box::new(header)),
        Event::Device(Box::new(device_record(device("d", "PoCL"), "bench"))),
        Event::Plan(PlannedTests { tests: vec![test("s::x"), test("s::a"), test("s::b")] }),
        Event::PlanDevice(PlannedDevice { device: "d".to_owned(), ranges: vec![(1, 2)] }),
    ]
}

fn start(position: u32, attempt: u32) -> Event {
    Event::Started(Started {
        test: position,
        device: "d".to_owned(),
        time: SystemTime::UNIX_EPOCH,
        attempt,
        worker: Some(attempt + 6),
        slot: Some(0),
        pid: None,
    })
}

fn finish(id: &str, outcome: Outcome, repeated: bool) -> Event {
    Event::Finished(Box::new(Finished { result: result(id, outcome), repeated }))
}

fn resumed() -> Event {
    resumed_after(None)
}

/// The header of a run that goes on after a start of the machine with this id.
fn resumed_after(boot_id: Option<&str>) -> Event {
    let header = header(Vec::new());
    let parent = Some(goes_on_with(&header.run_id));
    let boot_id = boot_id.map(str::to_owned);
    Event::Run(Box::new(RunHeader { parent, boot_id, ..header }))
}

fn end(interrupted: bool) -> Event {
    let duration = Duration::from_secs(9);
    Event::End(End { interrupted, duration, exit_status: 0, counts: BTreeMap::new() })
}

fn write(file: &Path, events: &[Event]) -> String {
    let line = |event| serde_json::to_string(event).unwrap() + "\n";
    let text: String = events.iter().map(line).collect();
    std::fs::write(file, &text).unwrap();
    text
}

/// Reads a log of these events after those of `head`.
fn read(events: &[Event]) -> Parent {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("events.jsonl");
    write(&file, &[&head(header(Vec::new()))[..], events].concat());
    Parent::read(&file, Which::Left).unwrap()
}

#[test]
fn a_test_ends_with_its_last_result() {
    let crashed = || Outcome::signal("SIGSEGV");
    let not_run = || Outcome::not_run("stopped");
    let passed = || finish("s::a@d", Outcome::Passed, false);
    let machine = Outcome::Crashed { cause: CrashCause::Machine };
    let killed = Outcome::NotRun { reason: NotRunReason::Killed };
    let after = |boot_id| resumed_after(Some(boot_id));
    // Attempts, whether the test has ended, and the outcome without another attempt.
    let cases = [
        ("never started", Vec::new(), (0, false, None)),
        ("has passed", vec![start(1, 1), passed()], (1, true, None)),
        ("skipped", vec![passed()], (0, true, None)),
        ("running", vec![start(1, 1)], (1, false, None)),
        ("runs again", vec![start(1, 1), finish("s::a@d", crashed(), true)], (1, false, None)),
        (
            "running again",
            vec![start(1, 1), finish("s::a@d", crashed(), true), start(1, 2)],
            (2, false, None),
        ),
        (
            "not run after Ctrl-C",
            vec![start(1, 1), finish("s::a@d", not_run(), false), end(true)],
            (1, false, None),
        ),
        ("running twice", vec![start(1, 1), resumed(), start(1, 2)], (2, false, None)),
        (
            "running three times",
            vec![start(1, 1), resumed(), start(1, 2), resumed(), start(1, 3)],
            (3, false, Some(killed)),
        ),
        (
            "running at two restarts of the machine",
            vec![start(1, 1), after("1"), start(1, 2), after("2"), start(1, 3), after("3")],
            (3, false, Some(machine)),
        ),
        (
            "running at one restart of the machine",
            vec![after("1"), start(1, 1), after("1"), start(1, 2), after("2")],
            (2, false, None),
        ),
        (
            "running once, then not begun",
            vec![start(1, 1), resumed(), start(2, 1)],
            (1, false, None),
        ),
        (
            "twice in a process that has begun another test",
            vec![start(1, 1), start(2, 1), resumed(), start(1, 2), start(2, 2)],
            (2, false, None),
        ),
        (
            "twice in a process before another one",
            vec![start(1, 1), start(2, 2), resumed(), start(1, 3), start(2, 4)],
            (3, false, None),
        ),
        (
            "twice the last of a process",
            vec![start(2, 1), start(1, 1), resumed(), start(2, 2), start(1, 2)],
            (2, false, None),
        ),
        (
            "running, then passed",
            vec![start(1, 1), resumed(), start(1, 2), passed()],
            (2, true, None),
        ),
    ];
    for (case, events, expected) in cases {
        let parent = read(&events);
        let super::PlannedTest { position, execution, .. } = parent.planned["s::a@d"];
        let found = (execution.attempts, execution.has_ended, execution.outcome_of_cuts());
        assert_eq!((position, found), (1, expected), "{case}");
    }
    let begun = [vec![], vec![start(1, 1)], vec![passed()], vec![end(true)]];
    let begun = begun.map(|events| read(&events).sum.has_begun());
    assert_eq!(begun, [false, true, true, true]);
    assert!(!read(&[]).planned.contains_key("s::x@d"));
}

#[test]
fn a_run_is_over_with_an_end_that_was_not_interrupted() {
    assert!(read(&[end(false)]).is_over());
    assert!(read(&[end(true), resumed(), end(false)]).is_over());
    for events in [vec![], vec![end(true)], vec![end(true), resumed()]] {
        assert!(!read(&events).is_over(), "{events:?}");
    }
}

#[test]
fn the_results_of_each_word() {
    let failed = || Outcome::Failed { message: "no".to_owned(), location: None };
    let tolerated = TestResult { tolerated: true, ..flaky("s::t@d", failed()) };
    let reason = || "stopped".to_owned();
    let results = [
        result("s::passed@d", Outcome::Passed),
        result("s::skipped@d", Outcome::Skipped { reason: reason() }),
        result("s::failed@d", failed()),
        result("s::crashed@d", Outcome::signal("SIGSEGV")),
        passes_alone("s::alone@d"),
        flaky("s::flaky@d", failed()),
        tolerated,
        result("s::not_run@d", Outcome::not_run("stopped")),
    ];
    let cases = [
        (Which::Failed, vec![2, 3]),
        (Which::NotRun, vec![7]),
        (Which::Flaky, vec![5, 6]),
        (Which::All, (0..8).collect()),
    ];
    for (which, expected) in cases {
        let found: Vec<_> =
            (0..8).filter(|place| which.has(&results[*place], Execution::default())).collect();
        assert_eq!(found, expected, "{which:?}");
    }
}

fn record(id: &str) -> DeviceRecord {
    device_record(device(id, "PoCL"), "bench")
}

fn expectation(number: u32, test: &str) -> Arc<WrittenExpectation> {
    Arc::new(WrittenExpectation {
        number,
        file: "a.toml".to_owned(),
        line: 10,
        keys: BTreeMap::from([("test".to_owned(), test.to_owned())]),
        status: ExpectedStatus::Fail.into(),
        reason: "bug 7".to_owned(),
    })
}

#[test]
fn a_difference_is_named() {
    let build = |id: &str| RunHeader { build_id: Some(id.to_owned()), ..header(Vec::new()) };
    let program = |build: &str| ProgramRecord {
        name: "cts::buffers".to_owned(),
        file: "/cts/test_buffers".to_owned(),
        build: build.to_owned(),
    };
    let with_program = |id: &str| RunHeader { programs: vec![program(id)], ..build("1") };
    let with_settings = |timeout: u64| {
        let mut settings = record("d").settings;
        settings.timeout = Duration::from_secs(timeout);
        RunHeader { host_settings: Some(settings), ..build("1") }
    };
    let known = || vec![expectation(1, "s::a"), expectation(2, "s::b")];
    let difference =
        |before: RunHeader, now: RunHeader, devices: &[DeviceRecord], entries: &[_]| {
            let folder = tempfile::tempdir().unwrap();
            let file = folder.path().join("events.jsonl");
            let mut events =
                vec![Event::Run(Box::new(before)), Event::Device(Box::new(record("d")))];
            events.extend(known().into_iter().map(Event::Expectation));
            write(&file, &events);
            let parent = Parent::read(&file, Which::Left).unwrap();
            parent.difference(&now, devices, entries).unwrap_or_default()
        };
    let changed = |change: fn(&mut DeviceRecord)| {
        let mut record = record("d");
        change(&mut record);
        record
    };
    let same = || vec![record("d")];
    let of_headers = |before, now| difference(before, now, &same(), &known());
    let of_devices =
        |devices: &[DeviceRecord]| difference(build("1"), build("1"), devices, &known());
    let of_entries = |entries: &[_]| difference(build("1"), build("1"), &same(), entries);
    let moved = changed(|record| record.key = "other/d".to_owned());
    let shard = Some(Shard { index: 1, total: 2, rule: ShardRule::Hash });
    let elsewhere = known().into_iter().map(|entry| {
        Arc::new(WrittenExpectation { file: "b.toml".to_owned(), line: 7, ..(*entry).clone() })
    });
    let swapped: Vec<_> = known().into_iter().rev().collect();
    let cases = [
        (of_headers(build("1"), build("1")), ""),
        (of_headers(build("1"), build("2")), "the executable is a different one"),
        (of_headers(with_program("b"), with_program("b")), ""),
        (
            of_headers(with_program("b"), with_program("c")),
            "the program cts::buffers is a different build",
        ),
        (of_headers(with_settings(5), with_settings(5)), ""),
        (
            of_headers(with_settings(5), with_settings(6)),
            "the settings of tests without a device differ",
        ),
        (
            of_devices(&[changed(|record| record.device.info.driver_version = "3.2".to_owned())]),
            "the driver versions of the device bench/d differ",
        ),
        (
            of_devices(&[changed(|record| record.settings.retries = 2.into())]),
            "the settings of the device bench/d differ",
        ),
        (of_devices(&[changed(|record| record.settings.slots = Slots::Count(7))]), ""),
        (of_devices(&[record("d"), record("e")]), "the device bench/e is new"),
        (of_devices(&[]), "the device bench/d was not found"),
        (of_devices(std::slice::from_ref(&moved)), "the device other/d is new"),
        (difference(RunHeader { shard, ..build("1") }, build("1"), &[moved], &known()), ""),
        (of_entries(&elsewhere.collect::<Vec<_>>()), ""),
        (of_entries(&[]), "the expectations differ"),
        (of_entries(&swapped), "the expectations differ"),
    ];
    for (found, expected) in cases {
        assert_eq!(found, expected);
    }
}
