//! The expectations of a run that were seen at other versions of its drivers: the results that they explain, and the
//! failures that the driver has fixed.

use clmatrix_runner::config::{VersionNumbers, WrittenExpectation};
use clmatrix_runner::log::run_log::RunLog;
use clmatrix_runner::text::{counted, one_line};
use clmatrix_runner::verdict::Verdict;
use indexmap::{IndexMap, IndexSet};

/// Returns a line for each device with failures as on other versions of its driver.
pub(super) fn assumed(log: &RunLog) -> Vec<String> {
    let mut devices: IndexMap<&str, (usize, IndexSet<&str>)> = IndexMap::new();
    for result in log.results.iter().filter(|result| result.verdict == Verdict::AssumedFail) {
        let (count, seen) = devices.entry(result.test.device()).or_default();
        *count += 1;
        let known = result.expectation.as_deref();
        seen.extend(known.and_then(WrittenExpectation::driver_version));
    }
    let line = |(device, (count, seen)): (&str, (usize, IndexSet<&str>))| {
        let seen: Vec<_> = seen.into_iter().map(one_line).collect();
        let (results, version) = (counted(count, "result"), version_of(log, device));
        format!("{results} on {}, {version}, as seen at {}", one_line(device), seen.join("; "))
    };
    devices.into_iter().map(line).collect()
}

/// Returns a line for each expectation and device where tests pass that failed at older versions of the driver, the
/// first `most` of them.
pub(super) fn mended(log: &RunLog, most: usize) -> Vec<String> {
    let mut entries: IndexMap<(u32, &str), (&WrittenExpectation, usize, usize)> = IndexMap::new();
    for result in &log.results {
        let Some(known) = result.expectation.as_deref() else { continue };
        let device = result.test.device();
        let is_newer = || VersionNumbers::find(&version_of(log, device)) > known.last_seen();
        let is_mended = result.mended().is_some() && is_newer();
        if is_mended || result.verdict == Verdict::AssumedFail {
            let (_, mended, all) = entries.entry((known.number, device)).or_insert((known, 0, 0));
            *mended += usize::from(is_mended);
            *all += 1;
        }
    }
    entries.retain(|_, (_, mended, _)| *mended > 0);
    let more = entries.len().saturating_sub(most);
    let lines = entries.into_iter().take(most).map(|((_, device), (known, mended, all))| {
        let seen = one_line(known.driver_version().unwrap_or_default());
        let (version, place) = (version_of(log, device), known.place());
        format!("{place} ({seen}): {mended} of {all} pass on {}, {version}", one_line(device))
    });
    lines.chain((more > 0).then(|| counted(more, "more expectation"))).collect()
}

/// Returns the version of the driver of a device.
fn version_of(log: &RunLog, device: &str) -> String {
    let found = log.header.devices.iter().find(|known| known.id == device);
    found.map_or_else(String::new, |known| one_line(&known.info.driver_version))
}
