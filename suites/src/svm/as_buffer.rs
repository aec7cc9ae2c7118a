//! Shared virtual memory seen as a buffer (PyOpenCL's `as_buffer`).

use clmatrix::memory::{MemoryObject, live_objects};
use clmatrix::pool::{SvmAllocator, SvmPool};

use super::*;
use crate::buffer::{DOUBLE, buffer_with};
use crate::pool::kind::is_free;

#[rstest]
#[clmatrix_harness::test(requires(svm = "fine"))]
fn a_buffer_shares_the_bytes_of_its_svm(
    on_device: OnDevice,
    #[values(COARSE, FINE)] flags: SvmFlags,
) -> Result<()> {
    let svm = svm_of(&on_device, flags, &counting(8))?;
    let buffer = svm.as_buffer(MemFlags::READ_WRITE, ..)?;
    assert_eq!(MemoryObject::size(&buffer), 32);
    assert!(buffer.uses_svm_pointer()?, "CL_MEM_USES_SVM_POINTER is CL_FALSE");
    assert_eq!(buffer.host_ptr()?, svm.svm_ptr().cast_const(), "CL_MEM_HOST_PTR");
    on_device.run(DOUBLE, &[&buffer], 8)?;
    on_device.queue.finish()?;
    assert_on_device(&on_device, &svm, &[0, 2, 4, 6, 8, 10, 12, 14]);
    enqueue_fill(&on_device.queue, &svm, &9_u32, 8..)?;
    let mut found = [0_u32; 8];
    enqueue_copy(&on_device.queue, &mut found, &buffer, ..)?;
    assert_eq!(found, [0, 2, 9, 9, 9, 9, 9, 9]);
    Ok(())
}

#[clmatrix_harness::test(requires(svm))]
fn a_buffer_may_cover_a_part_of_svm(on_device: OnDevice) -> Result<()> {
    let svm = svm_of(&on_device, COARSE, &counting(128))?;
    let buffer = svm.as_buffer(MemFlags::READ_WRITE, 128..256)?;
    enqueue_fill(&on_device.queue, &buffer, &7_u32, 4..8)?;
    let mut expected = counting(128);
    expected[33] = 7;
    assert_on_device(&on_device, &svm, &expected);
    // Mapped bytes are counted from the start of the memory.
    let map = buffer.map_read_write::<u32>(&on_device.queue, ..)?;
    assert_eq!(map[..], expected[32..64]);
    let refused = enqueue_fill(&on_device.queue, &svm, &0_u32, 128..132);
    assert_eq!(refusal(refused), "CL_INVALID_OPERATION");
    let gate = gate(&on_device.context);
    enqueue_fill(on_device.queue.after(&gate), &svm, &0_u32, ..128)?;
    enqueue_fill(&on_device.queue, &svm, &0_u32, 256..)?;
    map.unmap_on(&on_device.another_queue())?.wait()?;
    open(&gate);
    on_device.queue.finish()
}

/// Buffers of two parts of the memory, with offsets in both.
#[clmatrix_harness::test(requires(svm, max_alloc = "65 MiB"))]
fn copies_between_parts_move_all_bytes_of_any_size(on_device: OnDevice) -> Result<()> {
    for size in SIZES {
        let len = (size + 40).next_multiple_of(128);
        let to = [source(2 * len), before(2 * len)].concat();
        let svm = svm_with(&on_device, COARSE, &to)?;
        let src = svm.as_buffer(MemFlags::READ_WRITE, len..2 * len)?;
        let dst = svm.as_buffer(MemFlags::READ_WRITE, 3 * len..)?;
        enqueue_copy(
            &on_device.queue,
            &dst,
            &src,
            Linear::default().src_offset(23).dst_offset(5).byte_count(size),
        )?;
        let moved = &to[len + 23..][..size];
        assert_moved(&bytes_in(&on_device, &svm)?, &to, 3 * len + 5, moved);
    }
    Ok(())
}

/// The end of the last command frees the memory and releases the queue, although nothing asks for it.
#[rstest]
#[clmatrix_harness::test(requires(svm))]
fn the_end_of_a_command_releases_memory_and_queue(
    on_device: OnDevice,
    #[values(false, true)] is_unmap: bool,
) -> Result<()> {
    let watch = on_device.context.watch();
    let before = (watch.references(), live_objects());
    let gate = gate(&on_device.context);
    let queue = on_device.another_queue();
    let buffer = svm_of(&on_device, COARSE, &counting(16))?.as_buffer(MemFlags::READ_WRITE, ..)?;
    if is_unmap {
        let map = buffer.map_read::<u32>(&queue, ..)?;
        map.unmap_on(queue.after(&gate))?;
    } else {
        drop(enqueue_fill(queue.after(&gate), &buffer, &7_u32, ..)?);
    }
    drop((buffer, queue));
    open(&gate);
    drop(gate);
    let is_released = || Ok(watch.references() <= before.0 && live_objects() <= before.1);
    assert!(soon(is_released)?, "{} references", watch.references());
    Ok(())
}

/// So many that a look at all of them for each takes half a minute.
#[clmatrix_harness::test(requires(svm))]
fn the_end_of_many_commands_releases_their_memory(on_device: OnDevice) -> Result<()> {
    let before = live_objects();
    let gate = gate(&on_device.context);
    let buffer = svm_of(&on_device, COARSE, &counting(16))?.as_buffer(MemFlags::READ_WRITE, ..)?;
    enqueue_fill(on_device.queue.after(&gate), &buffer, &7_u32, ..)?;
    for _ in 0..30_000 {
        enqueue_fill(&on_device.queue, &buffer, &7_u32, ..)?;
    }
    drop(buffer);
    open(&gate);
    on_device.queue.flush()?;
    let is_released = || Ok(live_objects() <= before);
    assert!(soon(is_released)? || soon(is_released)?, "the memory is kept");
    Ok(())
}

#[clmatrix_harness::test(requires(svm))]
fn maps_of_svm_and_of_its_buffer_exclude_each_other(on_device: OnDevice) -> Result<()> {
    let queue = &on_device.queue;
    let svm = svm_of(&on_device, COARSE, &counting(4))?;
    let buffer = svm.as_buffer(MemFlags::READ_WRITE, ..)?;
    let refused = "CL_INVALID_OPERATION";
    let map = svm.map_read_write::<u32>(queue, ..)?;
    assert_eq!(refusal(enqueue_fill(queue, &buffer, &0_u32, ..)), refused);
    assert_eq!(refusal(buffer.map_read::<u32>(queue, ..)), refused);
    drop(map);
    let map = buffer.map_read_write::<u32>(queue, ..)?;
    assert_eq!(refusal(enqueue_fill(queue, &svm, &0_u32, ..)), refused);
    assert_eq!(refusal(svm.map_read::<u32>(queue, ..)), refused);
    drop(map);
    assert_eq!(contents(&on_device, &svm)?, counting(4));
    Ok(())
}

#[clmatrix_harness::test(requires(svm))]
fn a_map_waits_for_commands_on_the_buffer(on_device: OnDevice) -> Result<()> {
    let svm = svm_of(&on_device, COARSE, &counting(4))?;
    let buffer = svm.as_buffer(MemFlags::READ_WRITE, ..)?;
    let gate = gate(&on_device.context);
    enqueue_fill(on_device.another_queue().after(&gate), &buffer, &7_u32, ..)?;
    let found = meanwhile(&gate, open, || contents(&on_device, &svm))?;
    assert_eq!(found, [7; 4], "clEnqueueSVMMap shows clEnqueueFillBuffer of the same bytes");
    Ok(())
}

/// The driver may read them when it makes the buffer.
#[clmatrix_harness::test(requires(svm))]
fn a_buffer_of_svm_mapped_for_writing_is_refused(on_device: OnDevice) -> Result<()> {
    let queue = &on_device.queue;
    let svm = svm_of(&on_device, COARSE, &counting(128))?;
    let map = svm.map_read_write::<u32>(queue, 32..64)?;
    for range in [0..512, 128..256, 252..260] {
        assert_eq!(refusal(svm.as_buffer(MemFlags::READ_WRITE, range)), "CL_INVALID_OPERATION");
    }
    let beside = svm.as_buffer(MemFlags::READ_WRITE, ..128)?;
    drop(map);
    enqueue_fill(queue, &beside, &7_u32, ..4)?;
    let map = svm.map_read::<u32>(queue, 32..64)?;
    let read = svm.as_buffer(MemFlags::READ_WRITE, 128..256)?;
    assert_eq!(map[..], counting(128)[32..64]);
    drop(map);
    enqueue_fill(queue, &read, &8_u32, ..4)?;
    let mut expected = counting(128);
    (expected[0], expected[32]) = (7, 8);
    assert_on_device(&on_device, &svm, &expected);
    Ok(())
}

#[rstest]
#[clmatrix_harness::test(requires(svm))]
fn as_buffer_waits_for_commands_that_write_its_bytes(
    on_device: OnDevice,
    #[values("fill", "kernel")] what: &str,
) -> Result<()> {
    let svm = svm_of(&on_device, COARSE, &[4; 4])?;
    let other_queue = on_device.another_queue();
    let gate = gate(&on_device.context);
    let written = match what {
        "fill" => enqueue_fill(other_queue.after(&gate), &svm, &8_u32, ..)?,
        _ => {
            let mut double = on_device.kernel(DOUBLE, "")?;
            let mut launch = double.launch();
            launch.arg(&svm).global(4);
            // SAFETY: the kernel takes memory, and uses as many elements as it has.
            unsafe { launch.enqueue(other_queue.after(&gate))? }
        }
    };
    let buffer = meanwhile(&gate, open, || svm.as_buffer(MemFlags::READ_WRITE, ..))?;
    assert_eq!(written.status()?, Status::Complete, "the {what} before the buffer was created");
    let mut found = [0_u32; 4];
    enqueue_copy(&on_device.queue, &mut found, &buffer, ..)?;
    assert_eq!(found, [8; 4], "the buffer shows the {what} of its memory");
    Ok(())
}

/// A pool hands out a block again as soon as nothing keeps its memory.
#[clmatrix_harness::test(requires(svm))]
fn a_buffer_keeps_its_svm(on_device: OnDevice) -> Result<()> {
    const SIZE: usize = 4097;
    let queue = &on_device.queue;
    let pool = SvmPool::new(SvmAllocator::new(&on_device.context, 0, COARSE, Some(queue))?)?;
    let (from, copy) = (source(SIZE), buffer_with(&on_device, &before(SIZE))?);
    let block = pool.allocate(SIZE)?;
    let at = block.svm_ptr().addr();
    enqueue_copy(queue, &block, &from, ..)?;
    let buffer = block.as_buffer(MemFlags::READ_WRITE, ..)?;
    drop(block);
    assert!(!is_free(&pool, SIZE, at)?, "the buffer does not keep it");
    let gate = gate(&on_device.context);
    enqueue_copy(queue.after(&gate), &copy, &buffer, Linear::default().byte_count(SIZE))?;
    drop(buffer);
    assert!(!is_free(&pool, SIZE, at)?, "the command does not keep it");
    open(&gate);
    assert_same(&crate::buffer::bytes_in(&on_device, &copy)?, &from, "the copy");
    drop(copy);
    assert!(soon(|| is_free(&pool, SIZE, at))?, "it is kept for no reason");
    Ok(())
}

/// The memory is freed when the driver says that it is done with the buffer.
#[clmatrix_harness::test(requires(svm))]
fn a_released_buffer_releases_its_svm(on_device: OnDevice) -> Result<()> {
    let svm = svm_of(&on_device, COARSE, &counting(4))?;
    let buffer = svm.as_buffer(MemFlags::READ_WRITE, ..)?;
    let region = buffer.sub_buffer(..8)?;
    enqueue_fill(&on_device.queue, &region, &7_u32, ..)?;
    drop((buffer, region));
    on_device.queue.finish()?;
    assert!(is_released_soon(svm, &on_device.queue)?, "the buffer keeps it");
    Ok(())
}

#[clmatrix_harness::test(requires(svm))]
fn the_last_handle_of_an_idle_buffer_frees_the_svm(on_device: OnDevice) -> Result<()> {
    let context = &on_device.context;
    let before = context.reference_count()?;
    for _ in 0..20 {
        let svm = SvmAllocation::new(context, 16, 0, COARSE)?;
        let buffer = svm.as_buffer(MemFlags::READ_WRITE, ..)?;
        drop(svm);
        assert!(context.reference_count()? > before, "it keeps the memory");
        drop(buffer);
        assert!(soon(|| Ok(context.reference_count()? == before))?, "the memory is kept");
    }
    Ok(())
}

/// The drop waits for the command, or a thread of the library if the driver destroys the buffer later.
#[clmatrix_harness::test(requires(svm))]
fn the_last_handle_frees_the_svm_after_its_commands(on_device: OnDevice) -> Result<()> {
    let OnDevice { context, queue } = &on_device;
    let before = context.reference_count()?;
    let svm = svm_of(&on_device, COARSE, &counting(4))?;
    let buffer = svm.as_buffer(MemFlags::READ_WRITE, ..)?;
    let gate = gate(context);
    let filled = enqueue_fill(queue.after(&gate), &svm, &7_u32, ..)?;
    drop(svm);
    soon_open(&gate, || drop(buffer));
    filled.wait()?;
    drop((filled, gate));
    assert!(soon(|| Ok(context.reference_count()? == before))?, "the memory is kept");
    Ok(())
}

#[clmatrix_harness::test(requires(svm))]
fn invalid_ranges_and_flags_are_refused(on_device: OnDevice) -> Result<()> {
    let svm = svm_of(&on_device, COARSE, &counting(4))?;
    assert_eq!(refusal(svm.as_buffer(MemFlags::READ_WRITE, 8..17)), "CL_INVALID_VALUE");
    assert_eq!(refusal(svm.as_buffer(MemFlags::READ_WRITE, 8..8)), "CL_INVALID_BUFFER_SIZE");
    for flags in [MemFlags::READ_ONLY | MemFlags::WRITE_ONLY, MemFlags::COPY_HOST_PTR] {
        assert_eq!(refusal(svm.as_buffer(flags, ..)), "CL_INVALID_VALUE");
    }
    Ok(())
}

/// Bytes of two buffers may be the same.
#[clmatrix_harness::test(requires(svm))]
fn copies_onto_the_same_bytes_are_refused(on_device: OnDevice) -> Result<()> {
    let queue = &on_device.queue;
    let svm = svm_of(&on_device, COARSE, &counting(128))?;
    let all = svm.as_buffer(MemFlags::READ_WRITE, ..)?;
    let part = svm.as_buffer(MemFlags::READ_WRITE, 128..)?;
    let onto_itself =
        enqueue_copy(queue, &part, &all, Linear::default().src_offset(128).byte_count(16));
    assert_eq!(refusal(onto_itself), "CL_MEM_COPY_OVERLAP");
    drop(all);
    let first = svm.as_buffer(MemFlags::READ_WRITE, ..128)?;
    enqueue_copy(queue, &part, &first, Linear::default().byte_count(128))?;
    let mut expected = counting(128);
    expected.copy_within(..32, 32);
    assert_on_device(&on_device, &svm, &expected);
    Ok(())
}
