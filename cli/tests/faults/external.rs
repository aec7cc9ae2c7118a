//! The tests of other programs: one with the command line of the OpenCL conformance test suite, and a Rust
//! test target.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::PathBuf;
use std::process::{Command, ExitCode, Stdio};
use std::time::Duration;

use clmatrix_runner::log::run_log::RunLog;
use clmatrix_runner::result::crash_cause::{CrashCause, ExitTime};
use clmatrix_runner::result::test_id::TestId;
use clmatrix_runner::result::test_result::TestResult;
use clmatrix_runner::verdict::{Outcome, Verdict};
use libtest_mimic::{Arguments, Completion, Trial};
use serde_json::Value;

use crate::support::{
    COMMAND, Ended, Folder, MIMIC, ROLE, child, compile, context_layer, events, log, output,
    verdicts,
};
use crate::{check, cpu};

const LIMIT: Duration = Duration::from_secs(2);

/// A folder with a configuration and programs.
struct Project(Folder);

impl Project {
    fn new(config: &str) -> Self {
        let project = Self(Folder::new());
        project.write("clmatrix.toml", config);
        // Only tests that hang have a limit that others may reach on a busy machine.
        let hangs = "[[expect]]\ntest = \"*::hangs\"\nstatus = \"timeout\"\ntimeout = \"2s\"\n";
        project.write("expectations/hangs.toml", &format!("{hangs}reason = \"by intention\"\n"));
        project
    }

    fn path(&self, name: &str) -> PathBuf {
        self.0.at(name)
    }

    fn write(&self, name: &str, text: &str) {
        self.0.write(name, text);
    }

    /// Compiles `cts_program.c` as the program `faulty`.
    fn with_cts_program(self) -> Self {
        let mut command = Command::new("cc");
        let source = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/faults/cts_program.c");
        command.arg("-o").arg(self.path("test_faulty")).args([source, "-ldl"]);
        compile(command);
        self
    }

    /// Writes a script that is a program.
    fn with_script(self, name: &str, lines: &str) -> Self {
        self.0.write_script(name, &format!("#!/bin/sh\n{lines}\n"));
        self
    }

    /// A command that reports to the folder `out` of the project.
    fn command(&self, arguments: &[&str]) -> Command {
        let mut command = child(COMMAND, &["run"]);
        command.arg("--report-dir").arg(self.path("out")).args(arguments);
        // Relative paths in a file that is named start from the current folder.
        command.env("CLMATRIX_CONFIG", self.path("clmatrix.toml")).current_dir(self.0.path());
        let own = std::env::current_exe().expect("a path");
        command.env("CLMATRIX_RERUN", format!("{} run", own.display()));
        command
    }

    /// Runs tests, and returns their log.
    fn run(&self, arguments: &[&str]) -> RunLog {
        output(self.command(arguments));
        log(&self.path("out"))
    }

    /// Runs tests on one device, and returns their log.
    fn run_on_one(&self, arguments: &[&str]) -> RunLog {
        self.run(&[arguments, &["--devices", cpu::platform()]].concat())
    }

    /// Runs another command on the reports.
    fn clmatrix(&self, arguments: &[&str]) -> Ended {
        let mut command = child(COMMAND, arguments);
        command.env("CLMATRIX_CONFIG", self.path("clmatrix.toml")).current_dir(self.0.path());
        output(command.arg("--report-dir").arg(self.path("out")))
    }
}

/// The results by paths and devices.
fn by_test(log: &RunLog) -> BTreeMap<&str, BTreeMap<&str, &TestResult>> {
    let mut all = BTreeMap::<_, BTreeMap<_, _>>::new();
    for result in &log.results {
        let (path, device) = (result.test.path(), result.test.device());
        all.entry(path).or_default().insert(device, result);
    }
    all
}

/// The outcomes of a test on all devices, of which each must be the same.
fn outcome(log: &RunLog, path: &str) -> String {
    let all = by_test(log);
    let results = all.get(path).unwrap_or_else(|| panic!("{path} is in the log"));
    assert_eq!(results.len(), log.records.len(), "{path}: {:?}", results.keys());
    let mut texts: Vec<String> =
        results.values().map(|result| format!("{:?}", result.attempt.outcome)).collect();
    texts.sort();
    texts.dedup();
    assert_eq!(texts.len(), 1, "{path}: {texts:?}");
    texts.remove(0)
}

const CTS: &str = r#"
[[external]]
name = "cts"
kind = "opencl-cts"
programs = "test_*"
"#;

check!(each_cts_result_is_right, {
    let project = Project::new(CTS).with_cts_program();
    let ended = output(project.command(&["cts::"]));
    assert_eq!(ended.status.code(), Some(1));
    let run = log(&project.path("out"));
    let device_count = run.records.len();
    assert_eq!(run.results.len(), 13 * device_count, "no others");
    let failed = |message: &str| Outcome::Failed { message: message.to_owned(), location: None };
    let exited = Outcome::Crashed { cause: CrashCause::Exit { status: 0, when: ExitTime::InTest } };
    let not_run = |reason: &str| Outcome::not_run(reason);
    for (test, expected) in [
        ("passes", Outcome::Passed),
        ("passes_last", Outcome::Passed),
        ("sees_device", Outcome::Passed),
        ("fails", failed("ERROR: 1 is not 2")),
        ("no_newline", failed("ERROR: no end of line")),
        ("skips", Outcome::Skipped { reason: "no images".to_owned() }),
        ("crashes", Outcome::signal("SIGSEGV")),
        ("crashes_silently", Outcome::signal("SIGSEGV")),
        ("exits", exited),
        ("hangs", Outcome::TimedOut { limit: LIMIT }),
        ("is_left_out", not_run("the program wrote no result of this test")),
        (
            "exits_silently",
            not_run(
                "the program exited with status 0, and wrote no file of results \
                     (CL_CONFORMANCE_RESULTS_FILENAME)",
            ),
        ),
    ] {
        let found = outcome(&run, &format!("cts::faulty::{test}"));
        assert_eq!(found, format!("{expected:?}"), "{test}");
    }
    let cut_off = outcome(&run, "cts::faulty::cuts_file");
    let why = "exited with status 0, and its file of results is cut off";
    assert!(cut_off.starts_with("NotRun") && cut_off.contains(why), "{cut_off}");
    let mut workers = events(&project.path("out"));
    let of = |event: &str, time: &str| -> BTreeSet<[String; 2]> {
        let these = workers.iter().filter(|known| known["event"] == event);
        these.map(|known| [&known["worker"], &known[time]].map(Value::to_string)).collect()
    };
    let (ended, begun) = (of("finished", "started"), of("started", "time"));
    assert!(ended.is_subset(&begun), "{:?}", ended.difference(&begun));
    // One worker looks whether the device is at its position.
    workers.retain(|event| event["event"] == "worker-started" && event["error"].is_null());
    assert_eq!(workers.len(), run.records.len(), "{workers:?}");
    let all = by_test(&run);
    for (id, record) in &run.records {
        let result = run.with_output(all["cts::faulty::sees_device"][id.as_str()]);
        let line = format!("1 platform: {}\n", record.device.info.name);
        assert!(result.attempt.stdout.contains(&line), "{id}: {}", result.attempt.stdout);
        let hangs = all["cts::faulty::hangs"][id.as_str()];
        let stacks = hangs.attempt.stacks.as_ref().expect("stacks").to_string();
        assert!(stacks.contains("pause"), "{stacks}");
    }
});

const GPU: &str = r#"
[[external]]
name = "mine"
kind = "libtest"
programs = ["deps/gpu-*"]
device-env = { FAULTS_AT = "{platform}:{device}" }
"#;

check!(a_rust_target_ends_as_our_own_tests, {
    let project = Project::new(GPU);
    let source = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/faults/gpu.rs");
    // An older build of the same target, as cargo leaves it.
    project.write("deps/gpu-00000000000000aa.d", "no program");
    let project = project.with_script("deps/gpu-00000000000000aa", "echo old: test");
    let mut rustc = Command::new(std::env::var_os("RUSTC").unwrap_or_else(|| "rustc".into()));
    rustc.args(["--edition", "2024", "--test", source, "-o"]);
    rustc.arg(project.path("deps/gpu-00000000000000bb"));
    compile(rustc);
    let stderr = output(project.command(&["mine::"])).stderr;
    assert!(stderr.contains("gpu-00000000000000aa is not run, as "), "{stderr}");
    let run = log(&project.path("out"));
    assert_eq!(run.results.len(), 12 * run.records.len());
    for (test, expected) in [
        ("passes", "Passed"),
        ("panics_as_meant", "Passed"),
        ("returns_an_error", "Failed { message: \"Error: \\\"gone\\\"\", location: None }"),
        ("crashes", "Crashed { cause: Signal { signal: \"SIGABRT\" } }"),
        ("exits", "Crashed { cause: Exit { status: 0, when: InTest } }"),
        ("exits_behind_another", "Crashed { cause: Exit { status: 0, when: InTest } }"),
        ("runs_one_that_crashes", "Passed"),
        ("writes_at_exit", "Passed"),
        ("hangs", "TimedOut { limit: 2s }"),
        ("is_ignored", "Ignored { reason: None }"),
    ] {
        assert_eq!(outcome(&run, &format!("mine::gpu::{test}")), expected, "{test}");
    }
    let failed = outcome(&run, "mine::gpu::fails");
    let message = r#"assertion `left == right` failed: arithmetic\n  left: 2\n right: 3""#;
    assert!(failed.contains(message) && failed.contains("gpu.rs\", line: 10"), "{failed}");
    let otherwise = outcome(&run, "mine::gpu::panics_otherwise");
    assert!(otherwise.contains("note: panic did not contain expected string"), "{otherwise}");
    let all = by_test(&run);
    for id in run.records.keys() {
        let result = run.with_output(all["mine::gpu::passes"][id.as_str()]);
        assert!(result.attempt.stdout.contains("on 0:0\n"), "{id}: {}", result.attempt.stdout);
        assert!(all["mine::gpu::hangs"][id.as_str()].attempt.stacks.is_some());
    }
    let with_ignored = project.run(&["mine::gpu::is_ignored", "--include-ignored"]);
    assert_eq!(outcome(&with_ignored, "mine::gpu::is_ignored"), "Passed");
});

/// This executable as a target of libtest-mimic.
pub fn mimic() -> ExitCode {
    let trials = vec![
        Trial::test("--passes", || Ok(())),
        Trial::test("fails", || Err("no device".into())).with_kind("gpu"),
        Trial::ignorable_test("skips", || Ok(Completion::ignored_with("no fp64"))),
    ];
    libtest_mimic::run(&Arguments::from_args(), trials).exit_code()
}

check!(a_name_may_begin_with_a_dash_or_a_kind, {
    let config = "[[external]]\nname = \"mine\"\nkind = \"libtest\"\nprograms = \"mimic\"\n\
                  args = [\"--test-threads=1\"]\n";
    let own = std::env::current_exe().expect("a path");
    let script = format!("{ROLE}={MIMIC} exec {} \"$@\"", own.display());
    let run = Project::new(config).with_script("mimic", &script).run_on_one(&["mine::"]);
    let failed = Outcome::Failed { message: "no device".to_owned(), location: None };
    let skipped = Outcome::Skipped { reason: "no fp64".to_owned() };
    for (test, expected) in
        [("--passes", Outcome::Passed), ("[gpu] fails", failed), ("skips", skipped)]
    {
        assert_eq!(outcome(&run, &format!("mine::mimic::{test}")), format!("{expected:?}"));
    }
});

check!(a_rerun_command_runs_one_test_alone, {
    let list = r"printf 'tab\there: test\nline\342\200\250break  a\\\\b*: test\nplain: test\n'";
    let lines = format!("case $* in *--ignored*) ;; *--list*) {list} ;; *) exit 101 ;; esac");
    let project =
        Project::new(&format!("{CTS}{SCRIPT}")).with_cts_program().with_script("script", &lines);
    let tests = ["cts::faulty::fails@", "mine::", "--devices", cpu::platform()];
    let stdout = output(project.command(&tests)).stdout;
    let failed = log(&project.path("out")).results;
    assert_eq!(failed.len(), 4);
    let commands: Vec<&str> =
        stdout.lines().filter_map(|line| line.strip_prefix("  rerun: ")).collect();
    assert_eq!(commands.len(), failed.len(), "{stdout}");
    for (command, failed) in commands.into_iter().zip(failed) {
        let again = project.path("again");
        let shell = format!("{command} --report-dir {}", again.display());
        // `$'...'` needs bash.
        let mut shell_command = Command::new("bash");
        shell_command.args(["-c", &shell]).env(ROLE, COMMAND).stdin(Stdio::null());
        shell_command.current_dir(project.0.path());
        shell_command.env_remove("CLMATRIX_CONFIG").env_remove("CLMATRIX_PROFILE");
        output(shell_command);
        let results = log(&again).results;
        let ids: Vec<&str> = results.iter().map(|result| &*result.test).collect();
        assert_eq!(ids, [&*failed.test], "{command}");
        assert_eq!(results[0].attempt.outcome, failed.attempt.outcome);
    }
});

check!(output_without_end_ends_with_the_program, {
    let config = "[[external]]\nname = \"mine\"\nkind = \"libtest\"\nprograms = \"orphan\"\n";
    let lines = "case $* in *--ignored*) ;; *--list*) echo 't: test' ;; \
                 *) setsid yes & sleep 0.2; exit 0 ;; esac";
    let project = Project::new(config).with_script("orphan", lines);
    let run = project.run_on_one(&["mine::"]);
    assert_eq!(outcome(&run, "mine::orphan::t"), "Passed");
});

/// The script of a program of the suite with these tests, whose names are letters, that does `lines` in each and
/// passes.
fn cts_script(tests: &str, lines: &str) -> String {
    let list: String = tests.chars().map(|test| format!("\\t{test}\\n")).collect();
    format!(
        "[ $1 = -list ] && {{ printf '{list}'; exit; }}; results=
         for test; do echo $test...
         {lines}
         echo $test passed; results=\"$results\\\"$test\\\": \\\"pass\\\",\"; done
         printf '{{\"results\": {{%s}}}}' \"${{results%,}}\" > $CL_CONFORMANCE_RESULTS_FILENAME"
    )
}

check!(ends_of_programs_are_seen_on_demand, {
    let check = "[[override]]\nid = \"*\"\nexit-check = true\n";
    let ends = cts_script("a", "") + "\nexit 7";
    let project = Project::new(&format!("{check}{CTS}"))
        .with_script("test_one", &ends)
        .with_script("test_other", &ends)
        .with_script("test_whole", &cts_script("a", ""));
    let run = project.run_on_one(&["cts::"]);
    assert_eq!(run.results.len(), 4);
    let exit = run.results.iter().find(|result| result.test == *cpu::test("worker::exit"));
    let exit = run.with_output(exit.expect("a result"));
    assert_eq!(exit.attempt.outcome.to_string(), "exited with status 7 after its last test");
    let attempts = exit.earlier.iter().chain([&*exit]);
    let mut after: Vec<_> = attempts.map(|attempt| attempt.attempt.stdout.clone()).collect();
    after.sort();
    let program = |name: &str| format!("after cts::{name}::a@{}\n", cpu::id());
    assert_eq!(after, ["one", "other"].map(program));
    let project = Project::new(CTS).with_script("test_one", &ends);
    assert!(project.run_on_one(&["cts::"]).exit_status() == 0);
});

check!(an_exit_has_a_limit_of_its_own, {
    let check = "[[override]]\nid = \"*\"\nexit-check = true\n";
    let result = "test result: ok. 1 passed; 0 failed; 0 ignored; 0 measured";
    let lines = format!(
        "echo; echo running 1 test; sleep 4; echo test t ... ok; echo; echo '{result}'; sleep 4"
    );
    let project = Project::new(&format!("{check}{SCRIPT}"))
        .with_script("script", &libtest_script("t", &lines));
    let run = project.run(&["mine::", "--devices", cpu::platform(), "--timeout", "6s"]);
    assert_eq!(outcome(&run, "mine::script::t"), "Passed");
    assert_eq!(run.results.len(), 1, "no end went wrong");
});

check!(a_program_that_does_not_list_is_one_failure, {
    let config = format!(
        "{CTS}\n[[external]]\nname = \"own\"\nkind = \"libtest\"\nprograms = \"own\"\n\
         [[external]]\nname = \"gone\"\nkind = \"libtest\"\nprograms = \"nowhere/*\"\n\
         [[external]]\nname = \"gone\"\nkind = \"opencl-cts\"\nprograms = [\"lost\", \"whole\", \"clmatrix.toml\", \"one\"]\n\
         [[external]]\nname = \"none\"\nkind = \"opencl-cts\"\nprograms = \"whole\"\ntests = [\"y*\"]\n\
         [[external]]\nname = \"two\"\nkind = \"libtest\"\nprograms = \"*/gpu-*\"\n\
         [[external]]\nname = \"both\"\nkind = \"opencl-cts\"\nprograms = \"*/test_*\"\n"
    );
    let own = std::env::current_exe().expect("a path");
    // The backtrace is longer than the end that the message has.
    let panics = "echo \"thread 'main' panicked at src/main.rs:3:5:\" >&2; echo no input >&2; \
                  echo stack backtrace: >&2; seq 100 >&2; exit 101";
    let project = Project::new(&config)
        .with_script("test_broken", "sleep 4; echo no such option >&2; echo try --help >&2; exit 3")
        .with_script("test_panics", panics)
        .with_script("whole", &cts_script("x", ""))
        .with_script("test_twice", "printf '\\tx\\n\\tx\\n'")
        .with_script("test_endless", "yes")
        .with_script("own", &format!("{ROLE}=libtest exec {} \"$@\"", own.display()));
    for folder in ["one", "other"] {
        fs::create_dir(project.path(folder)).expect("the folder is new");
    }
    let project = project
        .with_script("one/test_same", "printf '\\tx\\n'")
        .with_script("one/test_zero", "exit 0")
        .with_script("other/test_same", "printf '\\tx\\n'")
        .with_script("one/gpu-00000000000000aa", "echo a: test")
        .with_script("other/gpu-00000000000000bb", "echo b: test");
    let suites = ["cts::", "own::", "gone::", "none::", "two::", "both::"];
    let progress = output(project.command(&suites)).stderr;
    let slow =
        format!("waiting up to 1m for the tests of {}", project.path("test_broken").display());
    assert_eq!(progress.matches("waiting up to").count(), 1, "{progress}");
    assert!(progress.contains(&slow), "{progress}");
    let run = log(&project.path("out"));
    assert_eq!(outcome(&run, "gone::whole::x"), "Passed", "the program that is there");
    let failures: BTreeMap<&str, String> = run
        .results
        .iter()
        .filter(|result| !result.test.starts_with("gone::whole"))
        .map(|result| {
            assert_eq!(result.verdict, Verdict::Fail, "{}", result.test);
            (&*result.test, result.attempt.outcome.to_string())
        })
        .collect();
    let status_3 =
        "exited with status 3; its standard error ends with:\n  no such option\n  try --help";
    let expected: [(&str, &[&str]); 10] = [
        ("both::same", &["other/test_same have one name, same"]),
        ("both::zero", &["lists no test"]),
        ("cts::broken", &[status_3]),
        ("cts::endless", &["does not list its tests: writes more than 64 MiB"]),
        ("cts::panics", &["exited with status 101: no input (src/main.rs:3); its standard"]),
        ("cts::twice", &["lists two tests with the name x"]),
        (
            "gone",
            &[
                "nowhere/*: no such file; build it, or correct `programs`\n",
                "/lost: no such file; build it",
                "/clmatrix.toml is not executable",
                "/one/*` are the files of the folder",
            ],
        ),
        ("none", &["no test that matches `tests`"]),
        ("own::own", &["run it by `cargo test`"]),
        ("two::gpu", &["other/gpu-00000000000000bb have one name, gpu"]),
    ];
    let tests: Vec<&str> = failures.keys().copied().collect();
    assert_eq!(tests, expected.map(|(program, _)| format!("{program}::list@host")));
    for (failure, (_, words)) in failures.values().zip(expected) {
        assert!(words.iter().all(|words| failure.contains(words)), "{failure}");
    }
    let config = project.path("clmatrix.toml");
    let listed = output(child(COMMAND, &["list", "gone::", "--config"]).arg(config)).stdout;
    assert!(listed.contains("gone::list  once, without a device, error: "), "{listed}");
    project.write("clmatrix.toml", &format!("{CTS}{CTS}"));
    let twice = output(project.command(&["cts::"])).stderr;
    assert!(twice.contains("set another `name` in one of their [[external]] tables"), "{twice}");
});

check!(tests_of_a_program_without_a_list_have_names, {
    let refuses = "case $1 in -*) echo \"ERROR: The argument '$1' did not match any test names.\"; exit 1 ;; esac";
    let script = format!("{refuses}\n{}", cts_script("", ""));
    let project = Project::new(CTS).with_script("test_mute", &script);
    let run = project.run_on_one(&["cts::"]);
    let reason = run.results[0].attempt.outcome.to_string();
    let line = "standard output ends with:\n  ERROR: The argument '-list' did not match any test";
    assert!(run.results[0].test == "cts::mute::list@host" && reason.contains(line), "{reason}");
    project.write("clmatrix.toml", &format!("{CTS}tests = [\"a\", \"b\"]\n"));
    let ended = output(project.command(&["cts::", "--devices", cpu::platform()]));
    assert_eq!(ended.status.code(), Some(0));
    let stderr = ended.stderr;
    assert!(stderr.contains("note: the tests are those of `tests`, since `"), "{stderr}");
    let tests = ["a", "b"].map(|test| cpu::test(&format!("cts::mute::{test}")));
    let run = log(&project.path("out"));
    let ran = run.results.iter().map(|result| result.test.as_str());
    assert!(ran.eq(tests.iter().map(String::as_str)), "{:?}", run.results);
});

check!(lists_of_two_suites_are_side_by_side, {
    let suite = |name: &str| {
        format!("[[external]]\nname = \"{name}\"\nkind = \"libtest\"\nprograms = \"{name}\"\n")
    };
    let script = |own: &str, other: &str| {
        // One processor has one list at a time.
        let wait = match std::thread::available_parallelism() {
            Ok(one) if one.get() == 1 => String::new(),
            _ => format!("while [ ! -e {other}-lists ]; do sleep 0.1; done"),
        };
        format!("touch {own}-lists; {wait}; {}", libtest_script("t", "exit 0"))
    };
    let project = Project::new(&[suite("one"), suite("two")].concat())
        .with_script("one", &script("one", "two"))
        .with_script("two", &script("two", "one"));
    let run = project.run_on_one(&["one::one::", "two::two::"]);
    assert_eq!(verdicts(&run).len(), 2);
    for test in ["one::one::t", "two::two::t"] {
        assert_eq!(outcome(&run, test), "Passed");
    }
});

check!(a_lost_device_stops_other_programs, {
    let project = Project::new(CTS).with_cts_program();
    let tests = ["crashes", "passes"].map(|test| format!("cts::faulty::{test}@"));
    let mut command = project.command(&tests.each_ref().map(String::as_str));
    command.env("CLMATRIX_TEST", cpu::platform());
    // Programs make no context; the probes do.
    context_layer(&mut command, project.0.path(), "error", "2-99");
    output(command);
    let run = log(&project.path("out"));
    let found = outcome(&run, "cts::faulty::crashes");
    assert!(found.starts_with("Crashed"), "{found}");
    let next = outcome(&run, "cts::faulty::passes");
    assert!(next.starts_with("NotRun { reason: DeviceLost "), "{next}");
    let lost = &run.lost[..];
    let crashed = cpu::test("cts::faulty::crashes");
    assert_eq!(lost.len(), 1, "the device is lost");
    let crashed = TestId::parse(&crashed);
    assert_eq!(
        (lost[0].after.as_ref(), &*lost[0].suspects),
        (Some(&crashed), &[crashed.clone()][..])
    );
});

/// The script of a libtest target with these tests, whose names are letters, that does `lines` to run one.
fn libtest_script(tests: &str, lines: &str) -> String {
    let list: String = tests.chars().map(|test| format!("{test}: test\\n")).collect();
    format!("case $* in *--ignored*) ;; *--list*) printf '{list}' ;; *) {lines} ;; esac")
}

const SCRIPT: &str = "[[external]]\nname = \"mine\"\nkind = \"libtest\"\nprograms = \"script\"\n";

// The test that fails waits for the other one, before its result is final.
check!(a_waiting_test_is_not_slow, {
    let lines = "case $1 in t) exit 101 ;; *) sleep 5 ;; esac";
    let project = Project::new(SCRIPT).with_script("script", &libtest_script("tu", lines));
    let stderr = output(project.command(&[
        "mine::",
        "--devices",
        cpu::platform(),
        "--slots",
        "2",
        "--slow-after",
        "1s",
    ]))
    .stderr;
    // The start of the worker that finds the device counts for both.
    let is_slow = |test: &str| {
        stderr.contains(&format!("SLOW mine::script::{test}@{} (4.0 s so far)", cpu::id()))
    };
    assert!(is_slow("u") && !is_slow("t"), "{stderr}");
    let run = log(&project.path("out"));
    assert!(outcome(&run, "mine::script::t").starts_with("Failed"));
});

check!(a_test_that_hangs_the_second_time_is_counted, {
    let hangs = "[ -e again ] && exec sleep 100; touch again; exit 101";
    let profile = "[profile.default]\nretries = 1\nhang-budget = \"1s\"\n";
    let project = Project::new(&format!("{profile}{SCRIPT}"))
        .with_script("script", &libtest_script("tu", hangs));
    let run = project.run(&["mine::", "--devices", cpu::platform(), "--timeout", "1s"]);
    let not_run = outcome(&run, "mine::script::u");
    assert!(not_run.contains("HangBudget") && not_run.contains("mine::script::t@"), "{not_run}");
});

check!(an_override_is_for_some_tests, {
    let overrides = "[[override]]\ntests = \"*::t\"\ntimeout = \"1s\"\n\
                     [[override]]\ntests = \"*::[uv]\"\nretries = 1\n\
                     [[override]]\nid = \"other-*\"\ntests = \"*::v\"\nretries = 2\n\
                     [[override]]\ntests = \"*::[xy]\"\nalone = true\n";
    // A test that runs alone sees no other.
    let meets = "mkdir met 2>/dev/null || exit 101; sleep 0.5; rmdir met";
    let lines = format!(
        "case $1 in t) exec sleep 100 ;; u) [ -e u ] || {{ touch u; exit 101; }} ;; \
         v|w) exit 101 ;; x|y) {meets} ;; esac"
    );
    let config = format!("{overrides}{SCRIPT}timeout = \"1m\"\n");
    let project = Project::new(&config).with_script("script", &libtest_script("tuvwxy", &lines));
    use Verdict::{Fail, Flaky, Pass, Timeout};
    // The end of the first test must not disturb the others.
    for (tests, expected) in [
        (&["t"][..], &[(Timeout, 1)][..]),
        (&["u", "v", "w", "x", "y"], &[(Flaky, 2), (Fail, 2), (Fail, 1), (Pass, 1), (Pass, 1)]),
    ] {
        let paths = tests.iter().map(|test| format!("mine::script::{test}@"));
        let paths: Vec<String> = paths.collect();
        let options = ["--devices", cpu::platform(), "--slots", "2"];
        let arguments = paths.iter().map(String::as_str).chain(options).collect::<Vec<_>>();
        let results = project.run(&arguments).results;
        let found = results.iter().map(|result| (result.verdict, result.attempt.number));
        assert_eq!(found.collect::<Vec<_>>(), expected);
    }
});

check!(memory_has_a_limit, {
    let limits = "[[override]]\ntests = \"*::script::*\"\nmemory = \"64 MiB\"\n\
                  [[override]]\ntests = \"faulty::waits_for_ever\"\nmemory = \"1 MiB\"\n";
    let grows = "all=$(head -c 100000000 /dev/zero | tr '\\0' x); sleep 100";
    // The second one grows in a child of its process.
    // The processes of the third one share their memory.
    let shares = "all=$(head -c 15000000 /dev/zero | tr '\\0' x); \
                  for n in 1 2 3 4; do (sleep 1; true) & done; wait";
    let lines = format!("case $1 in t) {grows} ;; v) ({grows}); true ;; w) {shares} ;; esac");
    let project = Project::new(&format!("{limits}{SCRIPT}"))
        .with_script("script", &libtest_script("tuvw", &lines));
    let tests = ["mine::", "faulty::waits_for_ever@", "--include-ignored"];
    let run = project.run_on_one(&tests);
    assert_eq!(outcome(&run, "mine::script::u"), "Passed");
    assert_eq!(outcome(&run, "mine::script::w"), "Passed");
    for (test, limit) in [
        ("mine::script::t", "64.0 MiB"),
        ("mine::script::v", "64.0 MiB"),
        ("faulty::waits_for_ever", "1.0 MiB"),
    ] {
        let all = by_test(&run);
        let failed = all[test].values().next().expect("a result").attempt.outcome.to_string();
        let words = format!(" MiB of memory, and the limit is {limit} (`memory`)");
        assert!(failed.ends_with(&words), "{failed}");
    }
});

// Each test of the group fails if it meets another one. The one beside them waits for the first.
check!(tests_of_a_group_exclude_each_other, {
    let group = "[group.one]\nmax = 1\nper = \"host\"\n\
                 [[override]]\ntests = \"*::[tuv]\"\ngroup = \"one\"\n";
    let meets = "mkdir met 2>/dev/null || exit 101; \
                 while [ $1 = t ] && [ ! -e beside ]; do sleep 0.1; done; sleep 0.2; rmdir met";
    let lines = format!("case $1 in w) touch beside ;; *) {meets} ;; esac");
    let project = Project::new(&format!("{group}{SCRIPT}"))
        .with_script("script", &libtest_script("tuvw", &lines));
    let run = project.run(&["mine::", "--slots", "2", "--timeout", "30s"]);
    assert!(run.results.iter().all(|result| result.verdict == Verdict::Pass), "{run:?}");
});

check!(one_slot_has_one_track_in_a_trace, {
    let project = Project::new(&format!("{SCRIPT}{CTS}"))
        .with_cts_program()
        .with_script("script", &libtest_script("tuvwxyz", "exit 0"));
    let run = project.run_on_one(&["mine::", "cts::"]);
    let file = project.path("trace.json");
    project.clmatrix(&["report", "--trace", file.to_str().expect("text")]);
    let trace = fs::read(file).expect("a trace");
    let trace: Value = serde_json::from_slice(&trace).expect("JSON");
    let events = trace["traceEvents"].as_array().expect("events");
    let end = |event: &Value| Some(event["ts"].as_u64()? + event["dur"].as_u64()?);
    let last = events.iter().filter_map(end).max().expect("spans");
    assert!(u128::from(last) <= run.duration.as_micros(), "{last}");
    let names = events.iter().filter(|event| event["name"] == "thread_name");
    let names: BTreeSet<_> = names.filter_map(|event| event["args"]["name"].as_str()).collect();
    assert_eq!(names, BTreeSet::from(["probes and replays", "slot 0"]));
});
