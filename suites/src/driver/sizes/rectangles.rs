//! Boxes with gaps between rows and slices on both sides, long and wide ones.

use clmatrix::cl3::types::CL_TRUE;
use rstest::rstest;

use crate::driver::api::{accepted, enqueue};
use crate::driver::bench::{Bench, bench};
use crate::driver::findings::Findings;
use crate::driver::memory::area::Area;
use crate::driver::memory::operand::check;
use crate::driver::memory::shape::{Shape, Side};
use crate::driver::memory::target::Target;

/// A box in two operands, each with origin and pitches.
const fn shape(
    region: [usize; 3],
    own: ([usize; 3], [usize; 2]),
    other: ([usize; 3], [usize; 2]),
) -> Shape {
    let sides =
        [Side { origin: own.0, pitches: own.1 }, Side { origin: other.0, pitches: other.1 }];
    Shape { region, sides }
}

static SHAPES: [Shape; 12] = [
    // Gaps on both sides, in 2D and 3D.
    shape([7, 5, 1], ([3, 2, 0], [13, 0]), ([1, 1, 0], [11, 0])),
    shape([7, 5, 3], ([3, 1, 1], [13, 91]), ([2, 0, 1], [11, 66])),
    shape([64, 9, 4], ([5, 3, 2], [100, 1300]), ([0, 1, 0], [71, 71 * 10])),
    // Gaps on one side, or between slices only. Pitches of zero are those of the region.
    shape([16, 4, 4], ([0; 3], [0, 0]), ([1, 1, 1], [19, 190])),
    shape([16, 4, 4], ([1, 1, 1], [19, 190]), ([0; 3], [0, 0])),
    shape([16, 4, 4], ([0; 3], [0, 80]), ([0; 3], [16, 64])),
    shape([16, 4, 1], ([3, 0, 0], [16, 64]), ([0; 3], [0, 0])),
    // One byte, columns of one byte and wide rows.
    shape([1, 1, 1], ([2, 3, 1], [5, 25]), ([1, 2, 2], [7, 21])),
    shape([1, 5000, 1], ([1, 1, 0], [3, 0]), ([4, 2, 0], [5, 0])),
    shape([1, 1, 5000], ([1, 1, 1], [3, 6]), ([0, 0, 3], [5, 5])),
    shape([4097, 3, 1], ([7, 1, 0], [5000, 0]), ([1, 0, 0], [4099, 0])),
    shape([65_537, 2, 2], ([3, 1, 1], [65_600, 3 * 65_600]), ([0, 0, 1], [65_541, 2 * 65_541])),
];

/// The box with the pitches that stand for zeros (5.2.2), and the bytes that an operand needs.
fn filled(mut shape: Shape) -> (Shape, [usize; 2]) {
    let [width, height, depth] = shape.region;
    let sizes = shape.sides.each_mut().map(|side| {
        let row = if side.pitches[0] == 0 { width } else { side.pitches[0] };
        let slice = if side.pitches[1] == 0 { row * height } else { side.pitches[1] };
        side.pitches = [row, slice];
        side.start() + (depth - 1) * slice + (height - 1) * row + width + 50
    });
    (shape, sizes)
}

#[rstest]
#[case::write("clEnqueueWriteBufferRect")]
#[case::read("clEnqueueReadBufferRect")]
#[case::copy("clEnqueueCopyBufferRect")]
#[clmatrix_harness::test]
fn boxes_keep_their_gaps(bench: Bench, #[case] call: &str) {
    let (findings, queue) = (Findings::default(), bench.queue);
    for shape in &SHAPES {
        let (model, sizes) = filled(*shape);
        let (own, peer) = (Target::plain(&bench, sizes[0]), Target::plain(&bench, sizes[1]));
        let host = Area::host(&bench, sizes[1], 1);
        let region = shape.region.as_ptr();
        let [from, to] = shape.sides.each_ref().map(|side| side.origin.as_ptr());
        let [[r, s], [r2, s2]] = shape.sides.map(|side| side.pitches);
        let (b, p, memory) = (own.raw(), peer.raw(), host.pointer.cast());
        let result = check([&own, &peer, &host], |[own, peer, host]| {
            // SAFETY: the operands have the bytes.
            accepted(unsafe {
                match call {
                    "clEnqueueWriteBufferRect" => {
                        model.move_in(own, host);
                        enqueue!(clEnqueueWriteBufferRect(
                            queue, b, CL_TRUE, from, to, region, r, s, r2, s2, memory
                        ))
                    }
                    "clEnqueueReadBufferRect" => {
                        model.move_out(own, host);
                        enqueue!(clEnqueueReadBufferRect(
                            queue, b, CL_TRUE, from, to, region, r, s, r2, s2, memory
                        ))
                    }
                    _ => {
                        model.move_out(own, peer);
                        enqueue!(clEnqueueCopyBufferRect(
                            queue, b, p, from, to, region, r, s, r2, s2
                        ))
                    }
                }
            })
        });
        if let Err(answer) = result {
            let rule = "the bytes of the rows are moved, and no others change (5.2.2)";
            let Shape { region, sides } = shape;
            findings.add(format_args!("{call} of {region:?}, {sides:?}"), rule, answer);
        }
    }
}
