//! Sub-buffers: creation (5.2.1), and copies between those that overlap (5.2.2).

use crate::support::unanswered;
use std::ptr;

use clmatrix::cl3::error_codes::{
    CL_INVALID_BUFFER_SIZE, CL_INVALID_MEM_OBJECT, CL_INVALID_VALUE, CL_MEM_COPY_OVERLAP,
    CL_MISALIGNED_SUB_BUFFER_OFFSET, CL_SUCCESS,
};
use clmatrix::cl3::memory::{
    CL_BUFFER_CREATE_TYPE_REGION, CL_MEM_ALLOC_HOST_PTR, CL_MEM_COPY_HOST_PTR,
    CL_MEM_HOST_READ_ONLY, CL_MEM_HOST_WRITE_ONLY, CL_MEM_READ_ONLY, CL_MEM_READ_WRITE,
    CL_MEM_USE_HOST_PTR, CL_MEM_WRITE_ONLY, create_sub_buffer,
};
use clmatrix::cl3::types::{cl_buffer_create_type, cl_buffer_region, cl_int, cl_mem, cl_mem_flags};
use clmatrix::memory::{Buffer, MemFlags};
use clmatrix::{Device, Result};
use clmatrix_harness::{device, skip};
use rstest::rstest;

use super::buffer::Copy;
use super::command::{check, pointer};
use super::objects::{Objects, objects};
use super::rect::CopyRect;
use super::{assert_code, creation_code};

/// The arguments of clCreateSubBuffer.
struct Create {
    buffer: cl_mem,
    flags: cl_mem_flags,
    create_type: cl_buffer_create_type,
    region: Option<cl_buffer_region>,
    /// CL_DEVICE_MEM_BASE_ADDR_ALIGN in bytes.
    align: usize,
}

impl Create {
    /// The second of four parts of `buffer`, which are as long as sub-buffers have to be aligned.
    fn valid(buffer: &Buffer, align: usize) -> Self {
        Self {
            buffer: buffer.as_raw(),
            flags: 0,
            create_type: CL_BUFFER_CREATE_TYPE_REGION,
            region: Some(cl_buffer_region { origin: align, size: align }),
            align,
        }
    }

    fn region(&mut self, origin: usize, size: usize) {
        self.region = Some(cl_buffer_region { origin, size });
    }

    fn code(&self) -> cl_int {
        let region = pointer(&self.region).cast();
        // SAFETY: the region is null or one.
        creation_code(unsafe {
            create_sub_buffer(self.buffer, self.flags, self.create_type, region)
        })
    }
}

fn align_of(device: Device) -> Result<usize> {
    Ok(device.opencl3().mem_base_addr_align().map_err(unanswered)? as usize / 8)
}

fn buffer_of_four_parts(objects: &Objects, flags: MemFlags, align: usize) -> Result<Buffer> {
    Buffer::new(&objects.on_device.context, flags, 4 * align)
}

#[rstest]
#[case::valid(|_: &mut Create| (), CL_SUCCESS)]
#[case::size_zero(|c: &mut Create| c.region(c.align, 0), CL_INVALID_BUFFER_SIZE)]
#[case::one_byte_past_the_end(|c: &mut Create| c.region(c.align, 3 * c.align + 1), CL_INVALID_VALUE)]
#[case::behind_the_end(|c: &mut Create| c.region(5 * c.align, c.align), CL_INVALID_VALUE)]
#[case::an_end_that_overflows(
    |c: &mut Create| c.region(usize::MAX - c.align + 1, 2 * c.align), CL_INVALID_VALUE
)]
#[case::null_region(|c: &mut Create| c.region = None, CL_INVALID_VALUE)]
#[case::another_create_type(|c: &mut Create| c.create_type = 0, CL_INVALID_VALUE)]
#[case::null_buffer(|c: &mut Create| c.buffer = ptr::null_mut(), CL_INVALID_MEM_OBJECT)]
#[case::use_host_ptr(|c: &mut Create| c.flags = CL_MEM_USE_HOST_PTR, CL_INVALID_VALUE)]
#[case::alloc_host_ptr(|c: &mut Create| c.flags = CL_MEM_ALLOC_HOST_PTR, CL_INVALID_VALUE)]
#[case::copy_host_ptr(|c: &mut Create| c.flags = CL_MEM_COPY_HOST_PTR, CL_INVALID_VALUE)]
#[clmatrix_harness::test]
fn create_checks_its_arguments(
    objects: Objects,
    device: Device,
    #[case] change: fn(&mut Create),
    #[case] expected: cl_int,
) -> Result<()> {
    let align = align_of(device)?;
    let buffer = buffer_of_four_parts(&objects, MemFlags::READ_WRITE, align)?;
    let mut call = Create::valid(&buffer, align);
    change(&mut call);
    assert_code(call.code(), expected);
    Ok(())
}

#[rstest]
#[clmatrix_harness::test]
fn create_refuses_misaligned_origins(
    objects: Objects,
    device: Device,
    #[values(1, 2, 3)] fraction: usize,
) -> Result<()> {
    let align = align_of(device)?;
    if align == 1 {
        skip!("sub-buffers may begin at any byte");
    }
    let buffer = buffer_of_four_parts(&objects, MemFlags::READ_WRITE, align)?;
    let mut call = Create::valid(&buffer, align);
    // One byte, half of the alignment, and one byte too few.
    let offset = [1, align / 2, align - 1][fraction - 1];
    call.region(align + offset, align);
    assert_code(call.code(), CL_MISALIGNED_SUB_BUFFER_OFFSET);
    Ok(())
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
    objects: Objects,
    device: Device,
    #[case] of_buffer: MemFlags,
    #[case] flags: cl_mem_flags,
) -> Result<()> {
    let align = align_of(device)?;
    let buffer = buffer_of_four_parts(&objects, of_buffer, align)?;
    let mut call = Create::valid(&buffer, align);
    call.flags = flags;
    assert_code(call.code(), CL_INVALID_VALUE);
    Ok(())
}

#[clmatrix_harness::test]
fn create_refuses_a_sub_buffer_of_a_sub_buffer(objects: Objects, device: Device) -> Result<()> {
    let align = align_of(device)?;
    let buffer = buffer_of_four_parts(&objects, MemFlags::READ_WRITE, align)?;
    let parent = buffer.sub_buffer(..3 * align)?;
    assert_code(Create::valid(&parent, align).code(), CL_INVALID_MEM_OBJECT);
    Ok(())
}

/// Two sub-buffers that share the middle of three parts.
fn overlapping(objects: &Objects, align: usize) -> Result<[Buffer; 2]> {
    let buffer = buffer_of_four_parts(objects, MemFlags::READ_WRITE, align)?;
    let part = |origin| buffer.sub_buffer(origin..origin + 2 * align);
    Ok([part(0)?, part(align)?])
}

#[clmatrix_harness::test]
fn copy_refuses_sub_buffers_that_overlap(objects: Objects, device: Device) -> Result<()> {
    let align = align_of(device)?;
    let [first, second] = overlapping(&objects, align)?;
    let mut copy = Copy::valid(&objects);
    (copy.source, copy.target) = (first.as_raw(), second.as_raw());
    copy.parts(align, 0, align);
    check(copy, |_| (), CL_MEM_COPY_OVERLAP);
    Ok(())
}

#[clmatrix_harness::test]
fn copy_rect_refuses_sub_buffers_that_overlap(objects: Objects, device: Device) -> Result<()> {
    let align = align_of(device)?;
    let [first, second] = overlapping(&objects, align)?;
    let mut copy = CopyRect::valid(&objects);
    (copy.source, copy.target) = (first.as_raw(), second.as_raw());
    copy.bytes(align, 0, align);
    check(copy, |_| (), CL_MEM_COPY_OVERLAP);
    Ok(())
}
