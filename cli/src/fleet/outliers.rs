//! Measurements that are far from those of the same model.

use clmatrix_characterize::measure::Unit;
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

/// Returns the values that are off the median of their model by more than three median deviations and more
/// than their own spread, the farthest first.
pub(crate) fn outliers(hosts: &[HostRun]) -> Vec<Outlier> {
    let mut groups: IndexMap<_, Vec<(&HostRun, &HostMeasurement)>> = IndexMap::new();
    for host in hosts {
        for measured in &host.measured {
            groups.entry((&measured.model, &measured.name)).or_default().push((host, measured));
        }
    }
    let mut outliers: Vec<Outlier> = groups.values().flat_map(|group| of_group(group)).collect();
    let distance = |outlier: &Outlier| (outlier.value / outlier.median).ln().abs();
    outliers.sort_by(|a, b| distance(b).total_cmp(&distance(a)));
    outliers
}

fn of_group(group: &[(&HostRun, &HostMeasurement)]) -> Vec<Outlier> {
    let values = group.iter().map(|(_, measured)| measured.value);
    let middle = median(values.clone());
    let limit = DEVIATIONS * median(values.map(|value| (value - middle).abs()));
    let outlier = |(host, measured): &(&HostRun, &HostMeasurement)| {
        let off = (measured.value - middle).abs();
        (off > limit && off > measured.spread).then(|| Outlier {
            host: host.host.clone(),
            device: measured.device.clone(),
            name: measured.name.clone(),
            value: measured.value,
            median: middle,
            unit: measured.unit,
        })
    };
    group.iter().filter_map(outlier).collect()
}
