//! Whole pages, and that none is wider than it may be.

use clmatrix_harness::private::config::Expectation;
use clmatrix_harness::private::log::run_header::RunHeader;
use clmatrix_harness::private::log::sample::{
    changed, device, differing, expectation, failed_driver, flaky, judged, passes_alone, plan_at,
    result, run_log,
};
use clmatrix_harness::private::verdict::ExpectedStatus;
use proptest::prelude::*;
use unicode_width::UnicodeWidthStr;

use super::*;

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

fn failed(message: &str) -> Outcome {
    let location = Some(Location { file: "suites/src/pool.rs".into(), line: 41 });
    Outcome::Failed { message: message.to_owned(), location }
}

fn known(status: ExpectedStatus) -> Option<Expectation> {
    Some(expectation(status, "driver bug 7"))
}

/// One result of each kind.
fn all_kinds() -> Vec<TestResult> {
    let crashed = Outcome::Crashed { how: "SIGSEGV".to_owned() };
    let timed_out = Outcome::TimedOut { limit: Duration::from_secs(60) };
    let skipped = Outcome::Skipped { reason: "needs fp64".to_owned() };
    let not_run = |test| result(test, Outcome::NotRun { reason: "Ctrl-C".to_owned() });
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
    let expected = r"
         pocl-cpu               rusticl-cpu                          host
         ok XPASS skip ignored  ok FAIL CRASH TIMEOUT NOT-RUN xfail  ok
pool      2     -    -       -   -    1     -       -       -     1   -
memory    -     1    1       1   -    -     1       1       2     -   -
parsing   -     -    -       -   -    -     -       -       -     -   1
all       2     1    1       1   -    1     1       1       2     1   1
time     0.2 s                  0.2 s                                0.2 s
XPASS = unexpectedly passed  xfail = failed as expected

ABSENT intel-*: expected, but not there
ABSENT oclgrind-sim: expected, but not there

CRASH memory::maps@rusticl-cpu
  SIGSEGV
  at suites/src/memory.rs:7
  more:  target/clmatrix/junit/rusticl-cpu.xml
  rerun: clmatrix run --exact memory::maps@rusticl-cpu

TIMEOUT memory::waits@rusticl-cpu
  did not end within 1m
  expected: crash: driver bug 7
  more:  target/clmatrix/junit/rusticl-cpu.xml
  rerun: clmatrix run --exact memory::waits@rusticl-cpu

FAIL pool::reuse::n_1@rusticl-cpu
  left:  1
  right: 2
  at suites/src/pool.rs:41
  more:  target/clmatrix/junit/rusticl-cpu.xml
  rerun: clmatrix run --exact pool::reuse::n_1@rusticl-cpu

UNEXPECTED PASS memory::it's new@pocl-cpu
  passed; expected: fail: driver bug 7
  more:  target/clmatrix/junit/pocl-cpu.xml
  rerun: clmatrix run --exact 'memory::it'\''s new@pocl-cpu'

NOT RUN 2 tests on rusticl-cpu
  Ctrl-C

DRIVER FAILED /etc/OpenCL/vendors/x.icd
  no such file: libx.so: cannot open shared object file: No such file or
  directory

FAILED: 12 tests on 2 devices in 12.3 s: 3 passed, 1 failed, 1 crashed, 1 timed
out, 1 unexpectedly passed, 2 not run, 1 failed as expected, 1 skipped, 1
ignored, 2 expected devices absent, 1 driver failed
Reports: target/clmatrix
";
    assert_eq!(page(&log), expected.trim_start_matches('\n'));
}

#[test]
fn a_tolerated_unexpected_pass_is_shown() {
    let passed = judged("s::t@d", Outcome::Passed, known(ExpectedStatus::Fail));
    let page = page(&log(&["d"], vec![TestResult { tolerated: true, ..passed }]));
    assert!(page.contains("\nUNEXPECTED PASS s::t@d\n"), "{page}");
    assert!(page.contains("\nPASSED: 1 test on 1 device"), "{page}");
}

#[test]
fn all_attempts_of_a_result_are_shown() {
    let mut unstable = flaky("s::unstable@d", failed("left: 1\nright: 2"));
    unstable.earlier[0].stdout = "said at first\n".to_owned();
    unstable.stdout = "said at last\n".to_owned();
    let mut tolerated = flaky("s::tolerated@d", Outcome::Crashed { how: "SIGSEGV".to_owned() });
    tolerated.tolerated = true;
    let alone = passes_alone("s::alone@d");
    let expected = r"
      d
      ok CRASH FLAKY
s      -     1     2
time  0.2 s

CRASH s::alone@d
  passes alone: unreliable, or broken by a test before it (heap corruption
  strikes late); `clmatrix bisect s::alone@d` tells
  SIGSEGV
  more:  target/clmatrix/junit/d.xml
  rerun: clmatrix run --exact s::alone@d

FLAKY s::unstable@d
  fail at attempt 1 of 2
  left: 1
  right: 2
  at suites/src/pool.rs:41
  stdout:
    said at first
  more:  target/clmatrix/junit/d.xml
  rerun: clmatrix run --exact s::unstable@d

FLAKY s::tolerated@d
  crash at attempt 1 of 2
  SIGSEGV

FAILED: 3 tests on 1 device in 12.3 s: 1 crashed, 2 flaky
Reports: target/clmatrix
";
    let page = page(&log(&["d"], vec![unstable, tolerated, alone]));
    assert_eq!(page, expected.trim_start_matches('\n'));
}

#[test]
fn another_result_in_a_reused_context_is_shown() {
    let mut passes = differing("s::passes@d", failed("left: 1\nright: 2"));
    passes.earlier[0].stdout = "said at first\n".to_owned();
    passes.stdout = "said at last\n".to_owned();
    let expected = r"
      d
      ok
s      1
time  0.2 s

PASS s::passes@d
  reused-context: failed
  left: 1
  right: 2
  at suites/src/pool.rs:41
  stdout:
    said at first

PASSED: 1 test on 1 device in 12.3 s: 1 passed, 1 different in a reused context
Reports: target/clmatrix
";
    let page = page(&log(&["d"], vec![passes]));
    assert_eq!(page, expected.trim_start_matches('\n'));
}

#[test]
fn a_lost_device_is_shown_with_its_reason() {
    let not_run = |reason: &str| Outcome::NotRun { reason: reason.to_owned() };
    let mut log = log(
        &["d"],
        vec![
            result("s::first@d", failed("out of resources")),
            result("s::second@d", failed("out of resources")),
            result("s::third@d", not_run("device lost: no answer")),
            result("s::fourth@d", not_run("device lost: no answer")),
            result("s::fifth@d", not_run("Ctrl-C")),
        ],
    );
    log.results[1].stderr = "said by the second\n".to_owned();
    let suspects = vec!["s::first@d".to_owned(), "s::second@d".to_owned()];
    let (device, reason, after) =
        ("d".to_owned(), "no answer".to_owned(), Some("s::second@d".to_owned()));
    log.lost = vec![DeviceLost { device, reason, after, suspects }];
    let expected = r"
FAIL s::first@d
  out of resources
  suspect: the device was lost afterwards
  at suites/src/pool.rs:41
  more:  target/clmatrix/junit/d.xml
  rerun: clmatrix run --exact s::first@d

FAIL s::second@d
  out of resources
  suspect: the device was lost afterwards

NOT RUN 1 test on d
  Ctrl-C

DEVICE LOST d, 2 tests not run
  no answer
  after s::second@d

FAILED: 5 tests on 1 device in 12.3 s: 2 failed, 3 not run, 1 device lost
";
    let brief = matrix(&log, Layout { quiet: true, ..layout() });
    assert_eq!(brief, expected.trim_start_matches('\n'));
    let whole = matrix(&log, Layout { output: ShownOutput::All, ..layout() });
    assert!(whole.contains("\n    said by the second\n"), "{whole}");
}

#[test]
fn the_summary_counts_results_and_devices() {
    let passed = |device: &str| vec![result(&format!("pool::grows@{device}"), Outcome::Passed)];
    let cases = [
        (
            log(&["pocl-cpu"], passed("pocl-cpu")),
            "PASSED: 1 test on 1 device in 12.3 s: 1 passed\n",
        ),
        (log(&[], vec![]), "NOT ALL RUN: 0 tests on 0 devices in 12.3 s\n"),
        (log(&[], passed("host")), "PASSED: 1 test on 0 devices in 12.3 s: 1 passed\n"),
        (
            RunLog { interrupted: true, ..log(&["pocl-cpu"], vec![]) },
            "CUT SHORT: 0 tests on 1 device in 12.3 s\n",
        ),
    ];
    for (log, expected) in cases {
        let page = page(&log);
        assert!(page.ends_with(&format!("{expected}Reports: target/clmatrix\n")), "{page}");
    }
}

#[test]
fn leftovers_are_notes_of_their_test() {
    let leaving = |test: &str, outcome| {
        let mut result = result(test, outcome);
        result.findings.left_behind =
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
    let all = matrix(&log, Layout { all: true, ..layout() });
    let first = "\n\nLEFT BEHIND by a::passes_0@pocl-cpu\n  umask 022 -> 077\n  process 7 (sleep)\n\
                 LEFT BEHIND by a::passes_1@pocl-cpu\n";
    assert!(all.contains(first) && !all.contains("BEHIND by a::fails"), "{all}");
    let page = page(&log);
    assert!(page.contains("\n\nLEFT BEHIND by 12 tests: see report.html, or --all\n\n"), "{page}");
    // In the block of each, once.
    assert_eq!(page.matches("\n  left behind: umask 022 -> 077\n").count(), 2, "{page}");
    assert_eq!(page.matches("\n  left behind: process 7 (sleep)\n").count(), 2, "{page}");
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
    for painted in
        ["\x1b[32m2\x1b[0m", "\x1b[31m1\x1b[0m", "\x1b[33m1\x1b[0m", "\x1b[31mFAIL\x1b[0m"]
    {
        assert!(colored.contains(painted), "{colored}");
    }
    assert_eq!(clmatrix_harness::private::text::clean(&colored), page(&log));
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
    failure.stdout = (1..=22).map(|line| format!("line {line}\n")).collect();
    failure.stderr =
        format!("\nthread 'main' (7) panicked at suites/src/pool.rs:41:5:\n{message}\n");
    failure.stderr += "said by the driver\n";
    let expected = r"
FAIL copy::t@d
  assertion `left == right` failed: the bytes behind the region are unchanged
  after the copy
    left: [1, 2]
   right: [1, 3]
  at suites/src/pool.rs:41
  stdout, the last 20 lines:
    line 3
    line 4
    line 5
    line 6
    line 7
    line 8
    line 9
    line 10
    line 11
    line 12
    line 13
    line 14
    line 15
    line 16
    line 17
    line 18
    line 19
    line 20
    line 21
    line 22
  stderr:
    said by the driver
  more:  target/clmatrix/junit/d.xml
  rerun: clmatrix run --exact copy::t@d
";
    let page = page(&log(&["d"], vec![failure]));
    assert!(page.contains(expected), "{page}");
}

#[test]
fn output_of_many_failures_is_shown_on_demand() {
    let failures = |count| {
        let failure = |number| {
            let mut failure = result(&format!("copy::n_{number}@d"), failed("no"));
            failure.stdout = format!("said by {number}\n");
            failure
        };
        let mut passed = result("copy::passes@d", Outcome::Passed);
        passed.stdout = "said by the test that passes\n".to_owned();
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
    let expected = r"
FAIL copy::t@d
  no
  at suites/src/pool.rs:41
  more:  target/clmatrix/junit/d.xml
  rerun: clmatrix run --exact copy::t@d

FAILED: 2 tests on 1 device in 12.3 s: 1 passed, 1 failed
";
    let page = matrix(&log, Layout { quiet: true, ..layout() });
    assert_eq!(page, expected.trim_start_matches('\n'));
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
                result.test = format!("{suite}::t@{id}");
                if let Outcome::Failed { message: to, .. } = &mut result.outcome {
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
    let without_file = page(&log);
    assert_eq!(without_file.matches("\nFAIL s::").count(), 40);
    let note = "NOT SHOWN: 5 more unexpected results on a\n  s fail: 5\n";
    let command = "  all:   clmatrix report --all ci/log.jsonl\n";
    assert!(without_file.contains(note) && !without_file.contains("results on b"));
    assert!(!without_file.contains("  all: "), "{without_file}");
    log.files = vec!["ci/log.jsonl".into()];
    assert!(page(&log).contains(&format!("{note}{command}")), "{}", page(&log));
    log.header.rerun_command = "cargo xtask matrix --".to_owned();
    assert!(page(&log).contains(note) && !page(&log).contains("  all: "));
    let all = matrix(&log, Layout { all: true, ..layout() });
    assert_eq!(all.matches("\nFAIL s::").count(), 45);
    let of_stream = matrix(&log, Layout { reports: None, ..layout() });
    assert!(!of_stream.contains("Reports: ") && !of_stream.contains("  more: "), "{of_stream}");
    assert!(!all.contains("NOT SHOWN"), "{all}");
}

#[test]
fn crashes_come_first_and_cases_that_ended_alike_stand_together() {
    let crashed = |test| result(test, Outcome::Crashed { how: "SIGSEGV".to_owned() });
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
    let shown = page(&log);
    let ids = shown.lines().filter_map(|line| line.split_once(" s::"));
    let titles = ids.filter(|(title, _)| !title.starts_with(' '));
    let ids: Vec<_> = titles.map(|(verdict, id)| format!("{verdict} {id}")).collect();
    assert_eq!(ids, ["CRASH t::case_4@a", "TIMEOUT u@a", "FAIL t::case_1@a", "FAIL t::case_3@a"]);
    assert_eq!(shown.matches("  and 1 case like it\n").count(), 1, "{shown}");
    let all = matrix(&log, Layout { all: true, ..layout() });
    assert!(all.contains("FAIL s::t::case_2@a") && !all.contains("like it"), "{all}");
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
    let shown = page(&log(&["a"], results));
    let expected = "AS ON OTHER VERSIONS\n  2 results on a, 3.1, as seen at {2.1,5.0}*; 2.0\n\
        MENDED\n  e.toml:2 (2.0): 1 of 2 pass on a, 3.1\n";
    assert!(shown.contains(expected), "{shown}");
    assert!(
        shown.contains("PASSED") && shown.contains("2 failed as on another version"),
        "{shown}"
    );
}

#[test]
fn the_time_of_a_device_has_no_pause() {
    let time = |seconds| SystemTime::UNIX_EPOCH + Duration::from_secs(seconds);
    let at = |seconds| {
        changed(result("s::t@d", Outcome::Passed), |r| {
            (r.started, r.duration) = (time(seconds), Duration::from_secs(2));
        })
    };
    let not_run = result("s::t@d", Outcome::NotRun { reason: "Ctrl-C".to_owned() });
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
