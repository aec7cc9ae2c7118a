//! Faults that were reported of drivers are noticed: the suites run on PoCL through the layers of
//! `reported_faults`, each with a fault, and the tests named here fail.
//!
//! `reported_faults/checks` has a program that shows each fault. The ignored test below prints which tests notice which
//! fault: `CLMATRIX_FAULTS=order: cargo test -p clmatrix-cli --test binary -- --ignored --nocapture reported_faults`.
//! CLMATRIX_FAULTS is a part of the names of the faults, CLMATRIX_TESTS the tests to run instead of `driver::*`, and
//! CLMATRIX_SEED a number that draws ten of the faults.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::{LazyLock, Mutex};
use std::{fs, thread};

use clmatrix_runner::log::run_log::RunLog;
use clmatrix_runner::text::first_line;

use super::wrong_driver::{has_pocl, in_front_of, real_loader, run_with, sources};

/// The parts of the layers, each in front of the next.
const PARTS: [&str; 9] =
    ["queries", "arguments", "blocking", "order", "events", "lives", "formats", "memory", "sizes"];

/// The faults, and the tests that must notice each: paths or globs, of which each must have a test or a case that fails.
#[rustfmt::skip]
const FAULTS: &[(&str, &[&str])] = &[
    ("queries: buffer of an image", &["driver::queries::memory::memory_answers_as_it_was_made"]),
    ("queries: offset asked again", &["driver::queries::memory::memory_answers_as_it_was_made"]),
    ("queries: filter of a sampler", &["driver::queries::objects::a_sampler_has_its_settings"]),
    ("queries: size of a work-group query", &["driver::queries::kernel::a_kernel_answers_as_it_was_made"]),
    ("queries: local memory of arguments", &["driver::queries::kernel::a_kernel_tells"]),
    ("queries: attributes of a kernel", &["driver::queries::kernel::a_kernel_tells"]),
    ("queries: last kernel's name", &["driver::queries::program::a_program_tells_its_last_step"]),
    ("queries: parent of a root device", &["driver::queries::device::the_answers_of_a_device_agree"]),
    ("queries: two blanks in options", &["driver::queries::program::a_build_has_its_options"]),
    ("arguments: local size set again", &["driver::arguments::probe::a_launch_keeps_the_arguments_of_its_enqueue"]),
    ("arguments: vector of three", &["driver::arguments::values::a_value_arrives_whole"]),
    ("arguments: null buffer", &["driver::arguments::probe::an_unusual_value_is_taken_or_refused"]),
    ("arguments: SVM pointer set again", &["driver::arguments::probe::an_unusual_value_is_taken_or_refused"]),
    ("arguments: buffer of a cloned kernel", &["driver::arguments::probe::a_clone_has_a_copy_of_the_arguments"]),
    ("arguments: offset of a later launch", &["driver::arguments::ranges::work_items_see_their_range"]),
    ("arguments: three dimensions without local size", &["driver::arguments::ranges::work_items_see_their_range"]),
    ("arguments: set after the launch", &["driver::arguments::probe::a_launch_keeps_the_arguments_of_its_enqueue"]),
    ("blocking: read overtakes", &["driver::blocking::a_blocking_call_waits"]),
    ("blocking: read of an image", &["driver::blocking::a_blocking_call_waits"]),
    ("blocking: map of SVM", &["driver::blocking::a_blocking_call_waits"]),
    ("blocking: clFinish after clFlush", &["driver::blocking::a_call_waits_for_all_commands::case_*_after_a_flush"]),
    ("blocking: wait for a user event", &["driver::blocking::a_call_waits_for_all_commands::case_*_wait_for_user_events"]),
    ("order: marker after another queue", &["driver::order::a_wait_list_orders_two_queues"]),
    ("order: write", &["driver::order::an_in_order_queue_keeps_the_order"]),
    ("order: barrier", &["driver::order::an_out_of_order_queue_keeps_the_order"]),
    ("order: wait list of a launch", &["driver::order::a_wait_list_orders_two_queues"]),
    ("order: long wait list", &["driver::order::a_wait_list_orders_two_queues"]),
    ("order: queue of a sub-device", &["driver::order::a_wait_list_orders_two_sub_devices"]),
    ("events: callback after the end", &["driver::events::callbacks::callbacks_set_after_the_end_are_called"]),
    ("events: callback twice", &["driver::events::callbacks::callbacks_set_before_the_end_are_called"]),
    ("events: status of a marker", &["driver::queries::objects::an_event_tells_its_command"]),
    ("events: type of a rectangle", &["driver::queries::objects::an_event_tells_its_command"]),
    ("events: times in a callback", &["driver::events::callbacks::a_command_has_ended_in_its_callback"]),
    ("events: times before the end", &["driver::events::profiles::a_command_has_no_times"]),
    ("events: end of a marker", &["driver::events::profiles::the_times_of_a_command_are_plausible"]),
    ("events: submitted after the start", &["driver::events::profiles::the_times_of_a_command_are_plausible"]),
    ("lives: memory of a command", &["driver::lives::held::a_held_command_outlives_its_objects"]),
    ("lives: destructor of a sub-buffer", &["driver::lives::ends::a_part_keeps_its_buffer"]),
    ("lives: references to a sampler", &["driver::queries::objects::a_sampler_has_its_settings"]),
    ("lives: context of a queue", &["driver::lives::ends::an_object_keeps_its_context"]),
    ("lives: buffer of a launch", &["driver::lives::held::a_held_command_outlives_its_objects"]),
    ("lives: image that was mapped", &["driver::lives::held::a_held_command_outlives_its_objects"]),
    ("lives: program before its kernel", &["driver::queries::program::a_program_tells_its_last_step"]),
    ("formats: color out of range", &["driver::formats::host::a_fill_converts_its_colour"]),
    ("formats: order of a fill", &["driver::formats::host::a_fill_writes_its_colour"]),
    ("formats: linear filter", &["driver::formats::samplers::kernels_read_with_samplers"]),
    ("formats: between the rows", &["driver::formats::pitches::transfers_have_gaps_in_host_memory"]),
    ("formats: pitch of slices", &["driver::formats::pitches::transfers_have_gaps_in_host_memory"]),
    ("formats: pitch of a region", &["driver::formats::pitches::transfers_have_gaps_in_host_memory"]),
    ("formats: pixels of a 1D image", &["driver::formats::pitches::images_take_host_memory_with_gaps"]),
    ("formats: more than there are", &["driver::formats::host::a_list_fills_its_room"]),
    ("memory: host memory of a map", &["driver::memory::maps::maps_show_and_keep_bytes"]),
    ("memory: both allocated and copied", &["driver::memory::commands::commands_change_their_bytes_only"]),
    ("memory: mapped twice", &["driver::queries::memory::maps_are_counted", "driver::memory::maps::maps_show_and_keep_bytes"]),
    ("memory: read to a map", &["driver::memory::commands::commands_change_their_bytes_only"]),
    ("memory: map to write", &["driver::memory::maps::maps_show_and_keep_bytes"]),
    ("memory: sub-buffer of a kernel", &["driver::memory::commands::commands_work_on_all_kinds_of_memory"]),
    ("sizes: offset of a large pattern", &["driver::sizes::moves::fills_repeat_their_pattern"]),
    ("sizes: odd pitch of a destination", &["driver::sizes::moves::boxes_keep_their_gaps"]),
    ("sizes: pitch of 0", &["driver::sizes::moves::boxes_keep_their_gaps"]),
    ("sizes: beyond the end", &["driver::sizes::moves::transfers_move_all_bytes"]),
    ("sizes: many launches", &["driver::sizes::many::a_call_works_several_times::case_*_launches_in_flight"]),
    ("sizes: last bytes of a kernel", &["driver::memory::commands::commands_work_on_all_kinds_of_memory"]),
];

/// The layers, the first of which is the loader; and the program with the checks.
static BUILT: LazyLock<(Vec<PathBuf>, PathBuf)> = LazyLock::new(|| {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join("reported-faults");
    fs::create_dir_all(&folder).expect("a folder");
    let mut layers = Vec::new();
    for part in PARTS.iter().rev() {
        let next = layers.last().cloned().unwrap_or_else(real_loader);
        let source = sources().join("reported_faults").join(part).with_extension("c");
        layers.push(in_front_of(&next, &source, &folder));
    }
    layers.reverse();
    let files = fs::read_dir(sources().join("reported_faults/checks")).expect("the checks");
    let files = files.map(|file| file.expect("a file").path());
    let (check, loader) = (folder.join("check"), real_loader());
    let mut cc = Command::new("cc");
    cc.args(["-Wall", "-Wextra", "-Werror", "-pthread", "-o"]).arg(&check);
    cc.args(files.filter(|file| file.extension().is_some_and(|kind| kind == "c")));
    if let Some(folder) = loader.parent().filter(|folder| folder.is_absolute()) {
        cc.arg(format!("-Wl,-rpath,{}", folder.display())).arg(&loader);
    } else {
        cc.arg(format!("-l:{}", loader.display()));
    }
    assert!(cc.status().expect("a C compiler, as for every Rust program").success());
    (layers, check)
});

/// A folder with PoCL alone among the drivers, which halves the time of a run; or all drivers.
static VENDORS: LazyLock<String> = LazyLock::new(|| {
    let all =
        std::env::var("OCL_ICD_VENDORS").unwrap_or_else(|_| "/etc/OpenCL/vendors/".to_owned());
    let alone = Path::new(env!("CARGO_TARGET_TMPDIR")).join("reported-faults/vendors");
    fs::create_dir_all(&alone).expect("a folder");
    let files = fs::read_dir(&all).into_iter().flatten().flatten();
    let is_pocl = |path: &PathBuf| fs::read_to_string(path).is_ok_and(|text| text.contains("pocl"));
    let copied = files.map(|file| file.path()).filter(is_pocl).map(|path| {
        let copy = alone.join(path.file_name().expect("a file of a folder"));
        fs::copy(path, copy).expect("a copy")
    });
    if copied.count() > 0 { format!("{}/", alone.display()) } else { all }
});

/// Runs the checks, and returns the faults that they print, each with a sentence.
fn checked(layers: &[PathBuf], argument: Option<&str>) -> Vec<(String, String)> {
    let layers: Vec<_> = layers.iter().map(|layer| layer.to_string_lossy()).collect();
    let mut check = Command::new(&BUILT.1);
    check.args(argument).env("LD_PRELOAD", layers.join(":"));
    let output = check.output().expect("it starts");
    let errors = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.code().is_some_and(|code| code < 2), "{}: {errors}", output.status);
    let text = String::from_utf8(output.stdout).expect("UTF-8");
    let lines = text.lines().map(|line| line.split_once('\t').expect("a fault and a sentence"));
    lines.map(|(fault, sentence)| (fault.to_owned(), sentence.to_owned())).collect()
}

#[test]
#[ignore = "slow: `cargo xtask test --slow`"]
fn each_reported_fault_shows() {
    if !has_pocl() {
        println!("skipped: no PoCL on this machine");
        return;
    }
    let layers = &BUILT.0;
    assert_eq!(checked(&[], None), [], "without the layers");
    assert_eq!(checked(layers, None), [], "through the layers");
    let shown = checked(layers, Some("--each"));
    assert!(
        shown.iter().map(|(fault, _)| fault.as_str()).eq(FAULTS.iter().map(|(fault, _)| *fault))
    );
    let hidden: Vec<_> = shown.iter().filter(|(_, sentence)| sentence.is_empty()).collect();
    assert!(hidden.is_empty(), "{hidden:?}");
}

/// The tests that fail in a run, each with the first line of its message.
fn failures(log: &RunLog) -> Vec<(&str, String)> {
    let failed = log.results.iter().filter(|result| result.verdict.is_failure());
    let line = |outcome: &dyn ToString| first_line(&outcome.to_string());
    failed.map(|result| (result.test.path(), line(&result.attempt.outcome))).collect()
}

/// Runs tests with each fault, four at a time, since many of them wait, and hands each log over.
fn run_each<T: AsRef<[&'static str]> + Sync>(
    faults: &[(&str, T)],
    see: impl Fn(&str, &[&'static str], &RunLog) + Sync,
) {
    let (left, see) = (Mutex::new(faults.iter()), &see);
    thread::scope(|scope| {
        let work = || {
            while let Some(&(fault, ref tests)) = { left.lock().expect("no panic").next() } {
                let reports = tempfile::tempdir().expect("a folder");
                let (tests, loader) = (tests.as_ref(), &BUILT.0[0]);
                let variables = [("CLMATRIX_FAULT", fault), ("OCL_ICD_VENDORS", VENDORS.as_str())];
                let log = run_with(loader, &variables, tests, reports.path());
                see(fault, tests, &log);
            }
        };
        (0..4).for_each(|_| drop(scope.spawn(work)));
    });
}

/// Returns whether a path is that of a test, of a case of it, or matches a glob.
fn is_of(path: &str, test: &str) -> bool {
    let matches =
        |glob: &str| globset::Glob::new(glob).expect("a glob").compile_matcher().is_match(path);
    matches(test) || matches(&format!("{test}::*"))
}

#[test]
#[ignore = "slow: `cargo xtask test --slow`"]
fn reported_faults_are_noticed() {
    if !has_pocl() {
        println!("skipped: no PoCL on this machine");
        return;
    }
    let named = FAULTS.iter().filter(|(_, tests)| !tests.is_empty());
    let named: Vec<_> = named.copied().collect();
    let all: BTreeSet<_> = named.iter().flat_map(|(_, tests)| *tests).copied().collect();
    let missed = Mutex::new(Vec::new());
    let without = [("none", all.iter().copied().collect::<Vec<_>>())];
    run_each(&without[..usize::from(!all.is_empty())], |_, _, log| {
        assert_eq!(failures(log), [], "without a fault");
    });
    run_each(&named, |fault, tests, log| {
        let failed = failures(log);
        let misses = |test: &&&str| !failed.iter().any(|(path, _)| is_of(path, test));
        let missing: Vec<_> = tests.iter().filter(misses).copied().collect();
        if !missing.is_empty() {
            missed.lock().expect("no panic").push(format!("{fault}: {missing:?}"));
        }
    });
    assert_eq!(missed.into_inner().expect("no panic"), [""; 0]);
}

#[test]
#[ignore = "prints which tests notice which fault"]
fn reported_faults_and_the_tests_that_notice() {
    let variable = |name: &str| std::env::var(name).ok();
    let Some(part) = variable("CLMATRIX_FAULTS") else {
        println!(
            "skipped: CLMATRIX_FAULTS is a part of the names of the faults to run, such as `order:`"
        );
        return;
    };
    let tests: &str = variable("CLMATRIX_TESTS").map_or("driver::*", |tests| tests.leak());
    let mut faults: Vec<_> = FAULTS.iter().filter(|(fault, _)| fault.contains(&part)).collect();
    if let Some(seed) = variable("CLMATRIX_SEED") {
        let seed: u64 = seed.parse().expect("a number");
        println!("ten faults, drawn with CLMATRIX_SEED={seed}");
        faults.sort_by_cached_key(|(fault, _)| drawn(seed, fault));
        faults.truncate(10);
    }
    let before = Mutex::new(BTreeSet::new());
    run_each(&[("none", [tests])], |_, _, log| {
        before
            .lock()
            .expect("no panic")
            .extend(failures(log).iter().map(|(path, _)| (*path).to_owned()));
    });
    let faults: Vec<_> = faults.into_iter().map(|(fault, _)| (*fault, [tests])).collect();
    run_each(&faults, |fault, _, log| {
        let mut text = format!("{fault}\n");
        for (path, line) in failures(log) {
            if !before.lock().expect("no panic").contains(path) {
                text += &format!("    {path}\n        {line}\n");
            }
        }
        print!("{text}");
    });
}

/// A number that depends on all bits of a seed and a name (FNV-1a).
fn drawn(seed: u64, name: &str) -> u64 {
    let bytes = seed.to_le_bytes().into_iter().chain(name.bytes());
    bytes.fold(0xcbf2_9ce4_8422_2325, |hash: u64, byte| {
        (hash ^ u64::from(byte)).wrapping_mul(0x100_0000_01b3)
    })
}
