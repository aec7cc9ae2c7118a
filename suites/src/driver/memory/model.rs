//! Models of the bytes that commands use.

use clmatrix::cl3::memory::*;
use clmatrix::cl3::types::cl_map_flags;

use super::target::Target;
use crate::driver::prelude::*;
use crate::support::pattern::{bytes, copy_rows, same};

/// Fills each operand with a pattern of its own, the first one with pattern 0. Runs a step, which does the same to a
/// model of the bytes, and compares all bytes of all operands.
pub fn check<const N: usize>(
    operands: [&Target<'_>; N],
    step: impl FnOnce([&mut [u8]; N]) -> Result<(), String>,
) -> Result<(), String> {
    let mut seeds = 0..;
    let mut models = operands.map(|operand| bytes(seeds.next().expect("endless"), operand.size()));
    operands.iter().zip(&models).for_each(|(operand, model)| operand.put(model));
    step(models.each_mut().map(Vec::as_mut_slice))?;
    operands.iter().zip(&models).try_for_each(|(operand, model)| operand.compare(model))
}

/// The flags of maps.
pub const MAP_FLAGS: [Named<cl_map_flags>; 4] = [
    named!(CL_MAP_READ),
    named!(CL_MAP_WRITE),
    named!(CL_MAP_READ | CL_MAP_WRITE),
    named!(CL_MAP_WRITE_INVALIDATE_REGION),
];

/// Compares mapped bytes with their model if the flags say that they are current, and inverts both if the flags let
/// the host write.
pub fn touch(flags: cl_map_flags, mapped: *mut [u8], model: &mut [u8]) -> Result<(), String> {
    // SAFETY: the callers have mapped the bytes.
    let mapped = unsafe { &mut *mapped };
    if flags != CL_MAP_WRITE_INVALIDATE_REGION {
        same(mapped, model, "the mapped bytes")?;
    }
    if flags != CL_MAP_READ {
        model.iter_mut().for_each(|byte| *byte = !*byte);
        mapped.copy_from_slice(model);
    }
    Ok(())
}

/// Where a box of bytes lies in an operand: its origin, and the pitches of rows and slices.
pub type Side = ([usize; 3], [usize; 2]);

/// The first byte of a box (5.2.2).
pub fn start(([x, y, z], [row, slice]): Side) -> usize {
    x + y * row + z * slice
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
