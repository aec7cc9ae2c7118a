//! Maps of all kinds of memory (5.2.4, 5.5.2, 5.5.3, 5.6.1).

use super::*;

/// The flags of maps.
pub const MAP_FLAGS: [Named<u64>; 4] = named![CL_MAP_READ; CL_MAP_WRITE;
    CL_MAP_READ | CL_MAP_WRITE; CL_MAP_WRITE_INVALIDATE_REGION];

/// The flags of maps of which the host reads and writes the bytes.
pub const MAP_BOTH: Named<u64> = MAP_FLAGS[2];

/// Bytes that are mapped at once: none of them is in two ranges.
#[expect(clippy::single_range_in_vec_init, reason = "each range is a map")]
const DISJOINT: [&[Range<usize>]; 4] =
    [&[0..BYTES], &[5..506], &[BYTES - 1..BYTES], &[401..BYTES, 0..77, 77..80]];

/// The same for reading, which may share bytes.
const OVERLAPPING: &[Range<usize>] = &[3..300, 100..BYTES, 299..301, 3..300];

/// Compares mapped bytes with their model if the flags say that they are current, and inverts both if the flags let
/// the host write.
pub fn touch(flags: u64, mapped: *mut c_void, model: &mut [u8]) -> Checked {
    // SAFETY: the callers have mapped the bytes of the model.
    let mapped = unsafe { slice::from_raw_parts_mut(mapped.cast(), model.len()) };
    if flags != CL_MAP_WRITE_INVALIDATE_REGION {
        same(mapped, model, "the mapped bytes")?;
    }
    if flags != CL_MAP_READ {
        model.iter_mut().for_each(|byte| *byte = !*byte);
        mapped.copy_from_slice(model);
    }
    Ok(())
}

#[rstest]
#[clmatrix_harness::test]
fn maps_show_and_keep_bytes(bench: Bench, #[values(false, true)] is_part: bool) {
    for memory in ALL.into_iter().filter(|memory| memory.is_on(&bench)) {
        let target = Target::new(&bench, memory, is_part);
        let function = if target.is_buffer() { "clEnqueueMapBuffer" } else { "clEnqueueSVMMap" };
        let disjoint = MAP_FLAGS.map(|flags| DISJOINT.map(|ranges| (flags, ranges)));
        let all = disjoint.into_iter().flatten().chain([(MAP_FLAGS[0], OVERLAPPING)]);
        // Shared virtual memory is mapped once at a time.
        for (flags, ranges) in all.filter(|(_, ranges)| target.is_buffer() || ranges.len() == 1) {
            let (reads, writes) = (flags.value & CL_MAP_READ != 0, flags.value != CL_MAP_READ);
            if reads && target.has(UNREADABLE) || writes && target.has(UNWRITABLE) {
                continue;
            }
            let result = check([&target], |[model]| target.touch(flags, ranges, model));
            let Err(answer) = result else { continue };
            let call =
                format_args!("{function}({}, bytes {ranges:?}) of {}", flags.name, target.name);
            let rule = "a map has the current bytes, an unmap keeps those that the host has written, \
                        and no others change (5.2.4, 5.5.2, 5.6.1)";
            bench.report(call, rule, answer);
            // A map may be left.
            break;
        }
    }
}
