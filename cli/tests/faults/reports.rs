//! Reports and messages without room on the disk, or without a reader.

use std::fs::File;
use std::path::Path;
use std::process::{Command, Stdio};

use clmatrix_runner::verdict::Verdict;

use crate::support::{
    COMMAND, Ended, Folder, LIBTEST, child, copy_variables, log, output, reports, results,
};
use crate::{check, cpu};

/// Runs a child whose standard output and error are pipes that no process reads.
fn run_for_nobody(mut command: Command) -> Option<i32> {
    let mut child =
        command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().expect("the child starts");
    drop((child.stdout.take(), child.stderr.take()));
    child.wait().expect("the child ends").code()
}

check!(nobody_reads_what_is_printed, {
    for format in ["matrix", "json"] {
        let folder = Folder::new();
        let mut command = folder.run(&["--format", format]);
        command.args(["faulty::passes@", "faulty::fails_an_assertion@"]);
        assert_eq!(run_for_nobody(command), Some(1), "{format}");
        let log = folder.log();
        assert!(!log.interrupted, "{format}");
        assert!(results(&log, "passes").iter().all(|result| result.verdict == Verdict::Pass));
        assert!(reports(folder.path()).join("junit").is_dir(), "{format}");
    }
});

check!(a_list_for_nobody_is_no_failure, {
    for arguments in [&["list"][..], &["devices"], &["devices", "--format", "json"]] {
        assert_eq!(run_for_nobody(child(COMMAND, arguments)), Some(0), "{arguments:?}");
    }
    assert_eq!(run_for_nobody(child(LIBTEST, &["--list"])), Some(0));
});

check!(files_of_others_are_left_alone, {
    let folder = Folder::new();
    let at = |name: &str| folder.at(name);
    folder.write("junit/data.txt", "mine");
    folder.write("junit/old-device.xml", "<testsuites/>");
    let skip_all = "[[expect]]\ntest = \"*\"\nstatus = \"skip\"\nreason = \"quick\"\n";
    folder.write("expectations/all.toml", skip_all);
    let config = folder.write("clmatrix.toml", "");
    let run = || output(folder.run(&[]).env("CLMATRIX_CONFIG", &config));
    assert_eq!(run().status.code(), Some(0));
    assert!(at("junit/host.xml").exists() && at("events.jsonl").is_symlink());
    assert_eq!(std::fs::read_to_string(at("junit/data.txt")).unwrap(), "mine");
    assert!(!at("junit/old-device.xml").exists(), "a device that this run did not have");
    assert_eq!(run().status.code(), Some(0), "again into the same folder");

    std::fs::remove_file(at("events.jsonl")).expect("the link");
    folder.write("events.jsonl", "my own notes\n");
    let refused = run();
    assert_eq!(refused.status.code(), Some(2));
    assert!(refused.stderr.contains("not a log of clmatrix"));
    assert_eq!(std::fs::read_to_string(at("events.jsonl")).unwrap(), "my own notes\n");
});

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

check!(a_filtered_run_keeps_the_reports_of_the_whole_run, {
    let folder = Folder::new();
    let are_kept = reports_of_a_whole_run(folder.path());
    assert_eq!(output(folder.run(&["faulty::passes@"])).status.code(), Some(0));
    are_kept();
    assert!(!results(&folder.log(), "passes").is_empty());

    let of_target = folder.at("clmatrix-cli/faults");
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
});

check!(what_tests_record_stands_there, {
    let folder = Folder::new();
    let (status, log) = folder.ran(&["faulty::records*", "faulty::passes@"]);
    assert_eq!(status, Some(1));
    let recorded = |test| {
        let results = results(&log, test);
        let properties = &results[0].attempt.properties;
        assert!(results.iter().all(|result| result.attempt.properties == *properties));
        properties.clone()
    };
    let property = |name: &str, value: &str| (name.to_owned(), value.to_owned());
    assert_eq!(
        recorded("records_and_passes"),
        [property("speed", "1.5"), property("a < b", "<&>")]
    );
    assert_eq!(recorded("records_and_fails"), [property("before it failed", "true")]);
    assert_eq!(recorded("passes"), [], "the next test in the same worker");
});

/// Runs a child on a full disk, for which it uses `/dev/full`, and checks that it reports that.
fn run_on_a_full_disk(mut command: Command) {
    let disk = File::options().write(true).open("/dev/full").expect("Linux has /dev/full");
    let shown = format!("{command:?}");
    let child = command.stdout(disk).stderr(Stdio::piped()).spawn().expect("the child starts");
    let output = Ended::from(child.wait_with_output().expect("the child ends"));
    let stderr = &output.stderr;
    assert_eq!(output.status.code(), Some(2), "{shown}: {stderr}");
    let reason = "error: cannot write to standard output: No space left on device";
    assert!(stderr.contains(reason), "{shown}: {stderr}");
}

check!(output_that_cannot_be_written_is_exit_2, {
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
});

check!(a_run_whose_output_is_lost_keeps_its_reports, {
    for format in ["matrix", "json"] {
        let folder = Folder::new();
        run_on_a_full_disk(folder.run(&["faulty::passes@", "--format", format]));
        let log = folder.log();
        assert!(!log.interrupted, "{format}");
        folder.junit(log.results[0].test.device());
    }
});

check!(there_is_no_place_for_state, {
    // Outside cargo's target folder, and without a home: as an installed executable may be run.
    let folder = Folder::new();
    let installed = folder.at("faults");
    std::fs::copy(std::env::current_exe().expect("a path"), &installed).expect("a copy");
    let template = child(COMMAND, &["devices"]);
    let mut command = Command::new(&installed);
    command.args(template.get_args()).stdin(Stdio::null());
    copy_variables(&template, &mut command);
    command.env("HOME", "/proc/nope").env_remove("XDG_CACHE_HOME");
    assert_eq!(output(command).status.code(), Some(0));
});

check!(a_job_of_github_has_a_summary_and_annotations, {
    let folder = Folder::new();
    let step = folder.at("step");
    let summary = || std::fs::read_to_string(&step).expect("the summary of the step");
    let run = |variable: &str, format: &str| {
        let mut command = folder.run(&["--format", format]);
        command.args(["faulty::passes@", "faulty::fails_an_assertion@"]);
        command.env("GITHUB_ACTIONS", variable).env("GITHUB_STEP_SUMMARY", &step);
        let output = output(command);
        assert_eq!(output.status.code(), Some(1));
        output.stdout
    };
    std::fs::write(&step, "before").expect("a file");
    let stdout = run("true", "matrix");
    let annotations: Vec<_> = stdout.lines().filter(|line| line.starts_with("::")).collect();
    let start = "::error file=cli/tests/faults/faulty.rs,line=";
    assert!(matches!(&annotations[..], [one] if one.starts_with(start)), "{annotations:?}");
    let first = summary();
    let written = std::fs::read_to_string(reports(folder.path()).join("summary.md"));
    assert_eq!(first, format!("before\n{}", written.expect("the summary of the run")));

    let stdout = run("true", "json");
    assert!(stdout.lines().all(|line| line.starts_with('{')), "{stdout}");
    assert!(summary().starts_with(&first) && summary().len() > first.len());
    let before = summary();
    assert!(!run("false", "matrix").contains("::error"));
    assert_eq!(summary(), before);

    let mut command = folder.run(&["faulty::passes@"]);
    command.env("GITHUB_ACTIONS", "true");
    command.env("GITHUB_STEP_SUMMARY", folder.at("missing"));
    let ran = output(command);
    let stderr = ran.stderr;
    let [warned, done] =
        ["warning: GITHUB_STEP_SUMMARY, ", " 1 done in "].map(|said| stderr.find(said));
    assert!(ran.status.success() && warned.is_some() && warned < done, "{stderr}");

    let report = |options: &[&str]| output(folder.command(&["report"]).args(options));
    let markdown = report(&["--format", "markdown", "--baseline", "latest"]).stdout;
    assert!(markdown.contains("\nNo result differs.\n"), "{markdown}");
    assert_eq!(report(&["--baseline", "latest"]).status.code(), Some(2));
});
