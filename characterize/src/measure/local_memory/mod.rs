//! The shape of local memory, from the conflicts of work items there, and its size.

mod banks;
mod chase;
mod layouts;
mod size;

use super::finding::{Confidence, MeasureResult, NotMeasurable};
use super::measured::Sampled;
use super::simd::Lanes;
use super::topic_spec::TopicSpec;
use super::workbench::Workbench;
use crate::LocalMemType;
use banks::{Curve, Width};
use chase::Item;
use layouts::layouts;

pub(super) const SPEC: TopicSpec = TopicSpec {
    name: "local-memory",
    measurements: &[
        "usable_local_mem_size",
        "local_memory_bank_count",
        "local_memory_access_granularity",
        "why_not_local_access_conflict_free(4)",
        "why_not_local_access_conflict_free(8)",
    ],
    weight: 4.0,
    take,
};

fn take(bench: &Workbench) -> MeasureResult<Vec<Sampled>> {
    let share = |share| bench.budget.share(share);
    let size = size::usable(bench, 0.2);
    let curve = lanes(bench).and_then(|lanes| Curve::sample(bench, &share(0.2), lanes));
    let curve = curve.as_ref().map_err(Clone::clone);
    let width = curve.clone().and_then(|curve| Width::measure(bench, &share(0.1), curve));
    let four = curve.clone().and_then(|curve| layouts(bench, &share(0.15), curve, Item::Four));
    let eight = curve.clone().and_then(|curve| layouts(bench, &share(0.15), curve, Item::Eight));
    let taken = |taken: MeasureResult<Sampled>| taken.unwrap_or_else(Sampled::from);
    let count = curve.map(|curve| curve.taken(&width));
    let width = width.map(Width::taken);
    Ok([size, count, width, four, eight].map(taken).into())
}

/// Measures the number of work items that access banks at once, if there are banks, and its confidence.
fn lanes(bench: &Workbench) -> MeasureResult<(u32, Confidence)> {
    match bench.facts.local_mem_type {
        LocalMemType::Global => {
            return Err(NotMeasurable::new("local memory is cached global memory"));
        }
        LocalMemType::None => return Err(NotMeasurable::new("the device has no local memory")),
        LocalMemType::Local => {}
    }
    let lanes = Lanes::measure(bench, &bench.budget.share(0.2)).and_then(|lanes| lanes.found());
    lanes.map_err(|missing| {
        let reason = missing.reason;
        NotMeasurable::new(format!(
            "the number of work items that access it at once is unknown: {reason}"
        ))
    })
}
