//! The page of a run, in Markdown.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write;
use std::time::Duration;

use super::device::{Device, TestResult};
use super::difference::Difference;
use super::run_log::RunLog;

/// The most characters of a message.
const LONGEST: usize = 160;

/// The source of the results.
pub struct Origin<'a> {
    /// The command line of the run.
    pub command: String,
    /// The name and the commit of each checkout.
    pub commits: Vec<(&'a str, String)>,
    /// The folder of the suite's checkout, with a slash at its end.
    pub folder: String,
}

/// Returns the page. `compared` has the results that differ from those of the programs by themselves.
pub fn text(origin: &Origin<'_>, log: &RunLog, compared: Option<&[Difference]>) -> String {
    let mut page = format!("# OpenCL conformance test suite, {}\n\n", log.date);
    // Writing to a string cannot fail.
    let _ = writeln!(page, "`{}`, with these sources:\n", origin.command);
    for (name, commit) in &origin.commits {
        let _ = writeln!(page, "- {name} {commit}");
    }
    page += "\n| device | platform | version | driver |\n|---|---|---|---|\n";
    for Device { id, platform, version, driver_version, .. } in &log.devices {
        let _ = writeln!(page, "| {id} | {platform} | {version} | {driver_version} |");
    }
    page += "\n## Results\n\n";
    page += &counts(&log.devices);
    page += "\n## By themselves\n\n";
    page += &match compared {
        None => "The programs did not run by themselves.\n".to_owned(),
        Some(differences) => comparison(log, differences),
    };
    page += "\n## Tests that did not pass\n\nSkipped tests are not in the table. ";
    page += "`config/expectations/cts/` has the reasons.\n\n";
    page += "| test | device | result | message |\n|---|---|---|---|\n";
    for device in &log.devices {
        for (test, TestResult { word, message, .. }) in &device.results {
            if word != "pass" && word != "skip" {
                // The compiler puts the absolute paths of the checkouts into messages.
                let message = cell(&message.replace(&origin.folder, ""));
                let _ = writeln!(page, "| {test} | {} | {word} | {message} |", device.id);
            }
        }
    }
    page
}

/// The results that differ, and the tests that were not compared.
fn comparison(log: &RunLog, differences: &[Difference]) -> String {
    let devices = log.first_devices();
    let mut text = match differences {
        [] => {
            let devices: Vec<&str> = devices.iter().map(|device| &*device.id).collect();
            let devices = devices.join(", ");
            format!("Each program, started without clmatrix, has the same results on {devices}.\n")
        }
        differences => differences.iter().map(|line| format!("- {line}\n")).collect(),
    };
    let mut skipped = Vec::new();
    for Device { id, results, .. } in devices {
        let not_run = results.iter().filter(|(_, result)| !result.has_run);
        skipped.extend(not_run.map(|(test, _)| format!("- {test}@{id}\n")));
    }
    if !skipped.is_empty() {
        text += "\nNot compared, since clmatrix did not run them:\n\n";
        text += &skipped.concat();
    }
    text
}

/// The number of results of each word, by group and device, and the time of each device.
fn counts(devices: &[Device]) -> String {
    let mut table = "| group |".to_owned();
    for device in devices {
        let _ = write!(table, " {} |", device.id);
    }
    let _ = writeln!(table, "\n|---|{}", "---|".repeat(devices.len()));
    let group = |path: &str| path.rsplit_once("::").map_or(path, |(group, _)| group).to_owned();
    let groups: BTreeSet<String> =
        devices.iter().flat_map(|device| device.results.keys().map(|path| group(path))).collect();
    for name in groups {
        let _ = write!(table, "| {name} |");
        for device in devices {
            let mut words: BTreeMap<&str, usize> = BTreeMap::new();
            for (path, result) in &device.results {
                if group(path) == name {
                    *words.entry(&result.word).or_default() += 1;
                }
            }
            let words: Vec<String> =
                words.iter().map(|(word, count)| format!("{count} {word}")).collect();
            let _ = write!(table, " {} |", words.join(", "));
        }
        table += "\n";
    }
    table += "| time |";
    for device in devices {
        let time: Duration = device.results.values().map(|result| result.duration).sum();
        let _ = write!(table, " {:.0} s |", time.as_secs_f64());
    }
    table + "\n"
}

/// A message as the cell of a table.
fn cell(message: &str) -> String {
    let text: String = message.chars().take(LONGEST).collect();
    text.trim().replace('|', "\\|").replace('<', "&lt;")
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use serde_json::json;

    use super::*;

    #[test]
    fn a_page_has_counts_failures_and_differences() {
        let mut device = Device::new(&json!({"device": {"id": "a"}}));
        for (test, outcome, message) in
            [("x", "passed", ""), ("y", "failed", "a|b /src/c.cpp:1\nd"), ("z", "skipped", "no")]
        {
            let expectation = if test == "z" { 1 } else { 2 };
            let event = json!({"outcome": outcome, "message": message, "attempt": 1,
                "expectation": expectation, "duration_ns": 2_000_000_000_u64});
            device.add(&format!("cts::g::{test}"), &event, &HashSet::from([1]));
        }
        let log = RunLog { date: "2026-11-23".to_owned(), devices: vec![device] };
        let difference = Difference::new("cts::g::y@a".to_owned(), "fail", "pass");
        let origin = Origin {
            command: "cargo xtask cts".to_owned(),
            commits: vec![("OpenCL-CTS", "b8f8".to_owned())],
            folder: "/src/".to_owned(),
        };
        let page = text(&origin, &log, Some(&[difference]));
        for line in [
            "- OpenCL-CTS b8f8",
            "| cts::g | 1 fail, 1 pass, 1 skip |",
            "| time | 6 s |",
            "- cts::g::y@a: clmatrix fail, alone pass",
            "- cts::g::z@a",
            "| cts::g::y | a | fail | a\\|b c.cpp:1 |",
        ] {
            assert!(page.lines().any(|other| other == line), "{line}:\n{page}");
        }
        assert!(!page.contains("cts::g::z |"), "{page}");
    }
}
