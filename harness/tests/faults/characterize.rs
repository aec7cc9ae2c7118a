//! `characterize` on the real drivers of this machine.

use std::process::Command;

use clmatrix::characterize::Answer;
use clmatrix_harness::characterize::{Devices, TableAnswer};
use serde_json::Value;

use crate::Check;
use crate::support::{COMMAND, child, output};

pub const CHECKS: &[Check] = &[
    ("characterize::json_has_each_device_and_is_read_back", json_has_each_device_and_is_read_back),
    ("characterize::a_table_names_devices_and_answers", a_table_names_devices_and_answers),
];

fn characterize(arguments: &[&str]) -> Command {
    child(COMMAND, &[&["characterize"], arguments].concat())
}

/// What a command that must succeed prints.
fn printed(command: Command) -> String {
    let output = output(command);
    assert_eq!(output.status.code(), Some(0));
    String::from_utf8(output.stdout).expect("text")
}

fn ids() -> Vec<String> {
    let devices: Value =
        serde_json::from_str(&printed(child(COMMAND, &["devices", "--format", "json"])))
            .expect("JSON");
    let devices = devices.as_array().expect("an array");
    devices.iter().map(|device| device["id"].as_str().expect("an id").to_owned()).collect()
}

fn json_has_each_device_and_is_read_back() {
    let text = printed(characterize(&["--format", "json"]));
    let devices: Devices = serde_json::from_str(&text).expect("JSON of this format");
    assert_eq!(devices.keys().collect::<Vec<_>>(), ids().iter().collect::<Vec<_>>());
    for (id, device) in &devices {
        let known = device.characterization.as_ref().expect("the driver answers");
        assert_eq!(known.facts.name, device.name, "{id}");
        let size = known.table["usable_local_mem_size"].value();
        assert_eq!(size, Some(&Answer::Number(known.facts.local_mem_size)), "{id}");
        let multiple = &known.table["reasonable_work_group_size_multiple"];
        assert!(matches!(multiple, TableAnswer::Known(_)), "{id}: {multiple:?}");
        assert!(device.measured.is_empty() && device.verdicts.is_empty());
    }
    let again = serde_json::to_string_pretty(&devices).expect("plain data") + "\n";
    assert_eq!(again, text);
}

fn a_table_names_devices_and_answers() {
    let table = printed(characterize(&[]));
    let markdown = printed(characterize(&["--format", "markdown"]));
    for id in ids() {
        assert!(table.contains(&format!("{id}: ")), "{id}");
        assert!(markdown.contains(&format!("## {id}: ")), "{id}");
    }
    assert!(table.lines().any(|line| line == "local_memory_access_granularity          4"));
    assert!(markdown.contains("\n| local_memory_access_granularity | 4 |\n"));
}
