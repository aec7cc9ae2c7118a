//! `characterize` on the real drivers of this machine.

use std::borrow::BorrowMut;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use clmatrix_characterize::measure::{Measured, Topic};
use clmatrix_characterize::{Answer, Devices, TableAnswer, Verdict};
use indexmap::IndexMap;
use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use serde_json::Value;

use crate::check;
use crate::support::{
    COMMAND, Ended, Folder, child, compile, events, output, shared_library, wait_while_running,
    without_devices,
};

fn characterize(arguments: &[&str]) -> Command {
    child(COMMAND, &[&["characterize"], arguments].concat())
}

/// Returns the output of a command that must succeed.
fn printed(command: impl BorrowMut<Command>) -> String {
    let output = output(command);
    assert_eq!(output.status.code(), Some(0));
    output.stdout
}

fn ids() -> Vec<String> {
    let devices: Value =
        serde_json::from_str(&printed(child(COMMAND, &["devices", "--format", "json"])))
            .expect("JSON");
    let devices = devices.as_array().expect("an array");
    devices.iter().map(|device| device["id"].as_str().expect("an id").to_owned()).collect()
}

check!(json_has_each_device_and_is_read_back, {
    let folder = Folder::new();
    let text = printed(folder.command(&["characterize", "--format", "json"]));
    let written = std::fs::read_to_string(folder.at("characterize.json"));
    assert_eq!(written.expect("a file"), text);
    let devices: Devices = serde_json::from_str(&text).expect("JSON of this format");
    assert_eq!(devices.keys().collect::<Vec<_>>(), ids().iter().collect::<Vec<_>>());
    for (id, device) in &devices {
        let known = device.characterization.as_ref().expect("the driver answers");
        assert_eq!(known.facts.name, device.name, "{id}");
        for (name, answer) in &known.table {
            let TableAnswer::Failed { error } = answer else { continue };
            assert!(!error.contains(name.as_str()), "{id}: {name} says twice who it is: {error}");
        }
        let size = known.table["usable_local_mem_size"].value();
        assert_eq!(size, Some(&Answer::Number(known.facts.local_mem_size)), "{id}");
        let multiple = &known.table["reasonable_work_group_size_multiple"];
        assert!(matches!(multiple, TableAnswer::Known(_)), "{id}: {multiple:?}");
        assert!(device.measured.is_empty() && device.verdicts.is_empty());
    }
    let again = serde_json::to_string_pretty(&devices).expect("plain data") + "\n";
    assert_eq!(again, text);
});

fn devices(command: Command) -> Devices {
    serde_json::from_str(&printed(command)).expect("JSON of this format")
}

check!(measurements_stand_beside_answers, {
    let reports = Folder::new();
    let reports = reports.path().to_str().expect("a path in UTF-8");
    let arguments = ["--measure", "--only", "timer", "--only", "has_src_build_cache"];
    let enough =
        ["--budget", "6s", "--memory", "64MiB", "--format", "json", "--report-dir", reports];
    let command = characterize(&[&arguments[..], &enough].concat());
    for (id, device) in devices(command) {
        let names: Vec<&str> = device.measured.keys().map(String::as_str).collect();
        assert_eq!(names, ["profiling_timer_resolution", "has_src_build_cache"], "{id}");
        let table = device.characterization.expect("the driver answers").table;
        assert_eq!(table.keys().collect::<Vec<_>>(), ["has_src_build_cache"], "{id}");
        for (name, measured) in &device.measured {
            assert!(!measured.took.is_zero(), "{id}: {name}");
            assert_eq!(
                measured.answer.is_err(),
                device.verdicts.get(name) == Some(&Verdict::NotMeasurable)
            );
        }
    }
});

/// Builds a library to load in place of the loader. Its `function` first runs `body`, in which the
/// second argument is `name`, and then calls the loader's; all other functions are the loader's.
pub fn faulty_loader(folder: &Path, function: &str, body: &str) -> PathBuf {
    let source = folder.join("loader.c");
    let library = folder.join("libOpenCL-faulty.so");
    let code = format!(
        "#define _GNU_SOURCE\n#include <dlfcn.h>\n#include <signal.h>\n#include <stdlib.h>\n#include <unistd.h>\n\
         typedef long (*function)(long, long, long, long, long, long, long, long, long);\n\
         long {function}(long a, long name, long c, long d, long e, long f, long g, long h, long i) {{\n\
         {body}\n\
         return ((function)dlsym(RTLD_NEXT, \"{function}\"))(a, name, c, d, e, f, g, h, i);\n}}\n"
    );
    std::fs::write(&source, code).expect("the source can be written");
    let mut shared = shared_library(&library, &source);
    shared.arg("-Wl,--no-as-needed").arg(stand_in_for_the_loader(folder));
    compile(shared);
    library
}

/// Builds an empty library that, when linked, makes the dynamic linker load the loader.
///
/// The dynamic linker searches its own folders for the name that a library calls itself, which
/// fails for a loader outside of them. So the stand-in calls itself by the loader's path.
fn stand_in_for_the_loader(folder: &Path) -> PathBuf {
    let source = folder.join("stand_in.c");
    let library = folder.join("stand_in.so");
    std::fs::write(&source, "").expect("the source can be written");
    let loader = std::env::var("OPENCL_DYLIB_PATH").unwrap_or_else(|_| "libOpenCL.so.1".to_owned());
    let mut shared = shared_library(&library, &source);
    shared.arg(format!("-Wl,-soname,{loader}"));
    compile(shared);
    library
}

/// Characterizes with such a loader. A topic may take 5 s more than its share of the budget, which
/// is enough for a driver to start on a busy machine.
fn with_fault(function: &str, body: &str, arguments: &[&str]) -> Ended {
    let folder = Folder::new();
    let config = folder.write("clmatrix.toml", "[profile.default]\ntimeout = \"5s\"\n");
    let reports = folder.at("reports");
    let mut command = characterize(arguments);
    command.args(["--format", "json", "--report-dir"]).arg(reports).arg("--config").arg(config);
    command.env("OPENCL_DYLIB_PATH", faulty_loader(folder.path(), function, body));
    output(command)
}

fn read_back(output: &Ended) -> Devices {
    serde_json::from_str(&output.stdout).expect("JSON of this format")
}

fn reason(measured: &Measured) -> &str {
    &measured.answer.as_ref().expect_err("nothing can be found").reason
}

check!(a_topic_costs_itself_alone, {
    for (body, expected, leaves_time) in [
        ("abort();", "the driver ended the process (SIGABRT)", true),
        ("for (;;) pause();", "the driver hung: no answer within ", false),
    ] {
        let arguments = ["--measure", "--budget", "5s", "--only", "timer", "--only", "launch"];
        let output = with_fault("clEnqueueFillBuffer", body, &arguments);
        assert_eq!(output.status.code(), Some(0));
        for (id, device) in read_back(&output) {
            assert_eq!(device.error, None, "{id}");
            for name in Topic::Timer.measurements() {
                let reason = reason(&device.measured[*name]);
                assert!(reason.starts_with(expected), "{id}: {reason}");
            }
            // Some may be lost in noise.
            let is_found = |name: &&str| device.measured[*name].answer.is_ok();
            let has_found = Topic::Launch.measurements().iter().any(is_found);
            assert!(has_found || !leaves_time, "{id}");
            assert!(device.measured.contains_key("queue_creation"), "{id}");
        }
    }
});

check!(answers_that_kill_their_process_are_missing, {
    for (body, expected) in [
        ("abort();", "the driver ended the process (SIGABRT)"),
        (
            "kill(getpid(), SIGKILL);",
            "the process was ended (SIGKILL: killed from outside (out of memory?))",
        ),
    ] {
        let output = with_fault("clBuildProgram", body, &[]);
        assert_eq!(output.status.code(), Some(1), "nothing is known of any device");
        let devices = read_back(&output);
        assert_eq!(devices.keys().collect::<Vec<_>>(), ids().iter().collect::<Vec<_>>());
        for (id, device) in devices {
            let error = device.error.expect("it cannot be known");
            assert!(error.starts_with(expected), "{id}: {error}");
            assert_eq!(device.characterization, None, "{id}");
        }
    }
});

/// The properties in the log, by device. Each device has one event with them, before the
/// end of its first test.
fn logged(folder: &Path) -> IndexMap<String, IndexMap<String, String>> {
    let mut logged = IndexMap::new();
    for event in events(folder) {
        let text = |key: &str| event[key].as_str().unwrap_or_default().to_owned();
        if event["event"] == "characterized" {
            let properties = serde_json::from_value(event["properties"].clone()).expect("texts");
            assert_eq!(logged.insert(text("device"), properties), None, "{event}");
        } else if event["event"] == "finished" {
            let test = text("test");
            let (_, device) = test.rsplit_once('@').expect("an id");
            assert!(logged.contains_key(device), "{event}");
        }
    }
    logged
}

/// An answer that needs the build of a kernel, unless the device is one of NVIDIA's.
const BUILT: &str = "reasonable_work_group_size_multiple";

// Builds are asked for with the option only.
check!(a_run_says_what_its_devices_are_like, {
    let [without, with] = [&[][..], &["--characterize"]].map(|options| {
        let folder = Folder::new();
        printed(folder.run(&["faulty::passes"]).args(options));
        logged(folder.path())
    });
    let devices = devices(characterize(&["--format", "json"]));
    assert_eq!(with.len(), devices.len());
    for (id, device) in devices {
        let characterization = device.characterization.expect("the driver answers");
        let (few, all) = (&without[&id], &with[&id]);
        assert_eq!(*all, characterization.properties(), "{id}");
        assert!(few.iter().all(|(name, value)| all[name] == *value), "{id}: {few:?}");
        assert!(few.contains_key("usable_local_mem_size"), "{id}");
        assert!(all.contains_key(BUILT) && !few.contains_key(BUILT), "{id}: {few:?}");
    }
});

check!(a_device_that_does_not_say_is_tested_all_the_same, {
    for (options, function, body) in [
        // CL_DEVICE_LOCAL_MEM_TYPE: nothing else asks for it.
        (&[][..], "clGetDeviceInfo", "if ((int)name == 0x1022) abort();"),
        // The first build is that of the probe.
        (&["--characterize"], "clBuildProgram", "static int builds; if (builds++) abort();"),
    ] {
        let folder = Folder::new();
        let mut command = folder.run(&["faulty::passes"]);
        command.args(options);
        printed(command.env("OPENCL_DYLIB_PATH", faulty_loader(folder.path(), function, body)));
        let log = folder.log();
        assert_eq!((log.results.len(), log.properties.len()), (ids().len(), ids().len()));
        for (id, known) in log.properties {
            let error = known.expect_err("it cannot be known");
            assert!(error.starts_with("the driver ended the process (SIGABRT)"), "{id}: {error}");
        }
    }
});

check!(curves_are_drawn_and_written, {
    let folder = Folder::new();
    // One that is fast enough for curves to come of it, if it is there.
    let all = ids();
    let id = all.iter().find(|id| id.starts_with("pocl")).unwrap_or(&all[0]);
    let mut command = characterize(&["--measure", "--plot", "--budget", "2m", "--memory", "64MiB"]);
    command.args(["--only", "bandwidth", "--only", "timer", "--report-dir"]).arg(folder.path());
    command.args(["--devices", id.split('-').next().expect("a platform")]);
    let text = printed(command);
    let json = std::fs::read_to_string(folder.at("characterize.json")).expect("a file");
    let devices: Devices = serde_json::from_str(&json).expect("JSON of this format");
    let mut drawn = 0;
    for (id, device) in &devices {
        for (name, measured) in &device.measured {
            let has_curve = measured.series.iter().any(|series| series.points.len() > 1);
            let svg = folder.at("curves").join(id).join(format!("{name}.svg"));
            assert_eq!(svg.is_file(), has_curve, "{}", svg.display());
            assert_eq!(text.contains(&format!("\n{name}: ")), has_curve, "{name}");
            drawn += usize::from(has_curve);
        }
    }
    assert!(drawn > 0 || !id.starts_with("pocl"), "{text}");
});

/// Sends Ctrl-C to a command as soon as so many of its workers hang in the loader's `function`; what is said
/// then.
fn stopped_in(mut command: Command, function: &str, workers: usize) -> Ended {
    let folder = Folder::new();
    let marks = folder.at("marks");
    std::fs::create_dir(&marks).expect("a folder");
    // A folder of its own for each that has come here, and then it hangs until it is ended.
    let body =
        format!("char mark[] = \"{}/XXXXXX\"; mkdtemp(mark); for (;;) pause();", marks.display());
    command.env("OPENCL_DYLIB_PATH", faulty_loader(folder.path(), function, &body));
    let mut run = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().expect("it starts");
    wait_while_running(&mut run, "the driver to hang", || {
        let hanging = std::fs::read_dir(&marks).expect("a folder").count();
        (hanging == workers).then_some(())
    });
    kill(Pid::from_raw(run.id().cast_signed()), Signal::SIGINT).expect("it can be signalled");
    run.wait_with_output().expect("it ends").into()
}

/// The same for measurements.
fn stopped_at(function: &str, arguments: &[&str], reports: &Path) -> Ended {
    let mut command = characterize(&["--measure", "--budget", "60s", "--memory", "64MiB"]);
    command.args(arguments).args(["--format", "json", "--report-dir"]).arg(reports);
    stopped_in(command, function, 1)
}

check!(ctrl_c_keeps_what_is_known, {
    let folder = Folder::new();
    let json = folder.at("characterize.json");
    std::fs::write(&json, "earlier").expect("a file");
    let output = stopped_at("clEnqueueFillBuffer", &["--only", "timer"], folder.path());
    assert_eq!(output.status.code(), Some(2));
    assert_eq!(std::fs::read(&json).expect("a file"), b"earlier", "nothing was measured");
    let said = &output.stderr;
    assert_eq!(said.matches("timer (1 of 1)").count(), 1, "{said}");
    assert!(!said.contains("Reports: "), "{said}");

    let arguments = ["--only", "timer", "--only", "allocation"];
    let output = stopped_at("clCreateSubBuffer", &arguments, folder.path());
    assert_eq!(output.status.code(), Some(2));
    let text = std::fs::read_to_string(&json).expect("a file");
    let devices: Devices = serde_json::from_str(&text).expect("JSON of this format");
    assert_eq!(devices.keys().collect::<Vec<_>>(), [&ids()[0]]);
    let measured = devices[0].measured.keys().map(String::as_str);
    assert_eq!(measured.collect::<Vec<_>>(), Topic::Timer.measurements());
    assert_eq!(read_back(&output), devices, "what is known is shown, too");
    let said = &output.stderr;
    assert!(said.contains("allocation (2 of 2)") && said.contains("Reports: "), "{said}");
    assert!(said.ends_with("error: stopped before all was known\n"), "{said}");
});

/// Returns the findings of `exhaustion` on each device, with so much memory.
fn exhaustion(memory: &str) -> Devices {
    let folder = Folder::new();
    let mut command = characterize(&["--measure", "--only", "exhaustion", "--memory", memory]);
    command.args(["--budget", "20s", "--format", "json", "--report-dir"]).arg(folder.path());
    devices(command)
}

check!(where_memory_ends_is_told, {
    for (id, device) in exhaustion("256MiB") {
        let total = reason(&device.measured["total_memory"]);
        let shows = &device.measured["out_of_memory_shows_at"].answer;
        let shows = shows.as_ref().unwrap_or_else(|why| panic!("{id}: {why}"));
        // Some drivers take the process along.
        let Some(step) =
            shows.to_string().strip_suffix(", which ends the process").map(str::to_owned)
        else {
            assert_eq!(shows.to_string(), "creation", "{id}");
            assert!(total.starts_with("the process used all of its memory"), "{id}: {total}");
            continue;
        };
        let is_known_to = |driver| id.starts_with(driver);
        assert!(
            is_known_to("pocl") || is_known_to("oclgrind") && step == "creation",
            "{id}: {step}"
        );
        assert!(["creation", "migration", "use"].contains(&&*step), "{id}: {step}");
        let expected = format!("the driver ended the process at {step} ");
        assert!(total.starts_with(&expected), "{id}: {total}");
    }
});

check!(too_little_memory_is_refused, {
    for (id, device) in exhaustion("1KiB") {
        for name in Topic::Exhaustion.measurements() {
            let reason = reason(&device.measured[*name]);
            assert!(reason.ends_with("allow at least 64.0 MiB (--memory)"), "{id}: {reason}");
        }
    }
});

check!(devices_in_one_file_are_named, {
    let folder = Folder::new();
    let [a, b] = ["a.json", "b.json"].map(|name| folder.path().join(name));
    let device = r#"{"name": "N", "platform": "P", "driver_version": "1", "error": "it hung"}"#;
    std::fs::write(&a, format!("{{\"x\": {device}, \"y\": {device}}}")).expect("a file");
    std::fs::write(&b, format!("{{\"x\": {device}}}")).expect("a file");
    let mut command = characterize(&["--compare"]);
    command.args([&a, &b]);
    let output = output(without_devices(command));
    assert_eq!(output.status.code(), Some(0));
    assert!(output.stdout.contains("\nA does not answer: it hung\n\nB does not answer: it hung\n"));
    assert_eq!(output.stderr, format!("only in {}: y\n", a.display()));
});
