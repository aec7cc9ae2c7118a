//! `clmatrix diff`.

use clap::{Args, ValueEnum};
use clmatrix_runner::target::{SUCCESS, Target, UNEXPECTED};
use clmatrix_runner::terminal::AnyError;

use super::common::ReportPlace;
use crate::compare::difference::{DevicePairs, Difference};
use crate::compare::side::Side;
use crate::report::page::Format;
use crate::stored_runs;

pub const EXAMPLES: &str = "\
Examples:
  clmatrix diff 19a1 latest                 two stored runs
  clmatrix diff old/ new/ --format markdown the last runs of two report folders
  clmatrix diff a1 a2 a3 a4 a5 -- b1 b2 b3 b4 b5
                                            five runs on each side: also slower and faster tests
  clmatrix diff latest latest --devices pocl-cpu=rusticl-cpu
                                            two devices of a run";

#[derive(Args)]
pub struct DiffArguments {
    /// The runs A and B; or, before `--`, all runs of A. A run is a folder, a log file, an id or its
    /// beginning, or `latest`.
    #[arg(required = true, value_name = "A")]
    runs: Vec<String>,
    /// The runs of B.
    #[arg(last = true, value_name = "B")]
    others: Vec<String>,
    #[command(flatten)]
    place: ReportPlace,
    /// Compare only this device; or, with `a=b`, the device `a` of A with the device `b` of B; may be
    /// repeated [default: all devices that both sides have].
    #[arg(long, value_name = "A=B", value_delimiter = ',', value_parser = device_pair)]
    devices: Vec<(String, String)>,
    /// Print tables, JSON, or tables in Markdown.
    #[arg(long, value_enum, default_value_t = Format::Table)]
    format: Format,
    /// Show all rows of the tables, not only the first 20 of each.
    #[arg(long)]
    all: bool,
    /// Also compare runs that were killed or cut short.
    #[arg(long)]
    anyway: bool,
    /// Also exit with 1 if a test is slower.
    #[arg(long, value_enum, value_name = "WHAT")]
    fail_on: Option<FailOn>,
}

#[derive(Clone, Copy, PartialEq, Eq, ValueEnum)]
enum FailOn {
    Slower,
}

#[expect(clippy::unnecessary_wraps, reason = "clap wants a result")]
fn device_pair(text: &str) -> Result<(String, String), String> {
    let (a, b) = text.split_once('=').unwrap_or((text, text));
    Ok((a.to_owned(), b.to_owned()))
}

pub fn diff(target: Target, arguments: &DiffArguments) -> Result<u8, AnyError> {
    let reports = arguments.place.folder(target)?;
    let (a, b) = match (&arguments.runs[..], &arguments.others[..]) {
        ([a, b], []) => (std::slice::from_ref(a), std::slice::from_ref(b)),
        (_, []) => return Err("two runs are compared, or `A1 A2 -- B1 B2`".into()),
        sides => sides,
    };
    let side = |runs| Side::read(&stored_runs::find_all(&reports, runs)?, arguments.anyway);
    let (a, b) = (side(a)?, side(b)?);
    let pairs: Option<DevicePairs> =
        (!arguments.devices.is_empty()).then(|| arguments.devices.iter().cloned().collect());
    let difference = Difference::new(&a, &b, pairs)?;
    let pages = difference.pages(arguments.all);
    arguments.format.print(&difference, pages.into_iter())?;
    let fails = difference.has_regression()
        || arguments.fail_on == Some(FailOn::Slower) && difference.has_slower();
    Ok(if fails { UNEXPECTED } else { SUCCESS })
}
