//! The reports of a run on Linux and of one under Wine, with the same tests and drivers.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result, bail, ensure};
use serde_json::Value;

use crate::files::cannot;
use crate::process;

/// The results under Wine that may differ: those that config/wine expects, and tests without what they require there.
const EXPLAINED: [&str; 3] =
    ["expected-fail: ", NO_FUNCTION, "skip: the address space cannot have an end"];

/// The beginning of the result of a test that needs a function which the loader lacks, by LOADER-5.
const NO_FUNCTION: &str = "skip: the OpenCL loader has no ";

/// The fields of the log that are of Linux alone, and the one that names an expectation of config/wine.
const OF_ONE: [&str; 4] = ["build_id", "driver", "resident_bytes", "expectation"];

/// Fails unless the verdicts, the JUnit files and the logs of two folders of reports say the same, but for what is
/// explained.
pub fn check(clmatrix: &Path, linux: &Path, wine: &Path) -> Result<()> {
    let differ = differing(clmatrix, linux, wine)?;
    let [linux, wine] = [newest_run(linux)?, newest_run(wine)?];
    same(&junit(&linux, &differ)?, &junit(&wine, &differ)?)?;
    same(&fields(&linux, &differ)?, &fields(&wine, &differ)?)
}

/// Returns the ids of the tests whose results differ.
fn differing(clmatrix: &Path, linux: &Path, wine: &Path) -> Result<BTreeSet<String>> {
    let mut diff = Command::new(clmatrix);
    diff.args(["diff", "--format=json"]).args([linux, wine]);
    let output = process::output(&mut diff)?;
    ensure!(output.status.success(), "`{}` failed", process::line(&diff));
    let json: Value = serde_json::from_slice(&output.stdout)?;
    let changes = json["changes"].as_object().context("the changes are an object")?;
    let rows: Vec<&Value> = changes.values().filter_map(Value::as_array).flatten().collect();
    let of_wine = |row: &&Value| row["b"].as_str().unwrap_or_default().to_owned();
    for row in &rows {
        let explained = EXPLAINED.iter().any(|explained| of_wine(row).starts_with(explained));
        ensure!(explained, "not explained: {row}");
    }
    let is_of_svm = |row: &&Value| of_wine(row).starts_with(&format!("{NO_FUNCTION}clSVMAlloc"));
    ensure!(rows.iter().any(is_of_svm), "no test is skipped for want of clSVMAlloc");
    Ok(rows.iter().filter_map(|row| row["test"].as_str()).map(str::to_owned).collect())
}

/// Returns the folder of the newest run. Ids sort by time.
fn newest_run(reports: &Path) -> Result<PathBuf> {
    let folder = reports.join("runs");
    let runs = fs::read_dir(&folder).with_context(|| cannot("read", &folder))?;
    let runs = runs.map(|run| run.map(|run| run.path())).collect::<Result<Vec<_>, _>>()?;
    runs.into_iter().max().with_context(|| format!("no run in {}", folder.display()))
}

/// Values by the name of a result or an event.
type Named = BTreeMap<String, BTreeSet<String>>;

/// Returns the elements within each test case of the JUnit files, but for those of output.
fn junit(run: &Path, differ: &BTreeSet<String>) -> Result<Named> {
    let mut found = Named::new();
    for file in fs::read_dir(run.join("junit"))? {
        let text = fs::read_to_string(file?.path())?;
        for case in text.split("<testcase ").skip(1) {
            let value = |name: &str| {
                let (_, rest) = case.split_once(&format!("{name}=\""))?;
                rest.split_once('"').map(|(value, _)| value)
            };
            let name = value("name").context("a test case has a name")?;
            let class = value("classname").context("a test case has a class")?;
            let (device, suite) = class.split_once('.').context("a class has a suite")?;
            let id = format!("{suite}::{name}@{device}");
            let kinds = ["<failure ", "<error ", "<skipped "];
            let kinds = kinds.iter().filter(|kind| case.contains(*kind)).map(ToString::to_string);
            if !differ.contains(&id) {
                found.entry(id).or_default().extend(kinds);
            }
        }
    }
    Ok(found)
}

/// Returns the fields of each kind of event of the log, for each result by itself.
fn fields(run: &Path, differ: &BTreeSet<String>) -> Result<Named> {
    let log = run.join("events.jsonl");
    let text = fs::read_to_string(&log).with_context(|| cannot("read", &log))?;
    let mut found = Named::new();
    for line in text.lines() {
        let event: Value = serde_json::from_str(line)?;
        let kind = event["event"].as_str().context("an event has a kind")?;
        let test = event["test"].as_str().unwrap_or_default();
        if !differ.contains(test) {
            let fields = event.as_object().into_iter().flat_map(|event| event.keys().cloned());
            let common = fields.filter(|field| !OF_ONE.contains(&field.as_str()));
            found.entry(format!("{kind} {test}")).or_default().extend(common);
        }
    }
    Ok(found)
}

fn same(linux: &Named, wine: &Named) -> Result<()> {
    let names: BTreeSet<&String> = linux.keys().chain(wine.keys()).collect();
    for name in names {
        let (on_linux, on_wine) = (linux.get(name), wine.get(name));
        if on_linux != on_wine {
            bail!("{name} has {on_linux:?} on Linux and {on_wine:?} under Wine");
        }
    }
    Ok(())
}
