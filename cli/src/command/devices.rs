//! `clmatrix devices`.

use std::collections::HashSet;
use std::thread;
use std::time::{Duration, Instant};

use clap::Args;
use clmatrix_characterize::show::text_table::TextTable;
use clmatrix_runner::devices::failure::FailedDriver;
use clmatrix_runner::devices::icd::{ALL_DRIVERS, SHOWS_ONE_DRIVER};
use clmatrix_runner::devices::run_device::{PlatformName, RunDevice};
use clmatrix_runner::devices::{FoundPlatform, Machine, TestDevice};
use clmatrix_runner::os::StopSignal;
use clmatrix_runner::run::state::WorkerConfig;
use clmatrix_runner::serde_time::Nanoseconds;
use clmatrix_runner::setup::Setup;
use clmatrix_runner::target::{SUCCESS, Target, UNEXPECTED};
use clmatrix_runner::terminal::{AnyError, print, print_text};
use clmatrix_runner::worker::parent::{START_LIMIT, Worker};
use serde::Serialize;

use super::common::{Common, TableFormat};

pub const EXAMPLES: &str = "\
Examples:
  clmatrix devices                          list all devices; `*` marks the selected ones
  clmatrix devices --devices '*:gpu*'       try a selection
  clmatrix devices --format json --all      for other programs, with the drivers that failed
  clmatrix devices --probe                  check that each device works; exit status 1 if one does not";

/// Lists each device with its id. `*` marks the selected devices.
#[derive(Args)]
pub struct DevicesArguments {
    #[command(flatten)]
    common: Common,
    /// Print a table, or a JSON array of the devices.
    #[arg(long, value_enum, default_value_t = TableFormat::Table)]
    format: TableFormat,
    /// Print a JSON object that also has the platforms without devices and the drivers that failed. The
    /// table always shows them.
    #[arg(long)]
    all: bool,
    /// Check that each selected device works: memory is written and read back, and a kernel runs. Print the
    /// time of each, and exit with status 1 if a device does not work.
    #[arg(long, conflicts_with = "all")]
    probe: bool,
}

/// The result of a probe.
#[derive(Serialize)]
struct ProbedDevice {
    id: String,
    #[serde(rename = "duration_ns", with = "Nanoseconds")]
    duration: Duration,
    /// The reason why the device does not work.
    #[serde(skip_serializing_if = "Option::is_none")]
    error: Option<String>,
}

#[derive(Serialize)]
struct ListedDevice {
    id: String,
    name: String,
    vendor: String,
    r#type: String,
    driver_version: String,
    opencl_version: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    pci_address: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    uuid: Option<String>,
    platform: PlatformName,
    selected: bool,
}

/// The output of `--format json --all`.
#[derive(Serialize)]
struct Everything<'a> {
    devices: Vec<ListedDevice>,
    platforms_without_devices: Vec<PlatformName>,
    failed_drivers: &'a [FailedDriver],
}

pub fn devices(target: Target, arguments: &DevicesArguments) -> Result<u8, AnyError> {
    let setup = Setup::new(arguments.common.options(target))?;
    let selected = setup.devices();
    if arguments.probe {
        return probe(&setup, &selected?, arguments.format);
    }
    let ids: HashSet<&str> = selected.iter().flatten().map(|device| &*device.run.id).collect();
    let all = everything(&setup.machine, &ids);
    match arguments.format {
        TableFormat::Table => print_text(&table(&all)),
        TableFormat::Json if arguments.all => print(&(serde_json::to_string_pretty(&all)? + "\n")),
        TableFormat::Json => print(&(serde_json::to_string_pretty(&all.devices)? + "\n")),
    }?;
    // The table shows all that there is, also where the selection is at fault.
    selected?;
    Ok(SUCCESS)
}

/// Probes all devices at the same time.
fn probe(setup: &Setup, devices: &[TestDevice], format: TableFormat) -> Result<u8, AnyError> {
    let stop = StopSignal::new()?;
    let configs =
        devices.iter().map(|device| setup.worker_config(device)).collect::<Result<Vec<_>, _>>()?;
    let probe = |device: &TestDevice, config: &WorkerConfig| {
        let started = Instant::now();
        let limit = config.settings.first_probe_limit();
        let probed = Worker::probe(&config.commands, START_LIMIT, limit, &stop);
        let error = probed.err().map(|error| error.to_string());
        ProbedDevice { id: device.run.id.clone(), duration: started.elapsed(), error }
    };
    let mut probed: Vec<ProbedDevice> = thread::scope(|scope| {
        let pairs = devices.iter().zip(&configs);
        let probes: Vec<_> =
            pairs.map(|(device, config)| scope.spawn(move || probe(device, config))).collect();
        probes.into_iter().map(|probe| probe.join().expect("a probe does not panic")).collect()
    });
    probed.extend(setup.absent.iter().map(|expected| ProbedDevice {
        id: expected.clone(),
        duration: Duration::ZERO,
        error: Some("expected, but not found".to_owned()),
    }));
    match format {
        TableFormat::Table => print_text(&probe_table(&probed)),
        TableFormat::Json => print(&(serde_json::to_string_pretty(&probed)? + "\n")),
    }?;
    let works = probed.iter().all(|device| device.error.is_none());
    Ok(if works { SUCCESS } else { UNEXPECTED })
}

fn probe_table(probed: &[ProbedDevice]) -> String {
    let mut table = TextTable::new(&["ID", "TIME", "PROBE"]);
    for ProbedDevice { id, duration, error } in probed {
        let answer = error.as_ref().map_or("ok".to_owned(), |error| format!("failed: {error}"));
        table.push(vec![id.clone(), format!("{:.2} s", duration.as_secs_f64()), answer]);
    }
    table.plain()
}

fn everything<'a>(machine: &'a Machine, selected: &HashSet<&str>) -> Everything<'a> {
    let devices = machine.positions().map(|(platform, device)| {
        let RunDevice { id, platform, info } = machine.device(platform, device).run;
        ListedDevice {
            selected: selected.contains(&*id),
            id,
            name: info.name,
            vendor: info.vendor,
            r#type: info.device_type.to_string(),
            driver_version: info.driver_version,
            opencl_version: info.opencl.to_string(),
            pci_address: info.pci_address,
            uuid: info.uuid,
            platform,
        }
    });
    let empty = machine.platforms.iter().filter(|found| found.info.devices.is_empty());
    Everything {
        devices: devices.collect(),
        platforms_without_devices: empty.map(FoundPlatform::name).collect(),
        failed_drivers: &machine.failed,
    }
}

fn table(all: &Everything<'_>) -> String {
    let mut table = TextTable::new(&["", "ID", "TYPE", "OPENCL", "DRIVER", "NAME (PLATFORM)"]);
    for device in &all.devices {
        table.push(vec![
            if device.selected { "*" } else { "" }.to_owned(),
            device.id.clone(),
            device.r#type.clone(),
            device.opencl_version.clone(),
            device.driver_version.clone(),
            format!("{} ({})", device.name, device.platform.name),
        ]);
    }
    let mut text = table.plain();
    if !SHOWS_ONE_DRIVER {
        text += &format!("{ALL_DRIVERS}\n");
    }
    for PlatformName { name, version, .. } in &all.platforms_without_devices {
        text += &format!("platform without devices: {name} ({version})\n");
    }
    all.failed_drivers.iter().for_each(|failed| text += &format!("driver that failed: {failed}\n"));
    text
}
