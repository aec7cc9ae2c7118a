//! Writes, reads, copies and fills of few and of many bytes, at even and odd places, and boxes with gaps.

use clmatrix_harness::skip;

use crate::driver::memory::area::{Area, COARSE};
use crate::driver::memory::commands::*;
use crate::driver::memory::operand::{Operand, Side, filled, start};
use crate::driver::memory::svm;
use crate::driver::memory::target::Target;
use crate::driver::prelude::*;

/// Numbers of bytes: few, and about a page, 64 KiB and 2 MiB.
const SIZES: [usize; 13] =
    [1, 2, 3, 7, 4095, 4096, 4097, 65_535, 65_536, 65_537, 2_097_151, 2_097_152, 2_097_153];

/// The first bytes in both operands.
const PLACES: [[usize; 2]; 5] = [[1, 4093], [0, 0], [3, 1], [4093, 64], [4096, 7]];

/// Places and numbers of bytes.
fn lines() -> impl Iterator<Item = [usize; 3]> {
    SIZES.into_iter().flat_map(|size| {
        let places = if size > 100_000 { &PLACES[..1] } else { &PLACES[..] };
        places.iter().map(move |[at, from_at]| [*at, *from_at, size])
    })
}

/// Runs a command on buffers with enough bytes for it, and reports it if it leaves wrong bytes.
fn check(findings: &Findings, buffers: [&Target<'_>; 2], call: &str, span: Span, bytes: String) {
    let host = Area::host(buffers[0].bench, buffers[1].size(), 1);
    if let Err(answer) = run(call, buffers, &host, span) {
        let rule = "these bytes are written, and no others";
        findings.add(format_args!("{call} a buffer, {bytes}"), rule, answer);
    }
}

#[rstest]
#[case::write(WRITE)]
#[case::read(READ)]
#[case::copy(COPY_OUT)]
#[clmatrix_harness::test]
fn transfers_move_all_bytes(bench: Bench, #[case] call: &str) {
    let findings = Findings::default();
    for line in lines() {
        let [at, other, size] = line;
        let [own, peer] = [(); 2].map(|()| Target::plain(&bench, size + 4200));
        let bytes = format!("{size} bytes at byte {at}, at byte {other} of the other operand");
        check(&findings, [&own, &peer], call, Span::line(line, 0), bytes);
    }
}

#[rstest]
#[case::write([true, false])]
#[case::read([false, true])]
#[case::copy([true, true])]
#[clmatrix_harness::test(requires(svm))]
fn copies_of_shared_memory_move_all_bytes(bench: Bench, #[case] are_svm: [bool; 2]) {
    let findings = Findings::default();
    for line in lines() {
        let size = line[2] + 4200;
        let [to, from] = are_svm.map(|is_svm| {
            if is_svm { Area::svm(&bench, size, COARSE) } else { Area::host(&bench, size, 0) }
        });
        svm::check_copy(&findings, [&to, &from], line);
    }
}

#[rstest]
#[case::buffer(false)]
#[case::svm(true)]
#[clmatrix_harness::test]
fn fills_repeat_their_pattern(
    bench: Bench,
    #[case] is_svm: bool,
    #[values(1, 2, 4, 8, 16, 32, 64, 128)] length: usize,
) {
    if is_svm && !bench.has_svm() {
        skip!("CL_DEVICE_SVM_CAPABILITIES is {:#x}", bench.svm_capabilities);
    }
    let findings = Findings::default();
    let about = |size: usize| [size / length - 1, size / length, size / length + 1];
    let few = [1, 2, 3, 5, 7, 37].map(|count| (3, count));
    let many = [about(4096), about(65_536)].into_iter().flatten().map(|count| (1, count));
    let most = [(37, 2_097_152 / length + 1), (0, 1)];
    for (first, count) in few.into_iter().chain(many).chain(most) {
        let (at, size, room) = (first * length, count * length, (first + count) * length + 300);
        let bytes = format!("{count} patterns of {length} bytes, from byte {at} on");
        if !is_svm {
            let (own, peer) = (Target::plain(&bench, room), Target::plain(&bench, 1));
            check(&findings, [&own, &peer], FILL_BYTES, Span::line([at, 0, size], length), bytes);
        } else if let Err(answer) = svm::fill(&Area::svm(&bench, room, COARSE), [at, size, length])
        {
            let rule = "the bytes repeat the pattern, and no others change (5.6.1)";
            findings.add(format_args!("clEnqueueSVMMemFill of {bytes}"), rule, answer);
        }
    }
}

/// Boxes in both operands.
const BOXES: [([usize; 3], [Side; 2]); 12] = [
    // Gaps on both sides, in 2D and 3D.
    ([7, 5, 1], [([3, 2, 0], [13, 0]), ([1, 1, 0], [11, 0])]),
    ([7, 5, 3], [([3, 1, 1], [13, 91]), ([2, 0, 1], [11, 66])]),
    ([64, 9, 4], [([5, 3, 2], [100, 1300]), ([0, 1, 0], [71, 71 * 10])]),
    // Gaps on one side, or between slices only. Pitches of zero are those of the region.
    ([16, 4, 4], [([0; 3], [0, 0]), ([1, 1, 1], [19, 190])]),
    ([16, 4, 4], [([1, 1, 1], [19, 190]), ([0; 3], [0, 0])]),
    ([16, 4, 4], [([0; 3], [0, 80]), ([0; 3], [16, 64])]),
    ([16, 4, 1], [([3, 0, 0], [16, 64]), ([0; 3], [0, 0])]),
    // One byte, columns of one byte and wide rows.
    ([1, 1, 1], [([2, 3, 1], [5, 25]), ([1, 2, 2], [7, 21])]),
    ([1, 5000, 1], [([1, 1, 0], [3, 0]), ([4, 2, 0], [5, 0])]),
    ([1, 1, 5000], [([1, 1, 1], [3, 6]), ([0, 0, 3], [5, 5])]),
    ([4097, 3, 1], [([7, 1, 0], [5000, 0]), ([1, 0, 0], [4099, 0])]),
    ([65_537, 2, 2], [([3, 1, 1], [65_600, 3 * 65_600]), ([0, 0, 1], [65_541, 2 * 65_541])]),
];

#[rstest]
#[case::write(WRITE_RECT)]
#[case::read(READ_RECT)]
#[case::copy(RECT_OUT)]
#[clmatrix_harness::test]
fn boxes_keep_their_gaps(bench: Bench, #[case] call: &str) {
    let findings = Findings::default();
    for (region, sides) in BOXES {
        let [own, peer] = sides.map(|side| {
            let (origin, pitches) = filled(region, side);
            let last = region.map(|size| size - 1);
            Target::plain(&bench, start((origin, pitches)) + start((last, pitches)) + 51)
        });
        let bytes = format!("a box of {region:?} at (origin, pitches) {sides:?}");
        check(&findings, [&own, &peer], call, Span { region, sides, pattern: 0 }, bytes);
    }
}
