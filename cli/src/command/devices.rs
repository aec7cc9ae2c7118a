//! `clmatrix devices`.

use std::collections::HashSet;
use std::fmt::Write as _;
use std::process::ExitCode;
use std::thread;
use std::time::{Duration, Instant};

use clap::Args;
use clmatrix::select::DeviceInfo;
use clmatrix_characterize::show::text_table::aligned;
use clmatrix_runner::devices::failure::FailedDriver;
use clmatrix_runner::devices::icd::{ALL_DRIVERS, SHOWS_ONE_DRIVER};
use clmatrix_runner::devices::{FoundPlatform, Machine, TestDevice};
use clmatrix_runner::os::StopSignal;
use clmatrix_runner::serde_time::Nanoseconds;
use clmatrix_runner::setup::Setup;
use clmatrix_runner::target::{Target, UNEXPECTED};
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
struct ListedDevice<'a> {
    id: &'a str,
    name: &'a str,
    vendor: &'a str,
    r#type: String,
    driver_version: &'a str,
    opencl_version: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    pci_address: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    uuid: Option<&'a str>,
    platform: ListedPlatform<'a>,
    selected: bool,
}

#[derive(Serialize)]
struct ListedPlatform<'a> {
    name: &'a str,
    vendor: &'a str,
    version: &'a str,
}

/// The output of `--format json --all`.
#[derive(Serialize)]
struct Everything<'a> {
    devices: Vec<ListedDevice<'a>>,
    platforms_without_devices: Vec<ListedPlatform<'a>>,
    failed_drivers: &'a [FailedDriver],
}

pub fn devices(target: Target, arguments: &DevicesArguments) -> Result<ExitCode, AnyError> {
    let setup = arguments.common.setup(target)?;
    let selected = setup.devices();
    if arguments.probe {
        return probe(&setup, &selected?, arguments.format);
    }
    let ids: HashSet<String> =
        selected.iter().flatten().map(|device| device.run.id.clone()).collect();
    let everything = Everything::new(&setup.machine, &ids);
    match arguments.format {
        TableFormat::Table => print_text(&table(&everything))?,
        TableFormat::Json if arguments.all => {
            print(&(serde_json::to_string_pretty(&everything)? + "\n"))?;
        }
        TableFormat::Json => print(&(serde_json::to_string_pretty(&everything.devices)? + "\n"))?,
    }
    // The table shows all that there is, also where the selection is at fault.
    selected?;
    Ok(ExitCode::SUCCESS)
}

/// Probes all devices at the same time.
fn probe(setup: &Setup, devices: &[TestDevice], format: TableFormat) -> Result<ExitCode, AnyError> {
    let stop = StopSignal::new()?;
    let commands =
        devices.iter().map(|device| setup.worker_config(device)).collect::<Result<Vec<_>, _>>()?;
    let probed: Vec<ProbedDevice> = thread::scope(|scope| {
        let probes: Vec<_> = commands
            .iter()
            .zip(devices)
            .map(|(config, device)| {
                scope.spawn(|| {
                    let started = Instant::now();
                    let limit = config.settings.first_probe_limit();
                    let probed = Worker::probe(&config.commands, START_LIMIT, limit, &stop);
                    let error = probed.err().map(|error| error.to_string());
                    ProbedDevice { id: device.run.id.clone(), duration: started.elapsed(), error }
                })
            })
            .collect();
        let probes = probes.into_iter().map(|probe| probe.join());
        probes.collect::<Result<_, _>>().expect("a probe does not panic")
    });
    let absent = setup.absent.iter().map(|expected| ProbedDevice {
        id: expected.clone(),
        duration: Duration::ZERO,
        error: Some("expected, but not found".to_owned()),
    });
    let probed: Vec<_> = probed.into_iter().chain(absent).collect();
    match format {
        TableFormat::Table => print_text(&probe_table(&probed))?,
        TableFormat::Json => print(&(serde_json::to_string_pretty(&probed)? + "\n"))?,
    }
    let works = probed.iter().all(|device| device.error.is_none());
    Ok(if works { ExitCode::SUCCESS } else { ExitCode::from(UNEXPECTED) })
}

fn probe_table(probed: &[ProbedDevice]) -> String {
    let mut rows = vec![["ID", "TIME", "PROBE"].map(str::to_owned).to_vec()];
    rows.extend(probed.iter().map(|device| {
        let answer =
            device.error.as_ref().map_or("ok".to_owned(), |error| format!("failed: {error}"));
        vec![device.id.clone(), format!("{:.2} s", device.duration.as_secs_f64()), answer]
    }));
    aligned(&rows)
}

impl<'a> Everything<'a> {
    fn new(machine: &'a Machine, selected: &HashSet<String>) -> Self {
        let Machine { platforms, failed, .. } = machine;
        let devices = platforms.iter().flat_map(|platform| {
            let devices = platform.info.devices.iter().zip(&platform.ids);
            devices
                .map(|(device, id)| ListedDevice::new(platform, device, id, selected.contains(id)))
        });
        let without_devices = platforms.iter().filter(|platform| platform.info.devices.is_empty());
        Self {
            devices: devices.collect(),
            platforms_without_devices: without_devices.map(ListedPlatform::new).collect(),
            failed_drivers: failed,
        }
    }
}

impl<'a> ListedDevice<'a> {
    fn new(
        platform: &'a FoundPlatform,
        device: &'a DeviceInfo,
        id: &'a str,
        selected: bool,
    ) -> Self {
        Self {
            id,
            name: &device.name,
            vendor: &device.vendor,
            r#type: device.device_type.to_string(),
            driver_version: &device.driver_version,
            opencl_version: device.opencl.to_string(),
            pci_address: device.pci_address.as_deref(),
            uuid: device.uuid.as_deref(),
            platform: ListedPlatform::new(platform),
            selected,
        }
    }
}

impl<'a> ListedPlatform<'a> {
    fn new(platform: &'a FoundPlatform) -> Self {
        Self {
            name: &platform.info.name,
            vendor: &platform.info.vendor,
            version: &platform.info.version,
        }
    }
}

fn table(everything: &Everything<'_>) -> String {
    let mut rows =
        vec![["", "ID", "TYPE", "OPENCL", "DRIVER", "NAME (PLATFORM)"].map(str::to_owned).to_vec()];
    rows.extend(everything.devices.iter().map(|device| {
        vec![
            if device.selected { "*" } else { "" }.to_owned(),
            device.id.to_owned(),
            device.r#type.clone(),
            device.opencl_version.clone(),
            device.driver_version.to_owned(),
            format!("{} ({})", device.name, device.platform.name),
        ]
    }));
    let mut text = aligned(&rows);
    if !SHOWS_ONE_DRIVER {
        let _ = writeln!(text, "{ALL_DRIVERS}");
    }
    for platform in &everything.platforms_without_devices {
        let _ =
            writeln!(text, "platform without devices: {} ({})", platform.name, platform.version);
    }
    for failed in everything.failed_drivers {
        let _ = writeln!(text, "driver that failed: {failed}");
    }
    text
}
