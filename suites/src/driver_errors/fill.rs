//! Fills of buffers (5.2.3).

use std::ptr;

use clmatrix::cl3::command_queue::enqueue_fill_buffer;
use clmatrix::cl3::error_codes::{CL_INVALID_MEM_OBJECT, CL_INVALID_VALUE, CL_SUCCESS};
use clmatrix::cl3::types::{cl_event, cl_int, cl_mem};
use rstest::rstest;

use super::Answer;
use super::command::{Command, Common, check, pointer};
use super::objects::{Objects, SIZE, objects};

/// The arguments of clEnqueueFillBuffer.
pub struct Fill {
    common: Common,
    buffer: cl_mem,
    pattern: Option<[u8; 256]>,
    pattern_size: usize,
    offset: usize,
    size: usize,
}

impl Fill {
    pub fn valid(objects: &Objects) -> Self {
        Self {
            common: Common::new(objects.queue()),
            buffer: objects.buffer(),
            pattern: Some([1; 256]),
            pattern_size: 16,
            offset: 0,
            size: SIZE,
        }
    }

    fn part(&mut self, offset: usize, size: usize) {
        (self.offset, self.size) = (offset, size);
    }

    fn with_pattern_of(&mut self, bytes: usize) {
        (self.pattern_size, self.size) = (bytes, 3 * bytes);
    }
}

impl Command for Fill {
    fn common(&mut self) -> &mut Common {
        &mut self.common
    }

    fn enqueue(&self) -> Answer<cl_event> {
        let Common { queue, count, events } = self.common;
        let pattern = pointer(&self.pattern).cast();
        // SAFETY: the pattern is null or longer than any pattern size of the tests.
        unsafe {
            enqueue_fill_buffer(
                queue,
                self.buffer,
                pattern,
                self.pattern_size,
                self.offset,
                self.size,
                count,
                events,
            )
        }
    }
}

#[rstest]
#[case::valid(|_: &mut Fill| (), CL_SUCCESS)]
#[case::valid_with_the_longest_pattern(|c: &mut Fill| c.with_pattern_of(128), CL_SUCCESS)]
#[case::null_pattern(|c: &mut Fill| c.pattern = None, CL_INVALID_VALUE)]
#[case::null_buffer(|c: &mut Fill| c.buffer = ptr::null_mut(), CL_INVALID_MEM_OBJECT)]
#[case::a_pattern_of_0_bytes(|c: &mut Fill| c.pattern_size = 0, CL_INVALID_VALUE)]
#[case::a_pattern_of_3_bytes(|c: &mut Fill| c.with_pattern_of(3), CL_INVALID_VALUE)]
#[case::a_pattern_of_48_bytes(|c: &mut Fill| c.with_pattern_of(48), CL_INVALID_VALUE)]
#[case::an_offset_within_a_pattern(|c: &mut Fill| c.part(8, 32), CL_INVALID_VALUE)]
#[case::an_end_within_a_pattern(|c: &mut Fill| c.part(0, 40), CL_INVALID_VALUE)]
#[clmatrix_harness::test]
fn fill_checks_its_arguments(
    objects: Objects,
    #[case] change: fn(&mut Fill),
    #[case] expected: cl_int,
) {
    check(Fill::valid(&objects), change, expected);
}

/// A driver may have room for 128 bytes.
#[clmatrix_harness::test(own_worker)]
fn fill_refuses_a_pattern_of_256_bytes(objects: Objects) {
    check(Fill::valid(&objects), |call| call.with_pattern_of(256), CL_INVALID_VALUE);
}

#[rstest]
#[case::one_pattern_past_the_end(|c: &mut Fill| c.offset = 16)]
#[case::behind_the_end(|c: &mut Fill| c.part(SIZE + 16, 16))]
#[case::an_end_that_overflows(|c: &mut Fill| c.part(usize::MAX - 15, 32))]
#[clmatrix_harness::test(own_worker)]
fn fill_refuses_ranges_outside(objects: Objects, #[case] change: fn(&mut Fill)) {
    check(Fill::valid(&objects), change, CL_INVALID_VALUE);
}
