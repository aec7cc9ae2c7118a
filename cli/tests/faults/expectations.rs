//! Expected failures do not fail a run. Unexpected passes do.

use std::path::PathBuf;

use clmatrix_runner::log::run_log::RunLog;
use clmatrix_runner::result::test_result::TestResult;
use clmatrix_runner::verdict::Verdict;

use crate::check;
use crate::cpu;
use crate::support::{COMMAND, Ended, Folder, LIBTEST, child, log, output, results};

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
    use Verdict::{Crash, ExpectedFail, Fail, Skip, UnexpectedPass};
    let report = "[profile.default]\nunexpected-pass = \"report\"\n";
    for (text, options, test, status, code, verdict) in [
        ("", &[][..], "fails_an_assertion", "fail", 0, ExpectedFail),
        ("", &[], "aborts", "crash", 0, ExpectedFail),
        ("", &[], "hangs_and_leaves_a_child", "timeout", 0, ExpectedFail),
        ("", &[], "passes", "fail", 1, UnexpectedPass),
        (report, &[], "passes", "fail", 0, UnexpectedPass),
        ("", &[], "aborts", "fail", 1, Crash),
        ("", &[], "fails_an_assertion", "crash", 1, Fail),
        ("", &[], "aborts", "skip", 0, Skip),
        ("", &[], "needs_no_device", "skip", 0, Skip),
        ("", &["--run-skipped"], "aborts", "skip", 1, Crash),
        ("", &["--run-skipped"], "passes", "skip", 0, UnexpectedPass),
    ] {
        let (output, log) = run_with(text, options, &[test], &expect(test, status));
        assert_eq!(output.status.code(), Some(code), "{test}: {status}");
        assert!(all(&log, test, verdict), "{test}: {status}");
        let is_known =
            |r: &&TestResult| r.expectation.as_ref().is_some_and(|known| known.reason == "known");
        assert!(status == "skip" || results(&log, test).iter().all(is_known), "{test}: {status}");
        let line = format!("  expected: {status}: known\n");
        let is_shown = [Crash, Fail].contains(&verdict);
        assert_eq!(output.stdout.contains(&line), is_shown, "{}", output.stdout);
        let line = "UNEXPECTED PASS faulty::passes@";
        assert_eq!(output.stdout.contains(line), verdict == UnexpectedPass, "{}", output.stdout);
        let is_on = !options.is_empty();
        assert_eq!(log.header.rerun_command.ends_with(" --run-skipped"), is_on);
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
    let explained = clmatrix(&["expect", "explain", "faulty::aborts@"]);
    let text = explained.stdout;
    assert!(
        text.contains("faulty::aborts@") && text.contains(": crash, counts: SIGABRT"),
        "{text}"
    );
    // Another driver may need the entry that the exceptions hide here.
    let stale = clmatrix(&["expect", "stale", "latest"]);
    let text = stale.stdout;
    assert_eq!(stale.status.code(), Some(1));
    assert_eq!(text.lines().filter(|line| !line.is_empty()).count(), 1, "{text}");
    assert!(text.contains("\"faulty::passes\": it is always hidden"), "{text}");
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
    let entry = |test, status| {
        let platform = format!("platform = \"{}\"\n", cpu::platform());
        expect(test, status) + &platform + "driver-version = \"0.1\"\n"
    };
    let entries = entry("aborts", "crash") + &entry("passes", "fail");
    let options = ["--devices", cpu::platform()];
    let (output, log) = run_with("", &options, &["aborts", "passes"], &entries);
    assert_eq!(output.status.code(), Some(0));
    assert!(all(&log, "aborts", Verdict::AssumedFail) && all(&log, "passes", Verdict::Pass));
    let page = output.stdout;
    let version = &log.header.devices[0].info.driver_version;
    for line in [
        format!("1 result on {}, {version}, as seen at 0.1", cpu::id()),
        format!("(0.1): 1 of 1 pass on {}, {version}", cpu::id()),
    ] {
        let page = page.split_whitespace().collect::<Vec<_>>().join(" ");
        assert!(page.contains(&line), "{page}");
    }
    let strict = "[profile.default]\nstrict-versions = true\n";
    let (output, log) = run_with(strict, &options, &["aborts", "passes"], &entries);
    assert_eq!(output.status.code(), Some(1));
    assert!(all(&log, "aborts", Verdict::Crash) && all(&log, "passes", Verdict::Pass));
});

check!(entries_without_a_test_are_named_once_on_standard_error, {
    let names = ["passes", "pases", "a", "b", "c"];
    let entries: String = names.iter().map(|test| expect(test, "fail")).collect();
    // Another target below this configuration may have these.
    let of_others = ["other::passes", "in_a_root", "*::passes"]
        .map(|test| expect("", "fail").replace("faulty::", test));
    let (folder, config) = configuration(&(entries + &of_others.concat()));
    let reports = folder.path().display().to_string();
    let runs = [
        (COMMAND, vec!["run", "--report-dir", &reports, "faulty::needs_no_device@"]),
        (LIBTEST, vec!["--exact", "faulty::needs_no_device@host"]),
        (LIBTEST, vec!["--exact", "faulty::needs_no_device@host", "--list"]),
    ];
    for (role, arguments) in runs {
        let output = output(child(role, &arguments).env("CLMATRIX_CONFIG", &config));
        assert!(output.status.success(), "{arguments:?}");
        let stderr = &output.stderr;
        let said: Vec<&str> = stderr.lines().filter(|line| line.contains("expectation")).collect();
        let mut expected = Vec::new();
        if !arguments.contains(&"--list") {
            expected.push(format!("configuration: {}; expectations: 8", config.display()));
            expected.extend(warnings(role));
        }
        assert_eq!(said, expected, "{arguments:?}");
        assert!(!output.stdout.contains("pases"), "{arguments:?}");
    }
});

check!(parts_of_the_configuration_without_effect_are_named, {
    let entry = |platform: &str| expect("passes", "pass") + &format!("platform = \"{platform}\"\n");
    let (folder, config) = configuration(&(entry("NVIDIA") + &entry("NVIDA") + &entry("nvida*")));
    let text = "[[override]]\ntests = \"faulty::pases\"\nalone = true\n\
                [[override]]\ntests = \"other::t\"\ngroup = \"used\"\n\
                [[override]]\nplatform = \"ocl-grind\"\nretries = 1\n\
                [[override]]\nplatform = \"oclgrind\"\nretries = 1\n\
                [group.used]\n[group.unused]\n";
    folder.write("clmatrix.toml", text);
    let unread = folder.write("expectations/c.TOML", "not read");
    folder.write("expectations/README.md", "not read");
    let platform = "no platform of this machine, and no usual one, matches the platform";
    let expected = [
        "no test of this target matches the [[override]] of tests \"faulty::pases\"".to_owned(),
        "no [[override]] has the group \"unused\"".to_owned(),
        format!("{platform} \"NVIDA\""),
        format!("{platform} \"nvida*\""),
        format!("{platform} \"ocl-grind\""),
        format!("{} is not read: its name must end in .toml", unread.display()),
    ];
    let reports = folder.path().display().to_string();
    for (role, arguments) in [
        (COMMAND, vec!["run", "--report-dir", &reports, "faulty::needs_no_device@"]),
        (LIBTEST, vec!["--exact", "faulty::needs_no_device@host"]),
    ] {
        let ended = output(child(role, &arguments).env("CLMATRIX_CONFIG", &config));
        assert!(ended.status.success(), "{}", ended.stderr);
        let warnings = ended.stderr.lines().filter_map(|line| line.strip_prefix("warning: "));
        assert_eq!(warnings.collect::<Vec<_>>(), expected, "{role}");
    }
});

/// The warnings about four expectations without a test: a line each, or one line of a test target.
fn warnings(role: &str) -> Vec<String> {
    if role == LIBTEST {
        return vec![
            "warning: no test of this target matches these expectations (4): \"faulty::pases\", \
             \"faulty::a\", \"faulty::b\", ..."
                .to_owned(),
        ];
    }
    ["pases", "a", "b", "c"]
        .map(|test| {
            format!(
                "warning: no test of this target matches the expectation for \"faulty::{test}\""
            )
        })
        .to_vec()
}
