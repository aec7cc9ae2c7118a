//! Sub-buffers: creation (5.2.1), and copies between those that overlap (5.2.2).

use super::buffer::Copy;
use super::prelude::*;
use super::rect::CopyRect;

/// A buffer of four parts, which are as long as sub-buffers have to be aligned, and the operands.
struct Parts {
    objects: Objects,
    buffer: Buffer,
    /// CL_DEVICE_MEM_BASE_ADDR_ALIGN in bytes.
    align: usize,
}

/// The fixture of that name.
#[fixture]
fn parts(objects: Objects) -> Parts {
    let align = objects.device().mem_base_addr_align().expect("the alignment") as usize / 8;
    let buffer = Buffer::new(&objects.on_device.context, MemFlags::READ_WRITE, 4 * align);
    Parts { buffer: buffer.expect("a buffer"), align, objects }
}

impl Fixture for Parts {
    fn of_device_under_test() -> Self {
        parts(Fixture::of_device_under_test())
    }
}

impl Parts {
    /// Two sub-buffers that share the middle of three parts.
    fn overlapping(&self) -> Result<[Buffer; 2]> {
        let part = |origin| self.buffer.sub_buffer(origin..origin + 2 * self.align);
        Ok([part(0)?, part(self.align)?])
    }
}

/// The arguments of clCreateSubBuffer.
struct Create {
    buffer: cl_mem,
    flags: cl_mem_flags,
    create_type: cl_buffer_create_type,
    region: Option<cl_buffer_region>,
}

impl Create {
    /// The second part.
    fn valid(parts: &Parts) -> Self {
        Self {
            buffer: parts.buffer.as_raw(),
            flags: 0,
            create_type: CL_BUFFER_CREATE_TYPE_REGION,
            region: Some(cl_buffer_region { origin: parts.align, size: parts.align }),
        }
    }

    fn region(&mut self, origin: usize, size: usize) {
        self.region = Some(cl_buffer_region { origin, size });
    }

    fn code(&self) -> cl_int {
        let region = pointer(&self.region);
        // SAFETY: the region is null or one.
        let created =
            unsafe { create_sub_buffer(self.buffer, self.flags, self.create_type, region) };
        creation_code(created, release_mem_object)
    }
}

cases! {
    #[clmatrix_harness::test]
    fn create_checks_its_arguments(parts: Parts, c: Create);
    valid() => CL_SUCCESS;
    size_zero(c.region(parts.align, 0)) => CL_INVALID_BUFFER_SIZE;
    one_byte_past_the_end(c.region(parts.align, 3 * parts.align + 1)) => CL_INVALID_VALUE;
    behind_the_end(c.region(5 * parts.align, parts.align)) => CL_INVALID_VALUE;
    an_end_that_overflows(c.region(usize::MAX - parts.align + 1, 2 * parts.align))
        => CL_INVALID_VALUE;
    null_region(c.region = None) => CL_INVALID_VALUE;
    another_create_type(c.create_type = 0) => CL_INVALID_VALUE;
    null_buffer(c.buffer = ptr::null_mut()) => CL_INVALID_MEM_OBJECT;
    use_host_ptr(c.flags = CL_MEM_USE_HOST_PTR) => CL_INVALID_VALUE;
    alloc_host_ptr(c.flags = CL_MEM_ALLOC_HOST_PTR) => CL_INVALID_VALUE;
    copy_host_ptr(c.flags = CL_MEM_COPY_HOST_PTR) => CL_INVALID_VALUE;
}

#[rstest]
#[clmatrix_harness::test]
fn create_refuses_misaligned_origins(parts: Parts, #[values(1, 2, 3)] fraction: usize) {
    let align = parts.align;
    if align == 1 {
        skip!("sub-buffers may begin at any byte");
    }
    let mut call = Create::valid(&parts);
    // One byte, half of the alignment, and one byte too few.
    let offset = [1, align / 2, align - 1][fraction - 1];
    call.region(align + offset, align);
    assert_code(call.code(), CL_MISALIGNED_SUB_BUFFER_OFFSET);
}

#[rstest]
#[case::read_write_of_read_only(MemFlags::READ_ONLY, CL_MEM_READ_WRITE)]
#[case::write_only_of_read_only(MemFlags::READ_ONLY, CL_MEM_WRITE_ONLY)]
#[case::read_write_of_write_only(MemFlags::WRITE_ONLY, CL_MEM_READ_WRITE)]
#[case::read_only_of_write_only(MemFlags::WRITE_ONLY, CL_MEM_READ_ONLY)]
#[case::host_read_only_of_host_write_only(MemFlags::HOST_WRITE_ONLY, CL_MEM_HOST_READ_ONLY)]
#[case::host_write_only_of_host_read_only(MemFlags::HOST_READ_ONLY, CL_MEM_HOST_WRITE_ONLY)]
#[case::host_read_only_of_host_no_access(MemFlags::HOST_NO_ACCESS, CL_MEM_HOST_READ_ONLY)]
#[case::host_write_only_of_host_no_access(MemFlags::HOST_NO_ACCESS, CL_MEM_HOST_WRITE_ONLY)]
#[clmatrix_harness::test]
fn create_refuses_access_that_the_buffer_lacks(
    parts: Parts,
    #[case] of_buffer: MemFlags,
    #[case] flags: cl_mem_flags,
) -> Result<()> {
    let buffer = Buffer::new(&parts.objects.on_device.context, of_buffer, 4 * parts.align)?;
    let call = Create { flags, buffer: buffer.as_raw(), ..Create::valid(&parts) };
    assert_code(call.code(), CL_INVALID_VALUE);
    Ok(())
}

#[clmatrix_harness::test]
fn create_refuses_a_sub_buffer_of_a_sub_buffer(parts: Parts) -> Result<()> {
    let parent = parts.buffer.sub_buffer(..3 * parts.align)?;
    let call = Create { buffer: parent.as_raw(), ..Create::valid(&parts) };
    assert_code(call.code(), CL_INVALID_MEM_OBJECT);
    Ok(())
}

#[clmatrix_harness::test]
fn copy_refuses_sub_buffers_that_overlap(parts: Parts) -> Result<()> {
    let [first, second] = parts.overlapping()?;
    let mut copy = Copy::valid(&parts.objects);
    (copy.source, copy.target) = (first.as_raw(), second.as_raw());
    check(copy, |c| c.parts(parts.align, 0, parts.align), CL_MEM_COPY_OVERLAP);
    Ok(())
}

#[clmatrix_harness::test]
fn copy_rect_refuses_sub_buffers_that_overlap(parts: Parts) -> Result<()> {
    let [first, second] = parts.overlapping()?;
    let mut copy = CopyRect::valid(&parts.objects);
    (copy.source, copy.target) = (first.as_raw(), second.as_raw());
    check(copy, |c| c.bytes(parts.align, 0, parts.align), CL_MEM_COPY_OVERLAP);
    Ok(())
}
