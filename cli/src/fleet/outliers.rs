//! Measurements that are far from those of the same model.

use indexmap::IndexMap;
use serde::Serialize;

use super::host::{HostMeasurement, HostRun};
use crate::compare::speed::median;

/// The number of median deviations from the median above which a value is an outlier.
const DEVIATIONS: f64 = 3.0;

/// A measurement that is far from those of the same model.
#[derive(Debug, Serialize)]
pub(crate) struct Outlier {
    #[serde(flatten)]
    pub(crate) measured: HostMeasurement,
    /// The median of the model.
    pub(crate) median: f64,
}

/// Returns the values that are off the median of their model by more than three median deviations and more
/// than their own spread, the farthest first.
pub(crate) fn outliers(hosts: &[HostRun]) -> Vec<Outlier> {
    let mut groups: IndexMap<_, Vec<&HostMeasurement>> = IndexMap::new();
    for measured in hosts.iter().flat_map(|host| &host.measured) {
        groups.entry((&measured.model, &measured.name)).or_default().push(measured);
    }
    let mut outliers: Vec<Outlier> = groups.values().flat_map(|group| of_group(group)).collect();
    let distance = |outlier: &Outlier| (outlier.measured.value / outlier.median).ln().abs();
    outliers.sort_by(|a, b| distance(b).total_cmp(&distance(a)));
    outliers
}

fn of_group(group: &[&HostMeasurement]) -> Vec<Outlier> {
    let values = group.iter().map(|measured| measured.value);
    let middle = median(values.clone());
    let limit = DEVIATIONS * median(values.map(|value| (value - middle).abs()));
    let outlier = |measured: &&HostMeasurement| {
        let off = (measured.value - middle).abs();
        let outlier = || Outlier { measured: (*measured).clone(), median: middle };
        (off > limit && off > measured.spread).then(outlier)
    };
    group.iter().filter_map(outlier).collect()
}
