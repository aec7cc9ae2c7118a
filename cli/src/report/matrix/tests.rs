//! Whole pages, and that none is wider than it may be.

use std::time::{Duration, SystemTime};

use clmatrix_runner::config::Expectation;
use clmatrix_runner::log::run_header::RunHeader;
use clmatrix_runner::log::sample::{
    changed, device, differing, expectation, failed, failed_driver, flaky, judged, passes_alone,
    plan_at, result, run_log,
};
use clmatrix_runner::result::not_run_reason::NotRunReason;
use clmatrix_runner::result::test_id::TestId;
use clmatrix_runner::verdict::ExpectedStatus;
use insta::assert_snapshot;
use proptest::prelude::*;
use unicode_width::UnicodeWidthStr;

use super::*;
use crate::report::tally::wall_time;

fn log(devices: &[&str], results: Vec<TestResult>) -> RunLog {
    let devices = devices.iter().map(|id| device(id, "PoCL")).collect();
    run_log(devices, results, Duration::from_millis(12_345))
}

fn layout() -> Layout<'static> {
    Layout {
        width: 80,
        color: false,
        reports: Some(Path::new("target/clmatrix")),
        output: ShownOutput::FewUnexpected,
        quiet: false,
        all: false,
    }
}

fn page(log: &RunLog) -> String {
    matrix(log, layout())
}

fn known(status: ExpectedStatus) -> Option<Expectation> {
    Some(expectation(status, "driver bug 7"))
}

/// One result of each kind.
fn all_kinds() -> Vec<TestResult> {
    let crashed = Outcome::signal("SIGSEGV");
    let timed_out = Outcome::TimedOut { limit: Duration::from_secs(60) };
    let skipped = Outcome::Skipped { reason: "needs fp64".to_owned() };
    let not_run = |test| result(test, Outcome::not_run("Ctrl-C"));
    vec![
        result("pool::reuse::n_1@pocl-cpu", Outcome::Passed),
        result("pool::reuse::n_1@rusticl-cpu", failed("\nleft:  1\nright: 2")),
        result("pool::grows@pocl-cpu", Outcome::Passed),
        judged("pool::grows@rusticl-cpu", failed("no"), known(ExpectedStatus::Fail)),
        result("memory::maps@pocl-cpu", Outcome::Ignored { reason: None }),
        result("memory::maps@rusticl-cpu", crashed),
        result("memory::waits@pocl-cpu", skipped),
        judged("memory::waits@rusticl-cpu", timed_out, known(ExpectedStatus::Crash)),
        judged("memory::it's new@pocl-cpu", Outcome::Passed, known(ExpectedStatus::Fail)),
        not_run("memory::it's new@rusticl-cpu"),
        not_run("memory::last@rusticl-cpu"),
        result("parsing::lists@host", Outcome::Passed),
    ]
}

#[test]
fn each_verdict_is_shown() {
    let mut log = log(&["pocl-cpu", "rusticl-cpu"], all_kinds());
    plan_at(&mut log, "memory::maps", "suites/src/memory.rs", 7);
    log.absent = vec!["intel-*".to_owned(), "oclgrind-sim".to_owned()];
    log.failed_drivers = vec![failed_driver()];
    assert_snapshot!(page(&log));
}

#[test]
fn a_tolerated_unexpected_pass_is_shown() {
    let passed = judged("s::t@d", Outcome::Passed, known(ExpectedStatus::Fail));
    assert_snapshot!(page(&log(&["d"], vec![TestResult { tolerated: true, ..passed }])));
}

#[test]
fn all_attempts_of_a_result_are_shown() {
    let mut unstable = flaky("s::unstable@d", failed("left: 1\nright: 2"));
    unstable.earlier[0].attempt.stdout = "said at first\n".to_owned();
    unstable.attempt.stdout = "said at last\n".to_owned();
    let mut tolerated = flaky("s::tolerated@d", Outcome::signal("SIGSEGV"));
    tolerated.tolerated = true;
    let alone = passes_alone("s::alone@d");
    assert_snapshot!(page(&log(&["d"], vec![unstable, tolerated, alone])));
}

#[test]
fn a_doubtful_result_is_shown() {
    let mut passes = differing("s::passes@d", failed("left: 1\nright: 2"));
    passes.earlier[0].attempt.stdout = "said at first\n".to_owned();
    passes.attempt.stdout = "said at last\n".to_owned();
    assert_snapshot!(page(&log(&["d"], vec![passes])));
}

#[test]
fn a_lost_device_is_shown_with_its_reason() {
    let lost =
        || Outcome::NotRun { reason: NotRunReason::DeviceLost { error: "no answer".to_owned() } };
    let mut log = log(
        &["d"],
        vec![
            result("s::first@d", failed("out of resources")),
            result("s::second@d", failed("out of resources")),
            result("s::third@d", lost()),
            result("s::fourth@d", lost()),
            result("s::fifth@d", Outcome::not_run("Ctrl-C")),
        ],
    );
    log.results[1].attempt.stderr = "said by the second\n".to_owned();
    let suspects = vec!["s::first@d".into(), "s::second@d".into()];
    let (device, reason, after) =
        ("d".to_owned(), "no answer".to_owned(), Some("s::second@d".into()));
    log.lost = vec![DeviceLost { device, reason, after, suspects }];
    assert_snapshot!(matrix(&log, Layout { output: ShownOutput::All, ..layout() }));
}

#[test]
fn the_summary_counts_results_and_devices() {
    let passed = |device: &str| vec![result(&format!("pool::grows@{device}"), Outcome::Passed)];
    let logs = [
        log(&["pocl-cpu"], passed("pocl-cpu")),
        log(&[], passed("host")),
        RunLog { interrupted: true, ..log(&["pocl-cpu"], vec![]) },
    ];
    assert_snapshot!(logs.each_ref().map(page).join("\n"));
}

#[test]
fn leftovers_are_notes_of_their_test() {
    let leaving = |test: &str, outcome| {
        let mut result = result(test, outcome);
        result.attempt.left_behind =
            vec!["umask 022 -> 077".to_owned(), "process 7 (sleep)".to_owned()];
        result
    };
    let notes = "left behind: umask 022 -> 077\nleft behind: process 7 (sleep)";
    let mut results = vec![
        leaving("a::fails@pocl-cpu", failed("no")),
        leaving("a::fails_by_them@pocl-cpu", failed(notes)),
    ];
    results.extend((0..12).map(|n| leaving(&format!("a::passes_{n}@pocl-cpu"), Outcome::Passed)));
    let log = log(&["pocl-cpu"], results);
    assert_snapshot!(page(&log));
    assert_snapshot!(matrix(&log, Layout { all: true, ..layout() }));
}

#[test]
fn a_run_without_tests_has_no_table() {
    let expected = "NOT ALL RUN: 0 tests on 0 devices in 12.3 s\nReports: target/clmatrix\n";
    assert_eq!(page(&log(&[], vec![])), expected);
}

#[test]
fn colors_do_not_move_anything() {
    let log = log(&["pocl-cpu", "rusticl-cpu"], all_kinds());
    let colored = matrix(&log, Layout { color: true, ..layout() });
    assert_snapshot!(colored.replace('\x1b', "ESC"));
    assert_eq!(clmatrix_runner::text::clean(&colored), page(&log));
}

#[test]
fn escape_sequences_in_messages_do_not_reach_the_terminal() {
    let message = "\x1b[2J\x07gone";
    let page = page(&log(&["d"], vec![result("s::t@d", failed(message))]));
    assert!(page.contains("  \u{fffd}gone\n"), "{page}");
}

#[test]
fn a_message_is_shown_whole_and_the_output_from_its_end() {
    let message = "assertion `left == right` failed: the bytes behind the region are unchanged after \
                   the copy\n  left: [1, 2]\n right: [1, 3]";
    let mut failure = result("copy::t@d", failed(message));
    failure.attempt.stdout = (1..=22).map(|line| format!("line {line}\n")).collect();
    failure.attempt.stderr =
        format!("\nthread 'main' (7) panicked at suites/src/pool.rs:41:5:\n{message}\n");
    failure.attempt.stderr += "said by the driver\n";
    assert_snapshot!(page(&log(&["d"], vec![failure])));
}

#[test]
fn output_of_many_failures_is_shown_on_demand() {
    let failures = |count| {
        let failure = |number| {
            let mut failure = result(&format!("copy::n_{number}@d"), failed("no"));
            failure.attempt.stdout = format!("said by {number}\n");
            failure
        };
        let mut passed = result("copy::passes@d", Outcome::Passed);
        passed.attempt.stdout = "said by the test that passes\n".to_owned();
        log(&["d"], (0..count).map(failure).chain([passed]).collect())
    };
    let outputs = |count, output| {
        matrix(&failures(count), Layout { output, ..layout() }).matches("said by").count()
    };
    assert_eq!(outputs(10, ShownOutput::FewUnexpected), 10);
    assert_eq!(outputs(11, ShownOutput::FewUnexpected), 0);
    assert_eq!(outputs(11, ShownOutput::All), 12);
    assert_eq!(outputs(1, ShownOutput::Hidden), 0);
    let page = matrix(&failures(0), Layout { output: ShownOutput::All, ..layout() });
    assert!(
        page.contains("\nPASS copy::passes@d\n  stdout:\n    said by the test that passes\n\n"),
        "{page}"
    );
}

#[test]
fn a_quiet_page_has_the_unexpected_results_and_the_summary() {
    let log = log(
        &["d"],
        vec![result("copy::passes@d", Outcome::Passed), result("copy::t@d", failed("no"))],
    );
    assert_snapshot!(matrix(&log, Layout { quiet: true, ..layout() }));
}

#[test]
fn durations_have_two_units_at_most() {
    let cases = [
        (0, "0.0 s"),
        (59_949, "59.9 s"),
        (60_000, "1 min 00 s"),
        (3_599_000, "59 min 59 s"),
        (7_380_000, "2 h 03 min"),
    ];
    for (milliseconds, expected) in cases {
        assert_eq!(human(Duration::from_millis(milliseconds)), expected);
    }
}

#[test]
fn a_hundred_devices_fit_into_the_page() {
    let ids: Vec<_> = (0..100).map(|n| format!("nvidia-geforce-rtx-4090-{n}")).collect();
    let ids: Vec<_> = ids.iter().map(String::as_str).collect();
    let results = ids.iter().map(|id| result(&format!("pool::grows@{id}"), Outcome::Passed));
    let log = log(&ids, results.collect());
    let page = page(&log);
    let counts = page.lines().filter(|line| line.starts_with("pool"));
    assert_eq!(counts.map(|line| line.matches(" 1").count()).sum::<usize>(), 100);
    assert!(page.contains("  4090-99\n"), "{page}");
    assert!(page.lines().all(|line| line.width() <= 80), "{page}");
}

/// Names of devices and suites as long, as odd and as many as they like.
fn names() -> impl Strategy<Value = Vec<String>> {
    proptest::collection::vec("[a-z0-9日é-]{1,60}", 0..12)
}

proptest! {
    #[test]
    fn never_wider_than_the_page(
        devices in names(),
        suites in names(),
        absent in names(),
        message in any::<String>(),
        width in 0..200_usize,
    ) {
        let ids: Vec<_> = devices.iter().map(String::as_str).collect();
        let kinds = all_kinds();
        let mut results = Vec::new();
        for (number, suite) in suites.iter().enumerate() {
            for (offset, id) in ids.iter().enumerate() {
                let mut result = kinds[(number * 5 + offset) % kinds.len()].clone();
                result.test = TestId::new(&format!("{suite}::t"), id);
                if let Outcome::Failed { message: to, .. } = &mut result.attempt.outcome {
                    to.clone_from(&message);
                }
                results.push(result);
            }
        }
        let mut log = log(&ids, results);
        log.absent = absent;
        log.header = RunHeader { rerun_command: "rerun".to_owned(), ..log.header };
        let page = matrix(&log, Layout { width, reports: Some(Path::new("r")), ..layout() });
        let to_be_copied = |line: &str| {
            line.contains('@') || line.starts_with("  at ") || line.starts_with("  more:  ")
        };
        for line in page.lines().filter(|line| !to_be_copied(line)) {
            prop_assert!(line.width() <= width.max(MIN_WIDTH), "{line:?}");
        }
    }
}

#[test]
fn the_first_twenty_unexpected_results_of_a_device_are_shown() {
    let failures = |device: &str, count: usize| {
        let fail = |n| result(&format!("s::t{n}@{device}"), failed("no"));
        (0..count).map(fail).collect::<Vec<_>>()
    };
    let mut log = log(&["a", "b"], [failures("a", 25), failures("b", 20)].concat());
    let shown = |log: &RunLog, layout| {
        let page = matrix(log, layout);
        let (failures, rest): (Vec<_>, Vec<_>) =
            page.split("\n\n").partition(|block| block.starts_with("FAIL s::"));
        format!("{} like\n{}\n\n{}", failures.len(), failures[0], rest.join("\n\n"))
    };
    assert_snapshot!(shown(&log, layout()));
    log.files = vec!["ci/log.jsonl".into()];
    assert_snapshot!(shown(&log, layout()));
    assert_snapshot!(shown(&log, Layout { all: true, ..layout() }));
    assert_snapshot!(shown(&log, Layout { reports: None, ..layout() }));
    log.header.rerun_command = "cargo xtask matrix --".to_owned();
    assert_snapshot!(shown(&log, layout()));
}

#[test]
fn crashes_come_first_and_cases_that_ended_alike_stand_together() {
    let crashed = |test| result(test, Outcome::signal("SIGSEGV"));
    let mut log = log(
        &["a"],
        vec![
            result("s::t::case_1@a", failed("left: 1")),
            result("s::t::case_2@a", failed("left: 2")),
            result("s::t::case_3@a", failed("right: 2")),
            result("s::u@a", Outcome::TimedOut { limit: Duration::from_secs(1) }),
            crashed("s::t::case_4@a"),
        ],
    );
    for number in 1..=4 {
        plan_at(&mut log, &format!("s::t::case_{number}"), "s.rs", 7);
    }
    assert_snapshot!(page(&log));
    assert_snapshot!(matrix(&log, Layout { all: true, ..layout() }));
}

#[test]
fn expectations_of_other_versions_are_counted_apart() {
    let known = |number: u32, versions: &str| {
        let mut known = expectation(ExpectedStatus::Fail, "driver bug 7");
        let mut written = (*known.written).clone();
        (written.number, written.file, written.line) = (number, "e.toml".to_owned(), number.into());
        written.keys.insert("driver-version".to_owned(), versions.to_owned());
        (known.written, known.is_assumed) = (written.into(), true);
        Some(known)
    };
    let results = vec![
        judged("s::t@a", failed("no"), known(1, "{2.1,5.0}*")),
        judged("s::u@a", failed("no"), known(2, "2.0")),
        judged("s::v@a", Outcome::Passed, known(2, "2.0")),
        // The fault is newer than this driver.
        judged("s::w@a", Outcome::Passed, known(3, "4.0")),
    ];
    assert_snapshot!(page(&log(&["a"], results)));
}

#[test]
fn the_time_of_a_device_has_no_pause() {
    let time = |seconds| SystemTime::UNIX_EPOCH + Duration::from_secs(seconds);
    let at = |seconds| {
        changed(result("s::t@d", Outcome::Passed), |r| {
            (r.attempt.started, r.attempt.duration) = (time(seconds), Duration::from_secs(2));
        })
    };
    let not_run = result("s::t@d", Outcome::not_run("Ctrl-C"));
    let results = [at(10), at(13), at(1000), not_run];
    let results: Vec<_> = results.iter().collect();
    let cases: [(&[SystemTime], _); 3] =
        [(&[], 992), (&[time(1000)], 7), (&[time(13), time(500)], 6)];
    let log = |resumed: &[_]| RunLog { resumed: resumed.to_vec(), ..log(&[], vec![]) };
    for (resumed, expected) in cases {
        assert_eq!(
            wall_time(&log(resumed), &results),
            Some(Duration::from_secs(expected)),
            "{resumed:?}"
        );
    }
    assert_eq!(wall_time(&log(&[]), &results[3..]), None);
}
