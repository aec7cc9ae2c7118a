//! `clEnqueueMapBuffer` and `clEnqueueUnmapMemObject` (OpenCL 3.0, 5.2.4 and 5.5.2;
//! `pyopencl.MemoryMap`).

use super::*;
use crate::stress::driver::Driver;
use crate::support::mib::MiB;

#[clmatrix_harness::test]
fn a_map_shows_kernel_writes(on_device: OnDevice) -> Result<()> {
    let buffer = buffer_of(&on_device, &counting(1000))?;
    on_device.run(DOUBLE, &[&buffer], 1000)?;
    let map = buffer.map_read::<u32>(&on_device.queue, ..)?;
    assert_eq!(map.len(), 1000);
    assert!(map.iter().zip(0..).all(|(found, i)| *found == 2 * i));
    Ok(())
}

#[clmatrix_harness::test]
fn a_kernel_sees_writes_through_a_map(on_device: OnDevice) -> Result<()> {
    let buffer = buffer_of(&on_device, &counting(1000))?;
    let mut map = buffer.map_read_write::<u32>(&on_device.queue, ..)?;
    map.iter_mut().for_each(|x| *x += 1);
    map.unmap()?;
    on_device.run(DOUBLE, &[&buffer], 1000)?;
    assert!(contents(&on_device, &buffer)?.iter().zip(0..).all(|(found, i)| *found == 2 * (i + 1)));
    Ok(())
}

/// A kernel has written what the host sees, and reads what the host writes.
#[clmatrix_harness::test]
fn a_map_of_a_range_leaves_the_rest_unchanged(on_device: OnDevice) -> Result<()> {
    let inverter = Inverter::new(&on_device)?;
    let (queue, to) = (&on_device.queue, before(80));
    for size in [1, 13, 64] {
        let (range, data) = (5..5 + size, source(size));
        let buffer = inverter.written(&to)?;
        assert_same(&buffer.map_read::<u8>(queue, range.clone())?, &to[range.clone()], "the map");
        buffer.map_write_invalidate::<u8>(queue, range.clone())?.copy_from_slice(&data);
        assert_moved(&inverter.read(&buffer)?, &to, 5, &data);
        let buffer = inverter.written(&to)?;
        let mut map = buffer.map_read_write::<u8>(queue, range.clone())?;
        assert_same(&map, &to[range], "the map");
        map.copy_from_slice(&data);
        drop(map);
        assert_moved(&inverter.read(&buffer)?, &to, 5, &data);
    }
    Ok(())
}

#[clmatrix_harness::test]
fn all_bytes_of_any_size_are_mapped(on_device: OnDevice) -> Result<()> {
    for size in SIZES {
        let (range, data, to) = (5..5 + size, source(size), before(size + 20));
        let buffer = buffer_with(&on_device, &to)?;
        assert_same(
            &buffer.map_read::<u8>(&on_device.queue, range.clone())?,
            &to[range.clone()],
            "the map",
        );
        buffer.map_write_invalidate::<u8>(&on_device.queue, range)?.copy_from_slice(&data);
        assert_moved(&bytes_in(&on_device, &buffer)?, &to, 5, &data);
    }
    Ok(())
}

#[clmatrix_harness::test]
fn a_map_for_writing_keeps_bytes_that_are_not_written(on_device: OnDevice) -> Result<()> {
    let (queue, to) = (&on_device.queue, before(80));
    let buffer = buffer_with(&on_device, &to)?;
    let data = source(3);
    buffer.map_write::<u8>(queue, 5..60)?[20..23].copy_from_slice(&data);
    assert_moved(&bytes_in(&on_device, &buffer)?, &to, 25, &data);
    Ok(())
}

#[clmatrix_harness::test]
fn a_dropped_map_is_unmapped(on_device: OnDevice) -> Result<()> {
    let buffer = buffer_of(&on_device, &counting(4))?;
    let map = buffer.map_read::<u32>(&on_device.queue, ..)?;
    assert_eq!(buffer.map_count()?, 1, "CL_MEM_MAP_COUNT of a buffer with a map");
    drop(map);
    on_device.queue.finish()?;
    assert!(soon(|| Ok(buffer.map_count()? == 0))?, "{}", buffer.map_count()?);
    Ok(())
}

#[clmatrix_harness::test]
fn writes_and_maps_for_writing_of_mapped_bytes_are_refused(on_device: OnDevice) -> Result<()> {
    let buffer = buffer_of(&on_device, &counting(8))?;
    let written = buffer.map_read_write::<u32>(&on_device.queue, ..4)?;
    assert_eq!(refusal(buffer.map_read::<u32>(&on_device.queue, 3..5)), "CL_INVALID_OPERATION");
    let mut data = [0_u32; 8];
    assert_eq!(refusal(buffer.read(&on_device.queue, &mut data)), "CL_INVALID_OPERATION");
    let beside = buffer.map_read::<u32>(&on_device.queue, 4..)?;
    assert_eq!(beside[..], [4, 5, 6, 7]);
    drop((written, beside));
    assert_eq!(contents(&on_device, &buffer)?, counting(8));
    Ok(())
}

#[clmatrix_harness::test]
fn several_maps_for_reading_may_overlap(on_device: OnDevice) -> Result<()> {
    let buffer = buffer_of(&on_device, &counting(4))?;
    let other_queue = on_device.another_queue();
    let one = buffer.map_read::<u32>(&on_device.queue, ..)?;
    let other = buffer.map_read::<u32>(&other_queue, 1..)?;
    assert_eq!(one[1..], other[..]);
    Ok(())
}

/// The second map is refused where the driver cannot tell the two apart, and on each driver that is not known.
// quirk: POCL-13, INTEL-9
#[clmatrix_harness::test]
fn maps_for_reading_may_begin_at_one_byte(on_device: OnDevice, platform: Platform) -> Result<()> {
    let is_refused = Driver::for_platform(platform)?.finds_maps_by_address;
    let buffer = buffer_of(&on_device, &counting(4))?;
    let one = buffer.map_read::<u32>(&on_device.queue, ..)?;
    match buffer.map_read::<u32>(&on_device.another_queue(), ..2) {
        Ok(other) => assert_eq!((&one[..2], is_refused), (&other[..], false)),
        Err(error) if is_refused => assert_eq!(refusal::<()>(Err(error)), "CL_INVALID_OPERATION"),
        Err(error) => return Err(error),
    }
    drop(one);
    assert_eq!(buffer.map_read::<u32>(&on_device.queue, ..2)?[..], [0, 1]);
    Ok(())
}

#[clmatrix_harness::test]
fn a_forgotten_map_keeps_its_bytes_mapped(on_device: OnDevice) -> Result<()> {
    let buffer = buffer_of(&on_device, &counting(8))?;
    std::mem::forget(buffer.map_read_write::<u32>(&on_device.queue, ..4)?);
    assert_eq!(refusal(buffer.map_read::<u32>(&on_device.queue, ..)), "CL_INVALID_OPERATION");
    Ok(())
}

/// The elements of a buffer, a region of it and a type of another size.
#[clmatrix_harness::test]
fn a_map_range_counts_elements_from_the_first_byte(on_device: OnDevice) -> Result<()> {
    let first = region_offset(on_device.device(), 64)? / 4;
    let buffer = buffer_of(&on_device, &counting(first as u32 + 8))?;
    assert_eq!(buffer.map_read::<u32>(&on_device.queue, 1..3)?[..], [1, 2]);
    assert_eq!(buffer.map_async::<u32, _>(&on_device.queue, MapRead, 3..=4)?.wait()?[..], [3, 4]);
    assert_eq!(buffer.map_read::<[u32; 2]>(&on_device.queue, 1..2)?[..], [[2, 3]]);
    let region = buffer.sub_buffer(4 * first..4 * first + 32)?;
    region.map_read_write::<u32>(&on_device.queue, 2..4)?.fill(99);
    let mut expected = counting(first as u32 + 8);
    expected[first + 2..first + 4].fill(99);
    assert_eq!(contents(&on_device, &buffer)?, expected);
    Ok(())
}

#[clmatrix_harness::test]
fn elements_past_the_end_are_refused(on_device: OnDevice) -> Result<()> {
    let buffer = buffer_of(&on_device, &counting(4))?;
    let queue = &on_device.queue;
    for range in [0..5, 0..0, 5..5, 2..usize::MAX / 4 + 3] {
        let map = buffer.map_read::<u32>(queue, range.clone());
        assert_eq!(refusal(map), "CL_INVALID_VALUE", "{range:?}");
        assert_eq!(refusal(buffer.map_async::<u32, _>(queue, MapRead, range)), "CL_INVALID_VALUE");
    }
    let error = buffer.map_read::<u32>(queue, 2..5).expect_err("there are 4");
    assert_eq!(error.detail(), "elements 2..5 exceed a buffer of 4 elements of 4 bytes");
    assert_eq!(contents(&on_device, &buffer)?, counting(4), "nothing is left mapped");
    Ok(())
}

/// Two bytes behind the last whole element.
#[clmatrix_harness::test]
fn a_range_without_an_end_needs_whole_elements(on_device: OnDevice) -> Result<()> {
    let (queue, bytes) = (&on_device.queue, source(18));
    let buffer = buffer_with(&on_device, &bytes)?;
    assert_eq!(refusal(buffer.map_read::<u32>(queue, ..)), "CL_INVALID_VALUE");
    assert_eq!(refusal(buffer.map_read::<u32>(queue, 1..)), "CL_INVALID_VALUE");
    assert_eq!(refusal(buffer.map_read::<u32>(queue, ..5)), "CL_INVALID_VALUE");
    let elements = buffer.map_read::<u32>(queue, ..4)?;
    assert_same(bytemuck::cast_slice(&elements), &bytes[..16], "the map");
    drop(elements);
    buffer.map_write_invalidate::<[u8; 9]>(queue, 1..)?[0] = [77; 9];
    assert_moved(&bytes_in(&on_device, &buffer)?, &bytes, 9, &[77; 9]);
    Ok(())
}

/// A map of a buffer in host memory has the address of that memory, and the whole buffer and a region of it
/// cannot both begin at a multiple of 1 MiB.
#[clmatrix_harness::test]
fn a_misaligned_address_is_refused(on_device: OnDevice) -> Result<()> {
    let (queue, offset) = (&on_device.queue, region_offset(on_device.device(), 64)?);
    let memory = vec![7_u8; size_of::<MiB>() + offset];
    let buffer = Buffer::using_host_memory(&on_device.context, MemFlags::READ_WRITE, memory)?;
    let region = buffer.sub_buffer(offset..)?;
    let whole = buffer.map_read::<MiB>(queue, ..1).map(drop);
    let part = region.map_read::<MiB>(queue, ..).map(drop);
    let refused = whole.and(part).expect_err("one of them does not suit");
    assert_eq!(refused.code_name(), "CL_MAP_FAILURE");
    assert!(buffer.map_read_write::<u8>(queue, ..)?.iter().all(|byte| *byte == 7));
    Ok(())
}

#[clmatrix_harness::test]
fn map_methods_use_the_mode_of_their_name(on_device: OnDevice) -> Result<()> {
    let buffer = buffer_of(&on_device, &counting(8))?;
    on_device.run(DOUBLE, &[&buffer], 8)?;
    assert_eq!(buffer.map_read::<u32>(&on_device.queue, 1..4)?[..], [2, 4, 6]);
    buffer.map_write::<u32>(&on_device.queue, ..)?[1] = 10;
    buffer.map_read_write::<u32>(&on_device.queue, 2..4)?.iter_mut().for_each(|x| *x += 1);
    buffer.map_write_invalidate::<u32>(&on_device.queue, 6..)?.copy_from_slice(&[20, 30]);
    on_device.run(DOUBLE, &[&buffer], 8)?;
    assert_eq!(contents(&on_device, &buffer)?, [0, 20, 10, 14, 16, 20, 40, 60]);
    Ok(())
}

#[clmatrix_harness::test]
fn maps_respect_host_access_flags(on_device: OnDevice) -> Result<()> {
    let flags = MemFlags::READ_WRITE.union(MemFlags::HOST_READ_ONLY);
    let buffer = Buffer::from_slice(&on_device.context, flags, &counting(4))?;
    buffer.map_read::<u32>(&on_device.queue, ..)?.unmap()?;
    assert_eq!(refusal(buffer.map_write::<u32>(&on_device.queue, ..)), "CL_INVALID_OPERATION");
    Ok(())
}

#[clmatrix_harness::test]
fn commands_that_write_bytes_mapped_for_reading_are_refused(on_device: OnDevice) -> Result<()> {
    let (buffer, other) = (buffer_of(&on_device, &counting(4))?, buffer_of(&on_device, &[9; 4])?);
    let queue = &on_device.queue;
    let map = buffer.map_read::<u32>(queue, 1..3)?;
    for refused in [
        buffer.write(queue, &[5_u32; 2]),
        enqueue_fill(queue, &buffer, &5_u32, ..),
        enqueue_copy(queue, &buffer, &other, Linear::default().dst_offset(8).byte_count(4)),
    ] {
        assert_eq!(refusal(refused), "CL_INVALID_OPERATION");
    }
    enqueue_copy(queue, &other, &buffer, Linear::default().byte_count(16))?;
    assert_eq!(contents(&on_device, &buffer)?, counting(4), "what reads is let through");
    assert_eq!(map[..], [1, 2]);
    drop(map);
    assert_eq!(contents(&on_device, &other)?, counting(4));
    Ok(())
}

#[clmatrix_harness::test]
fn commands_on_bytes_mapped_for_writing_are_refused(on_device: OnDevice) -> Result<()> {
    let (buffer, other) = (buffer_of(&on_device, &counting(4))?, buffer_of(&on_device, &[9; 4])?);
    let queue = &on_device.queue;
    let map = buffer.map_write::<u32>(queue, 1..3)?;
    for refused in [
        buffer.slice::<u32>(2..).write(queue, &[5_u32]),
        enqueue_fill(queue, &buffer, &5_u32, 4..8),
        enqueue_copy(queue, &other, &buffer, Linear::default().src_offset(8).byte_count(4)),
        enqueue_copy(queue, &buffer, &other, Linear::default().dst_offset(8).byte_count(4)),
    ] {
        assert_eq!(refusal(refused), "CL_INVALID_OPERATION");
    }
    drop(map);
    assert_eq!(contents(&on_device, &other)?, [9; 4]);
    Ok(())
}

#[clmatrix_harness::test]
fn maps_of_a_sub_buffer_and_its_parent_conflict(on_device: OnDevice) -> Result<()> {
    let buffer = buffer_of(&on_device, &counting(4))?;
    let region = buffer.sub_buffer(..8)?;
    for (one, other) in [(&buffer, &region), (&region, &buffer), (&region, &buffer.sub_buffer(..)?)]
    {
        let map = one.map_read_write::<u32>(&on_device.queue, ..1)?;
        assert_eq!(refusal(other.map_read::<u32>(&on_device.queue, ..2)), "CL_INVALID_OPERATION");
        assert_eq!(refusal(other.write(&on_device.queue, &[5_u32])), "CL_INVALID_OPERATION");
        drop(map);
    }
    Ok(())
}

#[clmatrix_harness::test]
fn an_unmap_ends_one_of_several_maps(on_device: OnDevice) -> Result<()> {
    let buffer = buffer_of(&on_device, &counting(4))?;
    let one = buffer.map_read::<u32>(&on_device.queue, ..)?;
    let other = buffer.map_read::<u32>(&on_device.queue, 1..)?;
    one.unmap()?.wait()?;
    assert_eq!(other[..], counting(4)[1..]);
    assert_eq!(refusal(buffer.map_write::<u32>(&on_device.queue, ..)), "CL_INVALID_OPERATION");
    drop(other);
    drop(buffer.map_write::<u32>(&on_device.queue, ..)?);
    Ok(())
}

/// The regions are mapped and unmapped one after the other, and dropped in this order.
// quirk: NVIDIA-11
#[rstest]
#[clmatrix_harness::test]
fn overlapping_regions_may_be_released_in_any_order(
    on_device: OnDevice,
    #[values(0, 2)] first_of_inner: usize,
) -> Result<()> {
    let part = region_offset(on_device.device(), 64)?;
    let buffer = buffer_of(&on_device, &counting(2 * part as u32))?;
    for _ in 0..50 {
        let outer = buffer.sub_buffer(..4 * part)?;
        let inner = buffer.sub_buffer(first_of_inner * part..(first_of_inner + 1) * part)?;
        for (region, first) in [(&outer, 0), (&inner, first_of_inner * part / 4)] {
            let map = region.map_read::<u32>(&on_device.queue, 1..3)?;
            assert_eq!(map[..], [first as u32 + 1, first as u32 + 2]);
        }
        drop(outer);
        drop(inner);
    }
    Ok(())
}
