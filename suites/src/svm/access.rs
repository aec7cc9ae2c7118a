//! Fine-grain memory, which the host uses without a map.

use super::*;

#[clmatrix_harness::test(requires(svm = "fine"))]
fn host_and_kernels_write_in_turn(on_device: OnDevice) -> Result<()> {
    let svm = svm_of(&on_device, FINE, &[0; 4])?;
    svm.access(MapReadWrite, ..)?.copy_from_slice(&counting(4));
    for _ in 0..3 {
        double(&on_device, &svm)?;
        svm.access::<u32, _>(MapReadWrite, ..)?.iter_mut().for_each(|x| *x += 1);
    }
    assert_on_device(&on_device, &svm, &[7, 15, 23, 31]);
    assert_eq!(svm.access::<u32, _>(MapRead, ..)?[..], [7, 15, 23, 31]);
    Ok(())
}

#[clmatrix_harness::test(requires(svm = "fine"))]
fn the_host_reads_and_writes_all_bytes_of_any_size(on_device: OnDevice) -> Result<()> {
    for size in SIZES {
        let (range, data, to) = (5..5 + size, source(size), before(size + 20));
        let svm = svm_with(&on_device, FINE, &to)?;
        assert_same(&svm.access::<u8, _>(MapRead, ..)?, &to, "the memory");
        svm.access::<u8, _>(MapWrite, range)?.copy_from_slice(&data);
        assert_moved(&bytes_in(&on_device, &svm)?, &to, 5, &data);
    }
    Ok(())
}

#[clmatrix_harness::test(requires(svm = "fine"))]
fn a_host_access_waits_for_earlier_commands(on_device: OnDevice) -> Result<()> {
    let svm = svm_of(&on_device, FINE, &counting(4))?;
    let gate = gate(&on_device.context);
    enqueue_fill(on_device.another_queue().after(&gate), &svm, &7_u32, ..8)?;
    // The access does not wait for the fill, which is on other bytes.
    assert_eq!(svm.access::<u32, _>(MapRead, 2..)?[..], [2, 3]);
    let found = meanwhile(&gate, open, || svm.access::<u32, _>(MapRead, ..).map(|x| x.to_vec()))?;
    assert_eq!(found, [7, 7, 2, 3]);
    Ok(())
}

#[clmatrix_harness::test(requires(svm = "fine"))]
fn a_host_access_for_reading_is_accepted_during_reads(on_device: OnDevice) -> Result<()> {
    let svm = svm_of(&on_device, FINE, &counting(4))?;
    let other = svm_of(&on_device, FINE, &[0; 4])?;
    let gate = gate(&on_device.context);
    enqueue_copy(on_device.another_queue().after(&gate), &other, &svm, ..)?;
    assert_eq!(svm.access::<u32, _>(MapRead, ..)?[..], counting(4));
    meanwhile(&gate, open, || svm.access::<u32, _>(MapWrite, ..).map(|mut x| x.fill(9)))?;
    assert_on_device(&on_device, &other, &counting(4));
    Ok(())
}

fn refused<M: MapMode>(on: &OnDevice, mode: M, reads_too: bool) -> Result<()> {
    let svm = svm_of(on, FINE, &counting(4))?;
    let held = svm.access::<u32, _>(mode, ..2)?;
    let refused = "CL_INVALID_OPERATION";
    assert_eq!(refusal(enqueue_fill(&on.queue, &svm, &0_u32, ..)), refused);
    assert_eq!(refusal(double(on, &svm)), refused);
    assert_eq!(refusal(svm.map_read_write::<u32>(&on.queue, ..)), refused);
    assert_eq!(refusal(svm.access::<u32, _>(MapReadWrite, ..)), refused);
    if reads_too {
        assert_eq!(refusal(enqueue_copy(&on.queue, &mut [0_u32], &svm, ..)), refused);
        assert_eq!(refusal(svm.access::<u32, _>(MapRead, ..)), refused);
    } else {
        assert_eq!(svm.access::<u32, _>(MapRead, ..)?[..], counting(4));
    }
    // The other bytes are free.
    enqueue_fill(&on.queue, &svm, &9_u32, 8..)?;
    drop(held);
    double(on, &svm)?;
    assert_on_device(on, &svm, &[0, 2, 18, 18]);
    Ok(())
}

#[clmatrix_harness::test(requires(svm = "fine"))]
fn commands_during_a_host_access_are_refused(on_device: OnDevice) -> Result<()> {
    refused(&on_device, MapRead, false)?;
    refused(&on_device, MapWrite, true)?;
    refused(&on_device, MapReadWrite, true)
}

/// True if the map ended is not known: the bytes stay closed, and the memory is never freed.
#[clmatrix_harness::test(requires(svm = "fine"))]
fn memory_of_a_failed_unmap_stays_inaccessible(on_device: OnDevice) -> Result<()> {
    let svm = svm_of(&on_device, FINE, &counting(4))?;
    let gate = gate(&on_device.context);
    svm.map_read_write::<u32>(&on_device.queue, ..)?.unmap_on(on_device.queue.after(&gate))?;
    fail(&gate);
    assert_eq!(refusal(svm.access::<u32, _>(MapReadWrite, ..)), "CL_INVALID_OPERATION");
    Ok(())
}

/// The unmap fails while the access waits for a fill of other bytes.
#[clmatrix_harness::test(requires(svm = "fine"))]
fn an_unmap_that_fails_during_the_wait_of_an_access_is_noticed(on_device: OnDevice) -> Result<()> {
    let svm = svm_of(&on_device, FINE, &counting(4))?;
    let (unmap, fill) = (gate(&on_device.context), gate(&on_device.context));
    svm.map_read_write::<u32>(&on_device.queue, 2..)?.unmap_on(on_device.queue.after(&unmap))?;
    enqueue_fill(on_device.another_queue().after(&fill), &svm, &7_u32, ..8)?;
    let result = fail_then_open(&unmap, &fill, || svm.access::<u32, _>(MapReadWrite, ..));
    assert_eq!(refusal(result), "CL_INVALID_OPERATION");
    Ok(())
}

#[clmatrix_harness::test(requires(svm))]
fn host_accesses_to_coarse_grain_memory_are_refused(on_device: OnDevice) -> Result<()> {
    let svm = svm_of(&on_device, COARSE, &counting(4))?;
    assert_eq!(refusal(svm.access::<u32, _>(MapRead, ..)), "CL_INVALID_OPERATION");
    Ok(())
}

#[rstest]
#[case::ends_behind(2..5)]
#[case::begins_behind(5..5)]
#[case::nothing(1..1)]
#[case::overflows(0..usize::MAX / 4 + 2)]
#[clmatrix_harness::test(requires(svm = "fine"))]
fn elements_past_the_end_are_refused(
    on_device: OnDevice,
    #[case] range: Range<usize>,
) -> Result<()> {
    let svm = svm_of(&on_device, FINE, &counting(4))?;
    assert_eq!(refusal(svm.access::<u32, _>(MapRead, range)), "CL_INVALID_VALUE");
    Ok(())
}

#[clmatrix_harness::test(requires(svm = "fine"))]
fn a_misaligned_address_is_refused(on_device: OnDevice) -> Result<()> {
    let svm = misaligned(&on_device, FINE)?;
    assert_eq!(refusal(svm.access::<MiB, _>(MapRead, ..)), "CL_INVALID_VALUE");
    Ok(())
}

/// A range without an end would have to take the two bytes behind the last whole element.
#[clmatrix_harness::test(requires(svm = "fine"))]
fn a_range_without_an_end_needs_whole_elements(on_device: OnDevice) -> Result<()> {
    let bytes = source(18);
    let svm = svm_with(&on_device, FINE, &bytes)?;
    assert_eq!(refusal(svm.access::<u32, _>(MapRead, 1..)), "CL_INVALID_VALUE");
    let elements = svm.access::<u32, _>(MapRead, 1..4)?;
    assert_same(bytemuck::cast_slice(&elements), &bytes[4..16], "the memory");
    Ok(())
}
