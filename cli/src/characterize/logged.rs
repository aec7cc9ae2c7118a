//! Measurements in the log of a run, which is plain data.

use clmatrix_characterize::measure::Measured;
use clmatrix_runner::log::run_log::RunLog;
use serde_json::{Map, Value};

/// Returns the measurements of a device in a log; those that this version cannot read are left out.
pub(crate) fn logged(log: &RunLog, device: &str) -> Vec<Measured> {
    let measured = log.measured.get(device).into_iter().flatten();
    measured.filter_map(|fields| serde_json::from_value(fields.clone().into()).ok()).collect()
}

/// Returns measurements in the form of the log.
pub(crate) fn to_log(measured: &[Measured]) -> Vec<Map<String, Value>> {
    let fields = |measured| match serde_json::to_value(measured) {
        Ok(Value::Object(fields)) => fields,
        other => unreachable!("a measurement is a map, and not {other:?}"),
    };
    measured.iter().map(fields).collect()
}
