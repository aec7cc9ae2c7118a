//! Maps of shared virtual memory (`clEnqueueSVMMap`; `pyopencl.SVMMap`).

use clmatrix::memory::WritableMapMode;

use super::*;

#[rstest]
#[clmatrix_harness::test(requires(svm = "fine"))]
fn a_map_shows_kernel_writes(
    on_device: OnDevice,
    #[values(COARSE, FINE)] flags: SvmFlags,
) -> Result<()> {
    let svm = svm_of(&on_device, flags, &counting(100))?;
    double(&on_device, &svm)?;
    let doubled: Vec<u32> = (0..100).map(|x| 2 * x).collect();
    assert_eq!(svm.map_read::<u32>(&on_device.queue, ..)?[..], doubled);
    assert_eq!(svm.map_read_write::<u32>(&on_device.queue, ..)?[..], doubled);
    Ok(())
}

fn writes(on: &OnDevice, flags: SvmFlags, mode: impl WritableMapMode) -> Result<()> {
    let svm = svm_of(on, flags, &counting(100))?;
    let mut map = svm.map::<u32, _>(&on.queue, mode, ..)?;
    map.copy_from_slice(&[5; 100]);
    map.unmap()?;
    assert_on_device(on, &svm, &[5; 100]);
    Ok(())
}

#[rstest]
#[clmatrix_harness::test(requires(svm = "fine"))]
fn a_kernel_sees_writes_through_a_map(
    on_device: OnDevice,
    #[values(COARSE, FINE)] flags: SvmFlags,
) -> Result<()> {
    writes(&on_device, flags, MapReadWrite)?;
    writes(&on_device, flags, MapWrite)?;
    writes(&on_device, flags, MapWriteInvalidate)
}

#[clmatrix_harness::test(requires(svm))]
fn a_map_of_a_range_leaves_the_rest_unchanged(on_device: OnDevice) -> Result<()> {
    let svm = svm_of(&on_device, COARSE, &counting(8))?;
    let mut map = svm.map_read_write::<u32>(&on_device.queue, 2..4)?;
    assert_eq!(map[..], [2, 3]);
    map.fill(9);
    // The device may use the rest meanwhile.
    enqueue_fill(&on_device.queue, &svm, &7_u32, 16..)?;
    enqueue_fill(&on_device.queue, &svm, &6_u32, ..8)?;
    let other = svm.map_read_write::<u32>(&on_device.queue, 4..)?;
    assert_eq!(other[..], [7; 4], "clEnqueueSVMMap shows the fill before it");
    drop((map, other));
    assert_on_device(&on_device, &svm, &[6, 6, 9, 9, 7, 7, 7, 7]);
    Ok(())
}

#[clmatrix_harness::test(requires(svm))]
fn all_bytes_of_any_size_are_mapped(on_device: OnDevice) -> Result<()> {
    let queue = &on_device.queue;
    for size in SIZES {
        let (range, data, to) = (5..5 + size, source(size), before(size + 20));
        let svm = svm_with(&on_device, COARSE, &to)?;
        let map = svm.map_read::<u8>(queue, range.clone())?;
        assert_same(&map, &to[range.clone()], "the map");
        drop(map);
        let mut map = svm.map_write_invalidate::<u8>(queue, range)?;
        map.copy_from_slice(&data);
        map.unmap()?;
        assert_moved(&bytes_in(&on_device, &svm)?, &to, 5, &data);
    }
    Ok(())
}

#[rstest]
#[case::ends_behind(2..5)]
#[case::begins_behind(5..5)]
#[case::nothing(1..1)]
#[case::overflows(0..usize::MAX / 4 + 2)]
#[clmatrix_harness::test(requires(svm))]
fn elements_past_the_end_are_refused(
    on_device: OnDevice,
    #[case] range: Range<usize>,
) -> Result<()> {
    let svm = svm_of(&on_device, COARSE, &counting(4))?;
    assert_eq!(refusal(svm.map_read_write::<u32>(&on_device.queue, range)), "CL_INVALID_VALUE");
    // Nothing is left of it.
    assert_eq!(svm.map_read_write::<u32>(&on_device.queue, ..)?[..], counting(4));
    Ok(())
}

/// A range without an end would have to take the two bytes behind the last whole element.
#[clmatrix_harness::test(requires(svm))]
fn a_range_without_an_end_needs_whole_elements(on_device: OnDevice) -> Result<()> {
    let (queue, bytes) = (&on_device.queue, source(18));
    let svm = svm_with(&on_device, COARSE, &bytes)?;
    assert_eq!(refusal(svm.map_read::<u32>(queue, ..)), "CL_INVALID_VALUE");
    assert_eq!(refusal(svm.map_read_write::<u32>(queue, ..)), "CL_INVALID_VALUE");
    let elements = svm.map_read::<u32>(queue, 1..4)?;
    assert_same(bytemuck::cast_slice(&elements), &bytes[4..16], "the map");
    Ok(())
}

#[clmatrix_harness::test(requires(svm))]
fn a_misaligned_address_is_refused(on_device: OnDevice) -> Result<()> {
    let svm = misaligned(&on_device, COARSE)?;
    enqueue_fill(&on_device.queue, &svm, &7_u8, ..)?;
    assert_eq!(refusal(svm.map_read::<MiB>(&on_device.queue, ..).map(drop)), "CL_MAP_FAILURE");
    // Nothing is left of it.
    assert!(svm.map_read_write::<u8>(&on_device.queue, ..)?.iter().all(|byte| *byte == 7));
    Ok(())
}

#[clmatrix_harness::test(requires(svm))]
fn map_methods_use_the_mode_of_their_name(on_device: OnDevice) -> Result<()> {
    let queue = &on_device.queue;
    let svm = svm_of(&on_device, COARSE, &counting(8))?;
    double(&on_device, &svm)?;
    assert_eq!(svm.map_read::<u32>(queue, 1..4)?[..], [2, 4, 6]);
    svm.map_write::<u32>(queue, ..)?[1] = 10;
    svm.map_read_write::<u32>(queue, 2..4)?.iter_mut().for_each(|x| *x += 1);
    svm.map_write_invalidate::<u32>(queue, 6..)?.copy_from_slice(&[20, 30]);
    assert_on_device(&on_device, &svm, &[0, 10, 5, 7, 8, 10, 20, 30]);
    Ok(())
}

/// Commands of every kind on bytes that are mapped in mode `M`.
fn refused<M: MapMode>(on: &OnDevice, mode: M, reads_too: bool) -> Result<()> {
    let svm = svm_of(on, COARSE, &counting(4))?;
    let map = svm.map::<u32, _>(&on.queue, mode, ..2)?;
    let refused = "CL_INVALID_OPERATION";
    assert_eq!(refusal(enqueue_fill(&on.queue, &svm, &0_u32, ..)), refused);
    assert_eq!(refusal(enqueue_copy(&on.queue, &svm, &[0_u32], ..)), refused);
    assert_eq!(refusal(double(on, &svm)), refused);
    assert_eq!(refusal(svm.map_read_write::<u32>(&on.queue, ..)), refused);
    if reads_too {
        assert_eq!(refusal(enqueue_copy(&on.queue, &mut [0_u32], &svm, ..)), refused);
        assert_eq!(refusal(svm.map_read::<u32>(&on.queue, ..)), refused);
    } else {
        enqueue_copy(&on.queue, &mut [0_u32], &svm, ..)?;
        assert_eq!(svm.map_read::<u32>(&on.queue, 1..)?[..], [1, 2, 3]);
    }
    drop(map);
    double(on, &svm)?;
    assert_eq!(contents(on, &svm)?, [0, 2, 4, 6]);
    Ok(())
}

#[clmatrix_harness::test(requires(svm))]
fn commands_on_mapped_bytes_are_refused(on_device: OnDevice) -> Result<()> {
    refused(&on_device, MapRead, false)?;
    refused(&on_device, MapWrite, true)?;
    refused(&on_device, MapReadWrite, true)
}

#[clmatrix_harness::test(requires(svm))]
fn a_map_waits_for_commands_of_another_queue(on_device: OnDevice) -> Result<()> {
    let svm = svm_of(&on_device, COARSE, &counting(4))?;
    let gate = gate(&on_device.context);
    let other_queue = on_device.another_queue();
    enqueue_fill(other_queue.after(&gate), &svm, &7_u32, ..)?;
    let found = meanwhile(&gate, open, || contents(&on_device, &svm))?;
    assert_eq!(found, [7; 4], "clEnqueueSVMMap shows the fill before it, of another queue");
    Ok(())
}

#[clmatrix_harness::test(requires(svm))]
fn a_non_blocking_map_can_be_waited_for(on_device: OnDevice) -> Result<()> {
    let svm = svm_of(&on_device, COARSE, &counting(4))?;
    let gate = gate(&on_device.context);
    enqueue_fill(on_device.another_queue().after(&gate), &svm, &7_u32, ..8)?;
    let map = svm.map_async::<u32, _>(&on_device.queue, MapReadWrite, ..)?;
    open(&gate);
    let mut map = map.wait()?;
    assert_eq!(map[..], [7, 7, 2, 3]);
    map[3] = 9;
    map.unmap()?;
    assert_on_device(&on_device, &svm, &[7, 7, 2, 9]);
    Ok(())
}

#[clmatrix_harness::test(requires(svm))]
fn a_map_fails_with_an_event_of_its_wait_list(on_device: OnDevice) -> Result<()> {
    let svm = svm_of(&on_device, COARSE, &counting(4))?;
    let gate = gate(&on_device.context);
    let result = meanwhile(&gate, fail, || {
        svm.map_read_write::<u32>(on_device.queue.after(&gate), ..).map(drop)
    });
    assert_eq!(refusal(result), "CL_EXEC_STATUS_ERROR_FOR_EVENTS_IN_WAIT_LIST");
    assert_eq!(contents(&on_device, &svm)?, counting(4));
    Ok(())
}

#[clmatrix_harness::test(requires(svm))]
fn an_unmap_may_run_on_another_queue(on_device: OnDevice) -> Result<()> {
    let svm = svm_of(&on_device, COARSE, &counting(4))?;
    let other_queue = on_device.another_queue();
    let mut map = svm.map_read_write::<u32>(&other_queue, ..)?;
    map.fill(3);
    map.unmap_on(&on_device.queue)?.wait()?;
    assert_on_device(&on_device, &svm, &[3; 4]);
    Ok(())
}

#[clmatrix_harness::test(requires(svm))]
fn a_map_outlives_the_handles_of_memory_and_queue(on_device: OnDevice) -> Result<()> {
    let svm = svm_of(&on_device, COARSE, &counting(4))?;
    let queue = on_device.another_queue();
    let mut map = svm.map_read_write::<u32>(&queue, ..)?;
    drop((svm, queue));
    map[0] = 7;
    assert_eq!(map[..], [7, 1, 2, 3]);
    Ok(())
}

#[clmatrix_harness::test(requires(svm))]
fn a_queue_of_another_context_is_refused(
    on_device: OnDevice,
    ctx_factory: CtxFactory,
) -> Result<()> {
    let svm = svm_of(&on_device, COARSE, &counting(4))?;
    let context: Context = ctx_factory().expect("another context");
    let queue = CommandQueue::new(&context)?;
    assert_eq!(refusal(svm.map_read_write::<u32>(&queue, ..)), "CL_INVALID_CONTEXT");
    assert_eq!(refusal(enqueue_fill(&queue, &svm, &0_u8, ..)), "CL_INVALID_CONTEXT");
    let elsewhere = SvmAllocation::new(&context, 16, 0, COARSE)?;
    assert_eq!(refusal(enqueue_copy(&on_device.queue, &svm, &elsewhere, ..)), "CL_INVALID_CONTEXT");
    Ok(())
}

/// The host may read while kernels only read.
#[clmatrix_harness::test(requires(svm))]
fn a_map_for_reading_is_accepted_during_kernels_that_read(on_device: OnDevice) -> Result<()> {
    let svm = svm_of(&on_device, SvmFlags::READ_ONLY, &counting(4))?;
    let map = svm.map_read::<u32>(&on_device.queue, ..)?;
    assert_on_device(&on_device, &svm, &counting(4));
    drop(map);
    let _map = svm.map_read_write::<u32>(&on_device.queue, ..)?;
    let source = "kernel void k(global const uint *x) {}";
    let mut nothing = on_device.kernel(source, "")?;
    // SAFETY: the kernel uses nothing.
    let launched = unsafe { nothing.launch().arg(&svm).global(1).enqueue(&on_device.queue) };
    assert_eq!(refusal(launched), "CL_INVALID_OPERATION");
    Ok(())
}

/// And the memory, which is never freed.
#[clmatrix_harness::test(requires(svm))]
fn a_forgotten_map_keeps_its_bytes_mapped(on_device: OnDevice) -> Result<()> {
    let svm = svm_of(&on_device, COARSE, &counting(4))?;
    std::mem::forget(svm.map_read_write::<u32>(&on_device.queue, ..2)?);
    let other_queue = on_device.another_queue();
    assert_eq!(refusal(enqueue_fill(&other_queue, &svm, &0_u32, ..)), "CL_INVALID_OPERATION");
    assert_eq!(refusal(svm.map_read::<u32>(&other_queue, ..)), "CL_INVALID_OPERATION");
    let Err(back) = svm.enqueue_release(&on_device.queue) else { panic!("released") };
    assert!(back.memory.is_some());
    Ok(())
}

/// The queue has used bytes before and behind those of the map, and its commands wait for a gate that
/// opens after the map.
#[clmatrix_harness::test(requires(svm))]
fn a_map_does_not_wait_for_commands_on_other_bytes(on_device: OnDevice) -> Result<()> {
    let svm = svm_of(&on_device, COARSE, &counting(1024))?;
    let gate = gate(&on_device.context);
    enqueue_fill(on_device.queue.after(&gate), &svm, &7_u32, ..16)?;
    enqueue_fill(&on_device.queue, &svm, &7_u32, 4080..)?;
    let queue = on_device.another_queue();
    let map = svm.map_read_write::<u32>(&queue, 256..512)?;
    assert_eq!(map[..], counting(1024)[256..512]);
    map.unmap()?.wait()?;
    open(&gate);
    on_device.queue.finish()?;
    let mut expected = counting(1024);
    expected[..4].fill(7);
    expected[1020..].fill(7);
    assert_eq!(contents(&on_device, &svm)?, expected);
    Ok(())
}

/// Ends a map before one of the same bytes that waits for a gate, which opens afterwards: dropping the
/// guard does not wait on the host for the map that has not ended.
#[clmatrix_harness::test(requires(svm))]
fn overlapping_maps_for_reading_are_unmapped_in_any_order(on_device: OnDevice) -> Result<()> {
    let svm = svm_of(&on_device, COARSE, &counting(64))?;
    let elsewhere = svm_of(&on_device, COARSE, &[0; 4])?;
    let gate = gate(&on_device.context);
    enqueue_fill(on_device.queue.after(&gate), &elsewhere, &7_u32, ..)?;
    let first = svm.map_async::<u32, _>(&on_device.queue, MapRead, ..)?;
    let other_queue = on_device.another_queue();
    let second = svm.map_read::<u32>(&other_queue, 4..16)?;
    assert_eq!(second[..], counting(16)[4..]);
    drop(second);
    other_queue.finish()?;
    open(&gate);
    assert_eq!(first.wait()?[..], counting(64));
    enqueue_fill(&on_device.queue, &svm, &7_u32, ..)?;
    assert_elements(&contents(&on_device, &svm)?, &[7; 64], "clEnqueueSVMMemFill after the maps");
    Ok(())
}
