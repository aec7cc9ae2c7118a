//! The expectations of a run that were seen at other versions of its drivers: the failures that they explain, and
//! those that the driver has mended.

use std::collections::BTreeSet;

use clmatrix_harness::private::config::{VersionNumbers, WrittenExpectation};
use clmatrix_harness::private::log::run_log::RunLog;
use clmatrix_harness::private::text::{counted, one_line};
use clmatrix_harness::private::verdict::Verdict;
use indexmap::IndexMap;

/// The most entries that are listed.
const MOST: usize = 10;

/// Returns a line for each device with failures as on other versions of its driver.
pub(super) fn assumed(log: &RunLog) -> Vec<String> {
    let mut devices: IndexMap<&str, (usize, BTreeSet<VersionNumbers>)> = IndexMap::new();
    for result in log.results.iter().filter(|result| result.verdict == Verdict::AssumedFail) {
        let (count, seen) = devices.entry(result.test_and_device().1).or_default();
        *count += 1;
        seen.extend(result.expectation.iter().flat_map(|known| versions(known)));
    }
    let line = |(device, (count, seen)): (&str, (usize, BTreeSet<VersionNumbers>))| {
        let seen: Vec<_> = seen.iter().map(ToString::to_string).collect();
        let version = version_of(log, device);
        let results = counted(count, "result");
        format!("{results} on {}, {version}, as seen at {}", one_line(device), seen.join(", "))
    };
    devices.into_iter().map(line).collect()
}

/// Returns a line for each expectation and device where tests pass that failed at older versions of the driver.
pub(super) fn mended(log: &RunLog) -> Vec<String> {
    let mut entries: IndexMap<(u32, &str), (&WrittenExpectation, usize, usize)> = IndexMap::new();
    for result in &log.results {
        let Some(known) = result.expectation.as_deref() else { continue };
        let is_newer = || {
            let version = VersionNumbers::find(&version_of(log, result.test_and_device().1));
            version > versions(known).into_iter().max()
        };
        let is_mended = result.mended().is_some() && is_newer();
        if is_mended || result.verdict == Verdict::AssumedFail {
            let key = (known.number, result.test_and_device().1);
            let (_, mended, all) = entries.entry(key).or_insert((known, 0, 0));
            *mended += usize::from(is_mended);
            *all += 1;
        }
    }
    entries.retain(|_, (_, mended, _)| *mended > 0);
    let line =
        |((_, device), (known, mended, all)): (&(u32, &str), &(&WrittenExpectation, _, _))| {
            let seen = known.keys.get("driver-version").map_or("", String::as_str);
            let (version, place) = (version_of(log, device), known.place());
            format!("{place} ({seen}): {mended} of {all} pass on {}, {version}", one_line(device))
        };
    let mut lines: Vec<_> = entries.iter().take(MOST).map(line).collect();
    if let Some(more @ 1..) = entries.len().checked_sub(MOST) {
        lines.push(counted(more, "more expectation"));
    }
    lines
}

fn versions(known: &WrittenExpectation) -> Vec<VersionNumbers> {
    known
        .keys
        .get("driver-version")
        .map(|text| VersionNumbers::all(text).collect())
        .unwrap_or_default()
}

/// The version of the driver of a device.
fn version_of(log: &RunLog, device: &str) -> String {
    let found = log.header.devices.iter().find(|known| known.id == device);
    found.map_or_else(String::new, |known| one_line(&known.info.driver_version))
}
