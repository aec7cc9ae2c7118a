//! `clmatrix characterize`.

use std::io::{IsTerminal as _, Write as _};
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::time::Duration;

use bytesize::ByteSize;
use clap::{Args, ValueEnum};
use clmatrix::characterize::measure::{Settings, Shares};
use serde::Serialize;

use super::{Common, UNEXPECTED};
use crate::characterize::ask::Asked;
use crate::characterize::only::Only;
use crate::characterize::{CharacterizedDevice, Devices, compare, files, terminal};
use crate::devices::TestDevice;
use crate::front::{AnyError, tell};
use crate::interrupt;
use crate::os::StopSignal;
use crate::report::sheet::Sheet;
use crate::schedule::LaneSettings;

pub const EXAMPLES: &str = "\
Examples:
  clmatrix characterize                     what is known of each device here
  clmatrix characterize --measure           what each really does beside it; half a minute each
  clmatrix characterize --measure --only launch --budget 5s --devices pocl
  clmatrix characterize --measure --format json > today.json
  clmatrix characterize --compare yesterday.json today.json";

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
    /// How much of a device's memory they may use [default: 256MiB of the host's, else all].
    #[arg(long, value_name = "SIZE", requires = "measure")]
    memory: Option<ByteSize>,
    /// Draw curves of what is measured below the table, which is otherwise done on a terminal only.
    #[arg(long, requires = "measure")]
    plot: bool,
    /// Instead of asking devices: compare two files of JSON, name by name. Devices go together by
    /// their ids; the only ones of both files do so under any ids.
    #[arg(long, num_args = 2, value_names = ["A.json", "B.json"],
          conflicts_with_all = ["measure", "report_dir"])]
    compare: Vec<PathBuf>,
    /// Folder for characterize.json and curves/DEVICE/NAME.svg of what is measured [default: the profile's, else target/clmatrix].
    #[arg(long, value_name = "DIR")]
    report_dir: Option<PathBuf>,
    /// A table, JSON with the devices' ids as names, or tables for a document.
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
    if let [a, b] = &arguments.compare[..] {
        return arguments.print_comparison(a, b, &only);
    }
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
    arguments.print(&devices)?;
    if arguments.measure {
        let folder = arguments.report_dir.clone().unwrap_or_else(|| setup.report_folder());
        files::write(&devices, &folder)
            .map_err(|error| format!("the report folder {}: {error}", folder.display()))?;
    }
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
            let settings = self.settings(device, &found);
            let shares = Shares::new(&topics, &settings);
            for (position, topic) in topics.iter().enumerate() {
                tell(&format!("{id}: {} ({} of {})", topic.name(), position + 1, topics.len()));
                let measured = asked.measured(*topic, &shares.of(*topic));
                found.add(measured.into_iter().filter(|measured| only.has(&measured.name)));
            }
        }
        found
    }

    fn settings(&self, device: &TestDevice, found: &CharacterizedDevice) -> Settings<'static> {
        let info = &device.run.info;
        let known = found.characterization.as_ref();
        let is_host_s = known.is_some_and(|known| known.facts.host_unified_memory);
        let usual = Settings::usual(info.device_type, is_host_s, info.global_mem_size);
        Settings {
            budget: self.budget.unwrap_or(usual.budget),
            memory: self.memory.map_or(usual.memory, |memory| memory.as_u64()),
            ..usual
        }
    }

    fn print(&self, devices: &Devices) -> Result<(), AnyError> {
        let is_terminal = self.format == Format::Table && std::io::stdout().is_terminal();
        let curves = |device: &CharacterizedDevice| -> Vec<String> {
            let curves = device.curves();
            let wanted = curves.iter().filter(|_| self.plot || is_terminal);
            wanted.map(|(name, curve)| terminal::plot(name, curve)).collect()
        };
        let pages = devices.iter().map(|(id, device)| Page {
            titles: vec![device.title(id)],
            error: device.error.as_deref(),
            sheet: device.sheet(),
            curves: curves(device),
        });
        print(&self.format.text(devices, pages)?);
        Ok(())
    }

    fn print_comparison(&self, a: &Path, b: &Path, only: &Only) -> Result<ExitCode, AnyError> {
        let (ours, theirs) = (compare::read(a)?, compare::read(b)?);
        let pairs = compare::pairs(&ours, &theirs, |name| only.has(name))?;
        let pages = pairs.iter().map(|pair| Page {
            titles: pair.titles().to_vec(),
            error: None,
            sheet: pair.sheet(),
            curves: Vec::new(),
        });
        print(&self.format.text(&pairs, pages)?);
        Ok(ExitCode::SUCCESS)
    }
}

/// What is said of one device, or of two that are compared.
struct Page<'a> {
    titles: Vec<String>,
    error: Option<&'a str>,
    sheet: Sheet,
    curves: Vec<String>,
}

impl Format {
    /// All pages, or what they are about as JSON.
    fn text<'a>(
        self,
        json: &impl Serialize,
        pages: impl Iterator<Item = Page<'a>>,
    ) -> serde_json::Result<String> {
        let page: fn(Page<'a>) -> String = match self {
            Self::Json => return Ok(serde_json::to_string_pretty(json)? + "\n"),
            Self::Table => Page::plain,
            Self::Markdown => Page::markdown,
        };
        Ok(pages.map(page).collect::<Vec<_>>().join("\n"))
    }
}

impl Page<'_> {
    fn plain(self) -> String {
        let error = self.error.map(|reason| format!("It does not answer: {reason}"));
        let table = self.sheet.plain();
        let parts = [self.titles.join("\n") + "\n"]
            .into_iter()
            .chain(error.map(|error| error + "\n"))
            .chain([table])
            .chain(self.curves);
        parts.collect::<Vec<_>>().join("\n")
    }

    fn markdown(self) -> String {
        let title = self.titles.iter().map(|title| format!("## {title}\n"));
        let error = self.error.map(|reason| format!("It does not answer: {reason}\n"));
        let curves = self.curves.into_iter().map(|curve| format!("```text\n{curve}```\n"));
        let parts = title.chain(error).chain([self.sheet.markdown()]).chain(curves);
        parts.collect::<Vec<_>>().join("\n")
    }
}

/// A closed pipe ends it, as it does for any command.
fn print(text: &str) {
    let _ = std::io::stdout().write_all(text.as_bytes());
}
