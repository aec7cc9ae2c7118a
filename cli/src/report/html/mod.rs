//! The page `report.html`: runs, devices and results in one file, which needs no network.
//!
//! The page has its data as JSON in `script` elements that are not run: the list of tests, for each run its header,
//! and for each device of a run one element with the results and one with the outputs. The elements are written one
//! after the other, so that the page is never in memory as a whole. `page.js` shows them. The content policy of the
//! page forbids all requests, and all scripts and styles but its own.

mod device_results;
mod run_data;
mod test_list;
#[cfg(test)]
mod tests;

use std::io::{self, Write};

use base64::Engine;
use base64::prelude::BASE64_STANDARD;
use clmatrix_characterize::Devices;
use clmatrix_runner::log::run_log::RunLog;
use clmatrix_runner::report::by_device;
use serde::Serialize;
use serde_json::{Value, json};
use sha2::{Digest, Sha256};

use super::tally::{Kind, ORDER};
use device_results::{DeviceResults, outputs};
use run_data::RunData;
use test_list::{MOST_RESULTS, TestList};

/// The page, with places for the content policy, the style, the data and the script.
const PAGE: &str = include_str!("page.html");
const STYLE: &str = include_str!("page.css");
const SCRIPT: &str = concat!(
    include_str!("data.js"),
    include_str!("rows.js"),
    include_str!("cells.js"),
    include_str!("keys.js"),
    include_str!("panel.js"),
    include_str!("page.js"),
);

/// The most bytes of messages and reasons on a page.
const MOST_TEXT: usize = 4 << 20;

/// The most bytes of outputs on a page.
const MOST_OUTPUT: usize = 2 << 20;

/// The escapes of `<`, which could end the element or begin a comment, and of the ends of lines of Unicode. JSON has
/// them in strings only.
const ESCAPES: [(char, &str); 3] =
    [('<', r"\u003c"), ('\u{2028}', r"\u2028"), ('\u{2029}', r"\u2029")];

/// The first data of the page.
#[derive(Serialize)]
struct Head<'a> {
    /// The letter and the meaning of each verdict, and whether it is unexpected.
    verdicts: [Value; ORDER.len()],
    tests: &'a TestList<'a>,
    runs: usize,
    /// The suite of tests at the root of a target.
    target: &'a str,
}

/// Writes a page with these runs, the newest first. Curves are taken from `characterized` for devices of the
/// same id, name and driver.
///
/// # Errors
///
/// The page cannot be written.
pub(crate) fn write(
    runs: &[&RunLog],
    characterized: &Devices,
    to: &mut impl Write,
) -> io::Result<()> {
    let page = PAGE.replace("{{policy}}", &policy()).replace("{{style}}", STYLE);
    let page = page.replace("{{script}}", SCRIPT);
    let (head, tail) = page.split_once("{{data}}").expect("a place for the data");
    to.write_all(head.as_bytes())?;
    let tests = TestList::new(runs, MOST_RESULTS);
    let verdicts = ORDER.map(|verdict| {
        let Kind { letter, meaning, .. } = Kind::of(verdict);
        json!({ "letter": letter, "meaning": meaning, "unexpected": !verdict.is_as_expected() })
    });
    let target = runs.first().map_or("", |log| &log.header.target);
    let data = Head { verdicts, tests: &tests, runs: runs.len(), target };
    write_json(to, "data", &data)?;
    let by_device: Vec<_> = runs.iter().map(|log| by_device(log)).collect();
    let mut devices = by_device.iter().map(|results| results.len()).sum();
    let (mut text_room, mut output_room) = (MOST_TEXT, MOST_OUTPUT);
    for (run, (log, by_device)) in runs.iter().zip(by_device).enumerate() {
        let ids: Vec<&str> = by_device.keys().copied().collect();
        write_json(to, &format!("run-{run}"), &RunData::new(log, &ids, characterized))?;
        for (device, results) in by_device.into_values().enumerate() {
            let texts = within_share(&mut text_room, devices, |room| {
                DeviceResults::new(log, &tests, &results, room)
            });
            write_json(to, &format!("results-{run}-{device}"), &texts)?;
            let outputs =
                within_share(&mut output_room, devices, |room| outputs(log, &results, room));
            write_json(to, &format!("outputs-{run}-{device}"), &outputs)?;
            devices -= 1;
        }
    }
    to.write_all(tail.as_bytes())
}

/// Returns the content policy: nothing but the page's own script and style.
fn policy() -> String {
    let [script, style] = [SCRIPT, STYLE].map(|text| BASE64_STANDARD.encode(Sha256::digest(text)));
    format!(
        "default-src 'none'; script-src 'sha256-{script}'; style-src 'sha256-{style}'; \
         base-uri 'none'; form-action 'none'"
    )
}

/// Writes data as JSON in a `script` element with this id.
fn write_json(to: &mut impl Write, id: &str, data: &impl Serialize) -> io::Result<()> {
    let mut json = serde_json::to_string(data)?;
    for (special, escape) in ESCAPES {
        json = json.replace(special, escape);
    }
    writeln!(to, "<script type=\"application/json\" id=\"{id}\">{json}</script>")
}

/// Makes a part of the page for the first of these devices, within its share of the room. The bytes that are left go
/// to the next devices.
fn within_share<T>(room: &mut usize, devices: usize, make: impl FnOnce(&mut usize) -> T) -> T {
    let share = *room / devices;
    let mut left = share;
    let made = make(&mut left);
    *room -= share - left;
    made
}
