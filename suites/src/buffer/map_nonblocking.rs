//! Maps that do not block, maps that end on another queue, and arrays over what is mapped
//! (PyOpenCL's `is_blocking`, `shape`, `order` and `strides`).

use std::sync::Barrier;

use super::*;
use crate::support::excuse::Excuse;

#[clmatrix_harness::test]
fn a_pending_map_shows_kernel_writes_after_its_wait(on_device: OnDevice) -> Result<()> {
    let buffer = buffer_of(&on_device, &counting(8))?;
    on_device.run(DOUBLE, &[&buffer], 8)?;
    let map = buffer.map_async::<u32, _>(&on_device.queue, MapRead, 2..6)?;
    assert_eq!(map.wait()?[..], [4, 6, 8, 10]);
    Ok(())
}

#[clmatrix_harness::test]
fn a_kernel_sees_writes_through_a_pending_map(on_device: OnDevice) -> Result<()> {
    let buffer = buffer_of(&on_device, &counting(4))?;
    let mut map = buffer.map_async::<u32, _>(&on_device.queue, MapWriteInvalidate, ..)?.wait()?;
    map.copy_from_slice(&[5, 6, 7, 8]);
    map.unmap()?;
    on_device.run(DOUBLE, &[&buffer], 4)?;
    assert_eq!(contents(&on_device, &buffer)?, [10, 12, 14, 16]);
    Ok(())
}

#[clmatrix_harness::test]
fn a_non_blocking_map_returns_before_its_wait_list_completes(on_device: OnDevice) -> Result<()> {
    let (buffer, gate) = buffer_and_gate(&on_device)?;
    let other_queue = on_device.another_queue();
    let filled = enqueue_fill(other_queue.after(&gate), &buffer, &7_u32, ..)?;
    let map = buffer.map_async::<u32, _>(on_device.queue.after(&filled), MapRead, ..)?;
    thread::sleep(A_MOMENT);
    assert_waits(map.event(), "clEnqueueMapBuffer")?;
    assert_eq!(meanwhile(&gate, open, || map.wait())?[..], [7; 4]);
    Ok(())
}

/// Another thread writes to the bytes, behind an event that this thread sets later.
#[clmatrix_harness::test]
fn a_non_blocking_map_is_enqueued_during_a_blocking_call(on_device: OnDevice) -> Result<()> {
    let (buffer, gate) = buffer_and_gate(&on_device)?;
    let (elsewhere, other_queue) =
        (buffer_of(&on_device, &counting(4))?, on_device.another_queue());
    enqueue_fill(other_queue.after(&gate), &elsewhere, &7_u32, ..)?;
    let begin = Barrier::new(2);
    thread::scope(|scope| {
        let written = scope.spawn(|| {
            begin.wait();
            buffer.write(&other_queue, &[7_u32; 4])
        });
        begin.wait();
        thread::sleep(A_MOMENT);
        let queue = &on_device.queue;
        let map = buffer.map_async::<u32, _>(queue, MapRead, ..);
        open(&gate);
        let found = map?.wait()?.to_vec();
        if found == counting(4) {
            Excuse::LateThread.skip();
        }
        assert_eq!(found, [7; 4]);
        written.join().expect("the thread does not panic").map(drop)
    })
}

/// On any queue, and without being told.
#[clmatrix_harness::test]
fn a_non_blocking_map_runs_after_earlier_commands_on_its_bytes(on_device: OnDevice) -> Result<()> {
    let (buffer, gate) = buffer_and_gate(&on_device)?;
    let other_queue = on_device.another_queue();
    enqueue_fill(on_device.queue.after(&gate), &buffer, &7_u32, ..)?;
    let map = buffer.map_async::<u32, _>(&other_queue, MapRead, ..)?;
    assert_eq!(meanwhile(&gate, open, || map.wait())?[..], [7; 4]);
    Ok(())
}

/// More commands than the library passes to the driver in one list.
#[clmatrix_harness::test]
fn a_map_runs_after_many_commands_on_its_bytes(on_device: OnDevice) -> Result<()> {
    let (buffer, gate) = buffer_and_gate(&on_device)?;
    let other_queue = on_device.another_queue();
    enqueue_fill(other_queue.after(&gate), &buffer, &0_u32, ..)?;
    for value in 1..200_u32 {
        enqueue_fill(&other_queue, &buffer, &value, ..)?;
    }
    let map = buffer.map_async::<u32, _>(&on_device.queue, MapRead, ..)?;
    thread::sleep(A_MOMENT);
    assert_waits(map.event(), "clEnqueueMapBuffer")?;
    assert_eq!(meanwhile(&gate, open, || map.wait())?[..], [199; 4]);
    Ok(())
}

#[clmatrix_harness::test]
fn commands_on_bytes_of_a_pending_map_are_refused(on_device: OnDevice) -> Result<()> {
    let (buffer, gate) = buffer_and_gate(&on_device)?;
    let map = buffer.map_async::<u32, _>(on_device.queue.after(&gate), MapWrite, ..2)?;
    let other_queue = on_device.another_queue();
    assert_eq!(refusal(enqueue_fill(&other_queue, &buffer, &7_u32, ..)), "CL_INVALID_OPERATION");
    enqueue_fill(&other_queue, &buffer, &7_u32, 8..)?.wait()?;
    open(&gate);
    drop(map.wait()?);
    assert_eq!(contents(&on_device, &buffer)?[..2], [0, 1]);
    Ok(())
}

#[clmatrix_harness::test]
fn a_dropped_pending_map_is_unmapped(on_device: OnDevice) -> Result<()> {
    let (buffer, gate) = buffer_and_gate(&on_device)?;
    drop(buffer.map_async::<u32, _>(on_device.queue.after(&gate), MapReadWrite, ..)?);
    open(&gate);
    buffer.map_read_write::<u32>(&on_device.queue, ..)?[0] = 9;
    on_device.run(DOUBLE, &[&buffer], 4)?;
    assert_eq!(contents(&on_device, &buffer)?, [18, 2, 4, 6]);
    Ok(())
}

#[clmatrix_harness::test]
fn a_pending_map_fails_with_an_event_of_its_wait_list(on_device: OnDevice) -> Result<()> {
    let (buffer, gate) = buffer_and_gate(&on_device)?;
    let map = buffer.map_async::<u32, _>(on_device.queue.after(&gate), MapRead, ..)?;
    // Before any thread waits for it.
    // quirk: POCL-10
    fail(&gate);
    assert_eq!(refusal(map.wait()), WAIT_LIST_FAILED);
    Ok(())
}

#[clmatrix_harness::test]
fn an_unmap_may_run_on_another_queue(on_device: OnDevice) -> Result<()> {
    let buffer = buffer_of(&on_device, &counting(4))?;
    let other_queue = on_device.another_queue();
    let mut map = buffer.map_read_write::<u32>(&on_device.queue, ..)?;
    map.fill(3);
    let unmapped = map.unmap_on(&other_queue)?;
    let mut found = [0_u32; 4];
    buffer.read(on_device.queue.after(&unmapped), &mut found)?;
    assert_eq!(found, [3; 4]);
    buffer.write(&on_device.queue, &[4_u32])?;
    assert_eq!(contents(&on_device, &buffer)?, [4, 3, 3, 3]);
    Ok(())
}

#[clmatrix_harness::test]
fn an_unmap_on_a_queue_of_another_context_is_refused(
    on_device: OnDevice,
    elsewhere: OnDevice,
) -> Result<()> {
    let buffer = buffer_of(&on_device, &counting(4))?;
    let map = buffer.map_read_write::<u32>(&on_device.queue, ..)?;
    assert_eq!(refusal(map.unmap_on(&elsewhere.queue)), "CL_INVALID_CONTEXT");
    // It was given back on its own queue instead.
    buffer.write(&on_device.queue, &[4_u32])?;
    Ok(())
}

#[clmatrix_harness::test]
fn a_map_is_an_array_of_any_shape_and_order(on_device: OnDevice) -> Result<()> {
    let buffer = buffer_of(&on_device, &counting(8))?;
    on_device.run(DOUBLE, &[&buffer], 8)?;
    let mut map = buffer.map_read_write::<u32>(&on_device.queue, 2..)?;
    assert_eq!(map.array((2, 3))?, array![[4, 6, 8], [10, 12, 14]]);
    assert_eq!(map.array((2, 3).f())?, array![[4, 8, 12], [6, 10, 14]]);
    assert_eq!(map.array((2, 2).strides((3, 2)))?, array![[4, 8], [10, 14]]);
    assert_eq!(map.array(6)?.len(), 6);
    assert_eq!(refusal(map.array((2, 4))), "CL_INVALID_VALUE");
    assert_eq!(refusal(map.array((2, 3).strides((4, 1)))), "CL_INVALID_VALUE");
    map.array_mut((2, 3).f())?[[0, 2]] = 100;
    map.unmap()?;
    on_device.run(DOUBLE, &[&buffer], 8)?;
    assert_eq!(contents(&on_device, &buffer)?, [0, 4, 8, 12, 16, 20, 200, 28]);
    Ok(())
}

#[clmatrix_harness::test]
fn the_event_of_a_pending_map_completes_before_its_data_is_accessible(
    on_device: OnDevice,
) -> Result<()> {
    let buffer = buffer_of(&on_device, &counting(4))?;
    let map = buffer.map_read::<u32>(&on_device.queue, ..)?;
    assert_eq!(map.event().status()?, Status::Complete);
    drop(map);
    let later = buffer.map_async::<u32, _>(&on_device.queue, MapRead, ..)?.wait()?;
    assert_eq!(later.event().status()?, Status::Complete);
    assert_eq!(later[..], counting(4));
    Ok(())
}

/// Ends a map before one of overlapping bytes that waits for a gate, which opens afterwards: the unmap
/// waits for nothing. A map that begins at the same byte is refused where the driver cannot tell the two
/// apart.
// quirk: POCL-13, INTEL-9
#[rstest]
#[clmatrix_harness::test]
fn overlapping_maps_for_reading_are_unmapped_in_any_order(
    on_device: OnDevice,
    #[values(false, true)] of_a_region: bool,
    #[values(0, 4)] first: u32,
) -> Result<()> {
    let whole = buffer_of(&on_device, &counting(64))?;
    let part = if of_a_region { whole.sub_buffer(..128)? } else { whole.clone() };
    let elsewhere = buffer_of(&on_device, &[0; 4])?;
    let gate = gate(&on_device.context);
    enqueue_fill(on_device.queue.after(&gate), &elsewhere, &7_u32, ..)?;
    let pending = part.map_async::<u32, _>(&on_device.queue, MapRead, ..32)?;
    let other_queue = on_device.another_queue();
    let range = first as usize..16;
    match whole.map_read::<u32>(&other_queue, range) {
        Ok(map) => {
            assert_eq!(map[..], counting(16)[first as usize..]);
            drop(map);
            other_queue.finish()?;
        }
        Err(error) => {
            assert_eq!(refusal::<()>(Err(error)), "CL_INVALID_OPERATION");
            assert_eq!(first, 0, "maps of two addresses");
        }
    }
    open(&gate);
    let pending = pending.wait()?;
    assert_eq!(pending[..], counting(32));
    drop(pending);
    enqueue_fill(&on_device.queue, &whole, &7_u32, ..)?;
    assert_eq!(contents(&on_device, &whole)?, [7; 64]);
    Ok(())
}

/// Maps of different sizes, some of which are refused where the driver cannot tell them apart, are waited for and unmapped,
/// or dropped before they run.
// quirk: INTEL-9
#[rstest]
#[clmatrix_harness::test]
fn pending_maps_that_begin_at_one_byte_close_no_bytes(
    on_device: OnDevice,
    #[values(false, true)] are_dropped: bool,
) -> Result<()> {
    let queues = [&on_device.queue, &on_device.another_queue()];
    for round in 0..300 {
        let buffer = buffer_of(&on_device, &[round; 64])?;
        let gate = gate(&on_device.context);
        let mut maps = Vec::new();
        for (queue, number) in queues.iter().cycle().zip(2..6) {
            match buffer.map_async::<u32, _>(queue.after(&gate), MapRead, ..1 << number) {
                Ok(map) => maps.push(map),
                Err(error) => {
                    assert!(!maps.is_empty(), "{error}");
                    assert_eq!(refusal::<()>(Err(error)), "CL_INVALID_OPERATION");
                }
            }
        }
        if are_dropped {
            maps.clear();
        }
        open(&gate);
        for map in maps {
            assert!(map.wait()?.iter().all(|found| *found == round));
        }
        let again = buffer.map_async::<u32, _>(queues[0], MapReadWrite, ..)?.wait()?;
        assert_eq!(again[..], [round; 64]);
        drop(again);
        enqueue_fill(queues[1], &buffer, &7_u32, ..)?.wait()?;
    }
    Ok(())
}
