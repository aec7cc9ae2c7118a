//! Queues that may reorder their commands, and many queues at once.

use super::*;

#[clmatrix_harness::test]
fn a_map_waits_for_each_command_on_its_bytes(on_device: OnDevice, device: Device) -> Result<()> {
    let queue = on_device.out_of_order_queue(device)?;
    let (buffer, gate) = buffer_and_gate(&on_device)?;
    enqueue_fill(queue.after(&gate), &buffer, &7_u32, ..8)?;
    // The map does not wait for the fill, which is on other bytes.
    let map = buffer.map_read::<u32>(&on_device.queue, 2..)?;
    assert_eq!(map[..], [2, 3]);
    map.unmap()?.wait()?;
    enqueue_fill(&queue, &buffer, &8_u32, 4..8)?;
    let map = meanwhile(&gate, open, || buffer.map_read::<u32>(&on_device.queue, ..))?;
    assert_eq!(map[0], 7);
    Ok(())
}

#[clmatrix_harness::test]
fn a_map_waits_for_the_unmap_before_it(on_device: OnDevice, device: Device) -> Result<()> {
    let queue = on_device.out_of_order_queue(device)?;
    let buffer = buffer_of(&on_device, &counting(4))?;
    for value in 1..50 {
        buffer.map_read_write::<u32>(&queue, ..)?.fill(value);
        assert_eq!(buffer.map_async::<u32, _>(&queue, MapRead, ..)?.wait()?[..], [value; 4]);
    }
    Ok(())
}

#[clmatrix_harness::test]
fn a_dropped_pending_map_is_unmapped(on_device: OnDevice, device: Device) -> Result<()> {
    let queue = on_device.out_of_order_queue(device)?;
    let buffer = buffer_of(&on_device, &counting(4))?;
    for value in 0..50_u32 {
        enqueue_fill(&queue, &buffer, &value, ..)?;
        drop(buffer.map_async::<u32, _>(&queue, MapReadWrite, ..)?);
        assert_eq!(buffer.map_read::<u32>(&on_device.queue, ..)?[..], [value; 4]);
    }
    Ok(())
}

/// A buffer keeps few queues, and must not forget what the others still do with it.
#[clmatrix_harness::test]
fn a_map_waits_for_commands_of_many_queues(on_device: OnDevice) -> Result<()> {
    let buffer = buffer_of(&on_device, &[0; 20])?;
    let source = buffer_of(&on_device, &counting(20))?;
    let gate = gate(&on_device.context);
    for i in 0..20 {
        let queue = on_device.another_queue();
        enqueue_copy(queue.after(&gate), &buffer, &source, linear(4 * i, 4 * i, Some(4)))?;
    }
    let map = meanwhile(&gate, open, || buffer.map_read::<u32>(&on_device.queue, ..))?;
    assert_eq!(map[..], counting(20));
    drop(map);
    assert_eq!(contents(&on_device, &buffer)?, counting(20));
    Ok(())
}

#[clmatrix_harness::test]
fn a_map_for_reading_does_not_wait_for_reads(on_device: OnDevice) -> Result<()> {
    let buffer = buffer_of(&on_device, &counting(4))?;
    let other = buffer_of(&on_device, &[0; 4])?;
    let gate = gate(&on_device.context);
    let queue = on_device.another_queue();
    enqueue_copy(queue.after(&gate), &other, &buffer, Linear::default().byte_count(16))?;
    let map = buffer.map_read::<u32>(&on_device.queue, ..)?;
    assert_eq!(map[..], counting(4));
    drop(map);
    open(&gate);
    assert_eq!(contents(&on_device, &other)?.len(), 4);
    Ok(())
}
