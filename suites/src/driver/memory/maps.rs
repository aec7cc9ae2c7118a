//! Maps of buffers of all kinds of memory (5.2.4, 5.5.2, 5.5.3).

use std::ops::Range;

use clmatrix::cl3::memory::*;
use clmatrix::cl3::types::cl_map_flags;

use super::operand::{check, touch};
use super::target::*;
use crate::driver::prelude::*;

/// The flags of maps.
pub const FLAGS: [Named<cl_map_flags>; 4] = [
    named!(CL_MAP_READ),
    named!(CL_MAP_WRITE),
    named!(CL_MAP_READ | CL_MAP_WRITE),
    named!(CL_MAP_WRITE_INVALIDATE_REGION),
];

/// Bytes that are mapped at once: none of them is in two ranges.
#[expect(clippy::single_range_in_vec_init, reason = "each range is a map")]
const DISJOINT: [&[Range<usize>]; 4] =
    [&[0..BYTES], &[5..506], &[BYTES - 1..BYTES], &[401..BYTES, 0..77, 77..80]];

/// The same for reading, which may share bytes. They begin at different bytes, by which drivers tell them apart.
const OVERLAPPING: &[Range<usize>] = &[3..300, 100..BYTES, 299..301];

#[rstest]
#[clmatrix_harness::test]
fn maps_show_and_keep_bytes(
    bench: Bench,
    #[values(
        PLAIN, ALLOC, USE, USE_ODD, USE_COARSE, USE_FINE, COPY, COPY_SVM, ALLOC_COPY, READ_ONLY,
        WRITE_ONLY, HOST_READ, HOST_WRITE
    )]
    memory: Memory,
    #[values(WHOLE, SUB)] part: Part,
) {
    memory.requires(&bench);
    let (findings, target) = (Findings::default(), Target::new(&bench, memory, part, BYTES));
    let disjoint = FLAGS.into_iter().flat_map(|flags| DISJOINT.map(|ranges| (flags, ranges)));
    for (flags, ranges) in disjoint.chain([(FLAGS[0], OVERLAPPING)]) {
        let (reads, writes) = (flags.value & CL_MAP_READ != 0, flags.value != CL_MAP_READ);
        if reads && target.has(UNREADABLE) || writes && target.has(UNWRITABLE) {
            continue;
        }
        let is_current = flags.value != CL_MAP_WRITE || !target.has(UNREADABLE);
        let touched = if is_current { flags.value } else { CL_MAP_WRITE_INVALIDATE_REGION };
        // All ranges are mapped at once.
        let result = check([&target], |[whole]| {
            let map = |range: &Range<usize>| {
                let map = target.map(flags, range.clone())?;
                touch(touched, map.2, &mut target.own(whole)[range.clone()]).map(|()| map)
            };
            let maps: Vec<Map> = ranges.iter().map(map).collect::<Result<_, _>>()?;
            maps.into_iter().try_for_each(Map::unmap)
        });
        if let Err(answer) = result {
            let (flags, name) = (flags.name, &target.name);
            let call = format_args!("clEnqueueMapBuffer({flags}, bytes {ranges:?}) of {name}");
            let rule = "a map has the current bytes, an unmap keeps those that the host has written, and no \
                        others change (5.2.4, 5.5.2)";
            // A map may be left.
            return findings.add(call, rule, answer);
        }
    }
}
