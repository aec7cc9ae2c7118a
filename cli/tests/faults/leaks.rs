//! Objects of the driver that a test leaves behind are found.

use std::sync::LazyLock;

use clmatrix_runner::log::run_log::RunLog;
use clmatrix_runner::verdict::{Outcome, Verdict};

use crate::check;
use crate::support::{self, Folder, output};

/// Runs all tests of `faulty::leaks` with these settings of the default profile.
fn run(settings: &str) -> (Option<i32>, RunLog) {
    let folder = Folder::new();
    let mut command = folder.run(&["faulty::leaks::"]);
    folder.configure(&mut command, &format!("[profile.default]\n{settings}\n"));
    (output(command).status.code(), folder.log())
}

static RUN: LazyLock<(Option<i32>, RunLog)> = LazyLock::new(|| run("contexts = \"fresh\""));

static REUSING_RUN: LazyLock<(Option<i32>, RunLog)> = LazyLock::new(|| run("contexts = \"reuse\""));

/// Returns whether a driver counts objects of a kind as references to their context; all count contexts.
fn is_counted(device: &str, kind: &str) -> bool {
    let is_of = |driver: &str| device.starts_with(driver);
    match kind {
        "" => true,
        "event" => is_of("pocl-") || is_of("rusticl-"),
        _ => is_of("pocl-") || is_of("rusticl-") || is_of("oclgrind-"),
    }
}

check!(each_kind_of_object_is_found, {
    for run in [&RUN, &REUSING_RUN] {
        assert_eq!(run.0, Some(0));
        let results = |test: &str| support::results(&run.1, &format!("leaks::{test}"));
        for (test, kind, references) in [
            ("leaks_a_context", "", "1 reference to a context"),
            // One of the driver, one of the library.
            ("leaks_a_queue", "queue", "2 references to a context"),
            ("leaks_a_buffer", "buffer", "2 references to a context"),
            ("leaks_an_event", "event", "1 reference to a context"),
            ("leaks_a_program", "program", "2 references to a context"),
            ("leaks_two_contexts", "", "2 references to 2 contexts"),
        ] {
            for result in results(test) {
                let device = result.test.device();
                if !["pocl-", "rusticl-", "oclgrind-"].iter().any(|of| device.starts_with(of)) {
                    continue;
                }
                let mut expected = Vec::from_iter(is_counted(device, kind).then_some(references));
                expected.extend((kind == "buffer").then_some("1 memory object"));
                assert_eq!(result.verdict, Verdict::Pass, "{result:?}");
                assert_eq!(result.attempt.left_behind, expected, "{}", result.test);
            }
        }
    }
});

check!(tests_that_leak_nothing_have_no_note, {
    for test in [
        "leaks_nothing",
        "caches_a_value_for_a_context",
        "releases_a_buffer_later",
        "a_released_context_ends_before_the_next",
        "contexts_have_ended_before_the_next_test",
    ] {
        let test = format!("leaks::{test}");
        for result in [&RUN, &REUSING_RUN].iter().flat_map(|run| support::results(&run.1, &test)) {
            assert!(result.verdict.is_as_expected(), "{result:?}");
            assert_eq!(result.attempt.left_behind, [""; 0], "{}", result.test);
        }
    }
});

// At least in the result of the first test of each worker.
check!(the_log_has_the_resident_memory, {
    for result in support::results(&RUN.1, "leaks::leaks_a_context") {
        let resident = result.attempt.resident.expect("the first test has it");
        assert!((1 << 20..1 << 40).contains(&resident), "{resident} bytes");
    }
});

check!(a_profile_makes_them_failures, {
    let (status, log) = run("leaks = \"fail\"");
    assert_eq!(status, Some(1));
    for result in support::results(&log, "leaks::leaks_a_buffer") {
        let Outcome::Failed { message, location: Some(location) } = &result.attempt.outcome else {
            panic!("{result:?}")
        };
        assert!(message.ends_with("left behind: 1 memory object"), "{message}");
        assert!(location.file.ends_with("leaks.rs"), "{}", location.file);
    }
    for result in support::results(&log, "leaks::leaks_nothing") {
        assert_eq!(result.verdict, Verdict::Pass, "{result:?}");
    }
});

check!(a_profile_turns_the_search_off, {
    let (status, log) = run("leaks = \"off\"");
    assert_eq!(status, Some(0));
    for result in support::results(&log, "leaks::leaks_a_buffer") {
        assert_eq!(result.attempt.left_behind, [""; 0], "{}", result.test);
    }
});
