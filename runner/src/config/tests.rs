//! The search for the configuration, the sum of its parts, and the messages about mistakes.

use std::time::Duration;

use clmatrix::select::{DeviceType, PlatformInfo, Version};

use super::sample::{Project, now};
use super::*;
use crate::config::judge;
use crate::devices::run_device::RunDevice;
use crate::log::sample::device;
use crate::verdict::{ExpectedStatus, Outcome, Verdict};

impl Project {
    /// The message about the project's mistake, without the folder's name.
    fn complaint(&self) -> String {
        let folder = self.path("").display().to_string();
        self.config().unwrap_err().to_string().replace(&folder, "")
    }
}

#[test]
fn the_nearest_file_is_found() {
    let project = Project::new(&[
        ("clmatrix.toml", ""),
        ("config/clmatrix.toml", ""),
        ("a/config/clmatrix.toml", ""),
        ("a/b/c/unrelated", ""),
    ]);
    let cases = [
        ("a/b/c", "a/config/clmatrix.toml", "a"),
        ("a", "a/config/clmatrix.toml", "a"),
        ("config", "config/clmatrix.toml", "config"),
        (".", "clmatrix.toml", "."),
    ];
    for (current, file, root) in cases {
        let found = Source::find(None, None, &project.path(current));
        assert_eq!(found.file.unwrap().components(), project.path(file).components(), "{current}");
        assert_eq!(found.root.components(), project.path(root).components(), "{current}");
    }
}

#[test]
fn what_is_named_goes_before_what_is_found() {
    let project = Project::new(&[("clmatrix.toml", "")]);
    let current = project.path("");
    let file = |explicit: Option<&str>, variable: Option<&str>| {
        Source::find(explicit.map(Path::new), variable.map(OsString::from), &current).file.unwrap()
    };
    assert_eq!(file(Some("x.toml"), Some("y.toml")), Path::new("x.toml"));
    assert_eq!(file(None, Some("y.toml")), Path::new("y.toml"));
    assert_eq!(file(None, Some("")), project.path("clmatrix.toml"));
}

#[test]
fn a_file_that_was_named_must_be_there() {
    let source = Source::find(Some(Path::new("/nowhere/x.toml")), None, Path::new("/"));
    let message = Config::from_source(source, None, now()).unwrap_err().to_string();
    let error = std::fs::read("/nowhere/x.toml").unwrap_err();
    assert_eq!(message, format!("/nowhere/x.toml: cannot be read: {error}"));
}

#[test]
fn a_profile_falls_back_to_default_and_that_to_what_is_built_in() {
    let project = Project::new(&[(
        "clmatrix.toml",
        r#"
        [profile.default]
        devices = "pocl"
        timeout = "90s"
        [profile.ci]
        timeout = "2m"
        slots = 3
        tests-per-worker = 40
        expected-devices = ["POCL-*", "intel-cpu", "oclgrind-*"]
        report-dir = "out"
        strict-drivers = true
        [profile.fleet]
        report-dir = "/var/reports"
        "#,
    )]);
    let config = project.config().unwrap();
    let summary = |name| {
        let profile = config.profile(name).unwrap();
        let settings = profile.settings_for(None);
        let devices = profile.devices.clone();
        (
            devices,
            settings.timeout.as_secs(),
            (settings.slots.count(), settings.tests_per_worker),
            profile.report_dir.clone(),
        )
    };
    let pocl = Some("pocl".to_owned());
    assert_eq!(summary("default"), (pocl.clone(), 90, (1, None), None));
    assert_eq!(summary("ci"), (pocl.clone(), 120, (3, Some(40)), Some(project.path("out"))));
    assert_eq!(summary("fleet"), (pocl, 90, (1, None), Some(project.path("/var/reports"))));

    let ci = config.profile("ci").unwrap();
    assert!(ci.strict_drivers && !config.profile("fleet").unwrap().strict_drivers);
    assert_eq!(ci.absent(&[("pocl-cpu", None), ("oclgrind-sim", None)]), ["intel-cpu"]);
    assert_eq!(ci.absent(&[]), ["POCL-*", "intel-cpu", "oclgrind-*"]);
    assert!(config.profile("default").unwrap().absent(&[]).is_empty());
}

#[test]
fn a_number_of_devices_can_be_expected() {
    let project = Project::new(&[(
        "clmatrix.toml",
        "[profile.default]\nexpected-devices = ['pocl-*', { id = 'gpu-*', count = 3 }]",
    )]);
    let profile = project.config().unwrap().profile("default").unwrap();
    let gpus = [
        ("gpu-0", Some("0000:01:00.0")),
        ("pocl-cpu", None),
        ("gpu-1", Some("0000:02:00.0")),
        ("gpu-2", None),
    ];
    assert!(profile.absent(&gpus).is_empty());
    assert_eq!(profile.absent(&gpus[..3]), ["3 x gpu-* (2 there: 0000:01:00.0, 0000:02:00.0)"]);
    assert_eq!(profile.absent(&[]), ["pocl-*", "3 x gpu-* (none is there)"]);
}

#[test]
fn retries_are_of_the_profile_and_of_devices() {
    let project = Project::new(&[(
        "clmatrix.toml",
        r#"
        [profile.default]
        retries = 2
        [profile.ci]
        flaky-result = "pass"
        unexpected-pass = "report"
        [[override]]
        id = "oclgrind-*"
        retries = 0
        "#,
    )]);
    let config = project.config().unwrap();
    let [default, ci] = ["default", "ci"].map(|name| config.profile(name).unwrap());
    assert_eq!((default.flaky_result, ci.flaky_result), (FlakyResult::Fail, FlakyResult::Pass));
    let passes = (default.unexpected_pass, ci.unexpected_pass);
    assert_eq!(passes, (UnexpectedPass::Fail, UnexpectedPass::Report));
    assert_eq!(default.settings_for(Some(&device("pocl-cpu", "PoCL"))).retries, 2.into());
    assert_eq!(ci.settings_for(Some(&device("oclgrind-sim", "Oclgrind"))).retries, 0.into());
}

#[test]
fn without_a_file_the_defaults_hold() {
    let config = Config::from_source(
        Source { file: None, root: "/here".into(), is_named: false },
        None,
        now(),
    )
    .unwrap();
    let profile = config.profile("default").unwrap();
    assert_eq!(profile.devices, None);
    assert_eq!(profile.report_dir, None);
    let settings = profile.settings_for(Some(&device("pocl-cpu", "PoCL")));
    assert_eq!((settings.timeout, settings.slots.count()), (Duration::from_secs(60), 1));
    assert_eq!(settings.diagnostics, Diagnostics::default());
}

#[test]
fn an_unknown_profile_is_an_error() {
    let project = Project::new(&[("clmatrix.toml", "[profile.ci]\n[profile.nightly]")]);
    let config = project.config().unwrap();
    let file = project.path("clmatrix.toml").display().to_string();
    let cases = [
        (
            "nightli",
            format!("no profile `nightli` (configuration: {file}); did you mean `nightly`?"),
        ),
        (
            "gpu",
            format!("no profile `gpu` (configuration: {file}); known: `ci`, `default`, `nightly`"),
        ),
    ];
    for (name, expected) in cases {
        assert_eq!(config.profile(name).unwrap_err().to_string(), expected);
    }
}

#[test]
fn later_overrides_win_and_all_their_globs_must_match() {
    let project = Project::new(&[(
        "clmatrix.toml",
        r#"
        [profile.default]
        timeout = "10s"
        [[override]]
        platform = "ocl*"
        timeout = "20s"
        [[override]]
        platform = "ocl*"
        driver-version = "4.*"
        timeout = "30s"
        [[override]]
        vendor = "genuine*"
        device = "*device"
        driver-version = "3.*"
        slots = 2
        [[override]]
        id = "oclgrind-slow"
        timeout = "40s"
        [[override]]
        id = "host"
        timeout = "50s"
        "#,
    )]);
    let profile = project.config().unwrap().profile("default").unwrap();
    let cases = [
        ("pocl-cpu", "PoCL", 10, 2),
        ("oclgrind-sim", "Oclgrind", 20, 2),
        ("oclgrind-slow", "Oclgrind", 40, 2),
    ];
    for (id, platform, timeout, slots) in cases {
        let settings = profile.settings_for(Some(&device(id, platform)));
        assert_eq!((settings.timeout.as_secs(), settings.slots.count()), (timeout, slots), "{id}");
    }
    let host = profile.settings_for(None);
    assert_eq!(
        (host.timeout.as_secs(), host.slots.count()),
        (50, 1),
        "of the device's only `id` counts"
    );
}

#[test]
fn an_override_may_be_for_some_tests() {
    let project = Project::new(&[(
        "clmatrix.toml",
        r#"
        [profile.default]
        retries = 1
        [[override]]
        platform = "ocl*"
        retries = 2
        [[override]]
        tests = "pool::*"
        timeout = "5s"
        alone = true
        [[override]]
        platform = "ocl*"
        tests = "pool::slow"
        timeout = "50s"
        contexts = "fresh"
        leaks = "fail"
        "#,
    )]);
    let profile = project.config().unwrap().profile("default").unwrap();
    let (pocl, oclgrind) = (device("pocl-cpu", "PoCL"), device("oclgrind-sim", "Oclgrind"));
    let of = |path: &str, device: Option<&RunDevice>| {
        let settings = profile.test_settings(path, device)?;
        Some((settings.test_timeout?.as_secs(), settings.alone, settings.leaks, settings.retries))
    };
    for (path, device, expected) in [
        ("pool::fast", Some(&pocl), Some((5, true, Leaks::Report, 1.into()))),
        ("pool::fast", None, Some((5, true, Leaks::Report, 1.into()))),
        ("pool::slow", Some(&pocl), Some((5, true, Leaks::Report, 1.into()))),
        ("pool::slow", Some(&oclgrind), Some((50, true, Leaks::Fail, 2.into()))),
        ("svm::slow", Some(&oclgrind), None),
    ] {
        assert_eq!(of(path, device), expected, "{path}");
    }
    let own = profile.settings_for(Some(&oclgrind));
    assert_eq!((own.retries, own.alone, own.test_timeout), (2.into(), false, None));
    for keys in ["slots = 1", "hang-budget = '1m'", "exit-check = true", "contexts = 'reuse'"] {
        let text = format!("[[override]]\ntests = 'pool::*'\n{keys}\n");
        let error = Project::new(&[("clmatrix.toml", &text)]).config().unwrap_err().to_string();
        assert!(error.contains("an [[override]] with `tests` cannot have "), "{error}");
    }
}

#[test]
fn a_group_has_its_settings_by_its_name() {
    let config = |group: &str| {
        let text = format!("{group}[[override]]\ntests = 'pool::*'\ngroup = 'big'\n");
        Project::new(&[("clmatrix.toml", &text)]).config()
    };
    let named = |max, per| Some(Group { name: "big".to_owned(), max, per });
    for (group, expected) in [
        ("[group.big]\n", named(1, GroupScope::Device)),
        ("[group.big]\nmax = 3\nper = 'host'\n", named(3, GroupScope::Host)),
    ] {
        let profile = config(group).unwrap().profile("default").unwrap();
        assert_eq!(profile.test_settings("pool::a", None).unwrap().group, expected);
        assert_eq!(profile.test_settings("svm::a", None), None);
    }
    let error = config("[group.bag]\n").unwrap_err().to_string();
    assert!(error.contains("no [group.big] for") && error.contains("bag"), "{error}");
    assert!(config("[group.big]\nmax = 0\n").is_err());
}

/// Lines of Oclgrind 21.10 about real mistakes, and other lines.
#[test]
fn complaints_of_oclgrind_are_diagnostics_of_oclgrind() {
    let config = Config::from_source(
        Source { file: None, root: PathBuf::new(), is_named: false },
        None,
        now(),
    )
    .unwrap();
    let profile = config.profile("default").unwrap();
    let oclgrind = profile.settings_for(Some(&device("oclgrind-sim", "Oclgrind")));
    let pocl = profile.settings_for(Some(&device("pocl-cpu", "PoCL")));
    let complaints = [
        "Invalid read of size 4 at global memory address 0x2000000000190",
        "Invalid write of size 4 at private memory address 0x100000024",
        "Invalid read from write-only buffer",
        "Invalid write to read-only buffer",
        "Invalid memory load - source pointer is not aligned to the pointed type",
        "Index (9) exceeds static array size (4)",
        "Work-group divergence detected (barrier)",
        "Work-group divergence detected (async copy)",
        "Work-item finished without waiting for events",
        "Invalid wait event",
        "Write-write data race at global memory address 0x3000000000000",
        "Uninitialized value written to global memory address 0x3000000000000",
        "Uninitialized address used to write to global memory address 0x3000000000000",
        "Controlflow depends on uninitialized value",
        "OCLGRIND FATAL ERROR (./src/core/WorkItem.cpp:1681)",
        "Oclgrind: 2 errors generated - suppressing further errors",
    ];
    for complaint in complaints {
        let stderr = format!("1 warning generated.\n\n{complaint}\n\tKernel: k\n");
        assert_eq!(oclgrind.complaint_in(&stderr), Some(complaint));
        assert_eq!(pocl.complaint_in(&stderr), None);
    }
    let harmless = [
        "",
        "1 warning generated.",
        "test prints: Invalid read of size 4",
        "Oclgrind - OpenCL runtime error detected",
        "\tError:    CL_INVALID_VALUE",
    ];
    for stderr in harmless {
        assert_eq!(oclgrind.complaint_in(stderr), None, "{stderr:?}");
    }
}

#[test]
fn leftovers_are_judged_by_profile_and_device() {
    let text = "
        [profile.ci]
        leftovers = 'fail'
        [[override]]
        id = 'oclgrind-*'
        leftovers = 'note'
        ";
    let config = Project::new(&[("clmatrix.toml", text)]).config().unwrap();
    let on = |profile, id| {
        config.profile(profile).unwrap().settings_for(Some(&device(id, "a platform"))).leftovers
    };
    assert_eq!(on("default", "pocl-cpu"), Leftovers::Note);
    assert_eq!(on("ci", "pocl-cpu"), Leftovers::Fail);
    assert_eq!(on("ci", "oclgrind-sim"), Leftovers::Note);
}

#[test]
fn leaks_are_judged_by_profile_and_device() {
    let text = "
        [profile.ci]
        leaks = 'fail'
        [[override]]
        id = 'oclgrind-*'
        leaks = 'off'
        ";
    let config = Project::new(&[("clmatrix.toml", text)]).config().unwrap();
    let on = |profile, id| {
        config.profile(profile).unwrap().settings_for(Some(&device(id, "a platform"))).leaks
    };
    assert_eq!(on("default", "pocl-cpu"), Leaks::Report);
    assert_eq!(on("ci", "pocl-cpu"), Leaks::Fail);
    assert_eq!(on("ci", "oclgrind-sim"), Leaks::Off);
}

#[test]
fn contexts_are_of_the_device_type_the_profile_and_the_override() {
    let text = "
        [profile.fresh]
        contexts = 'fresh'
        [profile.reuse]
        contexts = 'reuse'
        [[override]]
        id = 'oclgrind-*'
        contexts = 'reuse'
        ";
    let config = Project::new(&[("clmatrix.toml", text)]).config().unwrap();
    let on = |profile, id, bits| {
        let mut device = device(id, "a platform");
        device.info.device_type = DeviceType::from_bits_retain(bits);
        config.profile(profile).unwrap().settings_for(Some(&device)).contexts
    };
    let (cpu, gpu, accelerator) = (1 << 1, 1 << 2, 1 << 3);
    for (profile, id, bits, expected) in [
        ("default", "pocl-cpu", cpu, Contexts::Fresh),
        ("default", "pocl-cpu", cpu | 1, Contexts::Fresh),
        ("default", "nvidia", gpu, Contexts::Reuse),
        ("default", "fpga", accelerator, Contexts::Reuse),
        ("default", "any", cpu | gpu | accelerator, Contexts::Fresh),
        ("fresh", "nvidia", gpu, Contexts::Fresh),
        ("reuse", "pocl-cpu", cpu, Contexts::Reuse),
        ("default", "oclgrind-sim", cpu, Contexts::Reuse),
        ("fresh", "oclgrind-sim", cpu, Contexts::Reuse),
    ] {
        assert_eq!(on(profile, id, bits), expected, "{profile}, {id}, {bits}");
    }
    let host = config.profile("reuse").unwrap().settings_for(None).contexts;
    assert_eq!(host, Contexts::Fresh);
}

#[test]
fn a_project_can_turn_complaints_off() {
    let text = "[[override]]\nid = 'oclgrind-*'\ndiagnostics = []";
    let profile = Project::new(&[("clmatrix.toml", text)]).config().unwrap();
    let profile = profile.profile("default").unwrap();
    let of_oclgrind = profile.settings_for(Some(&device("oclgrind-sim", "Oclgrind")));
    assert_eq!(of_oclgrind.diagnostics, Diagnostics::default());
}

#[test]
fn the_last_expectation_that_matches_counts() {
    let project = Project::new(&[
        ("config/clmatrix.toml", ""),
        (
            "config/expectations/b.toml",
            r#"
            [[expect]]
            test = "svm::*"
            platform = "oclgrind"
            status = "fail"
            reason = "in b, of one platform"
            [[expect]]
            test = "svm::maps::fine_{1,2}"
            driver-version = "3.*"
            status = "crash"
            reason = "in b, of one driver"
            "#,
        ),
        (
            "config/expectations/a.toml",
            r#"
            [[expect]]
            test = "*::maps::*"
            status = "timeout"
            reason = "  in a, everywhere "
            "#,
        ),
        ("config/expectations/notes.md", "not TOML"),
    ]);
    let config = project.config().unwrap();
    let (oclgrind, pocl) = (device("oclgrind-sim", "Oclgrind"), device("pocl-cpu", "PoCL"));
    let old = {
        let mut old = device("pocl-old", "PoCL");
        old.info.driver_version = "2.9".to_owned();
        old
    };
    let cases = [
        (Some(&oclgrind), "svm::copies", Some("in b, of one platform")),
        (Some(&oclgrind), "svm::maps::fine_1", Some("in b, of one driver")),
        (Some(&pocl), "svm::maps::fine_1", Some("in b, of one driver")),
        (Some(&pocl), "svm::maps::fine_3", Some("in a, everywhere")),
        (Some(&old), "svm::maps::fine_1", Some("in a, everywhere")),
        (Some(&pocl), "svm::copies", None),
        (Some(&pocl), "SVM::MAPS::FINE_1", None),
        (None, "svm::maps::fine_1", Some("in a, everywhere")),
        (None, "svm::copies", None),
    ];
    for (device, test, expected) in cases {
        let expectations = config.expectations.for_device(device);
        let reason = expectations.lookup(test).map(|found| found.written.reason.clone());
        assert_eq!(reason.as_deref(), expected, "{test} on {:?}", device.map(|device| &device.id));
    }
    let crash = config.expectations.for_device(Some(&pocl)).lookup("svm::maps::fine_1");
    assert_eq!(crash.map(|found| found.written.status), Some(ExpectedStatus::Crash.into()));
    let unmatched = |tests: &[&str]| {
        config
            .expectations
            .without_test(&tests.iter().map(ToString::to_string).collect::<Vec<_>>())
            .join(" ")
    };
    assert_eq!(unmatched(&["svm::maps::fine_1"]), "");
    assert_eq!(unmatched(&["svm::copies", "images::maps::t"]), "svm::maps::fine_{1,2}");
    assert_eq!(unmatched(&["images::maps::t"]), "", "another target may have the suite");
}

/// The expectations of a file with one entry of these keys.
fn expectations_of(keys: &str) -> Expectations {
    let entry = format!("[[expect]]\ntest = '*'\nreason = 'x'\n{keys}\n");
    let files = [("clmatrix.toml", ""), ("expectations/a.toml", entry.as_str())];
    Project::new(&files).config().unwrap().expectations
}

#[test]
fn each_condition_of_an_expectation_must_be_met() {
    let mut gpu = device("gpu-0", "PoCL");
    gpu.info.device_type = DeviceType::GPU | DeviceType::DEFAULT;
    gpu.info.opencl = Version { major: 3, minor: 0 };
    gpu.info.driver_version = "22.10-devel".to_owned();
    for (keys, on_device, on_host) in [
        ("", true, true),
        ("id = 'gpu-*'", true, false),
        ("id = 'host'", false, true),
        ("platform = 'pocl'", true, false),
        ("platform = 'rusticl'", false, false),
        ("device = 'pocl device'", true, false),
        ("device = 'other'", false, false),
        ("vendor = 'genuine*'", true, false),
        ("vendor = 'other'", false, false),
        ("type = 'gpu'", true, false),
        ("type = 'cpu'", false, false),
        ("type = '{cpu,gpu}'", true, false),
        ("type = '{cpu, gpu}'", true, false),
        ("type = '{cpu,accelerator}'", false, false),
        ("opencl = '>=2.0'", true, false),
        ("opencl = '>=3.1'", false, false),
        ("opencl = '=3.0'", true, false),
        ("driver-version = '22.10*'", true, false),
        ("driver-version = '>=22.9, <23'", true, false),
        ("driver-version = '<22.9'", false, false),
        ("type = 'gpu'\nopencl = '<3.0'", false, false),
        ("until = '2026-01-02'", true, true),
        ("until = '2026-01-01'", false, false),
    ] {
        let expectations = expectations_of(&format!("status = 'fail'\n{keys}"));
        let found = expectations.for_device(Some(&gpu)).lookup("a").is_some();
        assert_eq!(found, on_device, "{keys} on a device");
        assert_eq!(
            expectations.for_device(None).lookup("a").is_some(),
            on_host,
            "{keys} on the host"
        );
    }
}

#[test]
fn an_expectation_allows_its_statuses_and_messages() {
    let failed = |message: &str| Outcome::Failed { message: message.to_owned(), location: None };
    let invalid = || failed("Error: clCreateImage: CL_INVALID_VALUE (-30)\nmore");
    let crashed = || Outcome::signal("SIGSEGV");
    let timed_out = || Outcome::TimedOut { limit: Duration::from_secs(1) };
    use Verdict::{Crash, ExpectedFail, Fail, Pass, Timeout, UnexpectedPass};
    for (keys, outcome, verdict) in [
        ("status = 'pass'", Outcome::Passed, Pass),
        ("status = 'pass'", invalid(), Fail),
        ("status = 'flaky'", Outcome::Passed, Pass),
        ("status = 'flaky'", invalid(), ExpectedFail),
        ("status = 'flaky'", crashed(), ExpectedFail),
        ("status = 'flaky'", timed_out(), ExpectedFail),
        ("status = ['pass', 'timeout']", Outcome::Passed, Pass),
        ("status = ['pass', 'timeout']", timed_out(), ExpectedFail),
        ("status = ['pass', 'timeout']", invalid(), Fail),
        ("status = ['pass', 'timeout']", crashed(), Crash),
        ("status = ['fail', 'crash']", Outcome::Passed, UnexpectedPass),
        ("status = ['fail', 'crash']", timed_out(), Timeout),
        ("status = 'skip'", Outcome::Passed, UnexpectedPass),
        ("status = 'skip'", invalid(), Fail),
        ("status = ['skip', 'crash']", crashed(), ExpectedFail),
        ("status = ['skip', 'crash']", invalid(), Fail),
        ("status = ['skip', 'crash']", Outcome::Passed, UnexpectedPass),
        ("status = ['skip', 'crash']\nmessage = 'SIGABRT'", crashed(), Crash),
        ("status = 'fail'\nmessage = 'CL_INVALID_*'", invalid(), ExpectedFail),
        ("status = 'fail'\nmessage = 'Error: *_VALUE (-30)'", invalid(), ExpectedFail),
        ("status = 'fail'\nmessage = 'cl_invalid_*'", invalid(), Fail),
        ("status = 'fail'\nmessage = 'more'", invalid(), Fail),
        ("status = 'fail'\nmessage = 'CL_OUT_OF_*'", invalid(), Fail),
        ("status = 'fail'\nmessage = '*'", failed(""), ExpectedFail),
        ("status = 'fail'\nmessage = 'left: 1'", failed("\n \nleft: 1\nright: 2"), ExpectedFail),
        ("status = 'crash'\nmessage = 'SIGSEGV'", crashed(), ExpectedFail),
        ("status = 'crash'\nmessage = 'SIGABRT'", crashed(), Crash),
        ("status = ['fail', 'timeout']\nmessage = 'CL_*'", timed_out(), ExpectedFail),
    ] {
        let expectations = expectations_of(keys);
        let expectation = expectations.for_device(None).lookup("a");
        assert_eq!(judge(&outcome, expectation.as_ref()), verdict, "{keys}: {outcome:?}");
    }
}

#[test]
fn an_entry_counts_at_other_versions_of_its_driver() {
    let entry = |status: &str, keys: &str| {
        format!("[[expect]]\ntest = 'a'\nreason = 'x'\nstatus = '{status}'\n{keys}\n")
    };
    let at = |versions: &str| format!("platform = 'PoCL'\ndriver-version = '{versions}'");
    let of = |text: &str, version: &str| {
        let files = [("clmatrix.toml", ""), ("expectations/a.toml", text)];
        let expectations = Project::new(&files).config().unwrap().expectations;
        let mut pocl = device("d", "PoCL");
        pocl.info.driver_version = version.to_owned();
        let found = expectations.for_device(Some(&pocl)).lookup("a");
        let strict = expectations.for_device(Some(&pocl)).strict(true).lookup("a");
        let is_seen = found.as_ref().is_some_and(|found| !found.is_assumed);
        assert_eq!(strict.is_some(), is_seen, "{text} on {version}");
        found.map(|found| (found.written.status.to_string(), found.is_assumed))
    };
    let crash_at_5 = [entry("fail", &at("3.*")), entry("crash", &at("5.0*"))].concat();
    let general = [entry("fail", "platform = 'PoCL'"), entry("crash", &at("5.0*"))].concat();
    let two = [entry("crash", &at("{3.1,5.0}*")), entry("fail", &at("4.0"))].concat();
    // The versions at which these tests were tried, and others.
    let tried = |tests: &str, keys: &str| format!("[[tried]]\ntests = {tests}\n{keys}\n");
    let two = two + &tried("['b', 'a']", &at("6.1"));
    let of_others = [
        entry("crash", &at("{3.1,5.0}*")),
        tried("['b']", &at("4.0")),
        tried("['a']", "platform = 'rusticl'\ndriver-version = '4.0'"),
        tried("['a']", &format!("type = 'gpu'\n{}", at("4.0"))),
    ];
    let of_others = of_others.concat();
    for (text, version, expected) in [
        (&entry("fail", &at("3.1*")), "3.1+debian", Some(("fail", false))),
        (&entry("fail", &at("3.1*")), "6.0", Some(("fail", true))),
        (&entry("fail", &at("=3.1")), "2.0", Some(("fail", true))),
        // Bounds, and conditions of no driver.
        (&entry("fail", &at("<4")), "6.0", None),
        (&entry("fail", &at(">=3.0, <4")), "2.9", None),
        (&entry("fail", "driver-version = '3.1*'"), "6.0", None),
        (&entry("fail", "vendor = '*'\ndriver-version = '3.1*'"), "6.0", None),
        (&entry("fail", &at("3.1*, <5.0")), "4.0", Some(("fail", true))),
        (&entry("fail", &at("3.1*, <5.0")), "6.0", None),
        (&entry("fail", "platform = 'rusticl'\ndriver-version = '3.1*'"), "6.0", None),
        // The entry for this version, else the one for all, else the one of the last version.
        (&crash_at_5, "3.0", Some(("fail", false))),
        (&crash_at_5, "6.0", Some(("crash", true))),
        (&crash_at_5, "4.0", Some(("crash", true))),
        (&general, "6.0", Some(("fail", false))),
        (&two, "6.0", Some(("crash", true))),
        (&two, "4.0", Some(("fail", false))),
        (&two, "6.1", None),
        (&of_others, "4.0", Some(("crash", true))),
        // A skip.
        (&entry("skip", &at("3.0*")), "3.0", Some(("skip", false))),
        (&entry("skip", &at("3.0*")), "3.1", None),
        (
            &[entry("skip", &at("3.1*")), entry("fail", &at("3.0*"))].concat(),
            "6.0",
            Some(("fail", true)),
        ),
    ] {
        let expected = expected.map(|(status, is_assumed)| (status.to_owned(), is_assumed));
        assert_eq!(of(text, version), expected, "{text} on {version}");
    }
    let text = "[profile.default]\nstrict-versions = true";
    let project = Project::new(&[("clmatrix.toml", text)]);
    assert!(project.config().unwrap().profile("default").unwrap().strict_versions);
}

#[test]
fn the_smallest_limit_counts() {
    let text = "[profile.default]\ntimeout = '60s'\ntimeout-factor = 2.0";
    let project = Project::new(&[("clmatrix.toml", text)]);
    let settings = project.config().unwrap().profile("default").unwrap().settings_for(None);
    let expected = |keys: &str| {
        let expectations = expectations_of(&format!("status = 'timeout'\n{keys}"));
        expectations.for_device(None).lookup("a").unwrap().timeout
    };
    let seconds = |number| Some(Duration::from_secs(number));
    for (of_test, keys, limit) in [
        (None, "", 120),
        (seconds(10), "", 20),
        (None, "timeout = '3s'", 6),
        (None, "timeout = '90s'", 180),
        (seconds(10), "timeout = '3s'", 6),
        (seconds(10), "timeout = '30s'", 20),
    ] {
        let limits = [of_test, expected(keys)].into_iter().flatten();
        assert_eq!(settings.limit(limits).as_secs(), limit, "{of_test:?}, {keys}");
    }
}

#[test]
fn an_end_that_is_near_and_a_version_without_numbers_are_pointed_out() {
    let mut odd = device("odd", "PoCL");
    odd.info.driver_version = "unknown".to_owned();
    for (keys, warning) in [
        ("until = '2026-01-16'", ""),
        ("until = '2026-01-15'", "the expectation counts until 2026-01-15"),
        (
            "until = '2026-01-02'\nticket = 'https://bugs/7'",
            "the expectation counts until 2026-01-02 (https://bugs/7)",
        ),
        ("until = '2025-06-01'", "the expectation counted until 2025-06-01"),
        ("until = '2025-06-01'\nplatform = 'rusticl'", ""),
        (
            "driver-version = '>=1'",
            "`driver-version` of odd, \"unknown\", cannot be compared with \">=1\"",
        ),
        ("driver-version = '>=1'\nplatform = 'rusticl'", ""),
        ("driver-version = '1.*'", ""),
    ] {
        let expectations = expectations_of(&format!("status = 'fail'\n{keys}"));
        let warnings = expectations.warnings(&[&odd]);
        let texts: Vec<_> = warnings
            .iter()
            .map(|warning| warning.split_once("a.toml:1: ").expect("its place").1)
            .collect();
        assert_eq!(texts.join("; "), warning, "{keys}");
    }
}

#[test]
fn parts_without_an_effect_are_pointed_out() {
    let text = "[[override]]\ntests = 's::b'\nalone = true\n\
        [[override]]\ntests = 'other::t'\ngroup = 'used'\n\
        [[override]]\nplatform = 'ocl-grind'\nretries = 1\n\
        [[override]]\nplatform = 'oclgrind'\nretries = 1\n\
        [group.used]\n[group.unused]\n";
    let on = |platform: &str| {
        format!("[[expect]]\ntest = '*'\nstatus = 'pass'\nreason = 'x'\nplatform = '{platform}'\n")
    };
    let project = Project::new(&[
        ("clmatrix.toml", text),
        ("expectations/a.toml", &["NVIDIA", "NVIDA", "nvida*", "odd"].map(on).concat()),
        ("expectations/b.TOML", "not read"),
        ("expectations/README.md", "not read"),
    ]);
    let mut odd = PlatformInfo::default();
    odd.name = "An odd one".to_owned();
    let tests = ["s::a".to_owned()];
    let found = project.config().unwrap().without_effect(&tests, &[&odd]);
    let platform = "no platform of this machine, and no usual one, matches the platform";
    let unread = project.path("expectations").join("b.TOML");
    let expected = [
        "no test of this target matches the [[override]] of tests \"s::b\"".to_owned(),
        "no [[override]] has the group \"unused\"".to_owned(),
        format!("{platform} \"NVIDA\""),
        format!("{platform} \"nvida*\""),
        format!("{platform} \"ocl-grind\""),
        format!("{} is not read: its name must end in .toml", unread.display()),
    ];
    assert_eq!(found, expected);
}

#[test]
fn expectations_of_a_suite_are_loaded_with_it() {
    let entry =
        |test: &str| format!("[[expect]]\ntest = '{test}'\nstatus = 'fail'\nreason = 'x'\n");
    let suite = "[[external]]\nname = 'cts::images'\nkind = 'opencl-cts'\nprograms = 'x'\n";
    let project = Project::new(&[
        ("clmatrix.toml", suite),
        ("expectations/a.toml", &entry("s::t")),
        ("expectations/cts/a.toml", &entry("cts::a::t")),
        ("expectations/other/a.toml", &entry("other::t")),
    ]);
    let expectations = project.config().unwrap().expectations;
    let is_expected = |test| expectations.for_device(None).lookup(test).is_some();
    assert_eq!(["s::t", "cts::a::t", "other::t"].map(is_expected), [true, true, false]);
}

#[test]
fn a_platform_is_named_as_in_a_selection() {
    let pocl = {
        let mut pocl = device("pocl-cpu", "Portable Computing Language");
        pocl.platform.vendor = "The pocl project".to_owned();
        pocl
    };
    for (name, expected) in
        [("pocl", true), ("portable", true), ("*POCL*", true), ("pocl*", false), ("rusticl", false)]
    {
        let on = format!("platform = '{name}'\n");
        let expect = format!("[[expect]]\ntest = '*'\nstatus = 'fail'\nreason = 'x'\n{on}");
        let project = Project::new(&[
            ("clmatrix.toml", &format!("[[override]]\nslots = 2\n{on}")),
            ("expectations/a.toml", &expect),
        ]);
        let config = project.config().unwrap();
        let is_expected = config.expectations.for_device(Some(&pocl)).lookup("a").is_some();
        assert_eq!(is_expected, expected, "{name}");
        let slots = config.profile("default").unwrap().settings_for(Some(&pocl)).slots.count();
        assert_eq!(slots == 2, expected, "{name}");
    }
}

const EMBEDDED: EmbeddedConfig = EmbeddedConfig {
    config: "
        builtin-expectations = false # changes nothing here
        [profile.default]
        timeout = '10s'
        slots = 2
        [profile.ci]
        timeout = '20s'
        [[override]]
        platform = 'oclgrind'
        timeout = '30s'
        ",
    expectations: &[
        (
            "expectations/a.toml",
            "[[expect]]\ntest = 'a'\nstatus = 'fail'\nreason = 'built-in'\n\
             [[expect]]\ntest = 'b'\nstatus = 'fail'\nreason = 'built-in'",
        ),
        ("expectations/b.toml", "[[expect]]\ntest = 'c'\nstatus = 'crash'\nreason = 'built-in'"),
    ],
};

/// Timeout in seconds and slots of a profile on a device.
fn limits(config: &Config, profile: &str, platform: &str) -> (u64, usize) {
    let profile = config.profile(profile).unwrap();
    let settings = profile.settings_for(Some(&device("d", platform)));
    (settings.timeout.as_secs(), settings.slots.count())
}

/// The reasons of four tests, empty for a test without an expectation.
fn reasons(config: &Config) -> [String; 4] {
    let expectations = config.expectations.for_device(None);
    let known = |test| expectations.lookup(test);
    let reason = |test| known(test).map_or_else(String::new, |known| known.written.reason.clone());
    ["a", "b", "c", "d"].map(reason)
}

#[test]
fn without_a_file_the_configuration_in_the_executable_holds() {
    let config = Config::from_source(
        Source { file: None, root: "/".into(), is_named: false },
        Some(EMBEDDED),
        now(),
    );
    let config = config.unwrap();
    assert_eq!(limits(&config, "default", "PoCL"), (10, 2));
    assert_eq!(limits(&config, "ci", "PoCL"), (20, 2));
    assert_eq!(limits(&config, "ci", "Oclgrind"), (30, 2));
    assert_eq!(reasons(&config), ["built-in", "built-in", "built-in", ""]);
    assert_eq!(config.summary(), "configuration: built-in; expectations: 3");
    let message = config.profile("cii").unwrap_err().to_string();
    assert_eq!(message, "no profile `cii` (configuration: built-in); did you mean `ci`?");
}

#[test]
fn a_file_adds_to_the_configuration_in_the_executable() {
    let project = Project::new(&[
        (
            "clmatrix.toml",
            "[profile.default]\ntimeout = '1s'\n[profile.mine]\nslots = 3\n\
             [[override]]\nplatform = 'oclgrind'\ntimeout = '2s'",
        ),
        ("expectations/a.toml", "[[expect]]\ntest = '{b,d}'\nstatus = 'timeout'\nreason = 'mine'"),
    ]);
    let config = project.load(Some(EMBEDDED)).unwrap();
    assert_eq!(limits(&config, "default", "PoCL"), (1, 2));
    assert_eq!(limits(&config, "ci", "PoCL"), (20, 2));
    assert_eq!(limits(&config, "mine", "PoCL"), (1, 3));
    assert_eq!(limits(&config, "ci", "Oclgrind"), (2, 2));
    assert_eq!(reasons(&config), ["built-in", "mine", "built-in", "mine"]);
    let file = project.path("clmatrix.toml");
    let summary =
        format!("configuration: {} and built-in; expectations: 4 (1 yours)", file.display());
    assert_eq!(config.summary(), summary);
}

#[test]
fn a_file_can_replace_the_expectations_in_the_executable() {
    let expect = "[[expect]]\ntest = 'b'\nstatus = 'timeout'\nreason = 'mine'";
    let project = Project::new(&[
        ("clmatrix.toml", "builtin-expectations = false"),
        ("expectations/a.toml", expect),
    ]);
    let config = project.load(Some(EMBEDDED)).unwrap();
    assert_eq!(reasons(&config), ["", "mine", "", ""]);
    assert_eq!(limits(&config, "default", "PoCL"), (10, 2), "the profiles stay");
    assert!(config.summary().ends_with("; expectations: 1 (1 yours)"), "{}", config.summary());
    let file = project.path("clmatrix.toml").display().to_string();
    let summary = project.config().unwrap().summary();
    assert_eq!(summary, format!("configuration: {file}; expectations: 1"), "nothing is embedded");
}

#[test]
fn a_mistake_in_the_executable_is_named() {
    let broken =
        EmbeddedConfig { expectations: &[("expectations/a.toml", "[[expekt]]")], ..EMBEDDED };
    let source = Source { file: None, root: "/".into(), is_named: false };
    let message = Config::from_source(source, Some(broken), now()).unwrap_err().to_string();
    let expected = "built-in expectations/a.toml:1:3: unknown key `expekt`; did you mean `expect`?";
    assert!(message.starts_with(expected), "{message}");
}

#[test]
fn mistakes_in_the_configuration_are_named() {
    let cases = [
        (
            "[profile.default]\ntimeot = '60s'",
            [
                "clmatrix.toml:2:1: unknown key `timeot`; did you mean `timeout`?",
                "  |",
                "2 | timeot = '60s'",
                "  | ^^^^^^",
            ],
        ),
        (
            "[profile.default]\ntimeout-factor = -1.0",
            [
                "clmatrix.toml:2:18: a factor must be a number greater than zero",
                "  |",
                "2 | timeout-factor = -1.0",
                "  |                  ^^^^",
            ],
        ),
        (
            "[profile.default]\nspeed = 3",
            [
                "clmatrix.toml:2:1: unknown key `speed`; known: `devices`, `expected-devices`, `report-dir`, `strict-drivers`, `strict-versions`, `sync`, `keep-runs`, `deadline`, `slow-after`, `flaky-result`, `unexpected-pass`, `timeout-factor`, `timeout`, `hang-budget`, `slots`, `tests-per-worker`, `retries`, `memory`, `leftovers`, `leaks`, `contexts`, `shard`, `junit-output`, `junit-output-limit`, `junit-flavor`, `source-url`",
                "  |",
                "2 | speed = 3",
                "  | ^^^^^",
            ],
        ),
        (
            "[profile.default]\nexpected-devices = [{ id = 'gpu-*', count = 0 }]",
            [
                "clmatrix.toml:2:45: invalid value: integer `0`, expected a whole number of at least 1",
                "  |",
                "2 | expected-devices = [{ id = 'gpu-*', count = 0 }]",
                "  |                                             ^",
            ],
        ),
        (
            "[profile.default]\nexpected-devices = [8]",
            [
                "clmatrix.toml:2:21: invalid type: integer `8`, expected a glob such as \"nvidia-*\", or a table with `id` and `count`",
                "  |",
                "2 | expected-devices = [8]",
                "  |                     ^",
            ],
        ),
        (
            "[profile.default]\nflaky-result = 'warn'",
            [
                "clmatrix.toml:2:16: unknown value `warn`; known: `fail`, `pass`",
                "  |",
                "2 | flaky-result = 'warn'",
                "  |                ^^^^^^",
            ],
        ),
        (
            "[profile.default]\nunexpected-pass = 'pass'",
            [
                "clmatrix.toml:2:19: unknown value `pass`; known: `fail`, `report`",
                "  |",
                "2 | unexpected-pass = 'pass'",
                "  |                   ^^^^^^",
            ],
        ),
        (
            "[profile.default]\nleftovers = 'warn'",
            [
                "clmatrix.toml:2:13: unknown value `warn`; known: `note`, `fail`",
                "  |",
                "2 | leftovers = 'warn'",
                "  |             ^^^^^^",
            ],
        ),
        (
            "[profiles.ci]",
            [
                "clmatrix.toml:1:2: unknown key `profiles`; did you mean `profile`?",
                "  |",
                "1 | [profiles.ci]",
                "  |  ^^^^^^^^",
            ],
        ),
        (
            "[[expect]]\ntest = \"s::t\"",
            [
                "clmatrix.toml:1:3: unknown key `expect`; expectations stand in expectations/NAME.toml beside this file, \
                 each as [[expect]] with `test`, `status` and `reason`",
                "  |",
                "1 | [[expect]]",
                "  |   ^^^^^^",
            ],
        ),
        (
            "[profile.default]\n\ttimeout = 60",
            [
                r#"clmatrix.toml:2:12: invalid type: integer `60`, expected a duration such as "60s""#,
                "  |",
                "2 | \ttimeout = 60",
                "  | \t          ^^",
            ],
        ),
        (
            "[profile.default]\ntimeout = '60 parsecs'",
            [
                r#"clmatrix.toml:2:11: invalid duration: unknown time unit "parsecs", supported units: ns, us/µs, ms, sec, min, hours, days, weeks, months, years (and few variations)"#,
                "  |",
                "2 | timeout = '60 parsecs'",
                "  |           ^^^^^^^^^^^^",
            ],
        ),
        (
            "[profile.default]\ntimeout = '0s'",
            [
                "clmatrix.toml:2:11: a time limit must be longer than zero",
                "  |",
                "2 | timeout = '0s'",
                "  |           ^^^^",
            ],
        ),
        (
            "[profile.default]\nslots = 0",
            [
                "clmatrix.toml:2:9: invalid value: integer `0`, expected \"auto\" or a whole number of at least 1",
                "  |",
                "2 | slots = 0",
                "  |         ^",
            ],
        ),
        (
            "[profile.default]\nslots = 'many'",
            [
                r#"clmatrix.toml:2:9: invalid value: string "many", expected "auto" or a whole number of at least 1"#,
                "  |",
                "2 | slots = 'many'",
                "  |         ^^^^^^",
            ],
        ),
        (
            "[profile.default]\nexpected-devices = ['pocl-*', 'in[tel']",
            [
                "clmatrix.toml:2:31: invalid glob: unclosed character class; missing ']'",
                "  |",
                "2 | expected-devices = ['pocl-*', 'in[tel']",
                "  |                               ^^^^^^^^",
            ],
        ),
        (
            "[[override]]\ndevice = '{a'",
            [
                "clmatrix.toml:2:10: invalid glob: unclosed alternate group; missing '}' (maybe escape '{' with '[{]'?)",
                "  |",
                "2 | device = '{a'",
                "  |          ^^^^",
            ],
        ),
        (
            "[[override]]\nplatform = '0'",
            [
                "clmatrix.toml:2:12: a platform has no index here: use a part of its name or vendor",
                "  |",
                "2 | platform = '0'",
                "  |            ^^^",
            ],
        ),
        (
            "[[override]]\ndiagnostics = ['ok', 'Invalid (read']",
            [
                "clmatrix.toml:2:22: invalid regular expression: unclosed group",
                "  |",
                "2 | diagnostics = ['ok', 'Invalid (read']",
                "  |                      ^^^^^^^^^^^^^^^",
            ],
        ),
        (
            "[[override]]\ndriver_version = '1'",
            [
                "clmatrix.toml:2:1: unknown key `driver_version`; did you mean `driver-version`?",
                "  |",
                "2 | driver_version = '1'",
                "  | ^^^^^^^^^^^^^^",
            ],
        ),
        (
            "[profile.default]\ntimeout '60s'",
            [
                "clmatrix.toml:2:9: key with no value, expected `=`",
                "  |",
                "2 | timeout '60s'",
                "  |         ^",
            ],
        ),
        (
            "[profile.default]\nslots = 1\nslots = 2",
            ["clmatrix.toml:3:1: duplicate key", "  |", "3 | slots = 2", "  | ^^^^^"],
        ),
        (
            "[profile.default]\ntimeout = 'é' # é\r\n",
            [
                "clmatrix.toml:2:11: invalid duration: expected number at 0",
                "  |",
                "2 | timeout = 'é' # é",
                "  |           ^^^",
            ],
        ),
        (
            "[profile]\ndefault = 3",
            [
                "clmatrix.toml:2:11: invalid type: integer `3`, expected a table",
                "  |",
                "2 | default = 3",
                "  |           ^",
            ],
        ),
        (
            "override = 'x'",
            [
                r#"clmatrix.toml:1:12: invalid type: string "x", expected an array"#,
                "  |",
                "1 | override = 'x'",
                "  |            ^^^",
            ],
        ),
        (
            "profile = 3",
            [
                "clmatrix.toml:1:11: invalid type: integer `3`, expected a table",
                "  |",
                "1 | profile = 3",
                "  |           ^",
            ],
        ),
        (
            "\u{feff}[profile.default]\ntimeout = 'x'",
            [
                "clmatrix.toml:2:11: invalid duration: expected number at 0",
                "  |",
                "2 | timeout = 'x'",
                "  |           ^^^",
            ],
        ),
    ];
    for (text, expected) in cases {
        let project = Project::new(&[("clmatrix.toml", text)]);
        assert_eq!(project.complaint(), expected.join("\n"), "of {text:?}");
    }
}

#[test]
fn mistakes_in_expectations_are_named() {
    let cases = [
        (
            "[[expect]]\ntest = '*'\nstatus = 'fail'\n",
            [
                "expectations/pocl.toml:1:1: missing key `reason`",
                "  |",
                "1 | [[expect]]",
                "  | ^^^^^^^^^^",
            ],
        ),
        (
            "[[expect]]\ntest = '*'\nstatus = 'fail'\nreason = ' '",
            [
                "expectations/pocl.toml:4:10: empty `reason`: describe what the driver does, and the evidence",
                "  |",
                "4 | reason = ' '",
                "  |          ^^^",
            ],
        ),
        (
            "[[expect]]\ntest = '*'\nstatus = 'crsh'\nreason = 'x'",
            [
                "expectations/pocl.toml:3:10: unknown value `crsh`; did you mean `crash`?",
                "  |",
                "3 | status = 'crsh'",
                "  |          ^^^^^^",
            ],
        ),
        (
            "[[expect]]\ntest = '*'\nstatus = 'fail'\nreason = 'x'\nplatfrom = 'PoCL'",
            [
                "expectations/pocl.toml:5:1: unknown key `platfrom`; did you mean `platform`?",
                "  |",
                "5 | platfrom = 'PoCL'",
                "  | ^^^^^^^^",
            ],
        ),
        (
            "[[expect]]\ntest = 'a::[b'\nstatus = 'fail'\nreason = 'x'",
            [
                "expectations/pocl.toml:2:8: invalid glob: unclosed character class; missing ']'",
                "  |",
                "2 | test = 'a::[b'",
                "  |        ^^^^^^^",
            ],
        ),
        (
            "[[expect]]\ntest = 'a::b@pocl-cpu'\nstatus = 'fail'\nreason = 'x'",
            [
                "expectations/pocl.toml:2:8: a test has no device in its name: name the device with `id`; an @ in the name of a test is written [@]",
                "  |",
                "2 | test = 'a::b@pocl-cpu'",
                "  |        ^^^^^^^^^^^^^^^",
            ],
        ),
        (
            "[[expect]]\ntest = '*'\nstatus = 3\nreason = 'x'",
            [
                "expectations/pocl.toml:3:10: invalid type: integer `3`, expected a status such as \"fail\", or a list of them",
                "  |",
                "3 | status = 3",
                "  |          ^",
            ],
        ),
        (
            "[[expect]]\ntest = '*'\nstatus = ['pass', 'crsh']\nreason = 'x'",
            [
                "expectations/pocl.toml:3:19: unknown value `crsh`; did you mean `crash`?",
                "  |",
                "3 | status = ['pass', 'crsh']",
                "  |                   ^^^^^^",
            ],
        ),
        (
            "[[expect]]\ntest = '*'\nstatus = []\nreason = 'x'",
            [
                "expectations/pocl.toml:3:10: an empty list: name at least one status",
                "  |",
                "3 | status = []",
                "  |          ^^",
            ],
        ),
        (
            "[[expect]]\ntest = '*'\nstatus = 'fail'\nreason = 'x'\ndriver-version = '>=22.x'",
            [
                "expectations/pocl.toml:5:18: invalid range: `22.x` is not a version such as 22.3",
                "  |",
                "5 | driver-version = '>=22.x'",
                "  |                  ^^^^^^^^",
            ],
        ),
        (
            "[[expect]]\ntest = '*'\nstatus = 'fail'\nreason = 'x'\nopencl = '3.0'",
            [
                "expectations/pocl.toml:5:10: invalid range: `3.0` does not begin with `<`, `<=`, `=`, `>=` or `>`",
                "  |",
                "5 | opencl = '3.0'",
                "  |          ^^^^^",
            ],
        ),
        (
            "[[expect]]\ntest = '*'\nstatus = 'fail'\nreason = 'x'\ntype = 'GPU'",
            [
                "expectations/pocl.toml:5:8: unknown value `GPU`; known: `cpu`, `gpu`, `accelerator`, `custom`",
                "  |",
                "5 | type = 'GPU'",
                "  |        ^^^^^",
            ],
        ),
        (
            "[[expect]]\ntest = '*'\nstatus = 'fail'\nreason = 'x'\nmessage = 'CL_[A'",
            [
                "expectations/pocl.toml:5:11: invalid glob: unclosed character class; missing ']'",
                "  |",
                "5 | message = 'CL_[A'",
                "  |           ^^^^^^^",
            ],
        ),
        (
            "[[expect]]\ntest = '*'\nstatus = 'timeout'\nreason = 'x'\ntimeout = '0s'",
            [
                "expectations/pocl.toml:5:11: a time limit must be longer than zero",
                "  |",
                "5 | timeout = '0s'",
                "  |           ^^^^",
            ],
        ),
        (
            "[[expect]]\ntest = '*'\nstatus = 'fail'\nreason = 'x'\nuntil = '2027-02-30'",
            [
                "expectations/pocl.toml:5:9: not a day such as 2027-03-01: numeric component is out of range",
                "  |",
                "5 | until = '2027-02-30'",
                "  |         ^^^^^^^^^^^^",
            ],
        ),
        (
            "[[expect]]\ntest = '*'\nstatus = 'fail'\nreason = 'x'\nticket = ''",
            [
                "expectations/pocl.toml:5:10: empty `ticket`: give the address of a report",
                "  |",
                "5 | ticket = ''",
                "  |          ^^",
            ],
        ),
        (
            "[[expect]]\ntest = '*'\nstatus = ['flaky']\nreason = 'x'",
            [
                "expectations/pocl.toml:3:11: `flaky` must be alone: it is short for pass, fail, crash and timeout",
                "  |",
                "3 | status = ['flaky']",
                "  |           ^^^^^^^",
            ],
        ),
        (
            "[[expect]]\ntest = '*'\nstatus = 'timeout'\nreason = 'x'\nmessage = 'CL_*'",
            [
                "expectations/pocl.toml:1:1: `message` has no effect: only `fail` and `crash` have a message",
                "  |",
                "1 | [[expect]]",
                "  | ^^^^^^^^^^",
            ],
        ),
        (
            "[[expect]]\ntest = '*'\nstatus = 'fail'\nreason = 'x'\nuntil = 2027-03-01",
            [
                "expectations/pocl.toml:5:9: invalid type: map, expected a day in quotes, such as \"2027-03-01\"",
                "  |",
                "5 | until = 2027-03-01",
                "  |         ^^^^^^^^^^",
            ],
        ),
        (
            "[[tried]]\ntests = ['*']\nplatform = 'PoCL'\nstatus = 'fail'",
            [
                "expectations/pocl.toml:4:1: unknown key `status`; known: `tests`, `platform`, `type`, `driver-version`",
                "  |",
                "4 | status = 'fail'",
                "  | ^^^^^^",
            ],
        ),
        (
            "[[expects]]\n",
            [
                "expectations/pocl.toml:1:3: unknown key `expects`; did you mean `expect`?",
                "  |",
                "1 | [[expects]]",
                "  |   ^^^^^^^",
            ],
        ),
    ];
    for (text, expected) in cases {
        let project = Project::new(&[("clmatrix.toml", ""), ("expectations/pocl.toml", text)]);
        let file = Path::new("expectations").join("pocl.toml").display().to_string();
        let expected = expected.join("\n").replace("expectations/pocl.toml", &file);
        assert_eq!(project.complaint(), expected, "of {text:?}");
    }
}

#[test]
fn the_configuration_of_this_project() {
    let file = Path::new(env!("CARGO_MANIFEST_DIR")).join("../config/clmatrix.toml");
    let config = Config::load(Some(&file), None).unwrap();
    let ci = config.profile("ci").unwrap();
    assert_eq!(ci.settings_for(None).timeout, Duration::from_secs(120));
    let present = ["pocl-cpu", "rusticl-cpu", "intel-cpu"].map(|id| (id, None));
    assert_eq!(ci.absent(&present), ["oclgrind-*"]);
}
