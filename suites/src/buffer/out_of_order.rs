//! Queues that may reorder their commands, and many queues at once.

use clmatrix::memory::{
    Map, MapRead, MapReadWrite, enqueue_copy_buffer, enqueue_fill_buffer, enqueue_map_buffer,
};
use clmatrix::{Device, Result};
use clmatrix_harness::device;
use rstest::rstest;

use super::{buffer_of, contents, counting};
use crate::support::gate::{gate, meanwhile, open};
use crate::support::on_device::{OnDevice, on_device};

#[rstest]
#[clmatrix_harness::test]
fn a_map_waits_for_each_command_on_its_bytes(on_device: OnDevice, device: Device) -> Result<()> {
    let queue = on_device.out_of_order_queue(device)?;
    let buffer = buffer_of(&on_device, &counting(4))?;
    let gate = gate(&on_device.context);
    enqueue_fill_buffer(&queue, &buffer, &7_u32, ..8, &gate)?;
    // The map does not wait for the fill, which is on other bytes.
    let map = enqueue_map_buffer::<u32, _>(&on_device.queue, &buffer, MapRead, 2.., [])?;
    assert_eq!(map[..], [2, 3]);
    enqueue_fill_buffer(&queue, &buffer, &8_u32, 4..8, [])?;
    let map = meanwhile(&gate, open, || {
        enqueue_map_buffer::<u32, _>(&on_device.queue, &buffer, MapRead, .., [])
    })?;
    assert_eq!(map[0], 7);
    Ok(())
}

#[rstest]
#[clmatrix_harness::test]
fn a_map_waits_for_the_unmap_before_it(on_device: OnDevice, device: Device) -> Result<()> {
    let queue = on_device.out_of_order_queue(device)?;
    let buffer = buffer_of(&on_device, &counting(4))?;
    for value in 1..50 {
        let mut map = enqueue_map_buffer::<u32, _>(&queue, &buffer, MapReadWrite, .., [])?;
        map.fill(value);
        drop(map);
        let map = buffer.map_nonblocking::<u32, _>(&queue, MapRead, .., [])?;
        assert_eq!(map.wait()?[..], [value; 4]);
    }
    Ok(())
}

#[rstest]
#[clmatrix_harness::test]
fn a_dropped_pending_map_is_unmapped(on_device: OnDevice, device: Device) -> Result<()> {
    let queue = on_device.out_of_order_queue(device)?;
    let buffer = buffer_of(&on_device, &counting(4))?;
    for value in 0..50_u32 {
        enqueue_fill_buffer(&queue, &buffer, &value, .., [])?;
        drop(buffer.map_nonblocking::<u32, _>(&queue, MapReadWrite, .., [])?);
        let map = enqueue_map_buffer::<u32, _>(&on_device.queue, &buffer, MapRead, .., [])?;
        assert_eq!(map[..], [value; 4]);
    }
    Ok(())
}

/// A buffer keeps few queues, and must not forget what the others still do with it.
#[rstest]
#[clmatrix_harness::test]
fn a_map_waits_for_commands_of_many_queues(on_device: OnDevice) -> Result<()> {
    let buffer = buffer_of(&on_device, &[0; 20])?;
    let source = buffer_of(&on_device, &counting(20))?;
    let gate = gate(&on_device.context);
    for i in 0..20 {
        let queue = on_device.another_queue();
        enqueue_copy_buffer(&queue, &source, 4 * i, &buffer, 4 * i, 4, &gate)?;
    }
    let found = meanwhile(&gate, open, || {
        enqueue_map_buffer::<u32, _>(&on_device.queue, &buffer, MapRead, .., [])
            .map(|map| map.to_vec())
    })?;
    assert_eq!(found, counting(20));
    assert_eq!(contents(&on_device, &buffer)?, counting(20));
    Ok(())
}

#[rstest]
#[clmatrix_harness::test]
fn a_map_for_reading_does_not_wait_for_reads(on_device: OnDevice) -> Result<()> {
    let buffer = buffer_of(&on_device, &counting(4))?;
    let other = buffer_of(&on_device, &[0; 4])?;
    let gate = gate(&on_device.context);
    let queue = on_device.another_queue();
    enqueue_copy_buffer(&queue, &buffer, 0, &other, 0, 16, &gate)?;
    let map = enqueue_map_buffer::<u32, _>(&on_device.queue, &buffer, MapRead, .., [])?;
    assert_eq!(map[..], counting(4));
    drop(map);
    open(&gate);
    assert_eq!(contents(&on_device, &other)?.len(), 4);
    Ok(())
}
