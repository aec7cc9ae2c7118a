//! Whether work items meet at banks as is predicted.

use super::super::clock::Budget;
use super::super::estimate::{Scale, meeting};
use super::super::finding::{Attempt, Confidence, Finding, NotMeasurable, Taken, Unit, Value};
use super::super::series::{Point, Series};
use super::super::workbench::Workbench;
use super::banks::Curve;
use super::chase::{Item, Pattern, time_each};
use crate::characterize::bank_conflict::element;

/// What is accessed, and what is stored. The sums of all are at most 10 KiB of 8-byte items.
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

/// Each shape's accesses along the axis at which they take longest, against what
/// `why_not_local_access_conflict_free` predicts.
pub(super) fn layouts(
    bench: &Workbench,
    budget: &Budget,
    curve: &Curve,
    item_size: usize,
) -> Attempt<Taken> {
    let item = if item_size == Item::Eight.size() { Item::Eight } else { Item::Four };
    let banks = curve.banks.clone()?.count;
    let whole_row = (banks as usize * 4 / item_size) as u32;
    let mut patterns = vec![
        Pattern::strided(Item::Four, curve.lanes, 1),
        Pattern::strided(Item::Four, curve.lanes, banks),
        Pattern::strided(item, curve.lanes, whole_row),
    ];
    let references = patterns.len();
    let mut shapes = Vec::new();
    for (number, (shape, stored)) in SHAPES.into_iter().enumerate() {
        for axis in 0..shape.len() {
            patterns.push(Pattern { item, starts: along(axis, shape, stored, curve.lanes) });
            shapes.push(number);
        }
    }
    if patterns.iter().any(|pattern| pattern.bytes() as u64 > bench.facts.local_mem_size) {
        return Err(NotMeasurable::new("local memory is too small for the arrays"));
    }
    let points = time_each(bench, budget, &patterns)?;
    let (references, points) = points.split_at(references);
    let scale = Scale::new(
        (&references[0].samples, meeting(banks, curve.lanes, 1)),
        (&references[1].samples, curve.lanes),
        &references[2].samples,
    )?;
    let mut layouts = Vec::new();
    for (number, (shape, stored)) in SHAPES.into_iter().enumerate() {
        let access = bench.facts.why_not_local_access_conflict_free(item_size, shape, Some(stored));
        let predicted = access?.value.multiplicity;
        let of_shape = points.iter().zip(&shapes).filter(|(_, shape)| **shape == number);
        let slowest = of_shape
            .map(|(point, _)| &point.samples)
            .max_by(|a, b| scale.meeting(a).median.total_cmp(&scale.meeting(b).median));
        let samples = slowest.cloned().unwrap_or_default();
        layouts.push(Point { x: predicted as f64, samples });
    }
    layouts.sort_by(|a, b| a.x.total_cmp(&b.x));
    Ok(Taken::new(
        Ok(agreement(&layouts, &scale)),
        [Series::new(
            ("predicted multiplicity", Unit::Count),
            ("time per access", Unit::Nanoseconds),
            layouts,
        )],
    ))
}

/// The items that work items side by side access along an axis, as far as the array has any.
fn along(axis: usize, shape: &[usize], stored: &[usize], lanes: u32) -> Vec<u32> {
    let indices = (0..lanes as usize).map_while(|lane| element(shape, axis, lane));
    let offset = |index: Vec<usize>| {
        index.iter().zip(stored).fold(0, |offset, (at, length)| offset * length + at)
    };
    indices.map(|index| offset(index) as u32).collect()
}

/// How many predictions hold.
fn agreement(layouts: &[Point], scale: &Scale) -> Finding {
    let verdicts = layouts.iter().map(|layout| scale.verdict(layout.x, &layout.samples));
    let (mut agree, mut confidence) = (0, Confidence::High);
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
