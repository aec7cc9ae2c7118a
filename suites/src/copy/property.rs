//! Rectangles of any shape, against a model in ndarray.

use clmatrix::Result;
use clmatrix::memory::{HostRect, Rect, enqueue_copy};
use ndarray::{ArrayView3, ArrayViewMut3, ShapeBuilder};
use proptest::prelude::*;
use rstest::rstest;

use crate::inverter::Inverter;
use crate::on_device::{OnDevice, on_device};
use crate::property::{holds_for, same};

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
    /// The pitches, where 0 stands for no gaps.
    fn filled_in(&self, [row, rows, _]: [usize; 3]) -> [usize; 2] {
        let row_pitch = if self.pitches[0] == 0 { row } else { self.pitches[0] };
        let slice_pitch = if self.pitches[1] == 0 { rows * row_pitch } else { self.pitches[1] };
        [row_pitch, slice_pitch]
    }

    fn start(&self, region: [usize; 3]) -> usize {
        let [row_pitch, slice_pitch] = self.filled_in(region);
        self.origin[0] + self.origin[1] * row_pitch + self.origin[2] * slice_pitch
    }

    /// The shape of the rectangle in its bytes, the slowest axis first.
    fn shape(&self, region: [usize; 3]) -> ndarray::StrideShape<ndarray::Ix3> {
        let ([x, y, z], [row_pitch, slice_pitch]) = (region, self.filled_in(region));
        (z, y, x).strides((slice_pitch, row_pitch, 1))
    }

    /// Bytes that tell one place from the next.
    fn bytes(&self, seed: u8) -> Vec<u8> {
        (0..self.size).map(|i| (i as u8).wrapping_mul(31).wrapping_add(seed)).collect()
    }
}

impl Case {
    /// What is in the destination afterwards.
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
        let [row_pitch, slice_pitch] = side.filled_in(region);
        let last = (region[2] - 1) * slice_pitch + (region[1] - 1) * row_pitch + region[0];
        Side { size: side.start(region) + last + rest, ..side }
    })
}

/// Of one to three dimensions.
fn cases() -> impl Strategy<Value = Case> {
    [1..9_usize, 1..5, 1..4].prop_flat_map(|region| {
        let two = (sides(region), sides(region));
        two.prop_map(move |(src, dst)| Case { region, src, dst })
    })
}

#[rstest]
#[clmatrix_harness::test]
fn a_write_is_what_the_model_says(on_device: OnDevice) -> Result<()> {
    let inverter = Inverter::new(&on_device)?;
    holds_for(cases(), |case| {
        let (src, dst) = (case.src.bytes(1), case.dst.bytes(2));
        let buffer = inverter.written(&dst)?;
        let rect = HostRect::new(case.region)
            .host_origin(case.src.origin)
            .host_pitches(case.src.pitches)
            .buffer_origin(case.dst.origin)
            .buffer_pitches(case.dst.pitches);
        enqueue_copy(&on_device.queue, &buffer, &src, rect, [])?;
        Ok(same(&inverter.read(&buffer)?, &case.expected(&src, &dst), "the buffer"))
    });
    Ok(())
}

#[rstest]
#[clmatrix_harness::test]
fn a_read_is_what_the_model_says(on_device: OnDevice) -> Result<()> {
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
        enqueue_copy(&on_device.queue, &mut found, &buffer, rect, [])?;
        Ok(same(&found, &case.expected(&src, &dst), "the host memory"))
    });
    Ok(())
}

#[rstest]
#[clmatrix_harness::test]
fn a_copy_is_what_the_model_says(on_device: OnDevice) -> Result<()> {
    let inverter = Inverter::new(&on_device)?;
    holds_for(cases(), |case| {
        let (src, dst) = (case.src.bytes(1), case.dst.bytes(2));
        let (from, to) = (inverter.written(&src)?, inverter.written(&dst)?);
        let rect = Rect::new(case.region)
            .src_origin(case.src.origin)
            .src_pitches(case.src.pitches)
            .dst_origin(case.dst.origin)
            .dst_pitches(case.dst.pitches);
        enqueue_copy(&on_device.queue, &to, &from, rect, [])?;
        Ok(same(&inverter.read(&to)?, &case.expected(&src, &dst), "the destination").and(same(
            &inverter.read(&from)?,
            &src,
            "the source",
        )))
    });
    Ok(())
}
