//! The facts that the results of a run may depend on: machine, executable, drivers, settings, environment.

use bytesize::ByteSize;
use clmatrix_runner::devices::icd::ALL_DRIVERS;
use clmatrix_runner::devices::run_device::RunDevice;
use clmatrix_runner::log::device_record::DeviceRecord;
use clmatrix_runner::log::run_header::RunHeader;
use clmatrix_runner::log::run_log::RunLog;
use humantime::format_duration;
use indexmap::{IndexMap, IndexSet};
use serde_json::{Value, json};

/// Values by the names of the facts, for a reader.
pub(crate) type Facts = IndexMap<String, String>;

/// Returns the facts of several machines or devices. Several values of one fact are on one line.
pub(crate) fn joined(all: &[Facts]) -> Facts {
    let mut facts: IndexMap<&String, IndexSet<&str>> = IndexMap::new();
    for (name, value) in all.iter().flatten() {
        facts.entry(name).or_default().insert(value);
    }
    let text = |values: IndexSet<&str>| values.into_iter().collect::<Vec<_>>().join(" / ");
    facts.into_iter().map(|(name, values)| (name.clone(), text(values))).collect()
}

/// The sizes that differ by a few pages between machines of one kind. They are rounded to a tenth of a GiB.
const ROUGH_SIZES: [&str; 3] = ["memory", "global mem size", "max mem alloc size"];

/// The beginning of the names of facts about other programs.
const BUILD_OF: &str = "build of ";

/// Returns whether a run has the fact only if it runs the fact's tests.
pub(crate) fn is_of_some_tests(name: &str) -> bool {
    name.starts_with(BUILD_OF)
}

/// Returns the facts of the machine and the executable.
pub(crate) fn of_run(header: &RunHeader) -> Facts {
    let mut facts = Facts::new();
    for (package, version) in &header.versions {
        facts.insert(format!("version of {package}"), version.clone());
    }
    add(&mut facts, "build id", &json!(header.build_id));
    for program in &header.programs {
        facts.insert(format!("{BUILD_OF}{}", program.name), program.content().to_owned());
    }
    add(&mut facts, "kernel", &json!(header.kernel));
    add(&mut facts, "cpu", &json!(header.cpu));
    add(&mut facts, "cpus", &json!(header.cpus));
    add(&mut facts, "memory", &json!(header.memory));
    add(&mut facts, "profile", &json!(header.profile));
    add(&mut facts, "configuration", &json!(header.configuration));
    add(&mut facts, "seed", &json!(header.seed));
    add(&mut facts, "settings without a device", &json!(header.host_settings));
    for (name, value) in &header.environment {
        facts.insert(format!("environment {name}"), value.clone());
    }
    facts
}

/// Returns the facts of a device of a run.
pub(crate) fn of_device(log: &RunLog, device: &RunDevice) -> Facts {
    let RunDevice { id, platform, info } = device;
    let mut facts = Facts::new();
    add(&mut facts, "platform", &json!(platform));
    add(&mut facts, "", &json!(info));
    // In the log it is a number.
    facts.insert("device type".to_owned(), info.device_type.to_string());
    if let Some(DeviceRecord { driver, settings, .. }) = log.records.get(id) {
        add(&mut facts, "driver", &json!(driver));
        // The size and the build id distinguish drivers; the time is that of the installation.
        facts.shift_remove("driver modified");
        add(&mut facts, "settings", &json!(settings));
    }
    // The first word of the kernel's name there.
    if log.header.kernel.as_ref().is_some_and(|kernel| kernel.starts_with("Windows")) {
        facts.insert("drivers".to_owned(), ALL_DRIVERS.to_owned());
    }
    facts
}

/// Adds a value, or each field of an object below its name.
fn add(facts: &mut Facts, name: &str, value: &Value) {
    let text = match value {
        Value::Null => return,
        Value::Object(fields) => {
            for (field, value) in fields {
                add(facts, format!("{name} {}", field.replace('_', " ")).trim_start(), value);
            }
            return;
        }
        Value::Number(number) => match number.as_u64() {
            Some(ns) if name.ends_with(" ns") => {
                format_duration(std::time::Duration::from_nanos(ns)).to_string()
            }
            Some(bytes) if ROUGH_SIZES.contains(&name) => {
                ByteSize::b(bytes).display().iec().to_string()
            }
            _ => number.to_string(),
        },
        other => plain(other),
    };
    let name = name.strip_suffix(" ns").unwrap_or(name);
    facts.insert(name.to_owned(), text);
}

fn plain(value: &Value) -> String {
    match value {
        Value::String(text) => text.clone(),
        Value::Array(values) => values.iter().map(plain).collect::<Vec<_>>().join(", "),
        other => other.to_string(),
    }
}
