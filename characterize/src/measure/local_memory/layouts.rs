//! A check that work items meet at banks as predicted.

use super::super::clock::Budget;
use super::super::estimate::{Scale, Summary, meeting};
use super::super::finding::{Confidence, Finding, MeasureResult, NotMeasurable, Unit, Value};
use super::super::measured::Sampled;
use super::super::series::{Point, Series};
use super::super::workbench::Workbench;
use super::banks::Curve;
use super::chase::{Item, Pattern, time_each};
use crate::bank_conflict::element;

/// The shapes that are accessed and stored; at most 10 KiB of 8-byte items.
const SHAPES: [(&[usize], &[usize]); 10] = [
    (&[1024], &[1024]),
    (&[32, 32], &[32, 32]),
    (&[32, 32], &[32, 33]),
    (&[32, 32], &[32, 34]),
    (&[32, 32], &[32, 36]),
    (&[64, 16], &[64, 16]),
    (&[64, 16], &[64, 17]),
    (&[64, 8], &[64, 8]),
    (&[8, 8, 8], &[8, 8, 8]),
    (&[8, 8, 8], &[8, 8, 9]),
];

/// Samples each shape's accesses along their slowest axis, against the prediction of
/// `why_not_local_access_conflict_free`.
pub(super) fn layouts(
    bench: &Workbench,
    budget: &Budget,
    curve: &Curve,
    item: Item,
) -> MeasureResult<Sampled> {
    let period = curve.period.clone()?;
    let lanes = curve.lanes;
    let mut patterns = references(item, lanes, period.words);
    let first_shape = patterns.len();
    patterns.extend(SHAPES.iter().flat_map(|shape| along_axes(item, shape, lanes)));
    if patterns.iter().any(|pattern| pattern.bytes() as u64 > bench.facts.local_mem_size) {
        return Err(NotMeasurable::new("local memory is too small for the arrays"));
    }
    let points = time_each(bench, budget, &patterns)?;
    let (references, mut points) = points.split_at(first_shape);
    let [few, all, full] = references else { unreachable!("there are three") };
    let few = (&few.samples[..], meeting(period.words, lanes, 1));
    let scale = Scale::new(few, (&all.samples, lanes), &full.samples)?;
    let mut layouts = Vec::new();
    for (shape, stored) in SHAPES {
        let access =
            bench.facts.why_not_local_access_conflict_free(item.size(), shape, Some(stored));
        let (of_shape, rest) = points.split_at(shape.len());
        points = rest;
        layouts.push(Point { x: access?.value.multiplicity as f64, samples: slowest(of_shape) });
    }
    layouts.sort_by(|a, b| a.x.total_cmp(&b.x));
    let answer = agreement(&layouts, &scale, period.confidence);
    let x = ("predicted multiplicity", Unit::Count);
    let y = ("time per access", Unit::Nanoseconds);
    Ok(Sampled::new(Ok(answer), [Series::new(x, y, layouts)]))
}

/// Returns accesses of words at which few work items meet, accesses at which all meet, and accesses of the
/// items at which all meet.
fn references(item: Item, lanes: u32, period: u32) -> Vec<Pattern> {
    let items = period * Item::Four.size() as u32 / item.size() as u32;
    vec![
        Pattern::strided(Item::Four, lanes, 1),
        Pattern::strided(Item::Four, lanes, period),
        Pattern::strided(item, lanes, items),
    ]
}

/// Returns accesses along each axis of an array.
fn along_axes(
    item: Item,
    (shape, stored): &(&[usize], &[usize]),
    lanes: u32,
) -> impl Iterator<Item = Pattern> {
    let pattern = move |axis| Pattern { item, starts: along(axis, shape, stored, lanes) };
    (0..shape.len()).map(pattern)
}

/// Returns the samples of the slowest axis.
fn slowest(axes: &[Point]) -> Vec<f64> {
    let median = |point: &Point| Summary::from_samples(&point.samples).median;
    let slowest = axes.iter().max_by(|a, b| median(a).total_cmp(&median(b)));
    slowest.map(|point| point.samples.clone()).unwrap_or_default()
}

/// Returns the items of the array that neighbouring work items access along an axis.
fn along(axis: usize, shape: &[usize], stored: &[usize], lanes: u32) -> Vec<u32> {
    let indices = (0..lanes as usize).map_while(|lane| element(shape, axis, lane));
    let offset = |index: Vec<usize>| {
        index.iter().zip(stored).fold(0, |offset, (at, length)| offset * length + at)
    };
    indices.map(|index| offset(index) as u32).collect()
}

/// Counts the predictions that hold, with at most the confidence of the scale.
fn agreement(layouts: &[Point], scale: &Scale, most: Confidence) -> Finding {
    let verdicts = layouts.iter().map(|layout| scale.verdict(layout.x, &layout.samples));
    let (mut agree, mut confidence) = (0, most);
    for verdict in verdicts {
        agree += usize::from(verdict.agrees);
        confidence = confidence.min(verdict.confidence);
    }
    let value = Value::Name(format!("{agree} of {} predictions hold", layouts.len()));
    Finding::exact(value, Unit::Count, confidence)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn work_items_go_along_an_axis_and_slower_ones() {
        assert_eq!(along(0, &[2, 3], &[2, 4], 9), [0, 1, 2, 4, 5, 6]);
        assert_eq!(along(1, &[2, 3], &[2, 4], 9), [0, 4]);
        assert_eq!(along(0, &[8], &[8], 4), [0, 1, 2, 3]);
    }
}
