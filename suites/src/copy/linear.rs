//! Bytes in one piece, from and to whatever can stand for the host.

use super::*;

#[clmatrix_harness::test]
fn slices_arrays_and_vectors_are_written_and_read_back(on_device: OnDevice) -> Result<()> {
    let buffer = Buffer::new(&on_device.context, MemFlags::READ_WRITE, 16)?;
    let there: [&dyn Fn() -> Result<Event>; 4] = [
        &|| enqueue_copy(&on_device.queue, &buffer, &[1_u32, 2, 3, 4], ..),
        &|| enqueue_copy(&on_device.queue, &buffer, &vec![1_u32, 2, 3, 4], ..),
        &|| enqueue_copy(&on_device.queue, &buffer, &[1_u32, 2, 3, 4][..], ..),
        &|| enqueue_copy(&on_device.queue, &buffer, &mut [1_u32, 2, 3, 4], ..),
    ];
    for write in there {
        write()?;
        on_device.run(DOUBLE, &[&buffer], 4)?;
        let (mut array, mut vector, mut boxed) = ([0_u32; 4], vec![0_u32; 4], [0_u32; 4]);
        enqueue_copy(&on_device.queue, &mut array, &buffer, ..)?;
        enqueue_copy(&on_device.queue, &mut vector, &buffer, ..)?;
        enqueue_copy(&on_device.queue, &mut boxed[..], &buffer, ..)?;
        assert_eq!((array, &vector[..], boxed), ([2, 4, 6, 8], &[2, 4, 6, 8][..], [2, 4, 6, 8]));
    }
    Ok(())
}

#[clmatrix_harness::test]
fn all_bytes_of_any_size_are_copied(on_device: OnDevice) -> Result<()> {
    for size in SIZES {
        let (from, to, host) = (source(size + 40), before(size + 20), bytes(2, size + 30));
        let (src, dst) = (buffer_with(&on_device, &from)?, buffer_with(&on_device, &to)?);
        enqueue_copy(&on_device.queue, &dst, &src, linear(23, 5, Some(size)))?;
        assert_moved(&bytes_in(&on_device, &dst)?, &to, 5, &from[23..23 + size]);
        assert_same(&bytes_in(&on_device, &src)?, &from, "the source");

        enqueue_copy(&on_device.queue, &src, &to[3..3 + size], Linear::default().dst_offset(7))?;
        assert_moved(&bytes_in(&on_device, &src)?, &from, 7, &to[3..3 + size]);
        let at = Linear::default().src_offset(7).byte_count(size);
        let mut found = host.clone();
        enqueue_copy(&on_device.queue, &mut found[11..], &src, at)?;
        assert_moved(&found, &host, 11, &to[3..3 + size]);
    }
    Ok(())
}

#[clmatrix_harness::test]
fn the_host_memory_determines_the_size(on_device: OnDevice) -> Result<()> {
    let queue = &on_device.queue;
    let buffer = buffer_of(&on_device, &counting(8))?;
    enqueue_copy(queue, &buffer, &[70_u32, 80], ..)?;
    on_device.run(DOUBLE, &[&buffer], 8)?;
    let mut start = [0_u32; 3];
    enqueue_copy(queue, &mut start, &buffer, ..)?;
    assert_eq!(start, [140, 160, 4]);
    let mut too_large = [0_u32; 9];
    assert_eq!(refusal(enqueue_copy(queue, &mut too_large, &buffer, ..)), "CL_INVALID_VALUE");
    assert_eq!(refusal(enqueue_copy(queue, &buffer, &too_large, ..)), "CL_INVALID_VALUE");
    assert_eq!(contents(&on_device, &buffer)?, [140, 160, 4, 6, 8, 10, 12, 14]);
    Ok(())
}

#[clmatrix_harness::test]
fn offsets_apply_to_device_memory(on_device: OnDevice) -> Result<()> {
    let queue = &on_device.queue;
    let buffer = buffer_of(&on_device, &counting(8))?;
    let at = |dst_offset| Linear::default().dst_offset(dst_offset);
    let from = |src_offset| Linear::default().src_offset(src_offset);
    enqueue_copy(queue, &buffer, &[70_u32, 80], at(12))?;
    on_device.run(DOUBLE, &[&buffer], 8)?;
    let mut middle = [0_u32; 3];
    enqueue_copy(queue, &mut middle, &buffer, from(8))?;
    assert_eq!(middle, [4, 140, 160]);
    // Not the host's.
    assert_eq!(refusal(enqueue_copy(queue, &mut middle, &buffer, at(4))), "CL_INVALID_VALUE");
    assert_eq!(refusal(enqueue_copy(queue, &buffer, &middle, from(4))), "CL_INVALID_VALUE");
    for offset in [24, 32, 33, usize::MAX] {
        let read = enqueue_copy(queue, &mut middle, &buffer, from(offset));
        assert_eq!(refusal(read), "CL_INVALID_VALUE", "{offset}");
        let written = enqueue_copy(queue, &buffer, &middle, at(offset));
        assert_eq!(refusal(written), "CL_INVALID_VALUE", "{offset}");
    }
    assert_eq!(contents(&on_device, &buffer)?, [0, 2, 4, 140, 160, 10, 12, 14]);
    Ok(())
}

#[clmatrix_harness::test]
fn a_byte_count_copies_the_start_of_the_host_memory(on_device: OnDevice) -> Result<()> {
    let buffer = buffer_of(&on_device, &counting(4))?;
    let only = |byte_count| Linear::default().byte_count(byte_count);
    enqueue_copy(&on_device.queue, &buffer, &[70_u32, 80, 90], only(8))?;
    on_device.run(DOUBLE, &[&buffer], 4)?;
    let mut found = [1_u32; 4];
    enqueue_copy(&on_device.queue, &mut found, &buffer, only(12))?;
    assert_eq!(found, [140, 160, 4, 1]);
    for count in [0, 17, usize::MAX] {
        let read = enqueue_copy(&on_device.queue, &mut found, &buffer, only(count));
        assert_eq!(refusal(read), "CL_INVALID_VALUE", "{count}");
        let written = enqueue_copy(&on_device.queue, &buffer, &found, only(count));
        assert_eq!(refusal(written), "CL_INVALID_VALUE", "{count}");
    }
    Ok(())
}

#[clmatrix_harness::test]
fn a_copy_between_buffers_has_the_smaller_size(on_device: OnDevice) -> Result<()> {
    let (small, large) = (buffer_of(&on_device, &[1, 2])?, buffer_of(&on_device, &[0; 4])?);
    enqueue_copy(&on_device.queue, &large, &small, ..)?;
    on_device.run(DOUBLE, &[&large], 4)?;
    assert_eq!(contents(&on_device, &large)?, [2, 4, 0, 0]);
    enqueue_copy(&on_device.queue, &small, &large, ..)?;
    assert_eq!(contents(&on_device, &small)?, [2, 4]);
    Ok(())
}

#[clmatrix_harness::test]
fn a_copy_between_buffers_has_two_offsets(on_device: OnDevice) -> Result<()> {
    let from = buffer_of(&on_device, &counting(8))?;
    let to = || buffer_of(&on_device, &[99; 4]);
    for (byte_count, expected) in
        [(None, [99, 5, 6, 7]), (Some(4), [99, 5, 99, 99]), (Some(12), [99, 5, 6, 7])]
    {
        let to = to()?;
        let bytes = linear(20, 4, byte_count);
        enqueue_copy(&on_device.queue, &to, &from, bytes)?;
        on_device.run(DOUBLE, &[&to], 4)?;
        assert_eq!(contents(&on_device, &to)?, expected.map(|x| 2 * x));
    }
    let to = to()?;
    for (src_offset, dst_offset, byte_count) in [
        (32, 0, None),
        (33, 0, None),
        (0, 16, None),
        (usize::MAX, 0, None),
        (0, 0, Some(17)),
        (20, 0, Some(13)),
        (0, 0, Some(0)),
        (1, 0, Some(usize::MAX)),
    ] {
        let bytes = linear(src_offset, dst_offset, byte_count);
        let refused = enqueue_copy(&on_device.queue, &to, &from, bytes);
        assert_eq!(refusal(refused), "CL_INVALID_VALUE", "{bytes:?}");
    }
    assert_eq!(to.size(), 16);
    Ok(())
}

#[clmatrix_harness::test]
fn copies_of_zero_bytes_are_refused(on_device: OnDevice) -> Result<()> {
    let buffer = buffer_of(&on_device, &counting(4))?;
    let queue = &on_device.queue;
    assert_eq!(refusal(enqueue_copy(queue, &mut [0_u32; 0], &buffer, ..)), "CL_INVALID_VALUE");
    assert_eq!(refusal(enqueue_copy(queue, &buffer, &[(); 4], ..)), "CL_INVALID_VALUE");
    Ok(())
}

#[clmatrix_harness::test]
fn a_copy_of_a_buffer_onto_itself_is_refused(on_device: OnDevice) -> Result<()> {
    let buffer = buffer_of(&on_device, &counting(4))?;
    let refused = enqueue_copy(&on_device.queue, &buffer, &buffer, ..);
    assert_eq!(refusal(refused), "CL_MEM_COPY_OVERLAP");
    let apart = Linear::default().dst_offset(8).byte_count(8);
    enqueue_copy(&on_device.queue, &buffer, &buffer, apart)?;
    on_device.run(DOUBLE, &[&buffer], 4)?;
    assert_eq!(contents(&on_device, &buffer)?, [0, 2, 0, 2]);
    Ok(())
}
