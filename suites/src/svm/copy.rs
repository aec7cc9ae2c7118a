//! Copies from, to and between shared virtual memory (`clEnqueueSVMMemcpy`).

use super::*;
use crate::copy::linear;

#[rstest]
#[clmatrix_harness::test(requires(svm = "fine"))]
fn a_copy_to_the_host_has_kernel_writes(
    on_device: OnDevice,
    #[values(COARSE, FINE)] flags: SvmFlags,
) -> Result<()> {
    let svm = svm_of(&on_device, flags, &counting(1000))?;
    double(&on_device, &svm)?;
    let mut found = vec![0_u32; 1000];
    enqueue_copy(&on_device.queue, &mut found, &svm, ..)?;
    assert_eq!(found, (0..1000).map(|x| 2 * x).collect::<Vec<_>>());
    Ok(())
}

#[clmatrix_harness::test(requires(svm))]
fn svm_is_copied_to_svm(on_device: OnDevice) -> Result<()> {
    let one = svm_of(&on_device, COARSE, &counting(1000))?;
    let other = svm_of(&on_device, COARSE, &[0; 1000])?;
    enqueue_copy(&on_device.queue, &other, &one, ..)?;
    double(&on_device, &one)?;
    assert_on_device(&on_device, &other, &counting(1000));
    Ok(())
}

#[clmatrix_harness::test(requires(svm))]
fn a_copy_has_the_smaller_size(on_device: OnDevice) -> Result<()> {
    let queue = &on_device.queue;
    let (small, large) =
        (svm_of(&on_device, COARSE, &[1; 2])?, svm_of(&on_device, COARSE, &[2; 4])?);
    enqueue_copy(queue, &large, &small, ..)?;
    assert_on_device(&on_device, &large, &[1, 1, 2, 2]);
    enqueue_copy(queue, &large, &[7_u32], ..)?;
    assert_on_device(&on_device, &large, &[7, 1, 2, 2]);
    let mut host = [0_u32; 3];
    enqueue_copy(queue, &mut host, &large, ..)?;
    assert_eq!(host, [7, 1, 2]);
    for refused in [
        enqueue_copy(queue, &small, &[8_u32, 9, 10], ..),
        enqueue_copy(queue, &mut [0_u32; 8], &large, ..),
        large.copy_to(queue, &small),
    ] {
        assert_eq!(refusal(refused), "CL_INVALID_VALUE");
    }
    assert_on_device(&on_device, &small, &[1, 1]);
    Ok(())
}

#[clmatrix_harness::test(requires(svm))]
fn svm_has_the_methods_of_buffers(on_device: OnDevice) -> Result<()> {
    let queue = &on_device.queue;
    let (one, other) = (svm_of(&on_device, COARSE, &[1; 4])?, svm_of(&on_device, COARSE, &[2; 6])?);
    one.write(queue, &[3_u32, 4, 5])?;
    one.copy_to(queue, &other)?;
    assert_eq!(other.to_vec::<u32>(queue)?, [3, 4, 5, 1, 2, 2]);
    other.fill(queue, &7_u16)?;
    let mut host = [0_u16; 11];
    other.read(queue, &mut host)?;
    assert_eq!(host, [7; 11], "the numbers of clEnqueueSVMMemFill");
    other.write_async(queue, vec![8_u32; 6])?.wait()?;
    let read = other.read_async(queue, vec![0_u32; 6])?.wait()?;
    assert_eq!(read, [8; 6], "the numbers that clEnqueueSVMMemcpy wrote");
    assert_eq!(refusal(other.to_vec::<[u8; 5]>(queue)), "CL_INVALID_VALUE");
    Ok(())
}

#[clmatrix_harness::test(requires(svm))]
fn a_copy_uses_offsets_and_byte_count(on_device: OnDevice) -> Result<()> {
    let queue = &on_device.queue;
    let (one, other) =
        (svm_of(&on_device, COARSE, &counting(8))?, svm_of(&on_device, COARSE, &[9; 8])?);
    enqueue_copy(
        queue,
        &other,
        &one,
        Linear::default().src_offset(4).dst_offset(16).byte_count(8),
    )?;
    assert_on_device(&on_device, &other, &[9, 9, 9, 9, 1, 2, 9, 9]);
    enqueue_copy(queue, &other, &[5_u32, 6], Linear::default().dst_offset(4))?;
    assert_on_device(&on_device, &other, &[9, 5, 6, 9, 1, 2, 9, 9]);
    let mut host = [0_u32; 3];
    let some = Linear::default().src_offset(20).byte_count(8);
    enqueue_copy(queue, &mut host, &one, some)?;
    assert_eq!(host, [5, 6, 0]);
    Ok(())
}

#[clmatrix_harness::test(requires(svm))]
fn a_copy_moves_all_bytes_of_any_size(on_device: OnDevice) -> Result<()> {
    let queue = &on_device.queue;
    for size in SIZES {
        let (from, to, host) = (source(size + 40), before(size + 20), bytes(2, size + 30));
        let src = svm_with(&on_device, COARSE, &from)?;
        let dst = svm_with(&on_device, COARSE, &to)?;
        let bytes = Linear::default().src_offset(23).dst_offset(5).byte_count(size);
        enqueue_copy(queue, &dst, &src, bytes)?;
        assert_moved(&bytes_in(&on_device, &dst)?, &to, 5, &from[23..23 + size]);
        assert_same(&bytes_in(&on_device, &src)?, &from, "the source");

        let at = Linear::default().dst_offset(7);
        enqueue_copy(queue, &src, &to[3..3 + size], at)?;
        assert_moved(&bytes_in(&on_device, &src)?, &from, 7, &to[3..3 + size]);
        let mut found = host.clone();
        let at = Linear::default().src_offset(7);
        enqueue_copy(queue, &mut found[11..11 + size], &src, at)?;
        assert_moved(&found, &host, 11, &to[3..3 + size]);
    }
    Ok(())
}

/// Within one allocation, too, if the bytes are apart.
#[clmatrix_harness::test(requires(svm))]
fn overlapping_ranges_are_refused(on_device: OnDevice) -> Result<()> {
    let svm = svm_of(&on_device, COARSE, &counting(8))?;
    let copy = |src_offset, dst_offset| {
        let args = Linear::default().src_offset(src_offset).dst_offset(dst_offset).byte_count(16);
        enqueue_copy(&on_device.queue, &svm, &svm, args)
    };
    for (src_offset, dst_offset) in [(0, 0), (0, 15), (15, 0), (4, 8)] {
        assert_eq!(refusal(copy(src_offset, dst_offset)), "CL_MEM_COPY_OVERLAP");
    }
    assert_on_device(&on_device, &svm, &counting(8));
    copy(16, 0)?;
    assert_on_device(&on_device, &svm, &[4, 5, 6, 7, 4, 5, 6, 7]);
    Ok(())
}

#[clmatrix_harness::test(requires(svm))]
fn bytes_past_the_end_are_refused(on_device: OnDevice) -> Result<()> {
    let queue = &on_device.queue;
    let (one, other) =
        (svm_of(&on_device, COARSE, &counting(4))?, svm_of(&on_device, COARSE, &[9; 8])?);
    let mut host = [0_u32; 4];
    for args in [
        linear(0, 0, Some(20)),
        linear(0, 0, Some(0)),
        linear(8, 0, Some(9)),
        linear(16, 0, None),
        linear(17, 0, None),
        linear(0, 17, Some(16)),
        linear(0, usize::MAX, Some(16)),
        linear(usize::MAX, 0, None),
    ] {
        let copied = enqueue_copy(queue, &other, &one, args);
        assert_eq!(refusal(copied), "CL_INVALID_VALUE", "{args:?}");
    }
    for args in
        [linear(4, 0, Some(16)), linear(0, 0, Some(0)), linear(0, 4, None), linear(16, 0, None)]
    {
        let copied = enqueue_copy(queue, &mut host, &one, args);
        assert_eq!(refusal(copied), "CL_INVALID_VALUE", "{args:?}");
    }
    let more_than_the_host_has = enqueue_copy(queue, &mut host, &other, linear(0, 0, Some(32)));
    assert_eq!(refusal(more_than_the_host_has), "CL_INVALID_VALUE");
    // Host memory has no offset.
    assert_eq!(refusal(enqueue_copy(queue, &other, &host, linear(4, 0, None))), "CL_INVALID_VALUE");
    assert_on_device(&on_device, &other, &[9; 8]);
    Ok(())
}

/// Host memory that is given comes back.
#[clmatrix_harness::test(requires(svm))]
fn a_copy_of_owned_memory_does_not_block(on_device: OnDevice) -> Result<()> {
    let svm = svm_of(&on_device, COARSE, &[0; 4])?;
    let gate = gate(&on_device.context);
    let written = enqueue_copy(on_device.queue.after(&gate), &svm, counting(4), ..)?;
    let read = enqueue_copy(&on_device.queue, vec![9_u32; 4], &svm, ..)?;
    thread::sleep(A_MOMENT);
    for event in [written.event(), read.event()] {
        assert_waits(event, "clEnqueueSVMMemcpy")?;
    }
    open(&gate);
    assert_eq!(written.wait()?, counting(4));
    assert_eq!(read.wait()?, counting(4));
    Ok(())
}

#[clmatrix_harness::test(requires(svm))]
fn a_copy_waits_for_its_wait_list(on_device: OnDevice) -> Result<()> {
    let svm = svm_of(&on_device, COARSE, &[0; 4])?;
    let gate = gate(&on_device.context);
    let filled = enqueue_fill(on_device.another_queue().after(&gate), &svm, &5_u32, ..)?;
    let mut host = [0_u32; 4];
    meanwhile(&gate, open, || enqueue_copy(on_device.queue.after(&filled), &mut host, &svm, ..))?;
    assert_eq!(host, [5; 4], "clEnqueueSVMMemcpy: {EARLY}");
    Ok(())
}

#[clmatrix_harness::test(requires(svm))]
fn a_copy_fails_with_an_event_of_its_wait_list(on_device: OnDevice) -> Result<()> {
    let svm = svm_of(&on_device, COARSE, &counting(4))?;
    let gate = gate(&on_device.context);
    let result = meanwhile(&gate, fail, || {
        enqueue_copy(on_device.queue.after(&gate), &svm, &[9_u32; 4], ..)
    });
    assert_eq!(refusal(result), "CL_EXEC_STATUS_ERROR_FOR_EVENTS_IN_WAIT_LIST");
    assert_on_device(&on_device, &svm, &counting(4));
    Ok(())
}

#[clmatrix_harness::test(requires(svm))]
fn arrays_and_allocations_are_copied(on_device: OnDevice) -> Result<()> {
    let queue = &on_device.queue;
    let floats = SvmAllocation::builder(&on_device.context).array::<f32, _>((2, 2))?;
    let words = SvmAllocation::builder(&on_device.context).array::<u32, _>(4)?;
    let bytes = SvmAllocation::new(&on_device.context, 16, 0, COARSE)?;
    enqueue_copy(queue, &floats, &[1.0_f32, 2.0, 3.0, 4.0], ..)?;
    enqueue_copy(queue, &words, &floats, ..)?;
    enqueue_copy(queue, &bytes, &words, ..)?;
    let expected = [1.0_f32, 2.0, 3.0, 4.0].map(f32::to_bits);
    assert_on_device(&on_device, &words, &expected);
    assert_on_device(&on_device, &bytes, &expected);
    enqueue_copy(queue, &floats, &svm_of(&on_device, COARSE, &[0; 4])?, ..)?;
    assert_on_device(&on_device, &floats, &[0; 4]);
    Ok(())
}
