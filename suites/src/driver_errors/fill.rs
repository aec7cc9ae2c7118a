//! Fills of buffers (5.2.3).

use super::prelude::*;

command! {
    /// The arguments of clEnqueueFillBuffer.
    Fill(objects: &Objects) {
        buffer: cl_mem = objects.buffer.as_raw(),
        pattern: Option<[u8; 256]> = Some([1; 256]),
        pattern_size: usize = 16,
        offset: usize = 0,
        size: usize = SIZE,
    }
    // SAFETY: the pattern is null or longer than any pattern size of the tests.
    unsafe |c| call!(c, enqueue_fill_buffer(
        c.buffer, pointer(&c.pattern), c.pattern_size, c.offset, c.size
    ))
}

impl Fill {
    fn part(&mut self, offset: usize, size: usize) {
        (self.offset, self.size) = (offset, size);
    }

    fn with_pattern_of(&mut self, bytes: usize) {
        (self.pattern_size, self.size) = (bytes, 3 * bytes);
    }
}

cases! {
    #[clmatrix_harness::test]
    fn fill_checks_its_arguments(objects: Objects, c: Fill);
    valid() => CL_SUCCESS;
    valid_with_the_longest_pattern(c.with_pattern_of(128)) => CL_SUCCESS;
    null_pattern(c.pattern = None) => CL_INVALID_VALUE;
    null_buffer(c.buffer = ptr::null_mut()) => CL_INVALID_MEM_OBJECT;
    a_pattern_of_0_bytes(c.pattern_size = 0) => CL_INVALID_VALUE;
    a_pattern_of_3_bytes(c.with_pattern_of(3)) => CL_INVALID_VALUE;
    a_pattern_of_48_bytes(c.with_pattern_of(48)) => CL_INVALID_VALUE;
    an_offset_within_a_pattern(c.part(8, 32)) => CL_INVALID_VALUE;
    an_end_within_a_pattern(c.part(0, 40)) => CL_INVALID_VALUE;
}

/// A driver may have room for 128 bytes.
#[clmatrix_harness::test(own_worker)]
fn fill_refuses_a_pattern_of_256_bytes(objects: Objects) {
    check(Fill::valid(&objects), |c| c.with_pattern_of(256), CL_INVALID_VALUE);
}

cases! {
    #[clmatrix_harness::test(own_worker)]
    fn fill_refuses_ranges_outside(objects: Objects, c: Fill) => [CL_INVALID_VALUE];
    one_pattern_past_the_end(c.offset = 16);
    behind_the_end(c.part(SIZE + 16, 16));
    an_end_that_overflows(c.part(usize::MAX - 15, 32));
}
