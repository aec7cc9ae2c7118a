//! `clCreateSubBuffer` (OpenCL 3.0, 5.2.1; `pyopencl.Buffer.get_sub_region`).

use super::*;

/// CL_DEVICE_MEM_BASE_ADDR_ALIGN in bytes; OpenCL gives it in bits.
pub(super) fn alignment(on_device: &OnDevice) -> Result<usize> {
    Ok(on_device.device().opencl3().mem_base_addr_align().map_err(unanswered)? as usize / 8)
}

/// A buffer of four aligned parts that counts up, and the length of a part in bytes.
fn four_parts(on_device: &OnDevice) -> Result<(Buffer, usize)> {
    let part = alignment(on_device)?.max(64);
    Ok((buffer_of(on_device, &counting(part as u32))?, part))
}

#[clmatrix_harness::test]
fn a_sub_buffer_has_the_bytes_of_its_parent(on_device: OnDevice) -> Result<()> {
    let part = alignment(&on_device)?.max(64);
    for len in [1, part, 2 * part - 1, 2 * part] {
        let bytes = source(4 * part);
        let parent = buffer_with(&on_device, &bytes)?;
        let region = parent.sub_buffer(part..part + len)?;
        assert_eq!((region.size(), region.offset()), (len, part));
        assert_eq!(region.parent().as_ref(), Some(&parent));
        assert_same(&bytes_in(&on_device, &region)?, &bytes[part..part + len], "the region");
    }
    Ok(())
}

#[clmatrix_harness::test]
fn kernel_writes_to_a_sub_buffer_are_in_the_parent(on_device: OnDevice) -> Result<()> {
    let part = alignment(&on_device)?.max(64);
    let bytes = source(4 * part);
    let parent = buffer_with(&on_device, &bytes)?;
    let region = parent.sub_buffer(2 * part..3 * part - 1)?;
    Inverter::new(&on_device)?.invert(&region)?;
    on_device.queue.finish()?;
    let inverted: Vec<u8> = bytes[2 * part..3 * part - 1].iter().map(|byte| !byte).collect();
    assert_moved(&bytes_in(&on_device, &parent)?, &bytes, 2 * part, &inverted);
    Ok(())
}

#[clmatrix_harness::test]
fn a_sub_buffer_of_a_sub_buffer_has_its_offset_in_the_whole_buffer(
    on_device: OnDevice,
) -> Result<()> {
    let (parent, part) = four_parts(&on_device)?;
    let inner = parent.sub_buffer(part..)?.sub_buffer(part..2 * part)?;
    assert_eq!(inner.offset(), 2 * part);
    assert_eq!(inner.parent().as_ref(), Some(&parent));
    assert_eq!(contents(&on_device, &inner)?[0], (2 * part / 4) as u32);
    Ok(())
}

/// The library must refuse it: rusticl and Oclgrind accept any origin.
// quirk: DRIVER-3
#[clmatrix_harness::test]
fn a_misaligned_origin_is_refused(on_device: OnDevice) -> Result<()> {
    let (parent, part) = four_parts(&on_device)?;
    for origin in [1, 4, alignment(&on_device)? / 2, part - 1, part + 4] {
        if origin % alignment(&on_device)? == 0 {
            continue;
        }
        let result = parent.sub_buffer(origin..2 * part);
        assert_eq!(refusal(result), "CL_MISALIGNED_SUB_BUFFER_OFFSET", "{origin}");
    }
    Ok(())
}

#[clmatrix_harness::test]
fn bytes_past_the_end_of_the_parent_are_refused(on_device: OnDevice) -> Result<()> {
    let (parent, part) = four_parts(&on_device)?;
    assert_eq!(refusal(parent.sub_buffer(part..4 * part + 1)), "CL_INVALID_VALUE");
    assert_eq!(refusal(parent.sub_buffer(part..=usize::MAX)), "CL_INVALID_VALUE");
    assert_eq!(refusal(parent.sub_buffer(part..part)), "CL_INVALID_BUFFER_SIZE");
    let region = parent.sub_buffer(..part)?;
    assert_eq!(refusal(region.sub_buffer(..2 * part)), "CL_INVALID_VALUE", "they are the parent's");
    Ok(())
}

#[clmatrix_harness::test]
fn a_sub_buffer_inherits_the_flags_of_its_parent(on_device: OnDevice) -> Result<()> {
    let parent = Buffer::new(&on_device.context, MemFlags::READ_ONLY, 64)?;
    assert_eq!(parent.sub_buffer(..)?.flags(), MemFlags::READ_ONLY);
    for flags in [MemFlags::READ_WRITE, MemFlags::WRITE_ONLY] {
        assert_eq!(
            refusal(parent.sub_buffer_with_flags(..64, flags)),
            "CL_INVALID_VALUE",
            "{flags:?}"
        );
    }
    let parent = Buffer::new(&on_device.context, MemFlags::READ_WRITE, 64)?;
    assert_eq!(
        parent.sub_buffer_with_flags(..64, MemFlags::READ_ONLY)?.flags(),
        MemFlags::READ_ONLY
    );
    Ok(())
}

#[clmatrix_harness::test]
fn a_sub_buffer_outlives_the_handle_of_its_parent(on_device: OnDevice) -> Result<()> {
    let (parent, part) = four_parts(&on_device)?;
    let region = parent.sub_buffer(part..2 * part)?;
    drop(parent);
    on_device.run(DOUBLE, &[&region], part / 4)?;
    assert_eq!(contents(&on_device, &region)?[1], 2 * (part / 4 + 1) as u32);
    Ok(())
}

#[clmatrix_harness::test]
fn copies_between_overlapping_sub_buffers_are_refused(on_device: OnDevice) -> Result<()> {
    let (parent, part) = four_parts(&on_device)?;
    let region = parent.sub_buffer(part..2 * part)?;
    let copy = |to| enqueue_copy(&on_device.queue, &parent, &region, linear(0, to, Some(part)));
    assert_eq!(refusal(copy(part + 4)), "CL_MEM_COPY_OVERLAP");
    copy(3 * part)?;
    assert_eq!(contents(&on_device, &parent)?[3 * part / 4], (part / 4) as u32);
    Ok(())
}

#[clmatrix_harness::test]
fn a_sub_buffer_has_the_flags_that_the_driver_reports(on_device: OnDevice) -> Result<()> {
    let ours = MemFlags::READ_WRITE.union(MemFlags::HOST_READ_ONLY);
    let parent = Buffer::new(&on_device.context, ours, 64)?;
    for flags in [MemFlags::empty(), MemFlags::READ_ONLY, MemFlags::HOST_NO_ACCESS] {
        let region = parent.sub_buffer_with_flags(..64, flags)?;
        assert_eq!(region.flags(), driver_flags(&region), "CL_MEM_FLAGS, {flags:?}");
    }
    Ok(())
}

/// The drop of a region must not drop the regions that it was made of, one within the other.
#[clmatrix_harness::test]
fn a_long_chain_of_regions_is_dropped(on_device: OnDevice) -> Result<()> {
    let mut region = buffer_of(&on_device, &[1, 2])?.sub_buffer(..)?;
    for _ in 0..10_000 {
        region = region.sub_buffer(..)?;
    }
    assert_eq!(contents(&on_device, &region)?, [1, 2]);
    let small = thread::Builder::new().stack_size(256 << 10).spawn(|| drop(region));
    small.expect("a thread").join().expect("the thread drops the region");
    Ok(())
}

/// The host memory begins where the heap has it, at no large alignment.
#[clmatrix_harness::test]
fn a_region_of_host_memory_is_filled(on_device: OnDevice) -> Result<()> {
    let (queue, part) = (&on_device.queue, alignment(&on_device)?.max(64));
    let mut buffers = Vec::new();
    for more in 0..40 {
        let memory = vec![7_u8; 3 * part + 16 * more];
        let buffer = Buffer::using_host_memory(&on_device.context, MemFlags::READ_WRITE, memory)?;
        let region = buffer.sub_buffer(part..2 * part)?;
        enqueue_fill(queue, &region, &9_u8, 1..part - 1)?;
        region.fill(queue, &[3_u16])?;
        enqueue_fill(queue, &region, &[5_u8; 8], 8..16)?;
        queue.finish()?;
        buffers.push((buffer, region));
    }
    for (buffer, _) in &buffers {
        let mut filled = 3_u16.to_ne_bytes().repeat(part / 2);
        filled[8..16].fill(5);
        assert_moved(&bytes_in(&on_device, buffer)?, &vec![7; buffer.size()], part, &filled);
    }
    Ok(())
}
