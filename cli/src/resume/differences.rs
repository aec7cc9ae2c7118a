//! The differences of a machine, its executable and its configuration from those of an unfinished run.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use clmatrix_harness::private::config::{DeviceSettings, WrittenExpectation};
use clmatrix_harness::private::log::device_record::DeviceRecord;
use clmatrix_harness::private::log::program_record::ProgramRecord;
use clmatrix_harness::private::log::run_header::RunHeader;
use clmatrix_harness::private::log::run_log::RunLog;
use serde_json::Value;

use clmatrix_harness::private::shard::Shard;

/// Returns the differences of now from the run before, a line each.
pub fn differences(
    before: &RunLog,
    executable: &RunHeader,
    devices: &[DeviceRecord],
    expectations: &[Arc<WrittenExpectation>],
) -> Vec<String> {
    let header = &before.header;
    let mut differences = Vec::new();
    let identity = |header: &RunHeader| (header.build_id.clone(), header.versions.clone());
    if identity(header) != identity(executable) {
        let name = |header: &RunHeader| {
            header.build_id.clone().unwrap_or_else(|| format!("{:?}", header.versions))
        };
        differences.push(format!(
            "the executable is {}, and not {}",
            name(executable),
            name(header)
        ));
    }
    differences.extend(changed_programs(&header.programs, &executable.programs));
    let options = [
        ("--include-ignored", header.include_ignored, executable.include_ignored),
        ("--run-skipped", header.run_skipped, executable.run_skipped),
    ];
    for (option, before, _) in options.into_iter().filter(|(_, before, now)| before != now) {
        let has = if before { "has" } else { "does not have" };
        differences.push(format!("the run {has} {option}"));
    }
    let shard = header.shard.as_ref();
    let (old, now) = (by_name(before.records.values(), shard), by_name(devices, shard));
    for (name, device) in &old {
        match now.get(name) {
            None => differences.push(format!("the device {name} is not there")),
            Some(found) => differences.extend(changes(name, device, found)),
        }
    }
    let new = now.keys().filter(|name| !old.contains_key(*name));
    differences.extend(new.map(|name| format!("the device {name} is new")));
    if let [Some(before), Some(now)] = [header, executable].map(|header| &header.host_settings) {
        differences.extend(changed_settings("a test without a device", before, now));
    }
    differences.extend(changed_expectations(&before.expectations, expectations));
    differences
}

/// Devices by the names that tell them apart. A shard may go on on another host, where keys are others.
fn by_name<'a>(
    devices: impl IntoIterator<Item = &'a DeviceRecord>,
    shard: Option<&Shard>,
) -> BTreeMap<&'a str, &'a DeviceRecord> {
    let name = |record: &'a DeviceRecord| match shard {
        None => record.key.as_str(),
        Some(_) => record.device.id.as_str(),
    };
    devices.into_iter().map(|record| (name(record), record)).collect()
}

/// The programs of now that are other builds than before. A program without tests that are left may be missing.
fn changed_programs(before: &[ProgramRecord], now: &[ProgramRecord]) -> Vec<String> {
    let other = |program: &&ProgramRecord| {
        before.iter().all(|before| before.name != program.name || before.build != program.build)
    };
    let text = |program: &ProgramRecord| {
        format!("the program {} is another build: {}", program.name, program.file)
    };
    now.iter().filter(other).map(text).collect()
}

/// The differences of two lists of expectations, wherever their files are.
fn changed_expectations(
    before: &[Arc<WrittenExpectation>],
    now: &[Arc<WrittenExpectation>],
) -> Vec<String> {
    let content =
        |entry: &Arc<WrittenExpectation>| (entry.keys.clone(), entry.status, entry.reason.clone());
    let [before_content, now_content] =
        [before, now].map(|entries| entries.iter().map(content).collect::<Vec<_>>());
    if before_content == now_content {
        return Vec::new();
    }
    let gone = before.iter().filter(|entry| !now_content.contains(&content(entry)));
    let gone = gone.map(|entry| format!("the expectation of {} is not there", entry.place()));
    let new = now.iter().filter(|entry| !before_content.contains(&content(entry)));
    let new = new.map(|entry| format!("the expectation of {} is new", entry.place()));
    let mut differences: Vec<String> = gone.chain(new).collect();
    if differences.is_empty() {
        differences.push("the expectations have another order or number".to_owned());
    }
    differences
}

/// The differences of the settings of a device, or of the tests without one.
fn changed_settings(name: &str, before: &DeviceSettings, now: &DeviceSettings) -> Vec<String> {
    let fields = |settings: &DeviceSettings| match serde_json::to_value(settings) {
        Ok(Value::Object(fields)) => fields,
        settings => unreachable!("settings are a table of plain data: {settings:?}"),
    };
    let [before, now] = [before, now].map(fields);
    let names: BTreeSet<&String> = before.keys().chain(now.keys()).collect();
    // The processors of a host decide the number of slots, and slots decide no result.
    let changed = names
        .into_iter()
        .filter(|field| *field != "slots" && before.get(*field) != now.get(*field));
    let text = |value: Option<&Value>| value.map_or_else(|| "none".to_owned(), Value::to_string);
    changed
        .map(|field| {
            let [before, now] = [&before, &now].map(|fields| text(fields.get(field)));
            format!("{name} has the setting {field} {now}, and not {before}")
        })
        .collect()
}

/// The differences of two records of a device.
fn changes(name: &str, before: &DeviceRecord, now: &DeviceRecord) -> Vec<String> {
    let name = format!("the device {name}");
    let settings = changed_settings(&name, &before.settings, &now.settings);
    let (before, now) = (&before.device, &now.device);
    let values = [
        ("id", &before.id, &now.id),
        ("name", &before.info.name, &now.info.name),
        ("driver version", &before.info.driver_version, &now.info.driver_version),
        ("platform version", &before.platform.version, &now.platform.version),
    ];
    let changed = values.into_iter().filter(|(_, before, now)| before != now);
    changed
        .map(|(what, before, now)| format!("{name} has the {what} {now:?}, and not {before:?}"))
        .chain(settings)
        .collect()
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;
    use clmatrix_harness::private::log::events::Event;
    use clmatrix_harness::private::log::sample::{device, device_record, header, log_of};
    use clmatrix_harness::private::shard::ShardRule;
    use clmatrix_harness::private::verdict::ExpectedStatus;

    fn record(id: &str) -> DeviceRecord {
        device_record(device(id, "PoCL"), "bench")
    }

    /// The log of a run on the device `d`.
    fn log(header: RunHeader, expectations: &[Arc<WrittenExpectation>]) -> RunLog {
        let mut events = vec![Event::Run(Box::new(header)), Event::Device(Box::new(record("d")))];
        events.extend(expectations.iter().cloned().map(Event::Expectation));
        log_of(events).unwrap()
    }

    #[test]
    fn differences_name_the_executable_the_devices_and_the_drivers() {
        let differences = |before: RunHeader, now: &RunHeader, devices: &[DeviceRecord]| {
            differences(&log(before, &[]), now, devices, &[])
        };
        let build = |id: &str| RunHeader { build_id: Some(id.to_owned()), ..header(Vec::new()) };
        let same = || differences(build("1"), &build("1"), &[record("d")]);
        assert_eq!(same(), [""; 0]);
        let program = |build: &str| ProgramRecord {
            name: "cts::buffers".to_owned(),
            file: "/cts/test_buffers".to_owned(),
            build: build.to_owned(),
        };
        let with = |programs| RunHeader { programs, ..build("1") };
        let of_program = |now: ProgramRecord| {
            differences(with(vec![program("bb")]), &with(vec![now]), &[record("d")])
        };
        assert_eq!(of_program(program("bb")), [""; 0]);
        let other = ["the program cts::buffers is another build: /cts/test_buffers"];
        assert_eq!(of_program(program("cc")), other);
        let other = differences(build("1"), &build("2"), &[record("d")]);
        assert_eq!(other, ["the executable is 2, and not 1"]);
        let ignored = RunHeader { include_ignored: true, ..build("1") };
        let skipped = RunHeader { run_skipped: true, ..build("1") };
        assert_eq!(
            differences(ignored, &skipped, &[record("d")]),
            ["the run has --include-ignored", "the run does not have --run-skipped"]
        );
        let mut driver = record("d");
        driver.device.info.driver_version = "3.2".to_owned();
        assert_eq!(
            differences(build("1"), &build("1"), &[driver, record("e")]),
            [
                "the device bench/d has the driver version \"3.2\", and not \"3.1\"",
                "the device bench/e is new"
            ]
        );
        assert_eq!(differences(build("1"), &build("1"), &[]), ["the device bench/d is not there"]);
        // A shard may go on on another host.
        let moved = [DeviceRecord { key: "other/d".to_owned(), ..record("d") }];
        assert_eq!(differences(build("1"), &build("1"), &moved).len(), 2);
        let shard = Some(Shard { index: 1, total: 2, rule: ShardRule::Hash });
        let before = RunHeader { shard, ..build("1") };
        assert_eq!(differences(before, &build("1"), &moved), [""; 0]);
    }

    #[test]
    fn differences_name_the_settings_and_the_expectations() {
        let expectation = |number: u32, test: &str| {
            Arc::new(WrittenExpectation {
                number,
                file: "a.toml".to_owned(),
                line: u64::from(number) * 10,
                keys: BTreeMap::from([("test".to_owned(), test.to_owned())]),
                status: ExpectedStatus::Fail.into(),
                reason: "bug 7".to_owned(),
            })
        };
        let before = [expectation(1, "s::a"), expectation(2, "s::b")];
        let host = RunHeader { host_settings: Some(record("d").settings), ..header(Vec::new()) };
        let log = log(host.clone(), &before);
        let differences = |now: &RunHeader, device: DeviceRecord, entries: &[_]| {
            differences(&log, now, &[device], entries)
        };
        let mut moved = before.clone();
        for entry in &mut moved {
            let entry = Arc::make_mut(entry);
            (entry.file, entry.line) = ("b.toml".to_owned(), 7);
        }
        assert_eq!(differences(&host, record("d"), &moved), [""; 0]);
        let other = [expectation(1, "s::b"), expectation(2, "s::c")];
        assert_eq!(
            differences(&host, record("d"), &other),
            ["the expectation of a.toml:10 is not there", "the expectation of a.toml:20 is new"]
        );
        let [first, second] = before.clone();
        assert_eq!(
            differences(&host, record("d"), &[second, first]),
            ["the expectations have another order or number"]
        );
        let mut device = record("d");
        device.settings.retries = 2.into();
        let mut slow = record("d").settings;
        slow.timeout = Duration::from_secs(5);
        let slow = RunHeader { host_settings: Some(slow), ..host };
        assert_eq!(
            differences(&slow, device, &before),
            [
                "the device bench/d has the setting retries 2, and not none",
                "a test without a device has the setting timeout_ns 5000000000, and not 60000000000"
            ]
        );
    }
}
