//! `clmatrix characterize`.

use std::io::Write as _;
use std::process::ExitCode;

use clap::{Args, ValueEnum};

use super::{Common, UNEXPECTED};
use crate::characterize::ask::Asked;
use crate::characterize::{CharacterizedDevice, Devices};
use crate::devices::TestDevice;
use crate::front::{AnyError, tell};
use crate::interrupt;
use crate::os::StopSignal;
use crate::setup::Setup;

pub const EXAMPLES: &str = "\
Examples:
  clmatrix characterize                     what is known of each device here
  clmatrix characterize --format json > devices.json";

/// Shows what each device is like: PyOpenCL's answers.
///
/// Each device is asked in a process of its own that sees only its driver.
#[derive(Args)]
pub struct CharacterizeArguments {
    #[command(flatten)]
    common: Common,
    /// A table, a JSON object with the devices' ids as names, or a table for a document.
    #[arg(long, value_enum, default_value_t = Format::Table)]
    format: Format,
}

#[derive(Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Format {
    Table,
    Json,
    Markdown,
}

pub fn characterize(arguments: &CharacterizeArguments) -> Result<ExitCode, AnyError> {
    let setup = arguments.common.setup()?;
    let selected = setup.devices()?;
    let stop = interrupt::stop_on_signals()?;
    let mut devices = Devices::new();
    for device in &selected {
        devices.insert(device.run.id.clone(), characterized(&setup, device, &stop)?);
    }
    let text = match arguments.format {
        Format::Json => serde_json::to_string_pretty(&devices)? + "\n",
        Format::Table => pages(&devices, |device| device.sheet().plain(), ""),
        Format::Markdown => pages(&devices, |device| device.sheet().markdown(), "## "),
    };
    // A closed pipe ends the list, as it does for any command.
    let _ = std::io::stdout().write_all(text.as_bytes());
    let anything_known = devices.values().any(|device| device.error.is_none());
    Ok(if anything_known { ExitCode::SUCCESS } else { ExitCode::from(UNEXPECTED) })
}

fn characterized(
    setup: &Setup,
    device: &TestDevice,
    stop: &StopSignal,
) -> Result<CharacterizedDevice, AnyError> {
    let lane = setup.lane(device)?;
    let mut found = CharacterizedDevice::new(device);
    match Asked::new(&lane, stop).characterization() {
        Ok(characterization) => found.characterization = Some(characterization),
        Err(reason) => {
            tell(&format!("{}: {reason}", device.run.id));
            found.error = Some(reason);
        }
    }
    Ok(found)
}

/// A page for each device.
fn pages(
    devices: &Devices,
    page: impl Fn(&CharacterizedDevice) -> String,
    heading: &str,
) -> String {
    let page = |(id, device): (&String, &CharacterizedDevice)| {
        let CharacterizedDevice { name, platform, driver_version, .. } = device;
        let title = format!("{heading}{id}: {name} ({platform}), driver {driver_version}");
        let body = match &device.error {
            Some(reason) => format!("nothing is known: {reason}\n"),
            None => page(device),
        };
        format!("{title}\n\n{body}")
    };
    devices.iter().map(page).collect::<Vec<_>>().join("\n")
}
