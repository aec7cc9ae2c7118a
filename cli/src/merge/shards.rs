//! The check that shards of a run can be merged.

use clmatrix_runner::devices::run_device::RunDevice;
use clmatrix_runner::log::device_record::DeviceRecord;
use clmatrix_runner::log::selected_tests::SelectedTests;
use clmatrix_runner::shard::Shard;
use clmatrix_runner::terminal::AnyError;
use indexmap::IndexMap;

use super::Merge;
use super::input::Input;

impl Merge {
    /// Checks that the inputs are all shards of one run. A device is identified by its id, name and driver version,
    /// on any host.
    ///
    /// # Errors
    ///
    /// A run is not a shard, two differ in a way that the shards of a run do not, or one is passed twice or missing.
    pub(crate) fn of_shards(mut inputs: Vec<Input>) -> Result<Self, AnyError> {
        if let Some(input) = inputs.iter().find(|input| input.header.shard.is_none()) {
            let hosts = "--hosts merges whole runs of different hosts";
            let apart = match &common_devices(&inputs)[..] {
                [] => String::new(),
                devices => format!(" and keeps their devices apart ({})", devices.join(", ")),
            };
            return Err(format!("{input} is not a shard; {hosts}{apart}").into());
        }
        agree("totals", &inputs, |run| shard(run).total.to_string())?;
        agree("rules", &inputs, |run| shard(run).rule.to_string())?;
        agree("executables", &inputs, |run| run.header.build_id.clone().unwrap_or_default())?;
        agree("filters", &inputs, |run| run.header.filter.join(" "))?;
        let list = |run: &Input| run.header.selected_tests.as_ref().map(SelectedTests::to_string);
        agree("lists of tests", &inputs, |run| list(run).unwrap_or_default())?;
        let includes_ignored = |run: &Input| run.header.include_ignored.to_string();
        agree("values of --include-ignored", &inputs, includes_ignored)?;
        agree("values of --run-skipped", &inputs, |run| run.header.run_skipped.to_string())?;
        agree("profiles", &inputs, |run| run.header.profile.clone().unwrap_or_default())?;
        inputs.sort_by_key(|input| shard(input).index);
        let mut pairs = inputs.iter().zip(inputs.iter().skip(1));
        if let Some((one, other)) = pairs.find(|(a, b)| shard(a).index == shard(b).index) {
            return Err(format!("a shard is passed twice: {one} and {other}").into());
        }
        let total = shard(&inputs[0]).total;
        let is_missing = |index: &u32| inputs.iter().all(|input| shard(input).index != *index);
        let missing: Vec<_> =
            (1..=total).filter(is_missing).map(|index| index.to_string()).collect();
        if !missing.is_empty() {
            let verb = if missing.len() == 1 { "is" } else { "are" };
            let missing = missing.join(", ");
            return Err(format!("of {total} shards, {missing} {verb} missing").into());
        }
        check_devices(&inputs)?;
        Ok(Self { inputs, by_host: false })
    }
}

fn shard(input: &Input) -> &Shard {
    input.header.shard.as_ref().expect("all inputs are shards")
}

/// Returns the ids of the devices that several runs have.
fn common_devices(inputs: &[Input]) -> Vec<&str> {
    let mut runs: IndexMap<&str, usize> = IndexMap::new();
    for record in inputs.iter().flat_map(|input| &input.devices) {
        *runs.entry(&record.device.id).or_default() += 1;
    }
    runs.into_iter().filter(|(_, runs)| *runs > 1).map(|(id, _)| id).collect()
}

/// Checks that all shards have the same value, which may be empty.
fn agree(what: &str, inputs: &[Input], value: impl Fn(&Input) -> String) -> Result<(), AnyError> {
    let Some(first) = inputs.first() else { return Ok(()) };
    let expected = value(first);
    let Some(other) = inputs.iter().find(|input| value(input) != expected) else { return Ok(()) };
    let of = |input| match value(input) {
        empty if empty.is_empty() => format!("none in {input}"),
        value => format!("{value} in {input}"),
    };
    Err(format!("two shards have different {what}: {}, {}", of(first), of(other)).into())
}

/// Checks that all shards have the same devices.
fn check_devices(inputs: &[Input]) -> Result<(), AnyError> {
    for one in inputs {
        for DeviceRecord { device: RunDevice { id, .. }, .. } in &one.devices {
            if let Some(other) = inputs.iter().find(|other| device(other, id).is_none()) {
                return Err(format!("the device {id} is in {one}, but not in {other}").into());
            }
            let info = |input: &Input| device(input, id).expect("each input has it").info.clone();
            agree(&format!("devices {id}"), inputs, |input| info(input).name)?;
            agree(&format!("driver versions of {id}"), inputs, |input| info(input).driver_version)?;
        }
    }
    Ok(())
}

fn device<'a>(input: &'a Input, id: &str) -> Option<&'a RunDevice> {
    input.devices.iter().map(|record| &record.device).find(|device| device.id == *id)
}
