//! The search for the test that makes another test go wrong.

use std::path::Path;
use std::process::Command;

use crate::faulty::delayed::BOMB;
use crate::faulty::flakes::COUNTS;
use crate::support::{COMMAND, Folder, child_as_written, output};
use crate::{check, cpu};

/// A command on one device, for tests that need variables.
fn command(folder: &Path, arguments: &[&str]) -> Command {
    let mut command = child_as_written(COMMAND, arguments);
    command.arg("--report-dir").arg(folder).env("CLMATRIX_TEST", cpu::platform());
    command.env(COUNTS, folder).env(BOMB, "5 200");
    command
}

/// Runs tests with this configuration, and looks for the cause of the result of one of them. Checks the exit status,
/// and what is said.
fn bisect(
    config: &str,
    arguments: &[&str],
    id: impl Fn(&Folder) -> String,
    status: i32,
    says: &[&str],
) {
    let folder = Folder::new();
    let configured = |arguments: &[&str]| {
        let mut command = command(folder.path(), arguments);
        if !config.is_empty() {
            folder.configure(&mut command, config);
        }
        output(command)
    };
    configured(&[&["run", "--slots", "1"], arguments].concat());
    let ended = configured(&["bisect", &id(&folder), "--runs", "10"]);
    let text = ended.stdout + &ended.stderr;
    assert_eq!(ended.status.code(), Some(status), "{text}");
    assert!(says.iter().all(|says| text.contains(says)), "{text}");
}

/// The ID of a test.
fn id(test: &str) -> String {
    cpu::test(&format!("faulty::{test}"))
}

const FRESH: [&str; 2] = ["--contexts", "fresh"];
const FOUND: &str = ": 4 of 4 with it, 0 of 5 without";

check!(the_test_that_breaks_another_is_found, {
    let tests = ["breaks_a_later_test@", "runs_in_between", "needs_order@"];
    let tests = tests.map(|test| format!("faulty::flakes::{test}"));
    let [cause, victim] =
        ["breaks_a_later_test", "needs_order"].map(|n| id(&format!("flakes::{n}")));
    let says = format!("{cause} makes {victim} go wrong{FOUND}");
    let arguments = [&FRESH[..], &tests.each_ref().map(|test| &**test)].concat();
    bisect("", &arguments, |_| victim.clone(), 0, &[&says]);
});

/// The test that was running when the crash came.
fn victim(folder: &Folder) -> String {
    let crash = folder.log().results.pop().expect("a result");
    let (_, victim) = crash.attempt.stdout.split_once("running test: ").expect("a test");
    victim.lines().next().expect("a line").to_owned()
}

check!(the_cause_of_a_late_crash_is_found, {
    let cause = id("delayed::takes_ten_milliseconds::number_05_5") + " makes ";
    let tests = [&FRESH[..], &["takes_ten_milliseconds"]].concat();
    bisect("", &tests, victim, 0, &[&cause, FOUND]);
    // The crash itself may be named, and be flaky.
    let crash = |folder: &Folder| folder.log().results.pop().expect("a result").test.to_string();
    for more in [&[][..], &["--retries", "1"]] {
        bisect("", &[&tests[..], more].concat(), crash, 0, &[&cause, FOUND]);
    }
});

check!(a_test_that_always_fails_has_no_cause, {
    let fails = id("flakes::fails_always");
    let says = format!(
        "no difference found: {fails} goes wrong by itself in 5 of 5, and in 5 of 5 after the 1 test before it"
    );
    let tests = ["faulty::passes@", "faulty::flakes::fails_always@"];
    bisect("", &[&FRESH[..], &tests].concat(), |_| fails.clone(), 1, &[&says]);
    // Nor one that ran first.
    let says = "did not go wrong after other tests in ";
    bisect("", &[&FRESH[..], &tests[1..]].concat(), |_| fails.clone(), 2, &[says]);
});

// The test goes wrong in a context that another test had before.
check!(a_test_that_marks_a_context_is_found, {
    let [cause, victim, of_worker] =
        ["marks_its_context", "fails_in_a_marked_context", "crashes_in_a_marked_context"]
            .map(|test| id(&format!("contexts::{test}")));
    let says = format!("{cause} makes {victim} go wrong: 5 of 5 with it, 0 of 5 without");
    bisect("", &["--contexts", "reuse", &cause, &victim], |_| victim.clone(), 0, &[&says]);
    let says = format!("{cause} makes {of_worker} go wrong: ");
    let crash = |_: &Folder| cpu::test("worker::crash");
    bisect("", &["--contexts", "reuse", &cause, &of_worker], crash, 0, &[&says]);
});

const BY_ITSELF: &str = " goes wrong by itself in 5 of 5, and in 5 of 5 ";

check!(a_test_has_its_own_settings, {
    let config = "[profile.default]\nleftovers = \"fail\"\n\
        [[override]]\ntests = \"*::takes_long::*\"\ntimeout = \"100ms\"\n";
    for (before, test) in [
        ("flakes::runs_in_between", "flakes::changes_its_folder"),
        ("order::ends_at_once@", "order::takes_long::number_1_1"),
    ] {
        let tests = [format!("faulty::{before}"), format!("faulty::{test}@")];
        bisect(config, &[&tests[0], &tests[1]], |_| id(test), 1, &[BY_ITSELF]);
    }
});

// The test in between would fail in the context of the first one, which then is not there for the last.
check!(a_test_has_its_own_contexts, {
    let config = "[profile.reusing]\ncontexts = \"reuse\"\n\
        [[override]]\ntests = \"*::fails_in_a_marked_context\"\ncontexts = \"fresh\"\n";
    let tests = ["marks_its_context", "fails_in_a_marked_context", "aborts_in_a_marked_context"];
    let [cause, between, victim] = tests.map(|test| id(&format!("contexts::{test}")));
    let arguments = ["--profile", "reusing", &cause, &between, &victim];
    let says = format!("{cause} makes {victim} go wrong: ");
    bisect(config, &arguments, |_| victim.clone(), 0, &[&says]);
});
