//! Rectangles of buffers: reads, writes and copies (5.2.2).

use super::prelude::*;

/// The positions of the pitches of rows and slices.
const ROW: usize = 0;
const SLICE: usize = 1;

cases! {
    #[clmatrix_harness::test]
    fn transfer_checks_its_arguments(bench, c: Arguments of ReadRect or WriteRect by direction);
    valid() => CL_SUCCESS;
    null_buffer_origin(c.origins[0] = None) => CL_INVALID_VALUE;
    null_host_origin(c.origins[1] = None) => CL_INVALID_VALUE;
    null_region(c.region = None) => CL_INVALID_VALUE;
    null_host_memory(c.memory[1] = NULL) => CL_INVALID_VALUE;
    null_buffer(c.memory[0] = NULL) => CL_INVALID_MEM_OBJECT;
    no_bytes_of_a_row(c.region = Some([0, 4, 2])) => CL_INVALID_VALUE;
    no_rows(c.region = Some([16, 0, 2])) => CL_INVALID_VALUE;
    no_slices(c.region = Some([16, 4, 0])) => CL_INVALID_VALUE;
    buffer_rows_that_overlap(c.pitches[0][ROW] = 8) => CL_INVALID_VALUE;
    host_rows_that_overlap(c.pitches[1][ROW] = 8) => CL_INVALID_VALUE;
    buffer_slices_that_overlap(c.pitches[0][SLICE] = 3 * 64 + 8) => CL_INVALID_VALUE;
    host_slices_that_overlap(c.pitches[1][SLICE] = 3 * 64 + 8) => CL_INVALID_VALUE;
}

cases! {
    /// OpenCL 3.0 names the code for a slice pitch that is too small and no multiple of the row
    /// pitch; OpenCL 3.1 names it for either.
    #[clmatrix_harness::test(requires(opencl = "3.1"))]
    fn transfer_checks_each_rule_of_slice_pitches(
        bench, c: Arguments of ReadRect or WriteRect by direction
    ) => [CL_INVALID_VALUE];
    buffer_slices_that_overlap(c.pitches[0][SLICE] = 3 * 64);
    host_slices_that_overlap(c.pitches[1][SLICE] = 3 * 64);
    buffer_slices_of_part_rows(c.pitches[0][SLICE] += 8);
    host_slices_of_part_rows(c.pitches[1][SLICE] += 8);
}

cases! {
    #[clmatrix_harness::test(own_worker)]
    fn transfer_refuses_ranges_outside(bench, c: Arguments of ReadRect or WriteRect by direction)
        => [CL_INVALID_VALUE];
    past_the_end(c.origins[0] = Some([8, 1, 7]));
}

/// Copies to the third slice of the source, with other pitches.
fn within_one_with_pitches(c: &mut Arguments, row: usize, slice: usize) {
    c.within_one_to([0, 0, 4]);
    c.pitches[1] = [row, slice];
}

cases! {
    #[clmatrix_harness::test]
    fn copy_checks_its_arguments(bench, c: Arguments of CopyRect);
    valid() => CL_SUCCESS;
    valid_within_one_buffer(c.within_one_to([24, 1, 1])) => CL_SUCCESS;
    null_source_origin(c.origins[0] = None) => CL_INVALID_VALUE;
    null_target_origin(c.origins[1] = None) => CL_INVALID_VALUE;
    null_region(c.region = None) => CL_INVALID_VALUE;
    null_source(c.memory[0] = NULL) => CL_INVALID_MEM_OBJECT;
    null_target(c.memory[1] = NULL) => CL_INVALID_MEM_OBJECT;
    no_bytes_of_a_row(c.region = Some([0, 4, 2])) => CL_INVALID_VALUE;
    no_rows(c.region = Some([16, 0, 2])) => CL_INVALID_VALUE;
    no_slices(c.region = Some([16, 4, 0])) => CL_INVALID_VALUE;
    source_rows_that_overlap(c.pitches[0][ROW] = 8) => CL_INVALID_VALUE;
    target_rows_that_overlap(c.pitches[1][ROW] = 8) => CL_INVALID_VALUE;
    source_slices_that_overlap(c.pitches[0][SLICE] = 3 * 64) => CL_INVALID_VALUE;
    target_slices_that_overlap(c.pitches[1][SLICE] = 3 * 64) => CL_INVALID_VALUE;
    source_slices_of_part_rows(c.pitches[0][SLICE] += 8) => CL_INVALID_VALUE;
    target_slices_of_part_rows(c.pitches[1][SLICE] += 8) => CL_INVALID_VALUE;
    pitches_that_differ_within_one_buffer(within_one_with_pitches(c, 32, 12 * 64))
        => CL_INVALID_VALUE;
    onto_itself(c.within_one_to([8, 1, 1])) => CL_MEM_COPY_OVERLAP;
    overlap_of_bytes(c.within_one_to([23, 1, 1])) => CL_MEM_COPY_OVERLAP;
    overlap_of_rows(c.within_one_to([8, 4, 1])) => CL_MEM_COPY_OVERLAP;
    overlap_of_slices(c.within_one_to([8, 1, 2])) => CL_MEM_COPY_OVERLAP;
}

cases! {
    /// Within one buffer, both pitches must be equal. OpenCL 3.0 names the code where both differ;
    /// OpenCL 3.1 names it for either.
    #[clmatrix_harness::test(requires(opencl = "3.1"))]
    fn copy_refuses_one_pitch_that_differs_within_one_buffer(bench, c: Arguments of CopyRect)
        => [CL_INVALID_VALUE];
    row_pitches(within_one_with_pitches(c, 32, 8 * 64));
    slice_pitches(within_one_with_pitches(c, 64, 12 * 64));
}

cases! {
    #[clmatrix_harness::test(own_worker)]
    fn copy_refuses_ranges_outside(bench, c: Arguments of CopyRect) => [CL_INVALID_VALUE];
    a_source_past_the_end(c.origins[0] = Some([8, 1, 7]));
    a_target_past_the_end(c.origins[1] = Some([8, 1, 7]));
}
