//! Buffers: creation, reads, writes and copies (5.2.1, 5.2.2).

use crate::support::unanswered;
use std::ffi::c_void;
use std::ptr;

use clmatrix::cl3::command_queue::{
    enqueue_copy_buffer, enqueue_read_buffer, enqueue_write_buffer,
};
use clmatrix::cl3::error_codes::{
    CL_INVALID_BUFFER_SIZE, CL_INVALID_HOST_PTR, CL_INVALID_MEM_OBJECT, CL_INVALID_VALUE,
    CL_MEM_COPY_OVERLAP, CL_SUCCESS,
};
use clmatrix::cl3::memory::{
    CL_MEM_ALLOC_HOST_PTR, CL_MEM_COPY_HOST_PTR, CL_MEM_HOST_NO_ACCESS, CL_MEM_HOST_READ_ONLY,
    CL_MEM_HOST_WRITE_ONLY, CL_MEM_READ_ONLY, CL_MEM_READ_WRITE, CL_MEM_USE_HOST_PTR,
    CL_MEM_WRITE_ONLY, create_buffer,
};
use clmatrix::cl3::types::{CL_TRUE, cl_context, cl_event, cl_int, cl_mem, cl_mem_flags};
use clmatrix::{Device, Result};
use clmatrix_harness::device;
use rstest::rstest;

use super::command::{Command, Common, check};
use super::objects::{Objects, SIZE, objects};
use super::{Answer, assert_code, creation_code};

/// The arguments of clCreateBuffer.
struct Create {
    context: cl_context,
    flags: cl_mem_flags,
    size: usize,
    host: *mut c_void,
}

impl Create {
    fn valid(objects: &Objects) -> Self {
        let flags = CL_MEM_READ_WRITE | CL_MEM_COPY_HOST_PTR;
        Self { context: objects.context(), flags, size: SIZE, host: objects.host() }
    }

    fn without_host(&mut self, flags: cl_mem_flags) {
        (self.flags, self.host) = (flags, ptr::null_mut());
    }

    fn code(&self) -> cl_int {
        // SAFETY: the host memory, if any, has `SIZE` bytes and outlives the buffer.
        creation_code(unsafe { create_buffer(self.context, self.flags, self.size, self.host) })
    }
}

#[rstest]
#[case::valid(|_: &mut Create| (), CL_SUCCESS)]
#[case::size_zero(|c: &mut Create| c.size = 0, CL_INVALID_BUFFER_SIZE)]
#[case::host_memory_without_a_flag(
    |c: &mut Create| c.flags = CL_MEM_READ_WRITE, CL_INVALID_HOST_PTR
)]
#[case::null_for_copy_host_ptr(
    |c: &mut Create| c.without_host(CL_MEM_COPY_HOST_PTR), CL_INVALID_HOST_PTR
)]
#[case::null_for_use_host_ptr(
    |c: &mut Create| c.without_host(CL_MEM_USE_HOST_PTR), CL_INVALID_HOST_PTR
)]
#[case::read_write_and_read_only(
    |c: &mut Create| c.flags |= CL_MEM_READ_ONLY, CL_INVALID_VALUE
)]
#[case::read_write_and_write_only(
    |c: &mut Create| c.flags |= CL_MEM_WRITE_ONLY, CL_INVALID_VALUE
)]
#[case::read_only_and_write_only(
    |c: &mut Create| c.without_host(CL_MEM_READ_ONLY | CL_MEM_WRITE_ONLY), CL_INVALID_VALUE
)]
#[case::copy_host_ptr_and_use_host_ptr(
    |c: &mut Create| c.flags |= CL_MEM_USE_HOST_PTR, CL_INVALID_VALUE
)]
#[case::alloc_host_ptr_and_use_host_ptr(
    |c: &mut Create| c.flags = CL_MEM_ALLOC_HOST_PTR | CL_MEM_USE_HOST_PTR, CL_INVALID_VALUE
)]
#[case::host_read_only_and_host_write_only(
    |c: &mut Create| c.flags |= CL_MEM_HOST_READ_ONLY | CL_MEM_HOST_WRITE_ONLY, CL_INVALID_VALUE
)]
#[case::host_read_only_and_host_no_access(
    |c: &mut Create| c.flags |= CL_MEM_HOST_READ_ONLY | CL_MEM_HOST_NO_ACCESS, CL_INVALID_VALUE
)]
#[case::host_write_only_and_host_no_access(
    |c: &mut Create| c.flags |= CL_MEM_HOST_WRITE_ONLY | CL_MEM_HOST_NO_ACCESS, CL_INVALID_VALUE
)]
#[case::an_unknown_flag(|c: &mut Create| c.flags |= 1 << 62, CL_INVALID_VALUE)]
#[clmatrix_harness::test]
fn create_checks_its_arguments(
    objects: Objects,
    #[case] change: fn(&mut Create),
    #[case] expected: cl_int,
) {
    let mut call = Create::valid(&objects);
    change(&mut call);
    assert_code(call.code(), expected);
}

/// Before OpenCL 3.0, a driver may accept such a size.
#[clmatrix_harness::test(requires(opencl = "3.0"))]
fn create_refuses_more_than_the_maximum_allocation(objects: Objects, device: Device) -> Result<()> {
    let mut call = Create::valid(&objects);
    call.without_host(CL_MEM_READ_WRITE);
    call.size = device.opencl3().max_mem_alloc_size().map_err(unanswered)? as usize + 1;
    assert_code(call.code(), CL_INVALID_BUFFER_SIZE);
    Ok(())
}

/// The arguments of clEnqueueReadBuffer or clEnqueueWriteBuffer, which block.
pub struct Transfer {
    common: Common,
    direction: Direction,
    buffer: cl_mem,
    offset: usize,
    size: usize,
    host: *mut c_void,
}

/// The commands between a buffer and host memory.
#[derive(Clone, Copy, Debug)]
pub enum Direction {
    Read,
    Write,
}

impl Transfer {
    pub fn valid(objects: &Objects, direction: Direction) -> Self {
        Self {
            common: Common::new(objects.queue()),
            direction,
            buffer: objects.buffer(),
            offset: 0,
            size: SIZE,
            host: objects.host(),
        }
    }

    fn part(&mut self, offset: usize, size: usize) {
        (self.offset, self.size) = (offset, size);
    }
}

impl Command for Transfer {
    fn common(&mut self) -> &mut Common {
        &mut self.common
    }

    fn enqueue(&self) -> Answer<cl_event> {
        let Self { common, direction, buffer, offset, size, host } = self;
        let Common { queue, count, events } = common;
        // SAFETY: the host memory, if any, has room for every size that a driver may accept.
        unsafe {
            match direction {
                Direction::Read => enqueue_read_buffer(
                    *queue, *buffer, CL_TRUE, *offset, *size, *host, *count, *events,
                ),
                Direction::Write => enqueue_write_buffer(
                    *queue, *buffer, CL_TRUE, *offset, *size, *host, *count, *events,
                ),
            }
        }
    }
}

#[rstest]
#[case::valid(|_: &mut Transfer| (), CL_SUCCESS)]
#[case::null_host_memory(|c: &mut Transfer| c.host = ptr::null_mut(), CL_INVALID_VALUE)]
#[case::null_buffer(|c: &mut Transfer| c.buffer = ptr::null_mut(), CL_INVALID_MEM_OBJECT)]
#[clmatrix_harness::test]
fn transfer_checks_its_arguments(
    objects: Objects,
    #[values(Direction::Read, Direction::Write)] direction: Direction,
    #[case] change: fn(&mut Transfer),
    #[case] expected: cl_int,
) {
    check(Transfer::valid(&objects, direction), change, expected);
}

#[rstest]
#[case::one_byte_past_the_end(|c: &mut Transfer| c.offset = 1)]
#[case::behind_the_end(|c: &mut Transfer| c.part(SIZE + 1, 1))]
#[case::an_end_that_overflows(|c: &mut Transfer| c.part(usize::MAX - 15, 32))]
#[clmatrix_harness::test(own_worker)]
fn transfer_refuses_ranges_outside(
    objects: Objects,
    #[values(Direction::Read, Direction::Write)] direction: Direction,
    #[case] change: fn(&mut Transfer),
) {
    check(Transfer::valid(&objects, direction), change, CL_INVALID_VALUE);
}

/// OpenCL 1.2 and 2.0 forbid transfers of no bytes; later versions do not.
#[rstest]
#[clmatrix_harness::test]
fn transfer_of_no_bytes_follows_the_version(
    objects: Objects,
    device: Device,
    #[values(Direction::Read, Direction::Write)] direction: Direction,
) -> Result<()> {
    let version = device.opencl3().version().map_err(unanswered)?;
    let is_forbidden = ["OpenCL 1.", "OpenCL 2.0"].iter().any(|old| version.starts_with(old));
    let expected = if is_forbidden { CL_INVALID_VALUE } else { CL_SUCCESS };
    check(Transfer::valid(&objects, direction), |c| c.size = 0, expected);
    Ok(())
}

/// The arguments of clEnqueueCopyBuffer.
pub struct Copy {
    pub common: Common,
    pub source: cl_mem,
    pub target: cl_mem,
    pub source_offset: usize,
    pub target_offset: usize,
    pub size: usize,
}

impl Copy {
    pub fn valid(objects: &Objects) -> Self {
        Self {
            common: Common::new(objects.queue()),
            source: objects.buffer(),
            target: objects.other(),
            source_offset: 0,
            target_offset: 0,
            size: SIZE,
        }
    }

    /// A copy between parts of one object or of two.
    pub fn parts(&mut self, source_offset: usize, target_offset: usize, size: usize) {
        (self.source_offset, self.target_offset, self.size) = (source_offset, target_offset, size);
    }

    fn within_one(&mut self, source_offset: usize, target_offset: usize, size: usize) {
        self.target = self.source;
        self.parts(source_offset, target_offset, size);
    }
}

impl Command for Copy {
    fn common(&mut self) -> &mut Common {
        &mut self.common
    }

    fn enqueue(&self) -> Answer<cl_event> {
        let Self { common, source, target, source_offset, target_offset, size } = self;
        let Common { queue, count, events } = common;
        // SAFETY: the driver checks the handles and the ranges.
        unsafe {
            enqueue_copy_buffer(
                *queue,
                *source,
                *target,
                *source_offset,
                *target_offset,
                *size,
                *count,
                *events,
            )
        }
    }
}

#[rstest]
#[case::valid(|_: &mut Copy| (), CL_SUCCESS)]
#[case::valid_within_one_buffer(|c: &mut Copy| c.within_one(0, 16, 16), CL_SUCCESS)]
#[case::onto_itself(|c: &mut Copy| c.within_one(0, 0, SIZE), CL_MEM_COPY_OVERLAP)]
#[case::overlap_of_a_byte_forwards(
    |c: &mut Copy| c.within_one(0, 15, 16), CL_MEM_COPY_OVERLAP
)]
#[case::overlap_of_a_byte_backwards(
    |c: &mut Copy| c.within_one(15, 0, 16), CL_MEM_COPY_OVERLAP
)]
#[case::null_source(|c: &mut Copy| c.source = ptr::null_mut(), CL_INVALID_MEM_OBJECT)]
#[case::null_target(|c: &mut Copy| c.target = ptr::null_mut(), CL_INVALID_MEM_OBJECT)]
#[clmatrix_harness::test]
fn copy_checks_its_arguments(
    objects: Objects,
    #[case] change: fn(&mut Copy),
    #[case] expected: cl_int,
) {
    check(Copy::valid(&objects), change, expected);
}

#[rstest]
#[case::a_source_past_the_end(|c: &mut Copy| c.parts(1, 0, SIZE))]
#[case::a_target_past_the_end(|c: &mut Copy| c.parts(0, 1, SIZE))]
#[case::a_source_behind_the_end(|c: &mut Copy| c.parts(SIZE + 1, 0, 1))]
#[case::a_target_behind_the_end(|c: &mut Copy| c.parts(0, SIZE + 1, 1))]
#[case::a_source_that_overflows(|c: &mut Copy| c.parts(usize::MAX - 15, 0, 32))]
#[case::a_target_that_overflows(|c: &mut Copy| c.parts(0, usize::MAX - 15, 32))]
#[clmatrix_harness::test(own_worker)]
fn copy_refuses_ranges_outside(objects: Objects, #[case] change: fn(&mut Copy)) {
    check(Copy::valid(&objects), change, CL_INVALID_VALUE);
}
