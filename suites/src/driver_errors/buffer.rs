//! Buffers: creation, reads, writes and copies (5.2.1, 5.2.2).

use super::prelude::*;

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
        let created = unsafe { create_buffer(self.context, self.flags, self.size, self.host) };
        creation_code(created, release_mem_object)
    }
}

cases! {
    #[clmatrix_harness::test]
    fn create_checks_its_arguments(objects: Objects, c: Create);
    valid() => CL_SUCCESS;
    size_zero(c.size = 0) => CL_INVALID_BUFFER_SIZE;
    host_memory_without_a_flag(c.flags = CL_MEM_READ_WRITE) => CL_INVALID_HOST_PTR;
    null_for_copy_host_ptr(c.without_host(CL_MEM_COPY_HOST_PTR)) => CL_INVALID_HOST_PTR;
    null_for_use_host_ptr(c.without_host(CL_MEM_USE_HOST_PTR)) => CL_INVALID_HOST_PTR;
    read_write_and_read_only(c.flags |= CL_MEM_READ_ONLY) => CL_INVALID_VALUE;
    read_write_and_write_only(c.flags |= CL_MEM_WRITE_ONLY) => CL_INVALID_VALUE;
    read_only_and_write_only(c.without_host(CL_MEM_READ_ONLY | CL_MEM_WRITE_ONLY))
        => CL_INVALID_VALUE;
    copy_host_ptr_and_use_host_ptr(c.flags |= CL_MEM_USE_HOST_PTR) => CL_INVALID_VALUE;
    alloc_host_ptr_and_use_host_ptr(c.flags = CL_MEM_ALLOC_HOST_PTR | CL_MEM_USE_HOST_PTR)
        => CL_INVALID_VALUE;
    host_read_only_and_host_write_only(c.flags |= CL_MEM_HOST_READ_ONLY | CL_MEM_HOST_WRITE_ONLY)
        => CL_INVALID_VALUE;
    host_read_only_and_host_no_access(c.flags |= CL_MEM_HOST_READ_ONLY | CL_MEM_HOST_NO_ACCESS)
        => CL_INVALID_VALUE;
    host_write_only_and_host_no_access(c.flags |= CL_MEM_HOST_WRITE_ONLY | CL_MEM_HOST_NO_ACCESS)
        => CL_INVALID_VALUE;
    an_unknown_flag(c.flags |= 1 << 62) => CL_INVALID_VALUE;
}

/// Before OpenCL 3.0, a driver may accept such a size.
#[clmatrix_harness::test(requires(opencl = "3.0"))]
fn create_refuses_more_than_the_maximum_allocation(objects: Objects) -> Result<()> {
    let mut call = Create::valid(&objects);
    call.without_host(CL_MEM_READ_WRITE);
    call.size = objects.device().max_mem_alloc_size().map_err(unanswered)? as usize + 1;
    assert_code(call.code(), CL_INVALID_BUFFER_SIZE);
    Ok(())
}

command! {
    /// The arguments of clEnqueueReadBuffer or clEnqueueWriteBuffer, which block.
    Transfer(objects: &Objects, direction) {
        buffer: cl_mem = objects.buffer.as_raw(),
        offset: usize = 0,
        size: usize = SIZE,
        host: *mut c_void = objects.host(),
    }
    // SAFETY: the host memory, if any, has room for every size that a driver may accept.
    unsafe |c| match c.direction {
        Direction::Read => call!(c, enqueue_read_buffer(
            c.buffer, CL_TRUE, c.offset, c.size, c.host
        )),
        Direction::Write => call!(c, enqueue_write_buffer(
            c.buffer, CL_TRUE, c.offset, c.size, c.host
        )),
    }
}

impl Transfer {
    fn part(&mut self, offset: usize, size: usize) {
        (self.offset, self.size) = (offset, size);
    }
}

cases! {
    #[clmatrix_harness::test]
    fn transfer_checks_its_arguments(objects: Objects, c: Transfer, direction);
    valid() => CL_SUCCESS;
    null_host_memory(c.host = ptr::null_mut()) => CL_INVALID_VALUE;
    null_buffer(c.buffer = ptr::null_mut()) => CL_INVALID_MEM_OBJECT;
}

cases! {
    #[clmatrix_harness::test(own_worker)]
    fn transfer_refuses_ranges_outside(objects: Objects, c: Transfer, direction)
        => [CL_INVALID_VALUE];
    one_byte_past_the_end(c.offset = 1);
    behind_the_end(c.part(SIZE + 1, 1));
    an_end_that_overflows(c.part(usize::MAX - 15, 32));
}

/// OpenCL 1.2 and 2.0 forbid transfers of no bytes; later versions do not.
#[rstest]
#[clmatrix_harness::test]
fn transfer_of_no_bytes_follows_the_version(
    objects: Objects,
    #[values(Direction::Read, Direction::Write)] direction: Direction,
) -> Result<()> {
    let version = objects.device().version().map_err(unanswered)?;
    let is_forbidden = ["OpenCL 1.", "OpenCL 2.0"].iter().any(|old| version.starts_with(old));
    let expected = if is_forbidden { CL_INVALID_VALUE } else { CL_SUCCESS };
    check(Transfer::valid(&objects, direction), |c| c.size = 0, expected);
    Ok(())
}

command! {
    /// The arguments of clEnqueueCopyBuffer.
    Copy(objects: &Objects) {
        source: cl_mem = objects.buffer.as_raw(),
        target: cl_mem = objects.other.as_raw(),
        source_offset: usize = 0,
        target_offset: usize = 0,
        size: usize = SIZE,
    }
    // SAFETY: the driver checks the handles and the ranges.
    unsafe |c| call!(c, enqueue_copy_buffer(
        c.source, c.target, c.source_offset, c.target_offset, c.size
    ))
}

impl Copy {
    /// A copy between parts of one object or of two.
    pub fn parts(&mut self, source_offset: usize, target_offset: usize, size: usize) {
        (self.source_offset, self.target_offset, self.size) = (source_offset, target_offset, size);
    }

    fn within_one(&mut self, source_offset: usize, target_offset: usize, size: usize) {
        self.target = self.source;
        self.parts(source_offset, target_offset, size);
    }
}

cases! {
    #[clmatrix_harness::test]
    fn copy_checks_its_arguments(objects: Objects, c: Copy);
    valid() => CL_SUCCESS;
    valid_within_one_buffer(c.within_one(0, 16, 16)) => CL_SUCCESS;
    onto_itself(c.within_one(0, 0, SIZE)) => CL_MEM_COPY_OVERLAP;
    overlap_of_a_byte_forwards(c.within_one(0, 15, 16)) => CL_MEM_COPY_OVERLAP;
    overlap_of_a_byte_backwards(c.within_one(15, 0, 16)) => CL_MEM_COPY_OVERLAP;
    null_source(c.source = ptr::null_mut()) => CL_INVALID_MEM_OBJECT;
    null_target(c.target = ptr::null_mut()) => CL_INVALID_MEM_OBJECT;
}

cases! {
    #[clmatrix_harness::test(own_worker)]
    fn copy_refuses_ranges_outside(objects: Objects, c: Copy) => [CL_INVALID_VALUE];
    a_source_past_the_end(c.parts(1, 0, SIZE));
    a_target_past_the_end(c.parts(0, 1, SIZE));
    a_source_behind_the_end(c.parts(SIZE + 1, 0, 1));
    a_target_behind_the_end(c.parts(0, SIZE + 1, 1));
    a_source_that_overflows(c.parts(usize::MAX - 15, 0, 32));
    a_target_that_overflows(c.parts(0, usize::MAX - 15, 32));
}
