//! Sub-buffers: creation (5.2.1), copies between those that overlap (5.2.2), and bytes behind the end (5.2.2 to 5.2.4).

use super::prelude::*;

/// The arguments of clCreateSubBuffer, of a buffer of four parts.
struct Create {
    /// The bytes of a part: the alignment of sub-buffers.
    part: usize,
    buffer: cl_mem,
    flags: cl_mem_flags,
    create_type: cl_buffer_create_type,
    region: Option<[usize; 2]>,
}

impl Create {
    /// The second part.
    fn valid(bench: &Bench) -> Self {
        Self::of(bench, CL_MEM_READ_WRITE)
    }

    /// The second part of a buffer with these flags.
    fn of(bench: &Bench, flags: cl_mem_flags) -> Self {
        let part = bench.alignment();
        let buffer = bench.keep(bench.new_buffer(flags, 4 * part));
        let create_type = CL_BUFFER_CREATE_TYPE_REGION;
        Self { part, buffer, flags: 0, create_type, region: Some([part, part]) }
    }

    fn answer(&self) -> Answer {
        let Self { buffer, flags, create_type, .. } = *self;
        let region = pointer(self.region.as_slice()).cast();
        answer!(Memory clCreateSubBuffer(buffer, flags, create_type, region))
    }
}

cases! {
    #[clmatrix_harness::test]
    fn create_checks_its_arguments(bench, c: Create);
    valid() => CL_SUCCESS;
    size_zero(c.region = Some([c.part, 0])) => CL_INVALID_BUFFER_SIZE;
    one_byte_past_the_end(c.region = Some([c.part, 3 * c.part + 1])) => CL_INVALID_VALUE;
    behind_the_end(c.region = Some([5 * c.part, c.part])) => CL_INVALID_VALUE;
    an_end_that_overflows(c.region = Some([usize::MAX - c.part + 1, 2 * c.part]))
        => CL_INVALID_VALUE;
    null_region(c.region = None) => CL_INVALID_VALUE;
    another_create_type(c.create_type = 0) => CL_INVALID_VALUE;
    null_buffer(c.buffer = NULL) => CL_INVALID_MEM_OBJECT;
    use_host_ptr(c.flags = CL_MEM_USE_HOST_PTR) => CL_INVALID_VALUE;
    alloc_host_ptr(c.flags = CL_MEM_ALLOC_HOST_PTR) => CL_INVALID_VALUE;
    copy_host_ptr(c.flags = CL_MEM_COPY_HOST_PTR) => CL_INVALID_VALUE;
}

#[rstest]
#[clmatrix_harness::test]
fn create_refuses_misaligned_origins(bench: Bench, #[values(1, 2, 3)] fraction: usize) {
    let mut call = Create::valid(&bench);
    let part = call.part;
    if part == 1 {
        skip!("sub-buffers may begin at any byte");
    }
    // One byte, half of the alignment, and one byte too few.
    let offset = [1, part / 2, part - 1][fraction - 1];
    call.region = Some([part + offset, part]);
    let rule = format_args!("origin {} at an alignment of {part} bytes", part + offset);
    assert_code(call.answer(), rule, &[CL_MISALIGNED_SUB_BUFFER_OFFSET]);
}

#[rstest]
#[case::read_write_of_read_only(CL_MEM_READ_ONLY, CL_MEM_READ_WRITE)]
#[case::write_only_of_read_only(CL_MEM_READ_ONLY, CL_MEM_WRITE_ONLY)]
#[case::read_write_of_write_only(CL_MEM_WRITE_ONLY, CL_MEM_READ_WRITE)]
#[case::read_only_of_write_only(CL_MEM_WRITE_ONLY, CL_MEM_READ_ONLY)]
#[case::host_read_only_of_host_write_only(CL_MEM_HOST_WRITE_ONLY, CL_MEM_HOST_READ_ONLY)]
#[case::host_write_only_of_host_read_only(CL_MEM_HOST_READ_ONLY, CL_MEM_HOST_WRITE_ONLY)]
#[case::host_read_only_of_host_no_access(CL_MEM_HOST_NO_ACCESS, CL_MEM_HOST_READ_ONLY)]
#[case::host_write_only_of_host_no_access(CL_MEM_HOST_NO_ACCESS, CL_MEM_HOST_WRITE_ONLY)]
#[clmatrix_harness::test]
fn create_refuses_access_that_the_buffer_lacks(
    bench: Bench,
    #[case] of_buffer: cl_mem_flags,
    #[case] flags: cl_mem_flags,
) {
    let call = Create { flags, ..Create::of(&bench, of_buffer) };
    let rule = format_args!("flags {flags:#x} of a buffer with {of_buffer:#x}");
    assert_code(call.answer(), rule, &[CL_INVALID_VALUE]);
}

#[clmatrix_harness::test]
fn create_refuses_a_sub_buffer_of_a_sub_buffer(bench: Bench) {
    let mut call = Create::valid(&bench);
    let parent = bench.sub_buffer(call.buffer, 0, [0, 3 * call.part]);
    call.buffer = parent.raw();
    assert_code(call.answer(), "a part of a part", &[CL_INVALID_MEM_OBJECT]);
}

#[rstest]
#[case::read(Kind::ReadBuffer)]
#[case::write(Kind::WriteBuffer)]
#[case::copy(Kind::CopyBuffer)]
#[case::fill(Kind::FillBuffer)]
#[case::map(Kind::MapBuffer)]
#[clmatrix_harness::test(own_worker)]
fn commands_refuse_bytes_behind_a_sub_buffer(bench: Bench, #[case] kind: Kind) {
    let Create { part, buffer, .. } = Create::valid(&bench);
    let sub = bench.sub_buffer(buffer, 0, [0, part]);
    let mut call = Arguments::of(&bench, kind, Span::line([0, 0, 2]).fill(&[1]));
    (call.memory[0], call.offsets[0]) = (sub.raw(), part - 1);
    let rule = format_args!("the last byte of {part}, and the one behind it");
    assert_code(call.answer(), rule, &[CL_INVALID_VALUE]);
}

/// Checks the code of a copy between sub-buffers that share the middle of three parts.
fn check_overlap(bench: &Bench, kind: Kind) {
    let Create { part, buffer, .. } = Create::valid(bench);
    let mut call = Arguments::of(bench, kind, Span::line([part, 0, part]));
    // The second one is released first: NVIDIA's driver crashes in the other order.
    let first = bench.sub_buffer(buffer, 0, [0, 2 * part]);
    let second = bench.sub_buffer(buffer, 0, [part, 2 * part]);
    call.memory = [first.raw(), second.raw()];
    assert_code(call.answer(), "the same bytes of two sub-buffers", &[CL_MEM_COPY_OVERLAP]);
}

#[clmatrix_harness::test]
fn copy_refuses_sub_buffers_that_overlap(bench: Bench) {
    check_overlap(&bench, Kind::CopyBuffer);
}

#[clmatrix_harness::test]
fn copy_rect_refuses_sub_buffers_that_overlap(bench: Bench) {
    check_overlap(&bench, Kind::CopyRect);
}
