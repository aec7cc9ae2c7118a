//! `clEnqueueMapBuffer` and `clEnqueueUnmapMemObject` (OpenCL 3.0, 5.2.4 and 5.5.2;
//! `pyopencl.MemoryMap`).

use clmatrix::Result;
use clmatrix::memory::{
    Buffer, MapRead, MapReadWrite, MapWrite, MapWriteInvalidate, MemFlags, MemoryObject,
    enqueue_copy_buffer, enqueue_fill_buffer, enqueue_map_buffer, enqueue_read_buffer,
    enqueue_write_buffer,
};
use rstest::rstest;

use super::{DOUBLE, buffer_of, buffer_with, bytes_in, contents, counting, refusal};
use crate::inverter::Inverter;
use crate::on_device::{OnDevice, on_device, soon};
use crate::support::pattern::{SIZES, assert_moved, assert_same, before, source};

#[rstest]
#[clmatrix_harness::test]
fn shows_what_a_kernel_wrote(on_device: OnDevice) -> Result<()> {
    let buffer = buffer_of(&on_device, &counting(1000))?;
    on_device.run(DOUBLE, &[&buffer], 1000)?;
    let map = enqueue_map_buffer::<u32, _>(&on_device.queue, &buffer, MapRead, .., [])?;
    assert_eq!(map.len(), 1000);
    assert!(map.iter().zip(0..).all(|(found, i)| *found == 2 * i));
    Ok(())
}

#[rstest]
#[clmatrix_harness::test]
fn a_kernel_sees_what_was_written_to_it(on_device: OnDevice) -> Result<()> {
    let buffer = buffer_of(&on_device, &counting(1000))?;
    let mut map = enqueue_map_buffer::<u32, _>(&on_device.queue, &buffer, MapReadWrite, .., [])?;
    map.iter_mut().for_each(|x| *x += 1);
    map.unmap([])?;
    on_device.run(DOUBLE, &[&buffer], 1000)?;
    assert!(contents(&on_device, &buffer)?.iter().zip(0..).all(|(found, i)| *found == 2 * (i + 1)));
    Ok(())
}

/// A kernel has written what the host sees, and reads what the host writes.
#[rstest]
#[clmatrix_harness::test]
fn a_part_is_mapped_and_the_rest_stays(on_device: OnDevice) -> Result<()> {
    let inverter = Inverter::new(&on_device)?;
    let (queue, to) = (&on_device.queue, before(80));
    for size in [1, 13, 64] {
        let (range, data) = (5..5 + size, source(size));
        let buffer = inverter.written(&to)?;
        let map = enqueue_map_buffer::<u8, _>(queue, &buffer, MapRead, range.clone(), [])?;
        assert_same(&map, &to[range.clone()], "the map");
        drop(map);
        let mut map =
            enqueue_map_buffer::<u8, _>(queue, &buffer, MapWriteInvalidate, range.clone(), [])?;
        map.copy_from_slice(&data);
        drop(map);
        assert_moved(&inverter.read(&buffer)?, &to, 5, &data);
        let buffer = inverter.written(&to)?;
        let mut map = enqueue_map_buffer::<u8, _>(queue, &buffer, MapReadWrite, range.clone(), [])?;
        assert_same(&map, &to[range], "the map");
        map.copy_from_slice(&data);
        drop(map);
        assert_moved(&inverter.read(&buffer)?, &to, 5, &data);
    }
    Ok(())
}

#[rstest]
#[clmatrix_harness::test]
fn all_bytes_of_any_size_are_mapped(on_device: OnDevice) -> Result<()> {
    let queue = &on_device.queue;
    for size in SIZES {
        let (range, data, to) = (5..5 + size, source(size), before(size + 20));
        let buffer = buffer_with(&on_device, &to)?;
        let map = enqueue_map_buffer::<u8, _>(queue, &buffer, MapRead, range.clone(), [])?;
        assert_same(&map, &to[range.clone()], "the map");
        drop(map);
        let mut map = enqueue_map_buffer::<u8, _>(queue, &buffer, MapWriteInvalidate, range, [])?;
        map.copy_from_slice(&data);
        drop(map);
        assert_moved(&bytes_in(&on_device, &buffer)?, &to, 5, &data);
    }
    Ok(())
}

#[rstest]
#[clmatrix_harness::test]
fn mapping_for_writing_keeps_what_is_not_written(on_device: OnDevice) -> Result<()> {
    let (queue, to) = (&on_device.queue, before(80));
    let buffer = buffer_with(&on_device, &to)?;
    let data = source(3);
    enqueue_map_buffer::<u8, _>(queue, &buffer, MapWrite, 5..60, [])?[20..23]
        .copy_from_slice(&data);
    assert_moved(&bytes_in(&on_device, &buffer)?, &to, 25, &data);
    Ok(())
}

#[rstest]
#[clmatrix_harness::test]
fn is_undone_when_dropped(on_device: OnDevice) -> Result<()> {
    let buffer = buffer_of(&on_device, &counting(4))?;
    let map = enqueue_map_buffer::<u32, _>(&on_device.queue, &buffer, MapRead, .., [])?;
    assert_eq!(buffer.map_count()?, 1);
    drop(map);
    on_device.queue.finish()?;
    assert!(soon(|| Ok(buffer.map_count()? == 0))?, "{}", buffer.map_count()?);
    Ok(())
}

#[rstest]
#[clmatrix_harness::test]
fn mapped_bytes_are_closed_to_whatever_would_change_them(on_device: OnDevice) -> Result<()> {
    let buffer = buffer_of(&on_device, &counting(8))?;
    let queue = &on_device.queue;
    let written = enqueue_map_buffer::<u32, _>(queue, &buffer, MapReadWrite, ..16, [])?;
    let again = enqueue_map_buffer::<u32, _>(queue, &buffer, MapRead, 12..20, []);
    assert_eq!(refusal(again), "CL_INVALID_OPERATION");
    let mut data = [0_u32; 8];
    assert_eq!(
        refusal(enqueue_read_buffer(queue, &buffer, 0, &mut data, [])),
        "CL_INVALID_OPERATION"
    );
    let beside = enqueue_map_buffer::<u32, _>(queue, &buffer, MapRead, 16.., [])?;
    assert_eq!(beside[..], [4, 5, 6, 7]);
    drop((written, beside));
    assert_eq!(contents(&on_device, &buffer)?, counting(8));
    Ok(())
}

#[rstest]
#[clmatrix_harness::test]
fn several_may_read_the_same_bytes(on_device: OnDevice) -> Result<()> {
    let buffer = buffer_of(&on_device, &counting(4))?;
    let other_queue = on_device.another_queue();
    let one = enqueue_map_buffer::<u32, _>(&on_device.queue, &buffer, MapRead, .., [])?;
    let other = enqueue_map_buffer::<u32, _>(&other_queue, &buffer, MapRead, .., [])?;
    assert_eq!(one[..], other[..]);
    Ok(())
}

#[rstest]
#[clmatrix_harness::test]
fn a_forgotten_map_keeps_its_bytes_closed(on_device: OnDevice) -> Result<()> {
    let buffer = buffer_of(&on_device, &counting(8))?;
    let queue = &on_device.queue;
    std::mem::forget(enqueue_map_buffer::<u32, _>(queue, &buffer, MapReadWrite, ..16, [])?);
    assert_eq!(
        refusal(enqueue_map_buffer::<u32, _>(queue, &buffer, MapRead, .., [])),
        "CL_INVALID_OPERATION"
    );
    Ok(())
}

#[rstest]
#[clmatrix_harness::test]
fn refuses_ranges_that_hold_no_whole_elements(on_device: OnDevice) -> Result<()> {
    let buffer = buffer_of(&on_device, &counting(4))?;
    for range in [0..6, 0..0, 8..20] {
        let map =
            enqueue_map_buffer::<u32, _>(&on_device.queue, &buffer, MapRead, range.clone(), []);
        assert_eq!(refusal(map), "CL_INVALID_VALUE", "{range:?}");
    }
    Ok(())
}

#[rstest]
#[clmatrix_harness::test]
fn keeps_to_the_hosts_access(on_device: OnDevice) -> Result<()> {
    let flags = MemFlags::READ_WRITE.union(MemFlags::HOST_READ_ONLY);
    let buffer = Buffer::from_slice(&on_device.context, flags, &counting(4))?;
    let queue = &on_device.queue;
    enqueue_map_buffer::<u32, _>(queue, &buffer, MapRead, .., [])?.unmap([])?;
    assert_eq!(
        refusal(enqueue_map_buffer::<u32, _>(queue, &buffer, MapWrite, .., [])),
        "CL_INVALID_OPERATION"
    );
    Ok(())
}

#[rstest]
#[clmatrix_harness::test]
fn bytes_mapped_for_reading_are_closed_to_what_writes(on_device: OnDevice) -> Result<()> {
    let (buffer, other) = (buffer_of(&on_device, &counting(4))?, buffer_of(&on_device, &[9; 4])?);
    let queue = &on_device.queue;
    let map = enqueue_map_buffer::<u32, _>(queue, &buffer, MapRead, 4..12, [])?;
    for refused in [
        enqueue_write_buffer(queue, &buffer, 0, &[5_u32; 2], []),
        enqueue_fill_buffer(queue, &buffer, &5_u32, .., []),
        enqueue_copy_buffer(queue, &other, 0, &buffer, 8, 4, []),
    ] {
        assert_eq!(refusal(refused), "CL_INVALID_OPERATION");
    }
    enqueue_copy_buffer(queue, &buffer, 0, &other, 0, 16, [])?;
    assert_eq!(contents(&on_device, &buffer)?, counting(4), "what reads is let through");
    assert_eq!(map[..], [1, 2]);
    drop(map);
    assert_eq!(contents(&on_device, &other)?, counting(4));
    Ok(())
}

#[rstest]
#[clmatrix_harness::test]
fn bytes_mapped_for_writing_are_closed_to_all_commands(on_device: OnDevice) -> Result<()> {
    let (buffer, other) = (buffer_of(&on_device, &counting(4))?, buffer_of(&on_device, &[9; 4])?);
    let queue = &on_device.queue;
    let map = enqueue_map_buffer::<u32, _>(queue, &buffer, MapWrite, 4..12, [])?;
    for refused in [
        enqueue_write_buffer(queue, &buffer, 8, &[5_u32], []),
        enqueue_fill_buffer(queue, &buffer, &5_u32, 4..8, []),
        enqueue_copy_buffer(queue, &buffer, 8, &other, 0, 4, []),
        enqueue_copy_buffer(queue, &other, 0, &buffer, 8, 4, []),
    ] {
        assert_eq!(refusal(refused), "CL_INVALID_OPERATION");
    }
    drop(map);
    assert_eq!(contents(&on_device, &other)?, [9; 4]);
    Ok(())
}

#[rstest]
#[clmatrix_harness::test]
fn a_region_and_its_parent_know_of_each_others_maps(on_device: OnDevice) -> Result<()> {
    let buffer = buffer_of(&on_device, &counting(4))?;
    let region = buffer.sub_region(..8)?;
    let queue = &on_device.queue;
    for (one, other) in [(&buffer, &region), (&region, &buffer), (&region, &buffer.sub_region(..)?)]
    {
        let map = enqueue_map_buffer::<u32, _>(queue, one, MapReadWrite, ..4, [])?;
        let again = enqueue_map_buffer::<u32, _>(queue, other, MapRead, ..8, []);
        assert_eq!(refusal(again), "CL_INVALID_OPERATION");
        let written = enqueue_write_buffer(queue, other, 0, &[5_u32], []);
        assert_eq!(refusal(written), "CL_INVALID_OPERATION");
        drop(map);
    }
    Ok(())
}

#[rstest]
#[clmatrix_harness::test]
fn an_unmap_gives_back_one_map_and_no_other(on_device: OnDevice) -> Result<()> {
    let buffer = buffer_of(&on_device, &counting(4))?;
    let queue = &on_device.queue;
    let one = enqueue_map_buffer::<u32, _>(queue, &buffer, MapRead, .., [])?;
    let other = enqueue_map_buffer::<u32, _>(queue, &buffer, MapRead, .., [])?;
    one.unmap([])?.wait()?;
    assert_eq!(other[..], counting(4));
    let written = enqueue_map_buffer::<u32, _>(queue, &buffer, MapWrite, .., []);
    assert_eq!(refusal(written), "CL_INVALID_OPERATION");
    drop(other);
    drop(enqueue_map_buffer::<u32, _>(queue, &buffer, MapWrite, .., [])?);
    Ok(())
}
