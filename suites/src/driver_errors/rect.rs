//! Rectangles of buffers: reads, writes and copies (5.2.2).

use super::prelude::*;

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

command! {
    /// The arguments of clEnqueueReadBufferRect or clEnqueueWriteBufferRect, which block.
    TransferRect(objects: &Objects, direction) {
        object: cl_mem = objects.buffer.as_raw(),
        buffer: Side = SIDE,
        host: Side = SIDE,
        region: Option<[usize; 3]> = Some(REGION),
        pointer: *mut c_void = objects.host(),
    }
    // SAFETY: the host memory, if any, has room for every rectangle of the tests.
    unsafe |c| match c.direction {
        Direction::Read => call!(c, enqueue_read_buffer_rect(
            c.object, CL_TRUE, pointer(&c.buffer.origin), pointer(&c.host.origin),
            pointer(&c.region), c.buffer.row_pitch, c.buffer.slice_pitch, c.host.row_pitch,
            c.host.slice_pitch, c.pointer,
        )),
        Direction::Write => call!(c, enqueue_write_buffer_rect(
            c.object, CL_TRUE, pointer(&c.buffer.origin), pointer(&c.host.origin),
            pointer(&c.region), c.buffer.row_pitch, c.buffer.slice_pitch, c.host.row_pitch,
            c.host.slice_pitch, c.pointer,
        )),
    }
}

cases! {
    #[clmatrix_harness::test]
    fn transfer_checks_its_arguments(objects: Objects, c: TransferRect, direction);
    valid() => CL_SUCCESS;
    null_buffer_origin(c.buffer.origin = None) => CL_INVALID_VALUE;
    null_host_origin(c.host.origin = None) => CL_INVALID_VALUE;
    null_region(c.region = None) => CL_INVALID_VALUE;
    null_host_memory(c.pointer = ptr::null_mut()) => CL_INVALID_VALUE;
    null_buffer(c.object = ptr::null_mut()) => CL_INVALID_MEM_OBJECT;
    no_bytes_of_a_row(c.region = Some([0, 4, 2])) => CL_INVALID_VALUE;
    no_rows(c.region = Some([16, 0, 2])) => CL_INVALID_VALUE;
    no_slices(c.region = Some([16, 4, 0])) => CL_INVALID_VALUE;
    buffer_rows_that_overlap(c.buffer.row_pitch = 8) => CL_INVALID_VALUE;
    host_rows_that_overlap(c.host.row_pitch = 8) => CL_INVALID_VALUE;
    buffer_slices_that_overlap(c.buffer.slice_pitch = 3 * 64 + 8) => CL_INVALID_VALUE;
    host_slices_that_overlap(c.host.slice_pitch = 3 * 64 + 8) => CL_INVALID_VALUE;
}

cases! {
    /// OpenCL 3.0 names the code for a slice pitch that is too small and no multiple of the row
    /// pitch; OpenCL 3.1 names it for either.
    #[clmatrix_harness::test(requires(opencl = "3.1"))]
    fn transfer_checks_each_rule_of_slice_pitches(objects: Objects, c: TransferRect, direction)
        => [CL_INVALID_VALUE];
    buffer_slices_that_overlap(c.buffer.slice_pitch = 3 * 64);
    host_slices_that_overlap(c.host.slice_pitch = 3 * 64);
    buffer_slices_of_part_rows(c.buffer.slice_pitch += 8);
    host_slices_of_part_rows(c.host.slice_pitch += 8);
}

cases! {
    #[clmatrix_harness::test(own_worker)]
    fn transfer_refuses_ranges_outside(objects: Objects, c: TransferRect, direction)
        => [CL_INVALID_VALUE];
    past_the_end(c.buffer.origin = Some([8, 1, 7]));
}

command! {
    /// The arguments of clEnqueueCopyBufferRect.
    CopyRect(objects: &Objects) {
        source: cl_mem = objects.buffer.as_raw(),
        target: cl_mem = objects.other.as_raw(),
        from: Side = SIDE,
        to: Side = SIDE,
        region: Option<[usize; 3]> = Some(REGION),
    }
    // SAFETY: origins and region are null or three numbers each.
    unsafe |c| call!(c, enqueue_copy_buffer_rect(
        c.source, c.target, pointer(&c.from.origin), pointer(&c.to.origin), pointer(&c.region),
        c.from.row_pitch, c.from.slice_pitch, c.to.row_pitch, c.to.slice_pitch,
    ))
}

impl CopyRect {
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

cases! {
    #[clmatrix_harness::test]
    fn copy_checks_its_arguments(objects: Objects, c: CopyRect);
    valid() => CL_SUCCESS;
    valid_within_one_buffer(c.within_one([24, 1, 1])) => CL_SUCCESS;
    null_source_origin(c.from.origin = None) => CL_INVALID_VALUE;
    null_target_origin(c.to.origin = None) => CL_INVALID_VALUE;
    null_region(c.region = None) => CL_INVALID_VALUE;
    null_source(c.source = ptr::null_mut()) => CL_INVALID_MEM_OBJECT;
    null_target(c.target = ptr::null_mut()) => CL_INVALID_MEM_OBJECT;
    no_bytes_of_a_row(c.region = Some([0, 4, 2])) => CL_INVALID_VALUE;
    no_rows(c.region = Some([16, 0, 2])) => CL_INVALID_VALUE;
    no_slices(c.region = Some([16, 4, 0])) => CL_INVALID_VALUE;
    source_rows_that_overlap(c.from.row_pitch = 8) => CL_INVALID_VALUE;
    target_rows_that_overlap(c.to.row_pitch = 8) => CL_INVALID_VALUE;
    source_slices_that_overlap(c.from.slice_pitch = 3 * 64) => CL_INVALID_VALUE;
    target_slices_that_overlap(c.to.slice_pitch = 3 * 64) => CL_INVALID_VALUE;
    source_slices_of_part_rows(c.from.slice_pitch += 8) => CL_INVALID_VALUE;
    target_slices_of_part_rows(c.to.slice_pitch += 8) => CL_INVALID_VALUE;
    pitches_that_differ_within_one_buffer(c.within_one_with_pitches(32, 12 * 64))
        => CL_INVALID_VALUE;
    onto_itself(c.within_one([8, 1, 1])) => CL_MEM_COPY_OVERLAP;
    overlap_of_bytes(c.within_one([23, 1, 1])) => CL_MEM_COPY_OVERLAP;
    overlap_of_rows(c.within_one([8, 4, 1])) => CL_MEM_COPY_OVERLAP;
    overlap_of_slices(c.within_one([8, 1, 2])) => CL_MEM_COPY_OVERLAP;
}

cases! {
    /// Within one buffer, both pitches must be equal. OpenCL 3.0 names the code where both differ;
    /// OpenCL 3.1 names it for either.
    #[clmatrix_harness::test(requires(opencl = "3.1"))]
    fn copy_refuses_one_pitch_that_differs_within_one_buffer(objects: Objects, c: CopyRect)
        => [CL_INVALID_VALUE];
    row_pitches(c.within_one_with_pitches(32, 8 * 64));
    slice_pitches(c.within_one_with_pitches(64, 12 * 64));
}

cases! {
    #[clmatrix_harness::test(own_worker)]
    fn copy_refuses_ranges_outside(objects: Objects, c: CopyRect) => [CL_INVALID_VALUE];
    a_source_past_the_end(c.from.origin = Some([8, 1, 7]));
    a_target_past_the_end(c.to.origin = Some([8, 1, 7]));
}
