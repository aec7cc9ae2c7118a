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
    fn valid(bench: &Bench) -> Self {
        let flags = CL_MEM_READ_WRITE | CL_MEM_COPY_HOST_PTR;
        Self { context: bench.context, flags, size: SIZE, host: bench.new_host(SIZE) }
    }

    fn without_host(&mut self, flags: cl_mem_flags) {
        (self.flags, self.host) = (flags, NULL);
    }

    fn answer(&self) -> Answer {
        answer!(Memory clCreateBuffer(self.context, self.flags, self.size, self.host))
    }
}

cases! {
    #[clmatrix_harness::test]
    fn create_checks_its_arguments(bench, c: Create);
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
fn create_refuses_more_than_the_maximum_allocation(bench: Bench) {
    let mut call = Create::valid(&bench);
    call.without_host(CL_MEM_READ_WRITE);
    call.size = bench.value::<u64>(named!(CL_DEVICE_MAX_MEM_ALLOC_SIZE)) as usize + 1;
    assert_code(call.answer(), "CL_DEVICE_MAX_MEM_ALLOC_SIZE + 1", &[CL_INVALID_BUFFER_SIZE]);
}

cases! {
    #[clmatrix_harness::test]
    fn transfer_checks_its_arguments(bench, c: Arguments of ReadBuffer or WriteBuffer by direction);
    valid() => CL_SUCCESS;
    null_host_memory(c.memory[1] = NULL) => CL_INVALID_VALUE;
    null_buffer(c.memory[0] = NULL) => CL_INVALID_MEM_OBJECT;
}

cases! {
    #[clmatrix_harness::test(own_worker)]
    fn transfer_refuses_ranges_outside(
        bench, c: Arguments of ReadBuffer or WriteBuffer by direction
    ) => [CL_INVALID_VALUE];
    one_byte_past_the_end(c.offsets[0] = 1);
    behind_the_end(c.part(SIZE + 1, 1));
    an_end_that_overflows(c.part(usize::MAX - 15, 32));
}

/// OpenCL 1.2 and 2.0 forbid transfers of no bytes; later versions do not.
#[rstest]
#[clmatrix_harness::test]
fn transfer_of_no_bytes_follows_the_version(
    bench: Bench,
    #[values(Direction::Read, Direction::Write)] direction: Direction,
) {
    let kind = Kind::ReadBuffer.or(Kind::WriteBuffer, direction);
    let named = if bench.is(2, 1) { CL_SUCCESS } else { CL_INVALID_VALUE };
    check(&bench, kind, "no bytes", |c| c.size = 0, named);
}

cases! {
    #[clmatrix_harness::test]
    fn copy_checks_its_arguments(bench, c: Arguments of CopyBuffer);
    valid() => CL_SUCCESS;
    valid_within_one_buffer(c.within_one(0, 16, 16)) => CL_SUCCESS;
    onto_itself(c.within_one(0, 0, SIZE)) => CL_MEM_COPY_OVERLAP;
    overlap_of_a_byte_forwards(c.within_one(0, 15, 16)) => CL_MEM_COPY_OVERLAP;
    overlap_of_a_byte_backwards(c.within_one(15, 0, 16)) => CL_MEM_COPY_OVERLAP;
    null_source(c.memory[0] = NULL) => CL_INVALID_MEM_OBJECT;
    null_target(c.memory[1] = NULL) => CL_INVALID_MEM_OBJECT;
}

cases! {
    #[clmatrix_harness::test(own_worker)]
    fn copy_refuses_ranges_outside(bench, c: Arguments of CopyBuffer) => [CL_INVALID_VALUE];
    a_source_past_the_end(c.parts(1, 0, SIZE));
    a_target_past_the_end(c.parts(0, 1, SIZE));
    a_source_behind_the_end(c.parts(SIZE + 1, 0, 1));
    a_target_behind_the_end(c.parts(0, SIZE + 1, 1));
    a_source_that_overflows(c.parts(usize::MAX - 15, 0, 32));
    a_target_that_overflows(c.parts(0, usize::MAX - 15, 32));
}
