//! PyOpenCL as an oracle: what it answers for the devices that are here, and for many that are not,
//! beside what the library answers.
//!
//! PyOpenCL comes from PyPI into a virtual environment in cargo's target folder. `oracle.py` asks it;
//! the example `characterize` of the suites asks the library.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::Path;
use std::process::Command;

use anyhow::{Context, Result, ensure};
use clmatrix_runner::provision::Environment;
use serde_json::{Value, json};

use crate::files::cannot;
use crate::process;
use crate::venv;
use crate::workspace::{Workspace, executables};

/// The pinned packages.
const PINS: &str = include_str!("../oracle-pins.txt");

/// The number of made-up devices per recorded answer.
const RECORDED_ONE_IN: usize = 50;

/// Asks both, and returns how their answers differ. With `record`, PyOpenCL's are written to that
/// folder, where the tests find them.
pub fn run(
    workspace: &Workspace,
    devices: &Environment,
    record: Option<&Path>,
) -> Result<Vec<String>> {
    let folder = workspace.target.join("oracle");
    let python = venv::install(&folder, PINS)?;
    let ours = ask_library(workspace, devices)?;
    let question = folder.join("question.json");
    fs::write(&question, ours.to_string()).with_context(|| cannot("write", &question))?;
    let theirs = ask_pyopencl(workspace, devices, &python, &question)?;
    if let Some(folder) = record {
        write_records(folder, &theirs)?;
    }
    for group in ["real", "synthetic"] {
        println!("compared: {} {group} devices", entries(&theirs, group).len());
    }
    Ok(differences(&ours, &theirs))
}

fn ask_library(workspace: &Workspace, devices: &Environment) -> Result<Value> {
    let mut build = workspace.cargo();
    build.args(["build", "--package", "clmatrix-suites", "--example", "characterize"]);
    let [example] = executables(&mut build, ["characterize"])?;
    let mut ask = Command::new(example);
    devices.apply(&mut ask);
    answer(&mut ask)
}

fn ask_pyopencl(
    workspace: &Workspace,
    devices: &Environment,
    python: &Path,
    question: &Path,
) -> Result<Value> {
    let mut ask = Command::new(python);
    ask.arg(workspace.root.join("xtask/oracle.py")).arg(question);
    devices.apply(&mut ask);
    // A program in PyOpenCL's cache must not answer for the driver.
    answer(ask.env("PYOPENCL_NO_CACHE", "1"))
}

/// The JSON on the last line of what a command prints: drivers print, too.
fn answer(command: &mut Command) -> Result<Value> {
    let output = process::output(command)?;
    let errors = String::from_utf8_lossy(&output.stderr);
    ensure!(output.status.success(), "`{}` failed:\n{errors}", process::line(command));
    let text = String::from_utf8_lossy(&output.stdout);
    let last = text.lines().next_back().unwrap_or_default();
    serde_json::from_str(last)
        .with_context(|| format!("`{}` printed no JSON:\n{errors}", process::line(command)))
}

fn entries<'a>(document: &'a Value, group: &str) -> &'a [Value] {
    document[group].as_array().map_or(&[], Vec::as_slice)
}

/// A line for each answer in which the two documents differ.
fn differences(ours: &Value, theirs: &Value) -> Vec<String> {
    let mut lines = Vec::new();
    for group in ["real", "synthetic"] {
        let by_name = |document| -> BTreeMap<&str, &Value> {
            let entries = entries(document, group).iter();
            entries.map(|entry| (entry["device"].as_str().unwrap_or_default(), entry)).collect()
        };
        let (ours, theirs) = (by_name(ours), by_name(theirs));
        let names: BTreeSet<_> = ours.keys().chain(theirs.keys()).collect();
        for name in names {
            match (ours.get(name), theirs.get(name)) {
                (Some(ours), Some(theirs)) => {
                    let differing = differing_answers(ours, theirs);
                    lines.extend(differing.into_iter().map(|line| format!("{name}: {line}")));
                }
                (Some(_), None) => lines.push(format!("{name}: PyOpenCL does not see it")),
                _ => lines.push(format!("{name}: clmatrix does not see it")),
            }
        }
    }
    lines
}

fn differing_answers(ours: &Value, theirs: &Value) -> Vec<String> {
    let mut lines = Vec::new();
    let mut compare = |what: &str, ours: &Value, theirs: &Value| {
        if ours != theirs {
            lines.push(format!("{what}: clmatrix {ours}, PyOpenCL {theirs}"));
        }
    };
    // The library has facts that PyOpenCL does not ask for.
    for (name, fact) in theirs["facts"].as_object().into_iter().flatten() {
        compare(name, &ours["facts"][name], fact);
    }
    let names = |entry: &Value| -> Vec<String> {
        entry["answers"].as_object().into_iter().flatten().map(|(name, _)| name.clone()).collect()
    };
    let all: BTreeSet<_> = names(ours).into_iter().chain(names(theirs)).collect();
    for name in &all {
        compare(name, &ours["answers"][name], &theirs["answers"][name]);
    }
    let (ours, theirs) = (entries(ours, "conflicts"), entries(theirs, "conflicts"));
    compare("arrays", &ours.len().into(), &theirs.len().into());
    for (ours, theirs) in ours.iter().zip(theirs) {
        let what = format!("why_not_local_access_conflict_free of {}", ours["array"]);
        compare(&what, &ours["answer"], &theirs["answer"]);
    }
    lines
}

/// A file for each device, and one for some of those that were made up.
fn write_records(folder: &Path, theirs: &Value) -> Result<()> {
    fs::create_dir_all(folder).with_context(|| cannot("create", folder))?;
    let origin = |entries: &[Value]| json!({"pyopencl": theirs["pyopencl"], "date": theirs["date"], "devices": entries});
    for entry in entries(theirs, "real") {
        let name = slug(entry["device"].as_str().unwrap_or_default());
        write_record(&folder.join(name), &origin(std::slice::from_ref(entry)))?;
    }
    let some: Vec<_> =
        entries(theirs, "synthetic").iter().step_by(RECORDED_ONE_IN).cloned().collect();
    write_record(&folder.join("synthetic.json"), &origin(&some))
}

fn write_record(path: &Path, record: &Value) -> Result<()> {
    fs::write(path, format!("{}\n", lines_of(record))).with_context(|| cannot("write", path))
}

/// JSON with a line for each value of interest, so that changes can be read.
fn lines_of(record: &Value) -> String {
    let mut text = format!(
        "{{\"pyopencl\": {}, \"date\": {}, \"devices\": [\n",
        record["pyopencl"], record["date"]
    );
    let devices = entries(record, "devices").iter().map(|entry| {
        let mut parts: Vec<String> = Vec::new();
        for key in ["device", "builds", "facts", "answers"] {
            parts.push(format!("\"{key}\": {}", entry[key]));
        }
        let conflicts: Vec<_> = entries(entry, "conflicts").iter().map(Value::to_string).collect();
        parts.push(format!("\"conflicts\": [\n{}]", conflicts.join(",\n")));
        format!("{{{}}}", parts.join(",\n"))
    });
    text += &devices.collect::<Vec<_>>().join(",\n");
    text + "]}"
}

/// The platform's name as the name of a file.
fn slug(device: &str) -> String {
    let platform = device.split(" / ").next().unwrap_or_default().to_lowercase();
    let words =
        platform.split(|c: char| !c.is_ascii_alphanumeric()).filter(|word| !word.is_empty());
    format!("{}.json", words.collect::<Vec<_>>().join("-"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn document(answer: u32, multiplicity: u32) -> Value {
        json!({
            "real": [{
                "device": "a",
                "facts": {"vendor": "v"},
                "answers": {"bank_count": {"value": answer}},
                "conflicts": [{"array": "x", "answer": multiplicity}],
            }],
            "synthetic": [],
        })
    }

    #[test]
    fn each_answer_that_differs_has_a_line() {
        assert_eq!(differences(&document(1, 2), &document(1, 2)), [""; 0]);
        assert_eq!(
            differences(&document(1, 2), &document(3, 4)),
            [
                r#"a: bank_count: clmatrix {"value":1}, PyOpenCL {"value":3}"#,
                r#"a: why_not_local_access_conflict_free of "x": clmatrix 2, PyOpenCL 4"#,
            ]
        );
    }

    #[test]
    fn what_only_one_of_them_has_is_a_difference() {
        let nothing = json!({"real": [], "synthetic": []});
        assert_eq!(differences(&document(1, 2), &nothing), ["a: PyOpenCL does not see it"]);
        assert_eq!(differences(&nothing, &document(1, 2)), ["a: clmatrix does not see it"]);
        let mut fewer = document(1, 2);
        fewer["real"][0]["conflicts"] = json!([]);
        assert_eq!(differences(&fewer, &document(1, 2)), ["a: arrays: clmatrix 0, PyOpenCL 1"]);
        fewer = document(1, 2);
        fewer["real"][0]["answers"] = json!({});
        let line = r#"a: bank_count: clmatrix null, PyOpenCL {"value":1}"#;
        assert_eq!(differences(&fewer, &document(1, 2)), [line]);
    }

    #[test]
    fn a_record_is_json_and_has_a_name() {
        let record = json!({"pyopencl": "1", "date": "d", "devices": [
            {"device": "a", "builds": null, "facts": {}, "answers": {"x": 1}, "conflicts": [1, 2]},
            {"device": "b", "builds": null, "facts": {}, "answers": {}, "conflicts": []},
        ]});
        assert_eq!(serde_json::from_str::<Value>(&lines_of(&record)).unwrap(), record);
        assert_eq!(slug("Intel(R) OpenCL / x / 1 / 0"), "intel-r-opencl.json");
    }
}
