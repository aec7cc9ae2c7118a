//! The event log of a run of clmatrix.

use std::collections::HashSet;
use std::fs;
use std::path::Path;

use anyhow::{Context, Result, bail};
use clmatrix_runner::result::test_id::TestId;
use serde_json::Value;

use super::device::Device;
use crate::files::{self, cannot};

/// The results of a run.
pub struct RunLog {
    /// The day of the run.
    pub date: String,
    pub devices: Vec<Device>,
}

impl RunLog {
    /// Reads the log of the only run in a folder of reports.
    pub fn read(report: &Path) -> Result<Self> {
        let runs = files::entries(&report.join("runs"))?;
        let [run] = &runs[..] else { bail!("{} has {} runs", report.display(), runs.len()) };
        let path = run.join("events.jsonl");
        let text = fs::read_to_string(&path).with_context(|| cannot("read", &path))?;
        parse(&text).with_context(|| cannot("understand", &path))
    }

    /// The first device of each driver.
    pub fn first_devices(&self) -> Vec<&Device> {
        let mut seen = HashSet::new();
        self.devices.iter().filter(|device| seen.insert(&device.library)).collect()
    }
}

fn parse(text: &str) -> Result<RunLog> {
    let mut log = RunLog { date: String::new(), devices: Vec::new() };
    let mut skips = HashSet::new();
    for line in text.lines() {
        let event: Value = serde_json::from_str(line)?;
        match event["event"].as_str() {
            Some("run") => {
                let time = event["time"].as_str().unwrap_or_default();
                log.date = time.split('T').next().unwrap_or_default().to_owned();
            }
            Some("expectation") => {
                let status = &event["status"];
                let is_skip = |list: &Vec<Value>| list.iter().any(|status| status == "skip");
                if status == "skip" || status.as_array().is_some_and(is_skip) {
                    skips.extend(event["number"].as_u64());
                }
            }
            Some("device") => log.devices.push(Device::new(&event)),
            Some("finished") => {
                let id = TestId::parse(event["test"].as_str().unwrap_or_default());
                // Results without a device are those of lists.
                if let Some(device) = log.devices.iter_mut().find(|known| known.id == id.device()) {
                    device.add(id.path(), &event, &skips);
                }
            }
            _ => {}
        }
    }
    Ok(log)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_last_result_of_a_test_counts() {
        let log = parse(concat!(
            r#"{"event":"run","time":"2026-11-23T15:00:00Z"}"#,
            "\n",
            r#"{"event":"device","device":{"id":"a"},"driver":{"file":"/a.so"}}"#,
            "\n",
            r#"{"event":"device","device":{"id":"b"},"driver":{"file":"/a.so"}}"#,
            "\n",
            r#"{"event":"finished","test":"cts::x::y@a","outcome":"crashed","cause":{"kind":"signal","signal":"SIGSEGV"},"attempt":1}"#,
            "\n",
            r#"{"event":"finished","test":"cts::x::y@a","outcome":"failed","message":"bad","attempt":2}"#,
        ));
        let log = log.unwrap();
        assert_eq!((&*log.date, log.devices.len()), ("2026-11-23", 2));
        let [first] = log.first_devices()[..] else { panic!("one driver") };
        let result = &first.results["cts::x::y"];
        assert_eq!((&*result.word, &*result.message), ("fail", "bad"));
    }

    #[test]
    fn an_expectation_skips_tests() {
        let log = parse(concat!(
            r#"{"event":"expectation","number":1,"status":"fail"}"#,
            "\n",
            r#"{"event":"expectation","number":2,"status":"skip"}"#,
            "\n",
            r#"{"event":"device","device":{"id":"a"}}"#,
            "\n",
            r#"{"event":"finished","test":"x@a","outcome":"failed","attempt":1,"expectation":1}"#,
            "\n",
            r#"{"event":"finished","test":"y@a","outcome":"skipped","attempt":1,"expectation":2}"#,
        ));
        let results = &log.unwrap().devices[0].results;
        assert!(results["x"].has_run && !results["y"].has_run);
    }
}
