//! Reports and messages without room on the disk, or without a reader.

use std::fs::File;
use std::path::Path;
use std::process::{Command, Stdio};

use clmatrix_harness::private::verdict::Verdict;

use crate::Check;
use crate::cpu;
use crate::support::{COMMAND, LIBTEST, child, log, output, reports, results};

pub const CHECKS: &[Check] = &[
    ("reports::nobody_reads_what_is_printed", nobody_reads_what_is_printed),
    ("reports::a_list_for_nobody_is_no_failure", a_list_for_nobody_is_no_failure),
    ("reports::files_of_others_are_left_alone", files_of_others_are_left_alone),
    ("reports::output_that_cannot_be_written_is_exit_2", output_that_cannot_be_written_is_exit_2),
    (
        "reports::a_run_whose_output_is_lost_keeps_its_reports",
        a_run_whose_output_is_lost_keeps_its_reports,
    ),
    (
        "reports::a_filtered_run_keeps_the_reports_of_the_whole_run",
        a_filtered_run_keeps_the_reports_of_the_whole_run,
    ),
    (
        "reports::a_job_of_github_has_a_summary_and_annotations",
        a_job_of_github_has_a_summary_and_annotations,
    ),
    ("reports::what_tests_record_stands_there", what_tests_record_stands_there),
    ("reports::there_is_no_place_for_state", there_is_no_place_for_state),
];

/// Runs a child whose standard output and error are pipes that no process reads.
fn run_for_nobody(mut command: Command) -> Option<i32> {
    let mut child =
        command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().expect("the child starts");
    drop((child.stdout.take(), child.stderr.take()));
    child.wait().expect("the child ends").code()
}

fn nobody_reads_what_is_printed() {
    for format in ["matrix", "json"] {
        let folder = tempfile::tempdir().expect("a folder");
        let mut command = child(COMMAND, &["run", "--format", format, "--report-dir"]);
        command.arg(folder.path()).args(["faulty::passes@", "faulty::fails_an_assertion@"]);
        assert_eq!(run_for_nobody(command), Some(1), "{format}");
        let log = log(folder.path());
        assert!(!log.interrupted, "{format}");
        assert!(results(&log, "passes").iter().all(|result| result.verdict == Verdict::Pass));
        assert!(reports(folder.path()).join("junit").is_dir(), "{format}");
    }
}

fn a_list_for_nobody_is_no_failure() {
    for arguments in [&["list"][..], &["devices"], &["devices", "--format", "json"]] {
        assert_eq!(run_for_nobody(child(COMMAND, arguments)), Some(0), "{arguments:?}");
    }
    assert_eq!(run_for_nobody(child(LIBTEST, &["--list"])), Some(0));
}

fn files_of_others_are_left_alone() {
    let folder = tempfile::tempdir().expect("a folder");
    let at = |name: &str| folder.path().join(name);
    std::fs::create_dir_all(at("junit")).expect("a folder");
    std::fs::write(at("junit/data.txt"), "mine").expect("a file");
    std::fs::write(at("junit/old-device.xml"), "<testsuites/>").expect("a file");
    let config = at("clmatrix.toml");
    let skip_all = "[[expect]]\ntest = \"*\"\nstatus = \"skip\"\nreason = \"quick\"\n";
    std::fs::create_dir(at("expectations")).expect("a folder");
    std::fs::write(at("expectations/all.toml"), skip_all).expect("a file");
    std::fs::write(&config, "").expect("a file");
    let run = || {
        let mut command = child(COMMAND, &["run", "--report-dir"]);
        command.arg(folder.path()).env("CLMATRIX_CONFIG", &config);
        output(command)
    };
    assert_eq!(run().status.code(), Some(0));
    assert!(at("junit/host.xml").exists() && at("events.jsonl").is_symlink());
    assert_eq!(std::fs::read_to_string(at("junit/data.txt")).unwrap(), "mine");
    assert!(!at("junit/old-device.xml").exists(), "a device that this run did not have");
    assert_eq!(run().status.code(), Some(0), "again into the same folder");

    std::fs::remove_file(at("events.jsonl")).expect("the link");
    std::fs::write(at("events.jsonl"), "my own notes\n").expect("a file");
    let refused = run();
    assert_eq!(refused.status.code(), Some(2));
    assert!(String::from_utf8_lossy(&refused.stderr).contains("not a log of clmatrix"));
    assert_eq!(std::fs::read_to_string(at("events.jsonl")).unwrap(), "my own notes\n");
}

/// Writes reports into `folder` as a whole run does, and returns a check that they are unchanged.
fn reports_of_a_whole_run(folder: &Path) -> impl Fn() {
    let files = [
        (folder.join("events.jsonl"), "{\"event\":\"run\""),
        (folder.join("junit").join(cpu::id() + ".xml"), "<testsuites/>"),
    ];
    std::fs::create_dir_all(folder.join("junit")).expect("a folder");
    for (path, text) in &files {
        std::fs::write(path, text).expect("a file");
    }
    move || {
        for (path, text) in &files {
            let found = std::fs::read_to_string(path).expect("the file is still there");
            assert_eq!(found, *text, "{}", path.display());
        }
    }
}

fn a_filtered_run_keeps_the_reports_of_the_whole_run() {
    let folder = tempfile::tempdir().expect("a folder");
    let are_kept = reports_of_a_whole_run(folder.path());
    let mut command = child(COMMAND, &["run", "faulty::passes@", "--report-dir"]);
    command.arg(folder.path());
    assert_eq!(output(command).status.code(), Some(0));
    are_kept();
    assert!(!results(&log(folder.path()), "passes").is_empty());

    let of_target = folder.path().join("clmatrix-cli/faults");
    let are_kept = reports_of_a_whole_run(&of_target);
    let libtest = |arguments: &[&str]| {
        let mut command = child(LIBTEST, arguments);
        command.env("CLMATRIX_REPORT_DIR", folder.path());
        assert_eq!(output(command).status.code(), Some(0), "{arguments:?}");
        are_kept();
    };
    libtest(&["no::such::test"]);
    assert!(!of_target.join("runs").exists(), "there is nothing to report");
    libtest(&["--ignored", "is_ignored"]);
    libtest(&["--skip", "::"]);
    libtest(&["--exact", "faulty::passes"]);
    assert!(!results(&log(&of_target), "passes").is_empty());
}

fn what_tests_record_stands_there() {
    let folder = tempfile::tempdir().expect("a folder");
    let mut command = child(COMMAND, &["run", "faulty::records*", "faulty::passes@"]);
    command.arg("--report-dir").arg(folder.path());
    assert_eq!(output(command).status.code(), Some(1));
    let log = log(folder.path());
    let recorded = |test| {
        let results = results(&log, test);
        assert!(!results.is_empty());
        let of_each: Vec<_> =
            results.iter().map(|result| result.findings.properties.clone()).collect();
        assert!(of_each.iter().all(|properties| *properties == of_each[0]));
        of_each.into_iter().next().expect("a device")
    };
    let property = |name: &str, value: &str| (name.to_owned(), value.to_owned());
    assert_eq!(
        recorded("records_and_passes"),
        [property("speed", "1.5"), property("a < b", "<&>")]
    );
    assert_eq!(recorded("records_and_fails"), [property("before it failed", "true")]);
    assert_eq!(recorded("passes"), [], "the next test in the same worker");
    let (_, device) = log.results[0].test_and_device();
    let junit = reports(folder.path()).join("junit").join(format!("{device}.xml"));
    let junit = std::fs::read_to_string(junit).expect("the device's report");
    for line in [r#"name="speed" value="1.5""#, r#"name="a &lt; b" value="&lt;&amp;&gt;""#] {
        assert!(junit.contains(&format!("<property {line}/>")), "{junit}");
    }
}

/// Runs a child on a full disk, which `/dev/full` stands for, and checks that it says so.
fn run_on_a_full_disk(mut command: Command) {
    let disk = File::options().write(true).open("/dev/full").expect("Linux has /dev/full");
    let shown = format!("{command:?}");
    let child = command.stdout(disk).stderr(Stdio::piped()).spawn().expect("the child starts");
    let output = child.wait_with_output().expect("the child ends");
    let stderr = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(2), "{shown}: {stderr}");
    let reason = "error: cannot write to standard output: No space left on device";
    assert!(stderr.contains(reason), "{shown}: {stderr}");
}

fn output_that_cannot_be_written_is_exit_2() {
    for arguments in [
        &["list"][..],
        &["list", "--format", "json"],
        &["devices"],
        &["devices", "--format", "json"],
        &["characterize", "--only", "get_simd_group_size"],
        &["characterize", "--only", "get_simd_group_size", "--format", "json"],
    ] {
        run_on_a_full_disk(child(COMMAND, arguments));
    }
    run_on_a_full_disk(child(LIBTEST, &["--list"]));
}

fn a_run_whose_output_is_lost_keeps_its_reports() {
    for format in ["matrix", "json"] {
        let folder = tempfile::tempdir().expect("a folder");
        let mut command =
            child(COMMAND, &["run", "faulty::passes@", "--format", format, "--report-dir"]);
        command.arg(folder.path());
        run_on_a_full_disk(command);
        let log = log(folder.path());
        assert!(!log.interrupted, "{format}");
        let (_, device) = log.results[0].test_and_device();
        assert!(
            reports(folder.path()).join("junit").join(format!("{device}.xml")).is_file(),
            "{format}"
        );
    }
}

fn there_is_no_place_for_state() {
    // Outside cargo's target folder, and without a home: as an installed executable may be run.
    let folder = tempfile::tempdir().expect("a folder");
    let installed = folder.path().join("faults");
    std::fs::copy(std::env::current_exe().expect("a path"), &installed).expect("a copy");
    let template = child(COMMAND, &["devices"]);
    let mut command = Command::new(&installed);
    command.args(template.get_args()).stdin(Stdio::null());
    for (name, value) in template.get_envs() {
        match value {
            Some(value) => command.env(name, value),
            None => command.env_remove(name),
        };
    }
    command.env("HOME", "/proc/nope").env_remove("XDG_CACHE_HOME");
    assert_eq!(output(command).status.code(), Some(0));
}

fn a_job_of_github_has_a_summary_and_annotations() {
    let folder = tempfile::tempdir().expect("a folder");
    let step = folder.path().join("step");
    let summary = || std::fs::read_to_string(&step).expect("the summary of the step");
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    let run = |variable: &str, format: &str| {
        let mut command = child(COMMAND, &["run", "--format", format, "--report-dir"]);
        command.arg(folder.path()).args(["faulty::passes@", "faulty::fails_an_assertion@"]);
        command.env("GITHUB_ACTIONS", variable).env("GITHUB_STEP_SUMMARY", &step);
        let output = output(command);
        assert_eq!(output.status.code(), Some(1));
        text(&output.stdout)
    };
    std::fs::write(&step, "before").expect("a file");
    let stdout = run("true", "matrix");
    let annotations: Vec<_> = stdout.lines().filter(|line| line.starts_with("::")).collect();
    let start = "::error file=cli/tests/faults/faulty.rs,line=";
    assert!(matches!(&annotations[..], [one] if one.starts_with(start)), "{annotations:?}");
    assert!(
        annotations[0].contains(",title=faulty%3A%3Afails_an_assertion on "),
        "{annotations:?}"
    );
    let first = summary();
    let written = std::fs::read_to_string(reports(folder.path()).join("summary.md"));
    assert_eq!(first, format!("before\n{}", written.expect("the summary of the run")));
    assert!(first.contains("\n<details>\n<summary><b>FAIL</b> <code>faulty::fails_an_assertion@"));

    let stdout = run("true", "json");
    assert!(stdout.lines().all(|line| line.starts_with('{')), "{stdout}");
    assert!(summary().starts_with(&first) && summary().len() > first.len());
    let before = summary();
    assert!(!run("false", "matrix").contains("::error"));
    assert_eq!(summary(), before);

    let mut command = child(COMMAND, &["run", "faulty::passes@", "--report-dir"]);
    command.arg(folder.path()).env("GITHUB_ACTIONS", "true");
    command.env("GITHUB_STEP_SUMMARY", folder.path().join("missing"));
    let ran = output(command);
    let stderr = text(&ran.stderr);
    let [warned, done] =
        ["warning: GITHUB_STEP_SUMMARY, ", " 1 done in "].map(|said| stderr.find(said));
    assert!(ran.status.success() && warned.is_some() && warned < done, "{stderr}");

    let report = |options: &[&str]| {
        let mut command = child(COMMAND, &["report", "--report-dir"]);
        command.arg(folder.path()).args(options);
        output(command)
    };
    let markdown = text(&report(&["--format", "markdown", "--baseline", "latest"]).stdout);
    assert!(markdown.contains("\nNo result differs.\n"), "{markdown}");
    assert_eq!(report(&["--baseline", "latest"]).status.code(), Some(2));
}
