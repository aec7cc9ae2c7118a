//! Rectangles of buffers: reads, writes and copies (5.2.2).

use std::ffi::c_void;
use std::ptr;

use clmatrix::cl3::command_queue::{
    enqueue_copy_buffer_rect, enqueue_read_buffer_rect, enqueue_write_buffer_rect,
};
use clmatrix::cl3::error_codes::{
    CL_INVALID_MEM_OBJECT, CL_INVALID_VALUE, CL_MEM_COPY_OVERLAP, CL_SUCCESS,
};
use clmatrix::cl3::types::{CL_TRUE, cl_event, cl_int, cl_mem};
use rstest::rstest;

use super::Answer;
use super::buffer::Direction;
use super::command::{Command, Common, check, pointer};
use super::objects::{Objects, objects};

/// A side of a transfer: the bytes that it begins with, its rows and its slices.
#[derive(Clone, Copy)]
pub struct Side {
    pub origin: Option<[usize; 3]>,
    pub row_pitch: usize,
    pub slice_pitch: usize,
}

/// Slices of eight rows of 64 bytes, of which a buffer has eight.
const SIDE: Side = Side { origin: Some([8, 1, 1]), row_pitch: 64, slice_pitch: 8 * 64 };
const REGION: [usize; 3] = [16, 4, 2];

/// The arguments of clEnqueueReadBufferRect or clEnqueueWriteBufferRect, which block.
pub struct TransferRect {
    common: Common,
    direction: Direction,
    object: cl_mem,
    buffer: Side,
    host: Side,
    region: Option<[usize; 3]>,
    pointer: *mut c_void,
}

impl TransferRect {
    pub fn valid(objects: &Objects, direction: Direction) -> Self {
        Self {
            common: Common::new(objects.queue()),
            direction,
            object: objects.buffer(),
            buffer: SIDE,
            host: SIDE,
            region: Some(REGION),
            pointer: objects.host(),
        }
    }
}

impl Command for TransferRect {
    fn common(&mut self) -> &mut Common {
        &mut self.common
    }

    fn enqueue(&self) -> Answer<cl_event> {
        let Common { queue, count, events } = self.common;
        let (buffer, host, region) = (&self.buffer, &self.host, pointer(&self.region).cast());
        let origins = [buffer, host].map(|side| pointer(&side.origin).cast());
        // SAFETY: the host memory, if any, has room for every rectangle of the tests.
        unsafe {
            match self.direction {
                Direction::Read => enqueue_read_buffer_rect(
                    queue,
                    self.object,
                    CL_TRUE,
                    origins[0],
                    origins[1],
                    region,
                    buffer.row_pitch,
                    buffer.slice_pitch,
                    host.row_pitch,
                    host.slice_pitch,
                    self.pointer,
                    count,
                    events,
                ),
                Direction::Write => enqueue_write_buffer_rect(
                    queue,
                    self.object,
                    CL_TRUE,
                    origins[0],
                    origins[1],
                    region,
                    buffer.row_pitch,
                    buffer.slice_pitch,
                    host.row_pitch,
                    host.slice_pitch,
                    self.pointer,
                    count,
                    events,
                ),
            }
        }
    }
}

#[rstest]
#[case::valid(|_: &mut TransferRect| (), CL_SUCCESS)]
#[case::null_buffer_origin(|c: &mut TransferRect| c.buffer.origin = None, CL_INVALID_VALUE)]
#[case::null_host_origin(|c: &mut TransferRect| c.host.origin = None, CL_INVALID_VALUE)]
#[case::null_region(|c: &mut TransferRect| c.region = None, CL_INVALID_VALUE)]
#[case::null_host_memory(|c: &mut TransferRect| c.pointer = ptr::null_mut(), CL_INVALID_VALUE)]
#[case::null_buffer(|c: &mut TransferRect| c.object = ptr::null_mut(), CL_INVALID_MEM_OBJECT)]
#[case::no_bytes_of_a_row(|c: &mut TransferRect| c.region = Some([0, 4, 2]), CL_INVALID_VALUE)]
#[case::no_rows(|c: &mut TransferRect| c.region = Some([16, 0, 2]), CL_INVALID_VALUE)]
#[case::no_slices(|c: &mut TransferRect| c.region = Some([16, 4, 0]), CL_INVALID_VALUE)]
#[case::buffer_rows_that_overlap(
    |c: &mut TransferRect| c.buffer.row_pitch = 8, CL_INVALID_VALUE
)]
#[case::host_rows_that_overlap(|c: &mut TransferRect| c.host.row_pitch = 8, CL_INVALID_VALUE)]
#[case::buffer_slices_that_overlap(
    |c: &mut TransferRect| c.buffer.slice_pitch = 3 * 64 + 8, CL_INVALID_VALUE
)]
#[case::host_slices_that_overlap(
    |c: &mut TransferRect| c.host.slice_pitch = 3 * 64 + 8, CL_INVALID_VALUE
)]
#[clmatrix_harness::test]
fn transfer_checks_its_arguments(
    objects: Objects,
    #[values(Direction::Read, Direction::Write)] direction: Direction,
    #[case] change: fn(&mut TransferRect),
    #[case] expected: cl_int,
) {
    check(TransferRect::valid(&objects, direction), change, expected);
}

/// OpenCL 3.0 names the code for a slice pitch that is too small and no multiple of the row pitch;
/// OpenCL 3.1 names it for either.
#[rstest]
#[case::buffer_slices_that_overlap(|c: &mut TransferRect| c.buffer.slice_pitch = 3 * 64)]
#[case::host_slices_that_overlap(|c: &mut TransferRect| c.host.slice_pitch = 3 * 64)]
#[case::buffer_slices_of_part_rows(|c: &mut TransferRect| c.buffer.slice_pitch += 8)]
#[case::host_slices_of_part_rows(|c: &mut TransferRect| c.host.slice_pitch += 8)]
#[clmatrix_harness::test(requires(opencl = "3.1"))]
fn transfer_checks_each_rule_of_slice_pitches(
    objects: Objects,
    #[values(Direction::Read, Direction::Write)] direction: Direction,
    #[case] change: fn(&mut TransferRect),
) {
    check(TransferRect::valid(&objects, direction), change, CL_INVALID_VALUE);
}

#[rstest]
#[case::past_the_end(|c: &mut TransferRect| c.buffer.origin = Some([8, 1, 7]))]
#[clmatrix_harness::test(own_worker)]
fn transfer_refuses_ranges_outside(
    objects: Objects,
    #[values(Direction::Read, Direction::Write)] direction: Direction,
    #[case] change: fn(&mut TransferRect),
) {
    check(TransferRect::valid(&objects, direction), change, CL_INVALID_VALUE);
}

/// The arguments of clEnqueueCopyBufferRect.
pub struct CopyRect {
    pub common: Common,
    pub source: cl_mem,
    pub target: cl_mem,
    pub from: Side,
    pub to: Side,
    pub region: Option<[usize; 3]>,
}

impl CopyRect {
    pub fn valid(objects: &Objects) -> Self {
        Self {
            common: Common::new(objects.queue()),
            source: objects.buffer(),
            target: objects.other(),
            from: SIDE,
            to: SIDE,
            region: Some(REGION),
        }
    }

    /// A copy of one row of `size` bytes.
    pub fn bytes(&mut self, from: usize, to: usize, size: usize) {
        let side = |offset| Side { origin: Some([offset, 0, 0]), row_pitch: 0, slice_pitch: 0 };
        (self.from, self.to, self.region) = (side(from), side(to), Some([size, 1, 1]));
    }

    fn within_one(&mut self, to: [usize; 3]) {
        self.target = self.source;
        self.to.origin = Some(to);
    }

    fn within_one_with_pitches(&mut self, row_pitch: usize, slice_pitch: usize) {
        self.within_one([0, 0, 4]);
        (self.to.row_pitch, self.to.slice_pitch) = (row_pitch, slice_pitch);
    }
}

impl Command for CopyRect {
    fn common(&mut self) -> &mut Common {
        &mut self.common
    }

    fn enqueue(&self) -> Answer<cl_event> {
        let Common { queue, count, events } = self.common;
        // SAFETY: origins and region are null or three numbers each.
        unsafe {
            enqueue_copy_buffer_rect(
                queue,
                self.source,
                self.target,
                pointer(&self.from.origin).cast(),
                pointer(&self.to.origin).cast(),
                pointer(&self.region).cast(),
                self.from.row_pitch,
                self.from.slice_pitch,
                self.to.row_pitch,
                self.to.slice_pitch,
                count,
                events,
            )
        }
    }
}

#[rstest]
#[case::valid(|_: &mut CopyRect| (), CL_SUCCESS)]
#[case::valid_within_one_buffer(|c: &mut CopyRect| c.within_one([24, 1, 1]), CL_SUCCESS)]
#[case::null_source_origin(|c: &mut CopyRect| c.from.origin = None, CL_INVALID_VALUE)]
#[case::null_target_origin(|c: &mut CopyRect| c.to.origin = None, CL_INVALID_VALUE)]
#[case::null_region(|c: &mut CopyRect| c.region = None, CL_INVALID_VALUE)]
#[case::null_source(|c: &mut CopyRect| c.source = ptr::null_mut(), CL_INVALID_MEM_OBJECT)]
#[case::null_target(|c: &mut CopyRect| c.target = ptr::null_mut(), CL_INVALID_MEM_OBJECT)]
#[case::no_bytes_of_a_row(|c: &mut CopyRect| c.region = Some([0, 4, 2]), CL_INVALID_VALUE)]
#[case::no_rows(|c: &mut CopyRect| c.region = Some([16, 0, 2]), CL_INVALID_VALUE)]
#[case::no_slices(|c: &mut CopyRect| c.region = Some([16, 4, 0]), CL_INVALID_VALUE)]
#[case::source_rows_that_overlap(|c: &mut CopyRect| c.from.row_pitch = 8, CL_INVALID_VALUE)]
#[case::target_rows_that_overlap(|c: &mut CopyRect| c.to.row_pitch = 8, CL_INVALID_VALUE)]
#[case::source_slices_that_overlap(
    |c: &mut CopyRect| c.from.slice_pitch = 3 * 64, CL_INVALID_VALUE
)]
#[case::target_slices_that_overlap(
    |c: &mut CopyRect| c.to.slice_pitch = 3 * 64, CL_INVALID_VALUE
)]
#[case::source_slices_of_part_rows(
    |c: &mut CopyRect| c.from.slice_pitch += 8, CL_INVALID_VALUE
)]
#[case::target_slices_of_part_rows(|c: &mut CopyRect| c.to.slice_pitch += 8, CL_INVALID_VALUE)]
#[case::pitches_that_differ_within_one_buffer(
    |c: &mut CopyRect| c.within_one_with_pitches(32, 12 * 64), CL_INVALID_VALUE
)]
#[case::onto_itself(|c: &mut CopyRect| c.within_one([8, 1, 1]), CL_MEM_COPY_OVERLAP)]
#[case::overlap_of_bytes(|c: &mut CopyRect| c.within_one([23, 1, 1]), CL_MEM_COPY_OVERLAP)]
#[case::overlap_of_rows(|c: &mut CopyRect| c.within_one([8, 4, 1]), CL_MEM_COPY_OVERLAP)]
#[case::overlap_of_slices(|c: &mut CopyRect| c.within_one([8, 1, 2]), CL_MEM_COPY_OVERLAP)]
#[clmatrix_harness::test]
fn copy_checks_its_arguments(
    objects: Objects,
    #[case] change: fn(&mut CopyRect),
    #[case] expected: cl_int,
) {
    check(CopyRect::valid(&objects), change, expected);
}

/// Within one buffer, both pitches must be equal. OpenCL 3.0 names the code where both differ;
/// OpenCL 3.1 names it for either.
#[rstest]
#[case::row_pitches(|c: &mut CopyRect| c.within_one_with_pitches(32, 8 * 64))]
#[case::slice_pitches(|c: &mut CopyRect| c.within_one_with_pitches(64, 12 * 64))]
#[clmatrix_harness::test(requires(opencl = "3.1"))]
fn copy_refuses_one_pitch_that_differs_within_one_buffer(
    objects: Objects,
    #[case] change: fn(&mut CopyRect),
) {
    check(CopyRect::valid(&objects), change, CL_INVALID_VALUE);
}

#[rstest]
#[case::a_source_past_the_end(|c: &mut CopyRect| c.from.origin = Some([8, 1, 7]))]
#[case::a_target_past_the_end(|c: &mut CopyRect| c.to.origin = Some([8, 1, 7]))]
#[clmatrix_harness::test(own_worker)]
fn copy_refuses_ranges_outside(objects: Objects, #[case] change: fn(&mut CopyRect)) {
    check(CopyRect::valid(&objects), change, CL_INVALID_VALUE);
}
