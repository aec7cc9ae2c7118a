//! The shards of a run: which of them go together.

use clmatrix::select::DeviceInfo;
use clmatrix_harness::private::log::device_record::DeviceRecord;
use clmatrix_harness::private::log::selected_tests::SelectedTests;
use clmatrix_harness::private::shard::Shard;
use indexmap::IndexMap;

use super::Merge;
use super::input::Input;

/// Shards that make no run.
#[derive(Debug, thiserror::Error)]
pub(crate) enum ShardsError {
    /// A run is no shard.
    #[error("{run} is no shard; --hosts merges whole runs of different hosts{}", also(.devices))]
    NoShard { run: String, devices: Vec<String> },
    /// Two shards differ in a way that the shards of a run do not.
    #[error("two shards have different {what}: {first_value} in {first}, {other_value} in {other}")]
    Different {
        what: String,
        first: String,
        first_value: String,
        other: String,
        other_value: String,
    },
    /// A shard is there twice.
    #[error("a shard is there twice: {0} and {1}")]
    Twice(String, String),
    /// A shard is not there.
    #[error("of {total} shards, {} not there", missing(.indices))]
    Missing { indices: Vec<u32>, total: u32 },
    /// A device is not in all shards.
    #[error("the device {device} is in {one}, but not in {other}")]
    NoDevice { device: String, one: String, other: String },
}

/// Returns a value for an error, where a shard may have none.
fn or_none(value: String) -> String {
    if value.is_empty() { "none".to_owned() } else { value }
}

fn also(devices: &[String]) -> String {
    match devices {
        [] => String::new(),
        devices => format!(" and keeps their devices apart ({})", devices.join(", ")),
    }
}

fn missing(indices: &[u32]) -> String {
    let numbers: Vec<String> = indices.iter().map(u32::to_string).collect();
    let verb = if indices.len() == 1 { "is" } else { "are" };
    format!("{} {verb}", numbers.join(", "))
}

impl Merge {
    /// Checks that the inputs are all shards of one run. A device is its id, name and driver version, wherever
    /// it is.
    pub(crate) fn of_shards(inputs: Vec<Input>) -> Result<Self, ShardsError> {
        let devices = common_devices(&inputs);
        let mut shards: Vec<(Shard, Input)> = Vec::new();
        for input in inputs {
            let Some(shard) = input.header.shard.clone() else {
                return Err(ShardsError::NoShard { run: input.to_string(), devices });
            };
            shards.push((shard, input));
        }
        agree("totals", &shards, |shard, _| shard.total.to_string())?;
        agree("rules", &shards, |shard, _| shard.rule.to_string())?;
        agree("executables", &shards, |_, input| {
            or_none(input.header.build_id.clone().unwrap_or_default())
        })?;
        agree("filters", &shards, |_, input| or_none(input.header.filter.join(" ")))?;
        agree("lists of tests", &shards, |_, input| {
            let list = input.header.selected_tests.as_ref();
            or_none(list.map(SelectedTests::to_string).unwrap_or_default())
        })?;
        agree("values of --include-ignored", &shards, |_, input| {
            input.header.include_ignored.to_string()
        })?;
        agree("values of --run-skipped", &shards, |_, input| input.header.run_skipped.to_string())?;
        agree("profiles", &shards, |_, input| {
            or_none(input.header.profile.clone().unwrap_or_default())
        })?;
        shards.sort_by_key(|(shard, _)| shard.index);
        if let Some(twice) = shards.windows(2).find(|pair| pair[0].0.index == pair[1].0.index) {
            return Err(ShardsError::Twice(twice[0].1.to_string(), twice[1].1.to_string()));
        }
        let total = shards[0].0.total;
        let is_missing = |index: &u32| shards.iter().all(|(shard, _)| shard.index != *index);
        let indices: Vec<u32> = (1..=total).filter(is_missing).collect();
        if !indices.is_empty() {
            return Err(ShardsError::Missing { indices, total });
        }
        check_devices(&shards)?;
        let inputs = shards.into_iter().map(|(_, input)| input).collect();
        Ok(Self { inputs, by_host: false })
    }
}

/// Returns the ids of the devices that several runs have.
fn common_devices(inputs: &[Input]) -> Vec<String> {
    let mut runs: IndexMap<&str, usize> = IndexMap::new();
    for record in inputs.iter().flat_map(|input| &input.devices) {
        *runs.entry(&record.device.id).or_default() += 1;
    }
    runs.into_iter().filter(|(_, runs)| *runs > 1).map(|(id, _)| id.to_owned()).collect()
}

/// Checks that all shards have the same value.
fn agree(
    what: &str,
    shards: &[(Shard, Input)],
    value: impl Fn(&Shard, &Input) -> String,
) -> Result<(), ShardsError> {
    let Some((first_shard, first)) = shards.first() else { return Ok(()) };
    let expected = value(first_shard, first);
    for (shard, input) in shards {
        let found = value(shard, input);
        if found != expected {
            return Err(ShardsError::Different {
                what: what.to_owned(),
                first: first.to_string(),
                first_value: expected,
                other: input.to_string(),
                other_value: found,
            });
        }
    }
    Ok(())
}

/// Checks that all shards have the same devices.
fn check_devices(shards: &[(Shard, Input)]) -> Result<(), ShardsError> {
    for (_, one) in shards {
        for record in &one.devices {
            let id = &record.device.id;
            let lacks = |(_, other): &&(Shard, Input)| device(other, id).is_none();
            if let Some((_, other)) = shards.iter().find(lacks) {
                return Err(ShardsError::NoDevice {
                    device: id.clone(),
                    one: one.to_string(),
                    other: other.to_string(),
                });
            }
            let info = |input: &Input, value: fn(&DeviceInfo) -> &String| {
                device(input, id).map(|record| value(&record.device.info).clone())
            };
            let name =
                |_: &Shard, input: &Input| info(input, |info| &info.name).unwrap_or_default();
            agree(&format!("devices {id}"), shards, name)?;
            agree(&format!("driver versions of {id}"), shards, |_, input| {
                info(input, |info| &info.driver_version).unwrap_or_default()
            })?;
        }
    }
    Ok(())
}

fn device<'a>(input: &'a Input, id: &str) -> Option<&'a DeviceRecord> {
    input.devices.iter().find(|record| record.device.id == *id)
}
