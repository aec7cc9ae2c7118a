//! Maps of buffers of all kinds of memory (5.2.4, 5.5.2, 5.5.3).

use std::ops::Range;

use clmatrix::cl3::memory::{CL_MAP_READ, CL_MAP_WRITE, CL_MAP_WRITE_INVALIDATE_REGION};
use clmatrix::cl3::types::cl_map_flags;

use super::commands::per_memory;
use super::operand::check;
use super::target::{Memory, Part, SIZE, Target};
use crate::driver::api::{Named, named};
use crate::driver::bench::{Bench, bench};
use crate::driver::findings::Findings;
use crate::support::pattern::{bytes, same};

/// What the host maps memory for.
pub const FLAGS: [Named<cl_map_flags>; 4] = [
    named!(CL_MAP_READ),
    named!(CL_MAP_WRITE),
    Named { name: "CL_MAP_READ | CL_MAP_WRITE", value: CL_MAP_READ | CL_MAP_WRITE },
    named!(CL_MAP_WRITE_INVALIDATE_REGION),
];

/// Bytes that are mapped at once: none of them is in two ranges.
#[expect(clippy::single_range_in_vec_init, reason = "each range is a map")]
const DISJOINT: [&[Range<usize>]; 6] = [
    &[0..SIZE],
    &[5..506],
    &[1..2],
    &[SIZE - 1..SIZE],
    &[401..SIZE, 0..77, 77..80],
    &[0..300, 302..SIZE],
];

/// The same for reading, which may share bytes. They begin at different bytes, by which drivers tell them apart.
const OVERLAPPING: &[Range<usize>] = &[3..300, 100..SIZE, 299..301];

/// Maps ranges at once, checks and writes the bytes of each, and unmaps them in the same order or in reverse.
fn map(
    target: &Target<'_>,
    whole: &mut [u8],
    flags: Named<cl_map_flags>,
    ranges: &[Range<usize>],
    is_reversed: bool,
) -> Result<(), String> {
    let model = target.own(whole);
    let is_current = flags.value != CL_MAP_WRITE_INVALIDATE_REGION && target.host_reads();
    let mut maps = vec![];
    for range in ranges {
        let mut map = target.map(flags, range.clone())?;
        if is_current {
            same(map.bytes(), &model[range.clone()], format_args!("the map of bytes {range:?}"))?;
        }
        if flags.value != CL_MAP_READ {
            model[range.clone()].copy_from_slice(&bytes(0, range.len()));
            map.put(&model[range.clone()]);
        }
        maps.push((range, map));
    }
    if is_reversed {
        maps.reverse();
    }
    maps.into_iter().try_for_each(|(range, map)| {
        if flags.value == CL_MAP_READ {
            let what = format_args!("the map of bytes {range:?} before its unmap");
            same(map.bytes(), &model[range.clone()], what)?;
        }
        map.unmap()
    })
}

per_memory! {
    fn maps_show_and_keep_bytes(bench, memory, part) {
        let findings = Findings::default();
        let target = Target::new(&bench, memory, part, SIZE);
        let disjoint = FLAGS.into_iter().flat_map(|flags| DISJOINT.map(|ranges| (flags, ranges)));
        for (flags, ranges) in disjoint.chain([(FLAGS[0], OVERLAPPING)]) {
            let (reads, writes) = (flags.value & CL_MAP_READ != 0, flags.value != CL_MAP_READ);
            if reads && !target.host_reads() || writes && !target.host_writes() {
                continue;
            }
            for is_reversed in [false, true] {
                let mapped =
                    check([&target], |[whole]| map(&target, whole, flags, ranges, is_reversed));
                if let Err(answer) = mapped {
                    let order = if is_reversed { "reverse" } else { "the same" };
                    let call = format_args!(
                        "clEnqueueMapBuffer({}, bytes {ranges:?}, unmapped in {order} order) of {}",
                        flags.name, target.name
                    );
                    let rule = "a map has the current bytes, an unmap keeps those that the host has written, and \
                                no others change (5.2.4, 5.5.2)";
                    // A map may be left.
                    return findings.add(call, rule, answer);
                }
            }
        }
    }
}
