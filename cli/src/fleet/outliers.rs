//! Measurements that are far from those of the same model.

use clmatrix_characterize::measure::{Unit, Value};
use indexmap::IndexMap;
use serde::Serialize;

use super::host::{HostMeasurement, HostRun};
use crate::compare::speed::median;

/// The number of median deviations from the median above which a value is an outlier.
const DEVIATIONS: f64 = 3.0;

/// A measurement that is far from those of the same model.
#[derive(Debug, Serialize)]
pub(crate) struct Outlier {
    /// The host.
    pub(crate) host: String,
    /// The id of the device.
    pub(crate) device: String,
    /// The name of the measurement.
    pub(crate) name: String,
    /// The value.
    pub(crate) value: f64,
    /// The median of the model.
    pub(crate) median: f64,
    /// The unit of both.
    pub(crate) unit: Unit,
}

/// A measurement of a host that is a number.
type Number<'a> = (&'a HostRun, &'a HostMeasurement, f64);

/// Returns the values that are off the median of their model by more than three median deviations and more
/// than their own spread, the farthest first.
pub(crate) fn outliers(hosts: &[HostRun]) -> Vec<Outlier> {
    let mut groups: IndexMap<(&str, &str), Vec<Number<'_>>> = IndexMap::new();
    for host in hosts {
        for measured in &host.measured {
            if let Value::Number(number) = measured.finding.value {
                let group = groups.entry((&measured.model, &measured.name)).or_default();
                group.push((host, measured, number));
            }
        }
    }
    let mut outliers: Vec<Outlier> = groups.values().flat_map(|group| of_group(group)).collect();
    let distance = |outlier: &Outlier| (outlier.value / outlier.median).ln().abs();
    outliers.sort_by(|a, b| distance(b).total_cmp(&distance(a)));
    outliers
}

fn of_group(group: &[Number<'_>]) -> Vec<Outlier> {
    let numbers: Vec<f64> = group.iter().map(|(_, _, number)| *number).collect();
    let middle = median(&numbers);
    let deviations: Vec<f64> = numbers.iter().map(|number| (number - middle).abs()).collect();
    let limit = DEVIATIONS * median(&deviations);
    let outlier = |(host, measured, number): &Number<'_>| {
        let off = (number - middle).abs();
        (off > limit && off > measured.finding.spread).then(|| Outlier {
            host: host.host.clone(),
            device: measured.device.clone(),
            name: measured.name.clone(),
            value: *number,
            median: middle,
            unit: measured.finding.unit,
        })
    };
    group.iter().filter_map(outlier).collect()
}
