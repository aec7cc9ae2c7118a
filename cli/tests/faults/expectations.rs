//! Expected failures do not fail a run. Unexpected passes do.

use std::path::PathBuf;

use clmatrix_runner::log::run_log::RunLog;
use clmatrix_runner::verdict::Verdict;

use crate::support::{COMMAND, Ended, Folder, LIBTEST, child, log, output, results};
use crate::{check, cpu};

pub fn expect(test: &str, status: &str) -> String {
    format!("[[expect]]\ntest = \"faulty::{test}\"\nstatus = \"{status}\"\nreason = \"known\"\n")
}

/// A configuration with these expectations in a temporary folder, and the path of its file.
pub fn configuration(expectations: &str) -> (Folder, PathBuf) {
    let folder = Folder::new();
    let config = folder.write("clmatrix.toml", "");
    folder.write("expectations/known.toml", expectations);
    (folder, config)
}

/// Runs tests with this configuration, these options and these expectations.
fn run_with(text: &str, options: &[&str], tests: &[&str], expectations: &str) -> (Ended, RunLog) {
    let (folder, config) = configuration(expectations);
    std::fs::write(&config, text).expect("the configuration can be written");
    let reports = folder.at("reports");
    let mut command = child(COMMAND, &["run", "--report-dir"]);
    command.arg(&reports).args(options);
    command.args(tests.iter().map(|test| format!("faulty::{test}@")));
    command.env("CLMATRIX_CONFIG", &config);
    let output = output(command);
    (output, log(&reports))
}

fn all(log: &RunLog, test: &str, verdict: Verdict) -> bool {
    results(log, test).iter().all(|result| result.verdict == verdict)
}

check!(an_outcome_is_judged_by_its_expectation, {
    use Verdict::{Crash, ExpectedFail, Skip, UnexpectedPass};
    let report = "[profile.default]\nunexpected-pass = \"report\"\n";
    for (text, options, test, status, code, verdict) in [
        ("", &[][..], "hangs_and_leaves_a_child", "timeout", 0, ExpectedFail),
        ("", &[], "passes", "fail", 1, UnexpectedPass),
        (report, &[], "passes", "fail", 0, UnexpectedPass),
        ("", &[], "aborts", "fail", 1, Crash),
        ("", &[], "aborts", "skip", 0, Skip),
        ("", &[], "needs_no_device", "skip", 0, Skip),
        ("", &["--run-skipped"], "aborts", "skip", 1, Crash),
        ("", &["--run-skipped"], "passes", "skip", 0, UnexpectedPass),
    ] {
        let (output, log) = run_with(text, options, &[test], &expect(test, status));
        assert_eq!(output.status.code(), Some(code), "{test}: {status}");
        assert!(all(&log, test, verdict), "{test}: {status}");
    }
});

check!(a_run_is_as_expected_after_an_update, {
    let kept = "# Kept.\n".to_owned() + &expect("needs_no_device", "pass");
    let (folder, config) = configuration(&(kept + "\n" + &expect("passes", "fail")));
    let reports = folder.at("reports").display().to_string();
    let clmatrix = |arguments: &[&str]| {
        let mut command = child(COMMAND, arguments);
        command.env("CLMATRIX_CONFIG", &config).args(["--report-dir", &reports]);
        output(command)
    };
    let run = || {
        let tests = ["passes", "aborts", "needs_no_device"].map(|test| format!("faulty::{test}@"));
        clmatrix(&["run", &tests[0], &tests[1], &tests[2]]).status.code()
    };
    assert_eq!(run(), Some(1));
    let known = folder.at("expectations/known.toml");
    let text = || std::fs::read_to_string(&known).expect("it is there");
    let before = text();
    let dry = clmatrix(&["expect", "update", "latest", "--dry-run"]);
    assert_eq!((dry.status.code(), &text()), (Some(0), &before));
    let update = clmatrix(&["expect", "update", "latest"]);
    assert_eq!((update.status.code(), &update.stdout), (Some(0), &dry.stdout));
    let updated = text();
    let exceptions = updated.strip_prefix(&before).expect("the entries of the file are as before");
    assert!(exceptions.contains("status = \"pass\""), "{updated}");
    let entries = || std::fs::read_dir(known.parent().expect("a folder")).expect("it is there");
    assert!(entries().count() > 1, "the crashes have files of their own");
    let again = clmatrix(&["expect", "update", "latest"]);
    assert_eq!((again.status.code(), &*again.stdout), (Some(0), ""));
    assert_eq!(run(), Some(0));
    let explained = clmatrix(&["expect", "explain", "faulty::aborts@"]).stdout;
    assert!(explained.contains(": crash, counts: SIGABRT"), "{explained}");
    // Another driver may need the entry that the exceptions hide here.
    let stale = clmatrix(&["expect", "stale", "latest"]);
    assert_eq!(stale.status.code(), Some(1));
    assert!(stale.stdout.contains("\"faulty::passes\": it is always hidden"), "{stale:?}");
});

check!(an_update_makes_a_configuration, {
    let folder = Folder::new();
    let clmatrix = |arguments: &[&str]| {
        let mut command = child(COMMAND, arguments);
        command.env_remove("CLMATRIX_CONFIG").current_dir(folder.path());
        command.args(["--report-dir", "reports"]);
        output(command)
    };
    let tests = [cpu::test("faulty::aborts"), cpu::test("faulty::fails_an_assertion")];
    let run = || clmatrix(&["run", &tests[0], &tests[1]]).status.code();
    assert_eq!(run(), Some(1));
    let dry = clmatrix(&["expect", "update", "latest", "--dry-run"]);
    let config = folder.at("clmatrix.toml");
    assert!(dry.status.success() && !config.exists());
    let update = clmatrix(&["expect", "update", "latest"]);
    let stderr = &update.stderr;
    assert!(update.status.success() && stderr.contains("clmatrix.toml is new"), "{stderr}");
    assert!(config.exists());
    assert_eq!(run(), Some(0));
});

// The entry names the driver, and a version that there is not.
check!(an_entry_of_another_version_is_assumed, {
    let versions = format!("platform = \"{}\"\ndriver-version = \"0.1\"\n", cpu::platform());
    let entries = ["aborts", "passes"].map(|test| expect(test, "crash") + &versions).concat();
    let strict = "[profile.default]\nstrict-versions = true\n";
    for (text, code, verdict) in [("", 0, Verdict::AssumedFail), (strict, 1, Verdict::Crash)] {
        let options = ["--devices", cpu::platform()];
        let (output, log) = run_with(text, &options, &["aborts", "passes"], &entries);
        assert_eq!(output.status.code(), Some(code), "{text}");
        assert!(all(&log, "aborts", verdict) && all(&log, "passes", Verdict::Pass), "{text}");
    }
});

check!(parts_of_the_configuration_without_effect_are_named_once, {
    let entries = ["passes", "pases", "a", "b", "c"].map(|test| expect(test, "fail")).concat();
    let (folder, config) = configuration(&entries);
    folder.write("clmatrix.toml", "[group.unused]\n");
    let reports = folder.path().display().to_string();
    let of_run = ["pases", "a", "b", "c"].map(|test| {
        format!("warning: no test of this target matches the expectation for \"faulty::{test}\"")
    });
    let of_target = "warning: no test of this target matches these expectations (4): \
                     \"faulty::pases\", \"faulty::a\", \"faulty::b\", ...";
    let test = "faulty::needs_no_device@host";
    for (role, arguments, unmatched) in [
        (COMMAND, &["run", "--report-dir", &reports, test][..], of_run.to_vec()),
        (LIBTEST, &["--exact", test], vec![of_target.to_owned()]),
        (LIBTEST, &["--exact", test, "--list"], vec![]),
    ] {
        let output = output(child(role, arguments).env("CLMATRIX_CONFIG", &config));
        assert!(output.status.success(), "{arguments:?}");
        let is_of_config =
            |line: &&str| line.starts_with("configuration: ") || line.starts_with("warning: ");
        let said: Vec<&str> = output.stderr.lines().filter(is_of_config).collect();
        let mut expected = Vec::new();
        if !unmatched.is_empty() {
            expected.push(format!("configuration: {}; expectations: 5", config.display()));
            expected.extend(unmatched);
            expected.push("warning: no [[override]] has the group \"unused\"".to_owned());
        }
        assert_eq!(said, expected, "{arguments:?}");
        assert!(!output.stdout.contains("pases"), "{arguments:?}");
    }
});
