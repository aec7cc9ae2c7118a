//! Changes that a test leaves behind in its process do not reach the next test.

use std::sync::LazyLock;

use clmatrix_runner::log::run_log::RunLog;
use clmatrix_runner::result::test_result::TestResult;
use clmatrix_runner::verdict::{Outcome, Verdict};

use nix::sys::resource::{Resource, getrlimit};
use nix::sys::stat::{Mode, umask};

use crate::characterize::faulty_loader;
use crate::check;
use crate::support::{self, Ended, Folder, LIBTEST, child, is_running, output};

/// The log of a run of all these tests, and the folder with their outputs.
static RUN: LazyLock<(RunLog, Folder)> = LazyLock::new(|| {
    let folder = Folder::new();
    (folder.ran(&["faulty::leftovers::"]).1, folder)
});

/// The results of one of these tests with their outputs, one for each device.
fn results(log: &RunLog, test: &str) -> Vec<TestResult> {
    let results = support::results(log, &format!("leftovers::{test}"));
    results.into_iter().map(|result| log.with_output(result).into_owned()).collect()
}

/// The process id that a test has printed in its first line.
fn printed_id(result: &TestResult) -> &str {
    let line = result.attempt.stdout.lines().next().expect("a line");
    line.strip_prefix("process ").unwrap_or(line)
}

fn umask_note() -> String {
    let mask = umask(Mode::empty());
    umask(mask);
    format!("umask {:03o} -> 127", mask.bits())
}

check!(each_change_is_a_note, {
    let (soft, _) = getrlimit(Resource::RLIMIT_NOFILE).expect("a limit");
    let folder = std::env::current_dir().expect("a folder");
    let processors = std::thread::available_parallelism().expect("a number");
    let affinity = format!("affinity changed: {processors} -> 1 processors");
    let policy = "scheduling policy other -> batch";
    let scheduling = [policy, &affinity];
    let expected: [(&str, &[&str]); 7] = [
        (
            "changes_variables",
            &[
                r#"environment variable CLMATRIX_CONFIG removed"#,
                r#"environment variable CLMATRIX_FAULTS "command" -> "changed""#,
                r#"environment variable CLMATRIX_FAULTS_LEFT set to "1""#,
            ],
        ),
        (
            "changes_signals",
            &[
                "SIGURG disposition default -> handler",
                "SIGWINCH disposition default -> ignored",
                "signal mask: SIGUSR1 blocked",
            ],
        ),
        ("starts_timers", &["ITIMER_REAL started", "ITIMER_PROF started"]),
        ("changes_its_scheduling", &scheduling[..processors.get().min(2)]),
        ("lowers_a_limit", &[&format!("RLIMIT_NOFILE {soft} -> 0")]),
        (
            "changes_folder_and_umask",
            &[&umask_note(), &format!("working folder {} -> /", folder.display())],
        ),
        ("does_not_wait_for_a_child_that_ends", &[]),
    ];
    for (test, notes) in expected {
        for result in results(&RUN.0, test) {
            assert_eq!(result.verdict, Verdict::Pass, "{result:?}");
            assert_eq!(result.attempt.left_behind, notes, "{}", result.test);
        }
    }
    for test in ["leaves_a_daemon", "leaves_a_child"] {
        for result in results(&RUN.0, test) {
            let note = format!("process {} (sleep)", printed_id(&result));
            assert_eq!(result.attempt.left_behind, [note], "{}", result.test);
        }
    }
});

// In the same worker, so that the changes were undone.
check!(the_next_test_finds_no_change, {
    let first = results(&RUN.0, "shows_its_process_first");
    for (first, last) in first.into_iter().zip(results(&RUN.0, "shows_its_process_last")) {
        assert_eq!(first.attempt.stdout, last.attempt.stdout, "{}", last.test);
        assert!(first.attempt.stdout.contains("Max open files"), "{first:?}");
    }
});

// A user may not be allowed to undo them. The worker is replaced then.
check!(changes_that_stay_cost_the_worker, {
    let last = results(&RUN.0, "shows_its_process_last");
    for (test, next, notes) in [
        ("lowers_a_hard_limit", "hard_limit", &["RLIMIT_NOFILE hard limit "][..]),
        (
            "puts_a_variable_that_cannot_be_removed",
            "variable",
            &["environment variable =CLMATRIX set to \"1\""],
        ),
        ("becomes_nice", "nice_value", &["nice "]),
        ("changes_its_ids", "ids", &["user ids ", "group ids "]),
        ("changes_its_root", "root", &["root folder changed"]),
    ] {
        let next = results(&RUN.0, &format!("shows_its_process_after_the_{next}"));
        for ((last, changed), after) in last.iter().zip(results(&RUN.0, test)).zip(next) {
            let left = &changed.attempt.left_behind;
            let has = |note: &&str| left.iter().any(|left| left.starts_with(note));
            // The superuser alone may change ids and the root.
            let has_passed = changed.verdict == Verdict::Pass && notes.iter().all(has);
            assert!(has_passed || changed.verdict == Verdict::Skip, "{changed:?}");
            let is_named = changed.attempt.stdout.starts_with("process ");
            assert!(!is_named || printed_id(&changed) != printed_id(&after), "{changed:?}");
            assert_eq!(process_of(last), process_of(&after), "{}", after.test);
        }
    }
});

/// The lines that a test has printed of its process, without its id and without signal 33: the C library handles
/// that from the first thread on, which Oclgrind starts with the first kernel, that of the probe.
fn process_of(result: &TestResult) -> Vec<String> {
    const OF_C_LIBRARY: u64 = 1 << 32;
    let line = |line: &str| match line.split_once(":\t") {
        Some((name @ ("SigIgn" | "SigCgt"), mask)) => {
            let mask = u64::from_str_radix(mask, 16).expect("a mask");
            format!("{name}: {:x}", mask & !OF_C_LIBRARY)
        }
        _ => line.to_owned(),
    };
    result.attempt.stdout.lines().skip(1).map(line).collect()
}

check!(daemons_end_with_their_test, {
    for (test, verdict) in [
        ("leaves_a_daemon", Verdict::Pass),
        ("leaves_a_child", Verdict::Pass),
        ("hangs_and_leaves_a_daemon", Verdict::Timeout),
        ("aborts_and_leaves_a_daemon", Verdict::Crash),
        ("fails_and_leaves_a_daemon", Verdict::Fail),
    ] {
        for result in results(&RUN.0, test) {
            assert_eq!(result.verdict, verdict, "{result:?}");
            let daemon = printed_id(&result).parse().expect("a process id");
            assert!(!is_running(daemon), "{}", result.test);
        }
    }
});

check!(a_profile_makes_them_failures, {
    let folder = Folder::new();
    let mut command = folder.run(&["faulty::leftovers::changes_"]);
    folder.configure(&mut command, "[profile.default]\nleftovers = \"fail\"\n");
    assert_eq!(output(command).status.code(), Some(1));
    let log = folder.log();
    for result in results(&log, "changes_folder_and_umask") {
        assert_eq!(result.verdict, Verdict::Fail, "{}", result.test);
        let Outcome::Failed { message, location: Some(location) } = &result.attempt.outcome else {
            panic!("{result:?}")
        };
        let notes = format!("left behind: {}\nleft behind: working folder ", umask_note());
        assert!(message.starts_with(&notes), "{message}");
        assert!(location.file.ends_with("leftovers.rs"), "{}", location.file);
    }
    for result in results(&log, "changes_nothing") {
        assert_eq!(result.verdict, Verdict::Pass, "{result:?}");
    }
});

/// Runs tests with a driver whose function `function` does `body` first. The outputs are in the folder.
fn run_with_driver(filter: &str, function: &str, body: &str) -> (Ended, RunLog, Folder) {
    let folder = Folder::new();
    let mut command = folder.run(&[filter]);
    command.env("OPENCL_DYLIB_PATH", faulty_loader(folder.path(), function, body));
    (output(command), folder.log(), folder)
}

check!(what_a_driver_changes_with_its_first_context_is_no_test_s, {
    let body = "static int made; if (!made++) {
        setenv(\"DRIVER_WAS_HERE\", \"1\", 1); signal(SIGURG, SIG_IGN);
        if (fork() == 0) for (;;) pause(); }";
    let (output, log, _folder) =
        run_with_driver("faulty::leftovers::shows_its_process_*st@*", "clCreateContext", body);
    assert_eq!(output.status.code(), Some(0));
    let first = results(&log, "shows_its_process_first");
    for (first, last) in first.into_iter().zip(results(&log, "shows_its_process_last")) {
        assert!(first.attempt.stdout.contains("DRIVER_WAS_HERE"), "{first:?}");
        assert!(!first.attempt.stdout.contains("children: []\n"), "{first:?}");
        assert_eq!(process_of(&first), process_of(&last), "{}", last.test);
        assert_eq!(first.attempt.left_behind, [""; 0], "{}", first.test);
    }
});

check!(the_first_context_of_a_driver_is_not_charged_to_a_test, {
    // Longer than the time limit, which is long enough for each of the drivers.
    let body = "static int made;
        if (!made++) { write(2, \"driver: error 7\\n\", 16); sleep(11); }";
    let settings = "[profile.default]\ntimeout = \"10s\"\n\
                    [[override]]\ndevice = \"*\"\ndiagnostics = [\"^driver: error\"]\n";
    let folder = Folder::new();
    let mut command = folder.run(&["faulty::passes"]);
    folder.configure(&mut command, settings);
    command.env("OPENCL_DYLIB_PATH", faulty_loader(folder.path(), "clCreateContext", body));
    assert_eq!(output(command).status.code(), Some(0));
    for result in support::results(&folder.log(), "passes") {
        assert_eq!(result.verdict, Verdict::Pass, "{result:?}");
        assert_eq!(result.attempt.stderr, "said on standard error\n", "{}", result.test);
    }
});

/// Returns whether SIGURG has a handler, as a test has shown its process.
fn handles_sigurg(result: &TestResult) -> bool {
    let caught = result.attempt.stdout.lines().find_map(|line| line.strip_prefix("SigCgt:\t"));
    let caught = u64::from_str_radix(caught.expect("the kernel says it"), 16).expect("a mask");
    caught & 1 << (libc::SIGURG - 1) != 0
}

check!(a_driver_may_install_and_remove_handlers_later, {
    let removes =
        "static int made; signal(SIGURG, made++ ? SIG_DFL : (void (*)(int))clCreateContext);";
    for (function, body, is_handled) in [
        ("clCreateBuffer", "signal(SIGURG, (void (*)(int))clCreateBuffer);", true),
        ("clCreateContext", removes, false),
    ] {
        let (output, log, _folder) =
            run_with_driver("faulty::leftovers::*_buffer@*", function, body);
        assert_eq!(output.status.code(), Some(0));
        for result in results(&log, "makes_a_buffer") {
            assert_eq!(result.attempt.left_behind, [""; 0], "{}", result.test);
        }
        for result in results(&log, "shows_its_process_after_the_buffer") {
            assert_eq!(handles_sigurg(&result), is_handled, "{}", result.test);
        }
    }
});

check!(libtest_points_to_the_reports, {
    let folder = Folder::new();
    folder.write("clmatrix.toml", "[profile.default]\nreport-dir = \"reports\"\n");
    let mut command = child(LIBTEST, &["faulty::leftovers::changes_"]);
    command.current_dir(folder.path()).env_remove("CLMATRIX_CONFIG");
    let output = output(command);
    assert_eq!(output.status.code(), Some(0));
    let stderr = &output.stderr;
    assert!(stderr.contains("left something behind in their process: "), "{stderr}");
});
