//! The results of each device.

use foldhash::fast::RandomState;
use indexmap::IndexMap;

use crate::log::run_log::RunLog;
use crate::result::test_result::TestResult;

/// Returns the results of each device: the devices in the order of the run, then others that results name (the host).
pub fn by_device(log: &RunLog) -> IndexMap<&str, Vec<&TestResult>, RandomState> {
    let devices = log.header.devices.iter().map(|device| (device.id.as_str(), Vec::new()));
    let mut results: IndexMap<&str, Vec<&TestResult>, RandomState> = devices.collect();
    for result in &log.results {
        results.entry(result.test.device()).or_default().push(result);
    }
    results
}
