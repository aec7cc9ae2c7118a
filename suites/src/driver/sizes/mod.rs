//! Commands on few and on many bytes, at odd places, and many commands and objects at once (5.2, 5.3, 5.6, 5.9).

mod huge;
mod many;
mod moves;

use super::memory::*;
use super::prelude::*;

/// A kernel that gets the place of its bytes as an argument, and counts its launches there.
const NEXT: &str = "kernel void next(global uchar *x, ulong at) { x[at + get_global_id(0)] += 1; }";

/// Adds one on each of these places, an offset and a size, by a kernel and in a model. A gate may hold the commands
/// until all are enqueued.
fn add_one(to: &Target<'_>, places: &[(usize, usize)], model: &mut [u8], is_held: bool) -> Checked {
    let kernel = to.bench.new_kernel(&to.bench.build(NEXT, ""), "next");
    // The gate opens before the kernel is released: OpenCL leaves the other order undefined (5.11).
    let _held = is_held.then(|| gated(to.bench, Kind::Marker, to.bench.queue));
    set(kernel.raw(), 0, to.raw());
    places.iter().enumerate().try_for_each(|(n, &(at, size))| {
        set(kernel.raw(), 1, (to.base + at) as u64);
        model[at..at + size].iter_mut().for_each(|byte| *byte = byte.wrapping_add(1));
        let code = launch(&kernel, to.bench.queue, [&[], &[size], &[1]], &[]);
        accepted(code).map_err(|answer| format!("{answer}, launch {n} of {}", places.len()))
    })
}
