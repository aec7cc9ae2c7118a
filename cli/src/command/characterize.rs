//! `clmatrix characterize`.

use std::io::IsTerminal as _;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use bytesize::ByteSize;
use clap::Args;
use clmatrix_characterize::measure::{Settings, Shares};
use clmatrix_characterize::show::{compare, terminal};
use clmatrix_characterize::{CharacterizedDevice, Devices};
use clmatrix_runner::devices::TestDevice;
use clmatrix_runner::os::StopSignal;
use clmatrix_runner::run::state::WorkerConfig;
use clmatrix_runner::setup::Setup;
use clmatrix_runner::target::{SUCCESS, Target, UNEXPECTED};
use clmatrix_runner::terminal::{AnyError, status_line};

use super::common::Common;
use crate::characterize::device_session::{DeviceSession, usual_settings};
use crate::characterize::name_filter::NameFilter;
use crate::characterize::report_files::ReportFiles;
use crate::report::page::{Format, Page};

pub const EXAMPLES: &str = "\
Examples:
  clmatrix characterize                     the properties of each device
  clmatrix characterize --measure           with measurements; half a minute for each device
  clmatrix characterize --measure --only launch --budget 5s --devices pocl
  clmatrix characterize --measure --format json > today.json
  clmatrix characterize --compare yesterday.json today.json";

/// Shows the properties of each device: PyOpenCL's answers, from the driver's information and from
/// tables of vendors, and next to them the measurements.
///
/// Each device is queried in a process of its own that loads only the driver of that device. A crash or a hang loses
/// one answer.
#[derive(Args)]
pub struct CharacterizeArguments {
    #[command(flatten)]
    common: Common,
    /// Also measure, one device after the other. Run nothing else meanwhile.
    #[arg(long)]
    measure: bool,
    /// Show only the answer, the measurement, or all measurements of the topic of this name; may be
    /// repeated.
    #[arg(long, value_name = "NAME")]
    only: Vec<String>,
    /// Limit the time for all measurements of one device [default: 24s for a CPU, else 16s].
    #[arg(long, value_name = "TIME", value_parser = humantime::parse_duration, requires = "measure")]
    budget: Option<Duration>,
    /// Limit the device memory that measurements may use [default: 256 MiB if it is host memory, else
    /// all of it].
    #[arg(long, value_name = "SIZE", requires = "measure")]
    memory: Option<ByteSize>,
    /// Draw the measured curves below the table [default: on a terminal].
    #[arg(long, requires = "measure")]
    plot: bool,
    /// Compare two JSON files of earlier runs, name by name. Devices are paired by their ids; the only
    /// device of one file is paired with the only device of the other.
    #[arg(long, num_args = 2, value_names = ["A.json", "B.json"],
          conflicts_with_all = ["measure", "report_dir", "devices"])]
    compare: Vec<PathBuf>,
    /// Write characterize.json and curves/DEVICE/NAME.svg to this folder [default with --measure:
    /// CLMATRIX_REPORT_DIR, else the profile's, else target/clmatrix].
    #[arg(long, value_name = "DIR")]
    report_dir: Option<PathBuf>,
    /// Print a table, JSON with the devices' ids as keys, or tables in Markdown.
    #[arg(long, value_enum, default_value_t = Format::Table)]
    format: Format,
}

pub fn characterize(target: Target, arguments: &CharacterizeArguments) -> Result<u8, AnyError> {
    let only = NameFilter::new(&arguments.only)?;
    if let [a, b] = &arguments.compare[..] {
        return arguments.print_comparison(a, b, &only);
    }
    if !arguments.measure && !only.has_answers() {
        return Err("--only names measurements alone; add --measure to take them".into());
    }
    let setup = Setup::new(arguments.common.options(target))?;
    let selected = setup.devices()?;
    let report = arguments.report(&setup)?;
    let stop = StopSignal::on_signals()?;
    let mut survey = Survey { arguments, only: &only, stop, report, devices: Devices::new() };
    let mut selected = selected.iter();
    let taken = selected.try_for_each(|device| survey.take(&setup.worker_config(device)?, device));
    let finished = survey.finish(taken.is_ok());
    taken.and(finished)?;
    let anything_known = survey.devices.values().any(|device| device.error.is_none());
    Ok(if anything_known { SUCCESS } else { UNEXPECTED })
}

/// The devices so far.
struct Survey<'a> {
    arguments: &'a CharacterizeArguments,
    only: &'a NameFilter,
    stop: Arc<StopSignal>,
    report: Option<ReportFiles>,
    devices: Devices,
}

/// Ctrl-C.
const STOPPED: &str = "stopped before all was known";

impl Survey<'_> {
    /// Takes the properties and the measurements of a device.
    fn take(&mut self, config: &WorkerConfig, device: &TestDevice) -> Result<(), AnyError> {
        let Self { arguments, only, stop, report, devices } = self;
        let id = &device.run.id;
        let mut session = DeviceSession::new(device, config, stop);
        let mut found = CharacterizedDevice::new(&device.run.platform.name, &device.run.info);
        match session.characterization() {
            Ok(mut known) => {
                known.table.retain(|name, _| only.has(name));
                found.characterization = Some(*known);
            }
            Err(lost) => {
                let reason = lost.reason().ok_or(STOPPED)?;
                status_line(&format!("{id}: {reason}"));
                found.error = Some(reason);
            }
        }
        let usual = usual_settings(device, found.characterization.as_ref());
        let settings = Settings {
            budget: arguments.budget.unwrap_or(usual.budget),
            memory: arguments.memory.map_or(usual.memory, |memory| memory.as_u64()),
            ..usual
        };
        devices.insert(id.clone(), found);
        if !arguments.measure {
            return Ok(());
        }
        let topics = only.topics();
        let shares = Shares::new(&topics, &settings);
        for (position, topic) in topics.iter().enumerate() {
            status_line(&format!("{id}: {} ({} of {})", topic.name(), position + 1, topics.len()));
            let measured = session.measured(*topic, &shares.of(*topic)).ok_or(STOPPED)?;
            devices[id].add(measured.into_iter().filter(|measured| only.has(&measured.name)));
            // The end of this process then costs no more than the running topic.
            if let Some(report) = report {
                report.save(devices)?;
            }
        }
        Ok(())
    }

    /// Shows the answers so far, which may not be all.
    fn finish(&mut self, is_all: bool) -> Result<(), AnyError> {
        let has_some = is_all || !self.devices.is_empty();
        let printed = if has_some { self.arguments.print(&self.devices) } else { Ok(()) };
        // The files are complete even if the output is not.
        let Some(report) = &mut self.report else { return printed };
        if is_all {
            report.save(&self.devices)?;
        }
        if let Some(folder) = report.finish(&self.devices)? {
            status_line(&format!("Reports: {}", folder.display()));
        }
        printed
    }
}

impl CharacterizeArguments {
    /// Creates the report folder, if reports are wanted.
    fn report(&self, setup: &Setup) -> Result<Option<ReportFiles>, AnyError> {
        if !self.measure && self.report_dir.is_none() {
            return Ok(None);
        }
        let folder = self.report_dir.clone().unwrap_or_else(|| setup.report_folder());
        let report = ReportFiles::new(folder.clone());
        let of_folder = |error| format!("the report folder {}: {error}", folder.display());
        Ok(Some(report.map_err(of_folder)?))
    }

    fn print(&self, devices: &Devices) -> Result<(), AnyError> {
        let is_terminal = self.format == Format::Table && std::io::stdout().is_terminal();
        let curves = |device: &CharacterizedDevice| -> Vec<String> {
            let curves = device.curves();
            let wanted = curves.iter().filter(|_| self.plot || is_terminal);
            wanted.map(|(name, curve)| terminal::plot(name, curve)).collect()
        };
        let note = |reason: &String| format!("It does not answer: {reason}");
        let pages = devices.iter().map(|(id, device)| Page {
            titles: vec![device.title(id)],
            notes: device.error.iter().map(note).collect(),
            table: Some(device.text_table()),
            curves: curves(device),
        });
        self.format.print(devices, pages)
    }

    fn print_comparison(&self, a: &Path, b: &Path, only: &NameFilter) -> Result<u8, AnyError> {
        let (ours, theirs) = (compare::read(a)?, compare::read(b)?);
        let pairs = compare::pairs(&ours, &theirs, |name| only.has(name))?;
        let pages = pairs.iter().map(|pair| Page {
            titles: pair.titles().to_vec(),
            notes: pair.errors(),
            table: Some(pair.text_table()),
            curves: Vec::new(),
        });
        self.format.print(&pairs, pages)?;
        for (file, devices, others) in [(a, &ours, &theirs), (b, &theirs, &ours)] {
            if pairs.len() < devices.len() {
                let alone = compare::without_pair(devices, others).join(", ");
                status_line(&format!("only in {}: {alone}", file.display()));
            }
        }
        Ok(SUCCESS)
    }
}
