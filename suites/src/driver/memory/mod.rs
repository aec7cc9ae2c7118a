//! Each kind of memory with each command and each kind of host memory, against a model of all bytes: those of both
//! operands, and of the memory around a part (5.2, 5.5, 5.6).

mod commands;
mod maps;
mod svm;
mod target;

use std::ops::Range;
use std::slice;

use super::prelude::*;
use crate::support::pattern::copy_rows;

pub use commands::expect;
pub use maps::{MAP_BOTH, MAP_FLAGS, touch};
pub use target::*;

/// Fills each operand with a pattern of its own, the first one with pattern 0. Runs a step, which does the same to a
/// model of the bytes that commands use, and compares all bytes of all operands.
pub fn check<const N: usize>(
    operands: [&Target<'_>; N],
    step: impl FnOnce([&mut [u8]; N]) -> Checked,
) -> Checked {
    let mut all: [_; N] = std::array::from_fn(|i| (operands[i], bytes(i, operands[i].size())));
    all.iter().for_each(|(operand, model)| operand.put(model));
    step(all.each_mut().map(|(operand, model)| &mut model[operand.range.clone()]))?;
    all.iter().try_for_each(|(operand, model)| operand.compare(model))
}

/// The place of a box in which pitches of zero are those of the region (5.2.2).
pub fn filled([width, height, _]: [usize; 3], (origin, [row, slice]): Side) -> Side {
    let row = if row == 0 { width } else { row };
    (origin, [row, if slice == 0 { row * height } else { slice }])
}

/// Does to models what commands on boxes do.
pub fn move_box(region: [usize; 3], (from, from_at): (&[u8], Side), (to, at): (&mut [u8], Side)) {
    let [at, from_at] = [at, from_at].map(|side| filled(region, side));
    copy_rows((to, start(at)), (from, start(from_at)), region, [at.1, from_at.1]);
}
