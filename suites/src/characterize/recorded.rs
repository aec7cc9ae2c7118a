//! PyOpenCL's answers as `cargo xtask oracle --record` has written them down.

use super::entry::{Entry, answers, conflict};
use super::*;

/// The files, of which each has one device, or some that were made up.
const RECORDS: [&str; 6] = [
    include_str!("recorded/intel-r-opencl.json"),
    include_str!("recorded/nvidia-cuda.json"),
    include_str!("recorded/oclgrind.json"),
    include_str!("recorded/portable-computing-language.json"),
    include_str!("recorded/rusticl.json"),
    include_str!("recorded/synthetic.json"),
];

/// Answers that depend on the machine's processor rather than on the driver.
const OF_THE_MACHINE: [&str; 4] = [
    "reasonable_work_group_size_multiple",
    "usable_local_mem_size",
    "usable_local_mem_size(0)",
    "usable_local_mem_size(10)",
];

/// The answers of a version of PyOpenCL on a day.
#[derive(Deserialize)]
struct Record {
    pyopencl: String,
    date: String,
    devices: Vec<Entry>,
}

fn records() -> Vec<Record> {
    RECORDS.iter().map(|text| serde_json::from_str(text).expect("a record")).collect()
}

/// The device under test, or any other with that version of the driver, is answered for as PyOpenCL answers: by
/// what the driver tells now, wherever that does not depend on the machine.
#[clmatrix_harness::test]
fn properties_of_the_device_are_those_of_pyopencl(Queried(facts, device): Queried) -> Result<()> {
    let driver_version = device.opencl3().driver_version().map_err(unanswered)?;
    let version = format!(" / {} / ", driver_version.trim());
    let is_it = |entry: &Entry| {
        entry.facts.platform_name == facts.platform_name
            && entry.facts.device_type == facts.device_type
            && entry.facts.nv_compute_capability == facts.nv_compute_capability
            && entry.device.contains(&version)
    };
    let records = records();
    let Some((record, entry)) = records
        .iter()
        .flat_map(|record| record.devices.iter().map(move |entry| (record, entry)))
        .find(|(_, entry)| is_it(entry))
    else {
        skip!("no answers are recorded for {} with driver {driver_version}", facts.platform_name);
    };
    let found = answers(&facts, device);
    let of = format!("PyOpenCL {} on {}", record.pyopencl, record.date);
    for (name, expected) in &entry.answers {
        if !OF_THE_MACHINE.contains(&name.as_str()) {
            assert_eq!(&found[name], expected, "{name}, {of}");
        }
    }
    for expected in &entry.conflicts {
        let found = conflict(&facts, &expected.array);
        assert_eq!(found.answer, expected.answer, "{:?}, {of}", expected.array);
    }
    Ok(())
}

/// From the facts that were written down with them, all answers follow, on whatever machine.
#[clmatrix_harness::test(once)]
fn properties_of_recorded_devices_are_those_of_pyopencl() {
    let mut compared = 0;
    for record in records() {
        for entry in record.devices {
            let Entry { device, facts, builds, answers: expected, conflicts } = entry;
            let found = answers(&facts, builds.expect("they are recorded"));
            assert_eq!(found, expected, "{device}: {facts:#?}");
            for expected in conflicts {
                let found = conflict(&facts, &expected.array);
                assert_eq!(found.answer, expected.answer, "{device}: {:?}", expected.array);
            }
            compared += 1;
        }
    }
    assert!(compared > 40, "{compared} devices are recorded");
}
