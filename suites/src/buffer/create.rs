//! `clCreateBuffer` (OpenCL 3.0, 5.2.1; `pyopencl.Buffer`).

use std::collections::HashSet;

use super::*;

#[rstest]
#[clmatrix_harness::test]
fn a_buffer_has_the_requested_size(
    on_device: OnDevice,
    #[values(1, 3, 4096, 1 << 20)] size: usize,
) -> Result<()> {
    let buffer = Buffer::new(&on_device.context, MemFlags::READ_WRITE, size)?;
    assert_eq!(buffer.size(), size);
    let driver_says: usize =
        cl::get_mem_object_info(buffer.as_raw(), cl::CL_MEM_SIZE).unwrap().into();
    assert_eq!(driver_says, size);
    Ok(())
}

#[rstest]
#[case::read_write(MemFlags::READ_WRITE)]
#[case::read_only(MemFlags::READ_ONLY)]
#[case::write_only(MemFlags::WRITE_ONLY)]
#[case::on_the_host(MemFlags::READ_WRITE.union(MemFlags::ALLOC_HOST_PTR))]
#[case::host_reads(MemFlags::WRITE_ONLY.union(MemFlags::HOST_READ_ONLY))]
#[case::host_writes(MemFlags::READ_ONLY.union(MemFlags::HOST_WRITE_ONLY))]
#[case::no_host(MemFlags::READ_WRITE.union(MemFlags::HOST_NO_ACCESS))]
#[clmatrix_harness::test]
fn a_buffer_has_the_requested_flags(on_device: OnDevice, #[case] flags: MemFlags) -> Result<()> {
    let buffer = Buffer::new(&on_device.context, flags, 64)?;
    assert_eq!(buffer.flags(), flags);
    assert_eq!(driver_flags(&buffer), flags, "CL_MEM_FLAGS");
    Ok(())
}

#[rstest]
#[case::two_kernel_accesses(MemFlags::READ_ONLY.union(MemFlags::WRITE_ONLY))]
#[case::two_host_accesses(MemFlags::HOST_READ_ONLY.union(MemFlags::HOST_NO_ACCESS))]
#[clmatrix_harness::test]
fn conflicting_flags_are_refused(on_device: OnDevice, #[case] flags: MemFlags) {
    assert_eq!(refusal(Buffer::new(&on_device.context, flags, 64)), "CL_INVALID_VALUE");
}

#[clmatrix_harness::test]
fn zero_bytes_are_refused(on_device: OnDevice) {
    let result = Buffer::new(&on_device.context, MemFlags::READ_WRITE, 0);
    assert_eq!(refusal(result), "CL_INVALID_BUFFER_SIZE");
}

#[clmatrix_harness::test]
fn more_than_the_maximum_allocation_is_refused(on_device: OnDevice) -> Result<()> {
    let device = on_device.device().opencl3();
    let largest = usize::try_from(device.max_mem_alloc_size().map_err(unanswered)?).unwrap();
    for size in [largest + 1, usize::MAX] {
        let result = Buffer::new(&on_device.context, MemFlags::READ_WRITE, size);
        assert_eq!(refusal(result), "CL_INVALID_BUFFER_SIZE", "{size} bytes");
    }
    Ok(())
}

/// A kernel reads the data.
#[rstest]
#[clmatrix_harness::test]
fn a_buffer_is_initialized_with_host_data(
    on_device: OnDevice,
    #[values(1, 3, 1000)] size: usize,
) -> Result<()> {
    let data = source(size);
    let buffer = buffer_with(&on_device, &data)?;
    assert_same(&Inverter::new(&on_device)?.read(&buffer)?, &data, "the buffer");
    Ok(())
}

#[clmatrix_harness::test]
fn a_buffer_is_initialized_with_host_data_of_any_size(on_device: OnDevice) -> Result<()> {
    for size in SIZES {
        let data = source(size);
        assert_same(&bytes_in(&on_device, &buffer_with(&on_device, &data)?)?, &data, "the buffer");
    }
    Ok(())
}

#[clmatrix_harness::test]
fn copy_host_ptr_does_not_change_the_host_data(on_device: OnDevice) -> Result<()> {
    let mut data = counting(256);
    let buffer = buffer_of(&on_device, &data)?;
    on_device.run(DOUBLE, &[&buffer], 256)?;
    on_device.queue.finish()?;
    assert_eq!(data, counting(256), "the device does not write to it");
    data.fill(7);
    assert_eq!(contents(&on_device, &buffer)?[1], 2, "nor does it read it again");
    Ok(())
}

#[clmatrix_harness::test]
fn a_buffer_is_initialized_with_a_part_of_the_host_data(on_device: OnDevice) -> Result<()> {
    let data = counting(16);
    let buffer = Buffer::from_slice(&on_device.context, MemFlags::READ_WRITE, &data[4..12])?;
    assert_eq!(buffer.size(), 32);
    assert_eq!(contents(&on_device, &buffer)?, counting(12)[4..]);
    Ok(())
}

#[clmatrix_harness::test]
fn clones_share_one_reference(on_device: OnDevice) -> Result<()> {
    let buffer = buffer_of(&on_device, &counting(4))?;
    let before = buffer.reference_count()?;
    let clone = buffer.clone();
    on_device.run(DOUBLE, &[&clone], 4)?;
    assert_eq!(contents(&on_device, &buffer)?, [0, 2, 4, 6]);
    drop(clone);
    // rusticl's events keep references to memory. The library releases the event of the kernel when
    // it finds the kernel complete, and it looks when a later command is enqueued.
    let is_alone = || {
        contents(&on_device, &buffer)?;
        // The upload of its data may have had a reference before.
        Ok(buffer.reference_count()? <= before)
    };
    assert!(soon(is_alone)?, "{}", buffer.reference_count()?);
    Ok(())
}

#[clmatrix_harness::test]
fn buffers_are_compared_by_handle(on_device: OnDevice) -> Result<()> {
    let (one, other) = (buffer_of(&on_device, &[1])?, buffer_of(&on_device, &[1])?);
    assert_eq!(one, one.clone());
    assert_ne!(one, other);
    #[expect(clippy::mutable_key_type, reason = "equality and hash are those of the handle")]
    let all: HashSet<Buffer> = [one.clone(), other.clone(), one].into();
    assert_eq!(all.len(), 2);
    Ok(())
}
