//! Maps of all kinds of memory (5.2.4, 5.5.2, 5.5.3, 5.6.1).

use std::ops::Range;

use super::*;

/// Bytes that are mapped at once: none of them is in two ranges.
#[expect(clippy::single_range_in_vec_init, reason = "each range is a map")]
const DISJOINT: [&[Range<usize>]; 4] =
    [&[0..BYTES], &[5..506], &[BYTES - 1..BYTES], &[401..BYTES, 0..77, 77..80]];

/// The same for reading, which may share bytes.
const OVERLAPPING: &[Range<usize>] = &[3..300, 100..BYTES, 299..301, 3..300];

/// Maps bytes at once, and unmaps them.
fn check_maps(target: &Target<'_>, flags: Named<u64>, ranges: &[Range<usize>]) -> Checked {
    let is_current = flags.value != CL_MAP_WRITE || !target.has(UNREADABLE);
    let touched = if is_current { flags.value } else { CL_MAP_WRITE_INVALIDATE_REGION };
    check([target], |[whole]| {
        let map = |range: &Range<usize>| {
            let map = target.map(flags, range.clone())?;
            touch(touched, map, &mut target.own(whole)[range.clone()]).map(|()| map)
        };
        let maps: Vec<_> = ranges.iter().map(map).collect::<Result<_, _>>()?;
        maps.into_iter().try_for_each(|map| target.unmap(map))
    })
}

#[rstest]
#[clmatrix_harness::test]
fn maps_show_and_keep_bytes(bench: Bench, #[values(Part::Whole, Part::Sub)] part: Part) {
    for memory in ALL.into_iter().filter(|memory| memory.is_on(&bench)) {
        let target = Target::new(&bench, memory, part);
        let function = if target.is_buffer() { "clEnqueueMapBuffer" } else { "clEnqueueSVMMap" };
        let disjoint =
            MAP_FLAGS.into_iter().flat_map(|flags| DISJOINT.map(|ranges| (flags, ranges)));
        // Shared virtual memory is mapped once at a time.
        let all = disjoint.chain([(MAP_FLAGS[0], OVERLAPPING)]);
        for (flags, ranges) in all.filter(|(_, ranges)| target.is_buffer() || ranges.len() == 1) {
            let (reads, writes) = (flags.value & CL_MAP_READ != 0, flags.value != CL_MAP_READ);
            if reads && target.has(UNREADABLE) || writes && target.has(UNWRITABLE) {
                continue;
            }
            if let Err(answer) = check_maps(&target, flags, ranges) {
                let (flags, name) = (flags.name, &target.name);
                let call = format_args!("{function}({flags}, bytes {ranges:?}) of {name}");
                let rule = "a map has the current bytes, an unmap keeps those that the host has written, \
                            and no others change (5.2.4, 5.5.2, 5.6.1)";
                bench.report(call, rule, answer);
                // A map may be left.
                break;
            }
        }
    }
}
