//! Rectangles and views of any shape, against a model in ndarray.

use std::cell::Cell;
use std::ops::Range;

use ndarray::{ArrayView3, ArrayViewMut3};
use proptest::prelude::*;

use super::*;
use crate::support::property::holds_for;

/// One side of a copy: bytes, and a rectangle of them.
#[derive(Clone, Debug)]
struct Side {
    origin: [usize; 3],
    pitches: [usize; 2],
    size: usize,
}

/// Two sides and what is copied between them.
#[derive(Clone, Debug)]
struct Case {
    region: [usize; 3],
    src: Side,
    dst: Side,
}

impl Side {
    /// The pitches, where 0 means no gaps.
    fn filled_in(&self, [row, rows, _]: [usize; 3]) -> [usize; 2] {
        let row_pitch = if self.pitches[0] == 0 { row } else { self.pitches[0] };
        let slice_pitch = if self.pitches[1] == 0 { rows * row_pitch } else { self.pitches[1] };
        [row_pitch, slice_pitch]
    }

    fn start(&self, region: [usize; 3]) -> usize {
        let [row_pitch, slice_pitch] = self.filled_in(region);
        self.origin[0] + self.origin[1] * row_pitch + self.origin[2] * slice_pitch
    }

    /// From the first byte to after the last.
    fn len(&self, region: [usize; 3]) -> usize {
        let [row_pitch, slice_pitch] = self.filled_in(region);
        (region[2] - 1) * slice_pitch + (region[1] - 1) * row_pitch + region[0]
    }

    /// The shape of the rectangle in its bytes, the slowest axis first.
    fn shape(&self, region: [usize; 3]) -> ndarray::StrideShape<ndarray::Ix3> {
        let ([x, y, z], [row_pitch, slice_pitch]) = (region, self.filled_in(region));
        (z, y, x).strides((slice_pitch, row_pitch, 1))
    }

    /// As many bytes of pattern `seed`.
    fn bytes(&self, seed: usize) -> Vec<u8> {
        bytes(seed, self.size)
    }
}

impl Case {
    /// Returns the content of the destination afterwards.
    fn expected(&self, src: &[u8], dst: &[u8]) -> Vec<u8> {
        let mut expected = dst.to_vec();
        let from = &src[self.src.start(self.region)..];
        let from = ArrayView3::from_shape(self.src.shape(self.region), from).expect("the source");
        let to = &mut expected[self.dst.start(self.region)..];
        ArrayViewMut3::from_shape(self.dst.shape(self.region), to)
            .expect("the destination")
            .assign(&from);
        expected
    }
}

fn sides(region: [usize; 3]) -> impl Strategy<Value = Side> {
    let origin = [0..7_usize, 0..4, 0..3];
    let row_pitch = prop_oneof![Just(0), (0..6_usize).prop_map(move |gap| region[0] + gap)];
    let slice_rows = prop_oneof![Just(0), (0..3_usize).prop_map(move |gap| region[1] + gap)];
    (origin, row_pitch, slice_rows, 0..9_usize).prop_map(move |(origin, row_pitch, rows, rest)| {
        let row = if row_pitch == 0 { region[0] } else { row_pitch };
        let side = Side { origin, pitches: [row_pitch, rows * row], size: 0 };
        Side { size: side.start(region) + side.len(region) + rest, ..side }
    })
}

/// Returns cases of one to three dimensions.
fn cases() -> impl Strategy<Value = Case> {
    [1..9_usize, 1..5, 1..4].prop_flat_map(|region| {
        let two = (sides(region), sides(region));
        two.prop_map(move |(src, dst)| Case { region, src, dst })
    })
}

#[clmatrix_harness::test]
fn a_write_matches_the_model(on_device: OnDevice) -> Result<()> {
    let inverter = Inverter::new(&on_device)?;
    holds_for(cases(), |case| {
        let (src, dst) = (case.src.bytes(1), case.dst.bytes(2));
        let buffer = inverter.written(&dst)?;
        let rect = HostRect::new(case.region)
            .host_origin(case.src.origin)
            .host_pitches(case.src.pitches)
            .buffer_origin(case.dst.origin)
            .buffer_pitches(case.dst.pitches);
        enqueue_copy(&on_device.queue, &buffer, &src, rect)?;
        Ok(same(&inverter.read(&buffer)?, &case.expected(&src, &dst), "the buffer"))
    });
    Ok(())
}

#[clmatrix_harness::test]
fn a_read_matches_the_model(on_device: OnDevice) -> Result<()> {
    let inverter = Inverter::new(&on_device)?;
    holds_for(cases(), |case| {
        let (src, dst) = (case.src.bytes(1), case.dst.bytes(2));
        let buffer = inverter.written(&src)?;
        let rect = HostRect::new(case.region)
            .buffer_origin(case.src.origin)
            .buffer_pitches(case.src.pitches)
            .host_origin(case.dst.origin)
            .host_pitches(case.dst.pitches);
        let mut found = dst.clone();
        enqueue_copy(&on_device.queue, &mut found, &buffer, rect)?;
        Ok(same(&found, &case.expected(&src, &dst), "the host memory"))
    });
    Ok(())
}

#[clmatrix_harness::test]
fn a_copy_matches_the_model(on_device: OnDevice) -> Result<()> {
    let inverter = Inverter::new(&on_device)?;
    holds_for(cases(), |case| {
        let (src, dst) = (case.src.bytes(1), case.dst.bytes(2));
        let (from, to) = (inverter.written(&src)?, inverter.written(&dst)?);
        let rect = Rect::new(case.region)
            .src_origin(case.src.origin)
            .src_pitches(case.src.pitches)
            .dst_origin(case.dst.origin)
            .dst_pitches(case.dst.pitches);
        enqueue_copy(&on_device.queue, &to, &from, rect)?;
        let copied = same(&inverter.read(&to)?, &case.expected(&src, &dst), "the destination");
        Ok(copied.and(same(&inverter.read(&from)?, &src, "the source")))
    });
    Ok(())
}

/// Either the rectangles have a byte in common, or the copy is what the model says.
#[clmatrix_harness::test]
fn a_copy_within_one_buffer_matches_the_model(on_device: OnDevice) -> Result<()> {
    let inverter = Inverter::new(&on_device)?;
    let cases = cases().prop_map(|mut case| {
        let [row, rows, _] = case.region;
        let [row_pitch, slice_pitch] = case.src.filled_in(case.region);
        for side in [&mut case.src, &mut case.dst] {
            side.pitches = [row_pitch, slice_pitch];
            // No row reaches into the next, and no slice.
            side.origin[0] %= row_pitch - row + 1;
            side.origin[1] %= slice_pitch / row_pitch - rows + 1;
        }
        case
    });
    let refused = Cell::new(0);
    holds_for(cases, |case| {
        let hull = case.src.len(case.region);
        let last = case.src.start(case.region).max(case.dst.start(case.region)) + hull;
        let bytes = Side { size: last + 3, ..case.src.clone() }.bytes(1);
        let marked = |side: &Side| {
            let nothing = vec![0; bytes.len()];
            Case { src: side.clone(), dst: side.clone(), ..*case }
                .expected(&vec![1; bytes.len()], &nothing)
        };
        let shared =
            marked(&case.src).iter().zip(marked(&case.dst)).any(|(src, dst)| src & dst == 1);
        let buffer = inverter.written(&bytes)?;
        let rect = Rect::new(case.region)
            .src_origin(case.src.origin)
            .src_pitches(case.src.pitches)
            .dst_origin(case.dst.origin)
            .dst_pitches(case.dst.pitches);
        let copied = enqueue_copy(&on_device.queue, &buffer, &buffer, rect);
        if shared {
            refused.set(refused.get() + 1);
            return Ok(match copied {
                Err(error) if error.code_name() == "CL_MEM_COPY_OVERLAP" => {
                    same(&inverter.read(&buffer)?, &bytes, "the buffer")
                }
                other => Err(format!("overlap: {other:?}")),
            });
        }
        copied?;
        Ok(same(&inverter.read(&buffer)?, &case.expected(&bytes, &bytes), "the buffer"))
    });
    assert!((8..56).contains(&refused.get()), "{} of the cases overlap", refused.get());
    Ok(())
}

/// A part of an array of three dimensions, its axes in any order.
#[derive(Clone, Debug)]
struct View {
    shape: [usize; 3],
    part: [Range<usize>; 3],
    /// The step of the slowest axis.
    step: isize,
    axes: [usize; 3],
}

impl View {
    fn of<'a>(&self, array: &'a mut Array3<u8>) -> ArrayViewMut3<'a, u8> {
        let [z, y, x] = self.part.clone();
        array.slice_mut(s![z;self.step, y, x]).permuted_axes(self.axes)
    }

    /// Returns whether the elements are one after the other, or the axes in the order of memory.
    fn is_taken(&self, array: &mut Array3<u8>) -> bool {
        let axes = self.of(array);
        let long = self.axes.iter().zip(axes.shape()).filter(|(_, len)| **len > 1);
        let are_in_order = long.is_sorted_by_key(|(axis, _)| *axis);
        let in_order = Self { axes: [0, 1, 2], ..self.clone() };
        are_in_order || in_order.of(array).is_standard_layout()
    }

    fn array(&self, seed: usize) -> Array3<u8> {
        let len = self.shape.iter().product();
        Array3::from_shape_vec(self.shape, bytes(seed, len)).expect("as many bytes")
    }
}

fn views() -> impl Strategy<Value = View> {
    let axis = || (0..3_usize, 1..5_usize, 0..3_usize);
    let axes = Just([0, 1, 2]).prop_shuffle();
    ([axis(), axis(), axis()], 1..4_isize, axes).prop_map(|(given, step, axes)| View {
        shape: given.map(|(before, len, after)| before + len + after),
        part: given.map(|(before, len, _)| before..before + len),
        step,
        axes,
    })
}

/// A view is written to a buffer, a kernel works on that, and it is read into the same place of
/// another array; or it is refused.
#[clmatrix_harness::test]
fn a_view_is_written_and_read_back(on_device: OnDevice) -> Result<()> {
    let inverter = Inverter::new(&on_device)?;
    holds_for(views(), |view| {
        let (mut src, mut found, mut expected) = (view.array(1), view.array(2), view.array(2));
        let size = view.of(&mut src).len();
        let around = bytes(0, size + 2);
        let buffer = inverter.written(&around)?;
        let after = Linear::default().dst_offset(1);
        let written = enqueue_copy(&on_device.queue, &buffer, view.of(&mut src).view(), after);
        if !view.is_taken(&mut src) {
            return Ok(match written.map_err(|error| error.code_name()) {
                Err("CL_INVALID_VALUE") => Ok(()),
                other => Err(format!("axes in another order: {other:?}")),
            });
        }
        written?;
        inverter.invert(&buffer)?;
        let from = Linear::default().src_offset(1);
        enqueue_copy(&on_device.queue, view.of(&mut found), &buffer, from)?;
        view.of(&mut expected).assign(&view.of(&mut src).mapv(|byte| !byte));
        let flat = |array: Array3<u8>| array.into_raw_vec_and_offset().0;
        let edges = inverter.read(&buffer)?;
        Ok(same(&flat(found), &flat(expected), "the array").and(same(
            &[edges[0], edges[size + 1]],
            &[!around[0], !around[size + 1]],
            "what is around the view",
        )))
    });
    Ok(())
}
