//! Maps on any queue wait for the launches that use their memory.

use super::*;

#[clmatrix_harness::test]
fn a_map_waits_for_a_kernel_that_writes(on_device: OnDevice) -> Result<()> {
    let mut double = known(&on_device, DOUBLE)?;
    let (buffer, gate) = buffer_and_gate(&on_device)?;
    // SAFETY: the argument is what the kernel declares, with an element for each work item.
    unsafe { double.launch().arg(&buffer).global(4).enqueue(on_device.queue.after(&gate))? };
    let queue = on_device.another_queue();
    let map = meanwhile(&gate, open, || buffer.map_read_write::<u32>(&queue, ..))?;
    assert_eq!(map[..], [0, 2, 4, 6]);
    Ok(())
}

#[clmatrix_harness::test]
fn a_map_waits_for_kernels_of_out_of_order_queues(
    on_device: OnDevice,
    device: Device,
) -> Result<()> {
    let queue = on_device.out_of_order_queue(device)?;
    let mut double = known(&on_device, DOUBLE)?;
    let (buffer, gate) = buffer_and_gate(&on_device)?;
    // SAFETY: the argument is what the kernel declares, with an element for each work item.
    unsafe { double.launch().arg(&buffer).global(4).enqueue(queue.after(&gate))? };
    let map = meanwhile(&gate, open, || buffer.map_read_write::<u32>(&queue, ..))?;
    assert_eq!(map[..], [0, 2, 4, 6]);
    Ok(())
}

/// A map for reading does not wait for a kernel that only reads: the gate opens after it.
#[clmatrix_harness::test]
fn a_map_for_reading_does_not_wait_for_a_kernel_that_reads(on_device: OnDevice) -> Result<()> {
    let source = "kernel void k(global const uint *x, global uint *y) {
        y[get_global_id(0)] = 3 * x[get_global_id(0)];
    }";
    let mut triple = known(&on_device, source)?;
    let (x, y) = (buffer_of(&on_device, &counting(4))?, buffer_of(&on_device, &[0; 4])?);
    let gate = gate(&on_device.context);
    let mut launch = triple.launch();
    launch.arg_read(&x).arg(&y).global(4);
    // SAFETY: the arguments are what the kernel declares, with an element for each work item, and
    // it only reads the first.
    unsafe { launch.enqueue(on_device.queue.after(&gate))? };
    let queue = on_device.another_queue();
    let map = x.map_read::<u32>(&queue, ..)?;
    assert_eq!(map[..], [0, 1, 2, 3]);
    open(&gate);
    drop(map);
    assert_eq!(contents(&on_device, &y)?, [0, 3, 6, 9]);
    Ok(())
}

#[clmatrix_harness::test]
fn a_kernel_waits_for_its_wait_list(on_device: OnDevice) -> Result<()> {
    let mut double = known(&on_device, DOUBLE)?;
    let buffer = buffer_of(&on_device, &counting(4))?;
    // SAFETY: the argument is what the kernel declares, with an element for each work item.
    let first = unsafe { double.launch().arg(&buffer).global(4).enqueue(&on_device.queue)? };
    on_device.queue.flush()?;
    let queue = on_device.another_queue();
    // SAFETY: as above.
    unsafe { double.launch().arg(&buffer).global(4).enqueue(queue.after([&first]))? };
    queue.finish()?;
    assert_eq!(contents(&on_device, &buffer)?, [0, 4, 8, 12]);
    Ok(())
}

#[clmatrix_harness::test]
fn a_failed_event_in_a_wait_list_is_refused(on_device: OnDevice) -> Result<()> {
    let mut double = known(&on_device, DOUBLE)?;
    let (buffer, gate) = buffer_and_gate(&on_device)?;
    fail(&gate);
    // SAFETY: it is refused.
    let launched =
        unsafe { double.launch().arg(&buffer).global(4).enqueue(on_device.queue.after(&gate)) };
    assert_eq!(refusal(launched), WAIT_LIST_FAILED);
    // Nothing is left of it.
    drop(buffer.map_read_write::<u32>(&on_device.queue, ..)?);
    assert_eq!(contents(&on_device, &buffer)?, counting(4));
    Ok(())
}

#[clmatrix_harness::test]
fn a_kernel_runs_after_an_earlier_unmap(on_device: OnDevice) -> Result<()> {
    let mut double = known(&on_device, DOUBLE)?;
    let buffer = buffer_of(&on_device, &counting(4))?;
    let queue = on_device.another_queue();
    let pending = buffer.map_async::<u32, _>(&queue, MapReadWrite, ..)?;
    // SAFETY: it is refused.
    let early = unsafe { double.launch().arg(&buffer).global(4).enqueue(&on_device.queue) };
    assert_eq!(refusal(early), "CL_INVALID_OPERATION");
    let mut map = pending.wait()?;
    map.fill(5);
    let unmapped = map.unmap()?;
    queue.flush()?;
    // SAFETY: the argument is what the kernel declares, with an element for each work item.
    unsafe { double.launch().arg(&buffer).global(4).enqueue(on_device.queue.after(&unmapped))? };
    assert_eq!(contents(&on_device, &buffer)?, [10; 4]);
    Ok(())
}
