//! The example of a downstream crate, built and run as its author would.

use std::path::{Path, PathBuf};
use std::process::{Command, Output};

fn example() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("examples/downstream")
}

/// Runs `cargo` in the example.
fn cargo(arguments: &[&str]) -> Output {
    cargo_with(&[], arguments)
}

fn cargo_with(variables: &[(&str, &Path)], arguments: &[&str]) -> Output {
    cargo_in(&example(), variables, arguments)
}

/// Runs `cargo` in a package outside the workspace. It builds into the workspace's target folder, and
/// without debug info as the workspace does, so that what both depend on is built once.
fn cargo_in(package: &Path, variables: &[(&str, &Path)], arguments: &[&str]) -> Output {
    in_package(Command::new(env!("CARGO")), package, variables, arguments)
}

fn in_package(
    mut command: Command,
    package: &Path,
    variables: &[(&str, &Path)],
    arguments: &[&str],
) -> Output {
    command.current_dir(package).args(arguments);
    // The outer cargo and nextest speak to this process only.
    for (name, _) in std::env::vars_os() {
        let name = name.to_string_lossy();
        if name.starts_with("CARGO_PKG_")
            || name.starts_with("NEXTEST")
            || name.starts_with("CLMATRIX_")
        {
            command.env_remove(&*name);
        }
    }
    let target = Path::new(env!("CARGO_TARGET_TMPDIR")).parent().expect("cargo's target folder");
    command.env("CARGO_TARGET_DIR", target).env("CARGO_PROFILE_DEV_DEBUG", "0");
    command.env("CARGO_INCREMENTAL", "0").envs(variables.iter().copied());
    let output = command.output().expect("cargo runs");
    println!("{}", stdout(&output));
    eprintln!("{}", String::from_utf8_lossy(&output.stderr));
    output
}

fn stdout(output: &Output) -> String {
    String::from_utf8_lossy(&output.stdout).into_owned()
}

/// How many devices there are, from one test's ids.
fn devices(listing: &str) -> usize {
    listing.lines().filter(|line| line.starts_with("needs_more_than_devices_have@")).count()
}

#[test]
#[ignore = "slow: `cargo xtask test --slow`"]
fn every_kind_of_test_runs_on_every_device() {
    let listing = stdout(&cargo(&["test", "--test", "devices", "--", "--list"]));
    let devices = devices(&listing);
    assert!(devices > 0);
    for test in [
        "doubles",
        "scales::n_1_1",
        "scales::n_2_4096",
        "scales_by::case_1_nothing",
        "scales_by::case_2_negative",
        "scales_by::case_3_slowly",
        "either_order_of_the_attributes_will_do::one_1_1",
        "may_be_async",
        "has_a_queue",
    ] {
        let found = listing.lines().filter(|line| line.starts_with(&format!("{test}@"))).count();
        assert_eq!(found, devices, "{test}");
    }
    assert!(listing.lines().any(|line| line == "needs_no_device@host: test"));

    let run = cargo(&["test", "--test", "devices"]);
    assert!(run.status.success());
    // Eight run on each device and one on the host, and the workers end; one is ignored, one skipped, and one
    // fails as expected.
    let summary = format!("{} passed; 0 failed; {} ignored", 8 * devices + 2, 3 * devices);
    assert!(stdout(&run).contains(&summary), "{summary}");
    let configuration = example().join("config/clmatrix.toml").display().to_string();
    let configuration = format!("configuration: {configuration} and built-in; expectations: 1 (1");
    assert!(String::from_utf8_lossy(&run.stderr).contains(&configuration), "{configuration}");
}

#[test]
#[ignore = "slow: `cargo xtask test --slow`"]
fn an_included_configuration_holds_without_its_files() {
    let folder = tempfile::tempdir().expect("a folder");
    let file = folder.path().join("clmatrix.toml");
    let run = |text: &str| {
        std::fs::write(&file, text).expect("a file");
        let variables: [(&str, &Path); 1] = [("CLMATRIX_CONFIG", &file)];
        cargo_with(&variables, &["test", "--test", "devices", "is_known_to_fail"])
    };
    let included = run("");
    assert!(included.status.success());
    let stderr = String::from_utf8_lossy(&included.stderr);
    assert!(stderr.contains("and built-in; expectations: 1 (0 yours)"), "{stderr}");
    assert_eq!(run("builtin-expectations = false").status.code(), Some(101));
}

#[test]
#[ignore = "slow: `cargo xtask test --slow`"]
fn nextest_runs_the_same_tests() {
    let run = cargo(&["nextest", "run", "--test", "devices"]);
    let stderr = String::from_utf8_lossy(&run.stderr);
    if stderr.contains("no such command: `nextest`") {
        println!("skipped: cargo-nextest is not installed");
        return;
    }
    assert!(run.status.success());
    assert!(stderr.contains("scales::n_2_4096@"), "{stderr}");
    assert!(stderr.contains(" passed") && !stderr.contains(" failed"), "{stderr}");
}

#[test]
#[ignore = "slow: `cargo xtask test --slow`"]
fn an_ordinary_target_covers_all_devices_and_names_those_that_fail() {
    assert!(cargo(&["test", "--test", "ordinary"]).status.success());
    let listing = stdout(&cargo(&["test", "--test", "devices", "--", "--list"]));
    let devices = devices(&listing);

    // Alone, so that its workers are led to by its own name.
    assert!(cargo(&["test", "--test", "ordinary", "--", "r#match"]).status.success());

    let run = cargo(&["test", "--test", "ordinary", "--", "--ignored"]);
    assert_eq!(run.status.code(), Some(101));
    let text = stdout(&run);
    assert!(text.contains(&format!("failed on {devices} of {devices} devices")), "{text}");
    assert!(text.contains("fails_everywhere@") && text.contains("on purpose"), "{text}");
}

#[test]
#[ignore = "slow: `cargo xtask test --slow`"]
fn an_ordinary_target_can_be_strict_about_drivers() {
    let folder = tempfile::tempdir().expect("a folder");
    let file = folder.path().join("clmatrix.toml");
    let mut drivers = vec![PathBuf::from("/nowhere/libabsent.so")];
    if let Some(present) = std::env::var_os("OCL_ICD_FILENAMES") {
        drivers.extend(std::env::split_paths(&present));
    }
    let drivers = std::env::join_paths(drivers).expect("no path has a colon");
    let strict = "[profile.default]\nstrict-drivers = true\n";
    let cases = [("", "r#match", 0), (strict, "r#match", 101), ("", "fails_everywhere", 101)];
    for (text, test, status) in cases {
        std::fs::write(&file, text).expect("a file");
        let variables = [("CLMATRIX_CONFIG", &*file), ("OCL_ICD_FILENAMES", Path::new(&drivers))];
        let options = ["--nocapture", "--include-ignored", test];
        let run =
            cargo_with(&variables, &[&["test", "--test", "ordinary", "--"], &options[..]].concat());
        assert_eq!(run.status.code(), Some(status), "{test}, {text:?}");
        let stderr = String::from_utf8_lossy(&run.stderr);
        assert!(stderr.contains("driver /nowhere/libabsent.so: no such file: "), "{stderr}");
    }
}

#[test]
#[ignore = "slow: `cargo xtask test --slow`"]
fn a_target_tells_how_to_get_a_device_and_provides_it() {
    let folder = tempfile::tempdir().expect("a folder");
    let no_drivers: [(&str, &Path); 3] = [
        ("OCL_ICD_VENDORS", folder.path()),
        ("OCL_ICD_FILENAMES", Path::new("")),
        ("OPENCL_DYLIB_PATH", Path::new("")),
    ];
    let run = cargo_with(&no_drivers, &["test", "--test", "devices", "--", "--test-threads=1"]);
    assert_eq!(run.status.code(), Some(2));
    let command = "cargo test -p downstream --test devices -- --provision";
    let stderr = String::from_utf8_lossy(&run.stderr);
    assert!(stderr.contains(&format!("\n  eval \"$({command})\"")), "{stderr}");

    let out_of_reach: [(&str, &Path); 2] =
        [("XDG_CACHE_HOME", folder.path()), ("PIP_NO_INDEX", Path::new("1"))];
    let arguments: Vec<&str> = command.split(' ').skip(1).collect();
    let run = cargo_with(&out_of_reach, &arguments);
    assert_eq!(run.status.code(), Some(2));
    assert_eq!(stdout(&run), "", "a shell would run it");
    let stderr = String::from_utf8_lossy(&run.stderr);
    assert!(stderr.contains("error: ") && stderr.contains("pip"), "{stderr}");
}

/// The code block of a page that begins with the line `first`.
fn block<'a>(page: &'a str, first: &str) -> &'a str {
    let start = page.find(&format!("\n{first}\n")).expect("the page has the block") + 1;
    page[start..].split("\n```\n").next().expect("a first part")
}

#[test]
#[ignore = "slow: `cargo xtask test --slow`"]
fn the_commands_of_the_workflows_test_on_a_device_from_pypi() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).parent().expect("the workspace");
    let page = std::fs::read_to_string(root.join("docs/guide/ci.md")).expect("the page exists");
    let commands = block(&page, "rm -rf target/clmatrix/*/*/junit");
    let lines: Vec<&str> = commands.lines().collect();
    for workflow in ["# .github/workflows/opencl.yml", "# .gitlab-ci.yml", "// Jenkinsfile"] {
        let found = block(&page, workflow).lines().map(|line| line.trim().trim_start_matches("- "));
        let found: Vec<&str> = found.filter(|line| lines.contains(line)).collect();
        assert_eq!(found, lines, "{workflow}");
    }

    let target = Path::new(env!("CARGO_TARGET_TMPDIR")).parent().expect("cargo's target folder");
    let downloaded = target.join("opencl");
    if !downloaded.join("loader").is_dir() {
        println!("skipped: the embedded default is not downloaded");
        return;
    }
    let cache = tempfile::tempdir().expect("a folder");
    let runtimes = cache.path().join("clmatrix/opencl");
    std::fs::create_dir_all(&runtimes).expect("a folder");
    for part in
        ["pocl", "intel", "loader"].into_iter().filter(|part| downloaded.join(part).is_dir())
    {
        let mut link = Command::new("ln");
        link.arg("-s").arg(downloaded.join(part)).arg(&runtimes);
        assert!(link.status().expect("ln runs").success());
    }
    let reports = cache.path().join("reports");
    let variables: [(&str, &Path); 3] = [
        ("XDG_CACHE_HOME", cache.path()),
        ("PIP_NO_INDEX", Path::new("1")),
        ("CLMATRIX_REPORT_DIR", &reports),
    ];
    let run = in_package(Command::new("sh"), &example(), &variables, &["-e", "-c", commands]);
    assert!(run.status.success());
    let text = stdout(&run);
    // PoCL, or Intel's runtime on a processor that PoCL does not know.
    let device = ["pocl-cpu", "intel-cpu"]
        .into_iter()
        .find(|device| text.contains(&format!("scales::n_1_1@{device}")))
        .expect("a device for the CPU");
    assert!(text.contains("; 0 failed; 3 ignored"), "{text}");
    assert!(reports.join(format!("downstream/devices/junit/{device}.xml")).is_file());
}

#[test]
#[ignore = "slow: `cargo xtask test --slow`"]
fn a_target_does_not_compile_with_aborting_panics() {
    let output = cargo(&["rustc", "--test", "devices", "--", "-Cpanic=abort"]);
    let stderr = String::from_utf8_lossy(&output.stderr);
    assert!(!output.status.success());
    assert!(
        stderr.contains("panic = \"abort\"") && stderr.contains("[profile.matrix]"),
        "{stderr}"
    );
}

/// Makes a package with a test target of the same name, whose source is still to be written.
fn new_package(name: &str, dependencies: &str) -> PathBuf {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join(name);
    std::fs::create_dir_all(folder.join("tests")).expect("a folder");
    let harness = env!("CARGO_MANIFEST_DIR");
    let manifest = format!(
        "[package]\nname = \"{name}\"\nversion = \"0.1.0\"\nedition = \"2024\"\n[lib]\npath = \"lib.rs\"\n\
         [dependencies]\nclmatrix-harness = {{ path = {harness:?} }}\nrstest = \"0.28\"\n{dependencies}\
         [[test]]\nname = \"{name}\"\nharness = false\n[workspace]\n"
    );
    std::fs::write(folder.join("Cargo.toml"), manifest).expect("a file");
    std::fs::write(folder.join("lib.rs"), "").expect("a file");
    std::fs::copy(example().join("Cargo.lock"), folder.join("Cargo.lock")).expect("the lock file");
    folder
}

/// A target in which nothing would be said if its tests were lost.
#[test]
#[ignore = "slow: `cargo xtask test --slow`"]
fn a_lost_test_does_not_compile() {
    let folder = new_package("lost", "");
    std::fs::create_dir_all(folder.join("tests/deeper")).expect("a folder");
    let write = |file: &str, text: &str| std::fs::write(folder.join(file), text).expect("a file");
    write(
        "tests/lost.rs",
        "mod deeper;\n\
         #[clmatrix_harness::test(once)] fn kept() {}\n\
         #[test] #[clmatrix_harness::test(once)] fn plain() {}\n\
         macro_rules! tests { ($($t:tt)*) => { $($t)* } }\n\
         tests! { #[test] fn in_a_macro() {} }\n\
         #[core::prelude::v1::test] fn by_its_path() {}\n\
         mod inner { use clmatrix_harness::test; #[test(once)] fn kept_inside() {} }\n\
         mod child { use super::inner; #[test] fn inherits_nothing() {} }\n\
         clmatrix_harness::main!();\n",
    );
    write("tests/deeper/mod.rs", "#[rstest::rstest] fn parametrised(#[values(1)] _n: i32) {}\n");
    // Not `check`, for which all dependencies would be built once more.
    let output = cargo_in(&folder, &[], &["test", "--no-run"]);
    let stderr = String::from_utf8_lossy(&output.stderr);
    assert!(!output.status.success());
    for (place, what) in [
        ("tests/lost.rs:3", "`#[test]` `plain`"),
        ("tests/lost.rs:5", "`#[test]` `in_a_macro`"),
        ("tests/lost.rs:6", "`#[test]` `by_its_path`"),
        ("tests/lost.rs:8", "`#[test]` `inherits_nothing`"),
        ("tests/deeper/mod.rs:1", "`#[rstest]` `parametrised`"),
    ] {
        assert!(stderr.contains(&format!("{place}: {what} would never run")), "{place}: {stderr}");
    }
    assert!(!stderr.contains("`kept`") && !stderr.contains("`kept_inside`"), "{stderr}");
}

#[test]
#[ignore = "slow: `cargo xtask test --slow`"]
fn attributes_of_other_crates_keep_a_test() {
    let others = "log = \"0.4\"\nrstest_reuse = \"=0.7.1\"\ntest-log = \"=0.2.21\"\n";
    let folder = new_package("attributes", others);
    let source = "use rstest::rstest;\n\
         use rstest_reuse::{apply, template};\n\
         #[template] #[rstest] #[case::one(1)] #[case::two(2)] fn numbers(#[case] n: u32) {}\n\
         #[apply(numbers)] #[clmatrix_harness::test(once)] fn has_cases(n: u32) { assert!(n < 3); }\n\
         #[test_log::test(clmatrix_harness::test(once))] fn logs() { log::warn!(\"it is logged\"); }\n\
         clmatrix_harness::main!();\n";
    std::fs::write(folder.join("tests/attributes.rs"), source).expect("a file");
    let text = stdout(&cargo_in(&folder, &[], &["test", "--", "--nocapture"]));
    for test in ["has_cases::case_1_one", "has_cases::case_2_two", "logs"] {
        assert!(text.contains(&format!("test {test}@host ")), "{test}");
    }
    assert!(text.contains("test result: ok. 4 passed; 0 failed"), "three, and the workers");
}

/// A tool of the component `llvm-tools`, if it is installed.
#[cfg(target_os = "linux")]
fn llvm_tool(name: &str) -> Option<PathBuf> {
    let sysroot = Command::new("rustc").args(["--print", "sysroot"]).output().expect("rustc runs");
    let libraries = Path::new(stdout(&sysroot).trim()).join("lib/rustlib");
    let targets = libraries.read_dir().expect("a folder").map(|entry| entry.expect("a folder"));
    targets.map(|target| target.path().join("bin").join(name)).find(|tool| tool.is_file())
}

#[test]
#[cfg(target_os = "linux")]
#[ignore = "slow: `cargo xtask test --slow`"]
fn coverage_has_the_functions_that_run_in_workers() {
    let tools = llvm_tool("llvm-profdata").zip(llvm_tool("llvm-cov"));
    let Some((llvm_profdata, llvm_cov)) = tools else {
        println!("skipped: llvm-tools are not installed (`rustup component add llvm-tools`)");
        return;
    };
    let run = |command: &mut Command| {
        let output = command.output().expect("it starts");
        eprintln!("{command:?}: {}", output.status);
        eprintln!("{}{}", stdout(&output), String::from_utf8_lossy(&output.stderr));
        output
    };
    let folder = new_package("coverage", "libc = \"0.2\"\n");
    let source = "use clmatrix_harness::{CtxFactory, ctx_factory};\n\
         use rstest::rstest;\n\
         #[rstest] #[clmatrix_harness::test]\n\
         fn passes(ctx_factory: CtxFactory, #[values(1, 2, 3, 4)] _n: i32) {\n\
             drop(ctx_factory());\n\
             on_a_device();\n\
         }\n\
         #[clmatrix_harness::test] fn fails(_: CtxFactory) { before_a_failure(); panic!(\"on purpose\") }\n\
         #[clmatrix_harness::test(once)] fn forks() {\n\
             on_the_host();\n\
             let child = unsafe { libc::fork() };\n\
             if child == 0 { in_a_forked_process(); std::process::exit(0) }\n\
             unsafe { libc::waitpid(child, std::ptr::null_mut(), 0) };\n\
         }\n\
         fn on_a_device() {}\n\
         fn before_a_failure() {}\n\
         fn on_the_host() {}\n\
         fn in_a_forked_process() {}\n\
         clmatrix_harness::main!();\n";
    std::fs::write(folder.join("tests/coverage.rs"), source).expect("a file");
    let options = ["--message-format=json", "--", "-Cinstrument-coverage"];
    let build = cargo_in(&folder, &[], &[&["rustc", "--test=coverage"], &options[..]].concat());
    let executable = regex::Regex::new(r#""executable":"([^"]+)""#).expect("it is valid");
    let built = stdout(&build);
    let executable = &executable.captures(&built).expect("it is built")[1];
    for pattern in [Some("%p.profraw"), Some("%p-%4m.profraw"), None] {
        let profiles = tempfile::tempdir().expect("a folder");
        let target = |arguments: &[&str]| {
            let mut target = Command::new(executable);
            target.args(arguments).current_dir(profiles.path()).env_remove("LLVM_PROFILE_FILE");
            // Two devices where there is PoCL.
            target.env("POCL_DEVICES", "pthread pthread").env("CLMATRIX_REPORT_DIR", "reports");
            run(target.envs(pattern.map(|pattern| ("LLVM_PROFILE_FILE", pattern))))
        };
        let listed = stdout(&target(&["--list"]));
        let devices = listed.lines().filter(|line| line.starts_with("fails@")).count();
        assert_eq!(target(&["--test-threads=2"]).status.code(), Some(101));
        let entries = profiles.path().read_dir().expect("a folder");
        let files = entries.map(|entry| entry.expect("a file").path());
        let files = files.filter(|file| file.extension().is_some_and(|name| name == "profraw"));
        let merged = profiles.path().join("merged.profdata");
        let mut merge = Command::new(&llvm_profdata);
        assert!(run(merge.arg("merge").args(files).arg("-o").arg(&merged)).status.success());
        let mut export = Command::new(&llvm_cov);
        export.args(["export", "--format=lcov", "--instr-profile"]).arg(&merged).arg(executable);
        let counts = stdout(&run(&mut export));
        let count = |function: &str| -> usize {
            let is_of = |line: &&str| line.starts_with("FNDA:") && line.ends_with(function);
            let line = counts.lines().find(is_of).expect("the function has a line");
            line["FNDA:".len()..].split(',').next().and_then(|n| n.parse().ok()).expect("a count")
        };
        assert_eq!(count("on_a_device"), 4 * devices, "{pattern:?}");
        assert!(count("before_a_failure") >= devices, "{pattern:?}");
        assert_eq!((count("on_the_host"), count("in_a_forked_process")), (1, 0), "{pattern:?}");
    }
}
