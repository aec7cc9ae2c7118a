//! Fills of buffers (5.2.3).

use super::prelude::*;

cases! {
    #[clmatrix_harness::test]
    fn fill_checks_its_arguments(bench, c: Arguments of FillBuffer);
    valid() => CL_SUCCESS;
    valid_with_the_longest_pattern(c.with_pattern_of(128)) => CL_SUCCESS;
    null_pattern(c.pattern.0 = None) => CL_INVALID_VALUE;
    null_buffer(c.memory[0] = NULL) => CL_INVALID_MEM_OBJECT;
    a_pattern_of_0_bytes(c.pattern.1 = 0) => CL_INVALID_VALUE;
    a_pattern_of_3_bytes(c.with_pattern_of(3)) => CL_INVALID_VALUE;
    a_pattern_of_48_bytes(c.with_pattern_of(48)) => CL_INVALID_VALUE;
    an_offset_within_a_pattern(c.part(8, 32)) => CL_INVALID_VALUE;
    an_end_within_a_pattern(c.part(0, 40)) => CL_INVALID_VALUE;
}

/// A driver may have room for 128 bytes.
#[clmatrix_harness::test(own_worker)]
fn fill_refuses_a_pattern_of_256_bytes(bench: Bench) {
    check(&bench, Kind::FillBuffer, "256 bytes", |c| c.with_pattern_of(256), CL_INVALID_VALUE);
}

cases! {
    #[clmatrix_harness::test(own_worker)]
    fn fill_refuses_ranges_outside(bench, c: Arguments of FillBuffer) => [CL_INVALID_VALUE];
    one_pattern_past_the_end(c.offsets[0] = 16);
    behind_the_end(c.part(SIZE + 16, 16));
    an_end_that_overflows(c.part(usize::MAX - 15, 32));
}
