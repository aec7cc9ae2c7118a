//! `clmatrix characterize`.

use std::io::Write as _;
use std::path::PathBuf;
use std::process::ExitCode;
use std::time::Duration;

use bytesize::ByteSize;
use clap::{Args, ValueEnum};
use clmatrix::characterize::measure::{Settings, Shares};

use super::{Common, UNEXPECTED};
use crate::characterize::ask::Asked;
use crate::characterize::only::Only;
use crate::characterize::{CharacterizedDevice, Devices};
use crate::devices::TestDevice;
use crate::front::{AnyError, tell};
use crate::interrupt;
use crate::os::StopSignal;
use crate::schedule::LaneSettings;

pub const EXAMPLES: &str = "\
Examples:
  clmatrix characterize                     what is known of each device here
  clmatrix characterize --measure           what each really does beside it; half a minute each
  clmatrix characterize --measure --only launch --budget 5s --devices pocl
  clmatrix characterize --measure --format json > devices.json";

/// Shows what each device is like: PyOpenCL's answers, from what the driver tells and what is known
/// of vendors, and beside them what is measured.
///
/// Each device is asked in a process of its own that sees only its driver: one that crashes or hangs
/// costs that answer alone.
#[derive(Args)]
pub struct CharacterizeArguments {
    #[command(flatten)]
    common: Common,
    /// Measure, too, one device after the other; nothing else should run meanwhile.
    #[arg(long)]
    measure: bool,
    /// Only the answer, the measurement, or the topic with all its measurements of this name; may be
    /// repeated.
    #[arg(long, value_name = "NAME")]
    only: Vec<String>,
    /// How long the measurements of a device may take [default: 24s for a CPU, else 16s].
    #[arg(long, value_name = "TIME", value_parser = humantime::parse_duration, requires = "measure")]
    budget: Option<Duration>,
    /// How much of a device's memory they may use [default: 256MiB of a CPU's, else all].
    #[arg(long, value_name = "SIZE", requires = "measure")]
    memory: Option<ByteSize>,
    /// Folder for the curves of what is measured [default: the profile's, else target/clmatrix].
    #[arg(long, value_name = "DIR")]
    report_dir: Option<PathBuf>,
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
    let only = Only::new(&arguments.only)?;
    if !arguments.measure && !only.has_answers() {
        return Err("--only names measurements alone; add --measure to take them".into());
    }
    let setup = arguments.common.setup()?;
    let selected = setup.devices()?;
    let stop = interrupt::stop_on_signals()?;
    let mut devices = Devices::new();
    for device in &selected {
        let found = arguments.characterized(&setup.lane(device)?, device, &only, &stop);
        devices.insert(device.run.id.clone(), found);
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

impl CharacterizeArguments {
    fn characterized(
        &self,
        lane: &LaneSettings,
        device: &TestDevice,
        only: &Only,
        stop: &StopSignal,
    ) -> CharacterizedDevice {
        let id = &device.run.id;
        let mut asked = Asked::new(device, lane, stop);
        let mut found = CharacterizedDevice::new(device);
        match asked.characterization() {
            Ok(mut known) => {
                known.table.retain(|name, _| only.has(name));
                found.characterization = Some(*known);
            }
            Err(reason) => {
                tell(&format!("{id}: {reason}"));
                found.error = Some(reason);
            }
        }
        if self.measure {
            let topics = only.topics();
            let settings = self.settings(device);
            let shares = Shares::new(&topics, &settings);
            for (position, topic) in topics.iter().enumerate() {
                tell(&format!("{id}: {} ({} of {})", topic.name(), position + 1, topics.len()));
                let measured = asked.measured(*topic, &shares.of(*topic));
                found.add(measured.into_iter().filter(|measured| only.has(&measured.name)));
            }
        }
        found
    }

    fn settings(&self, device: &TestDevice) -> Settings<'static> {
        let info = &device.run.info;
        let usual = Settings::usual(info.device_type, info.global_mem_size);
        Settings {
            budget: self.budget.unwrap_or(usual.budget),
            memory: self.memory.map_or(usual.memory, |memory| memory.as_u64()),
            ..usual
        }
    }
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
        let error = device.error.iter().map(|reason| format!("It does not answer: {reason}\n\n"));
        let error: String = error.collect();
        format!("{title}\n\n{error}{}", page(device))
    };
    devices.iter().map(page).collect::<Vec<_>>().join("\n")
}
