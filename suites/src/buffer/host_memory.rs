//! Buffers that live in host memory (CL_MEM_USE_HOST_PTR; PyOpenCL's `hostbuf`).

use std::time::Duration;

use super::*;

fn counting_in_place(on_device: &OnDevice, n: u32) -> Result<Buffer> {
    Ok(Buffer::using_host_memory(&on_device.context, MemFlags::READ_WRITE, counting(n))?)
}

#[clmatrix_harness::test]
fn a_buffer_has_the_bytes_of_its_host_memory(on_device: OnDevice) -> Result<()> {
    let buffer = counting_in_place(&on_device, 64)?;
    assert_eq!(buffer.flags(), MemFlags::READ_WRITE | MemFlags::USE_HOST_PTR);
    assert_eq!(buffer.size(), 256);
    on_device.run(DOUBLE, &[&buffer], 64)?;
    assert_eq!(contents(&on_device, &buffer)?, (0..64).map(|i| 2 * i).collect::<Vec<_>>());
    Ok(())
}

/// The memory that comes back has the bytes that commands wrote, and nothing else has changed.
#[clmatrix_harness::test]
fn all_bytes_of_any_size_are_written_and_read_back(on_device: OnDevice) -> Result<()> {
    let (context, queue) = (&on_device.context, &on_device.queue);
    for size in SIZES {
        let (memory, data) = (before(size + 20), source(size));
        let buffer = Buffer::using_host_memory(context, MemFlags::READ_WRITE, memory.clone())?;
        assert_same(&bytes_in(&on_device, &buffer)?, &memory, "the buffer");
        buffer.slice::<u8>(5..).write(queue, &data)?;
        let found: Vec<u8> = buffer.into_host_memory(queue)?;
        assert_moved(&found, &memory, 5, &data);
    }
    Ok(())
}

#[clmatrix_harness::test]
fn host_ptr_and_maps_point_into_the_host_memory(on_device: OnDevice) -> Result<()> {
    let memory = counting(16);
    let address = memory.as_ptr();
    let buffer = Buffer::using_host_memory(&on_device.context, MemFlags::READ_WRITE, memory)?;
    assert_eq!(buffer.host_ptr()?, address.cast());
    let mapped = buffer.map_read::<u32>(&on_device.queue, ..)?;
    assert_eq!(mapped.as_ptr(), address, "OpenCL 3.0, clEnqueueMapBuffer, says where a map is");
    Ok(())
}

#[clmatrix_harness::test]
fn the_host_memory_shows_what_a_kernel_wrote(on_device: OnDevice) -> Result<()> {
    let buffer = counting_in_place(&on_device, 16)?;
    on_device.run(DOUBLE, &[&buffer], 16)?;
    let mut hostbuf = buffer.map_read_write::<u32>(&on_device.queue, ..)?;
    assert_eq!(hostbuf[15], 30);
    hostbuf[15] = 50;
    drop(hostbuf);
    on_device.run(DOUBLE, &[&buffer], 16)?;
    assert_eq!(contents(&on_device, &buffer)?[14..], [56, 100]);
    Ok(())
}

#[clmatrix_harness::test]
fn hostbuf_is_an_array_of_any_shape_and_order(on_device: OnDevice) -> Result<()> {
    let buffer = counting_in_place(&on_device, 6)?;
    on_device.run(DOUBLE, &[&buffer], 6)?;
    let hostbuf = buffer.map_read::<u32>(&on_device.queue, ..)?;
    assert_eq!(hostbuf.array((2, 3))?, array![[0, 2, 4], [6, 8, 10]]);
    assert_eq!(hostbuf.array((2, 3).f())?, array![[0, 4, 8], [2, 6, 10]]);
    assert_eq!(refusal(hostbuf.array((2, 4))), "CL_INVALID_VALUE");
    Ok(())
}

#[clmatrix_harness::test]
fn a_sub_buffer_has_its_part_of_the_host_memory(on_device: OnDevice) -> Result<()> {
    let part = region_offset(on_device.device(), 64)?;
    let buffer = counting_in_place(&on_device, part as u32 / 2)?;
    let region = buffer.sub_buffer(part..)?;
    assert!(region.flags().contains(MemFlags::USE_HOST_PTR));
    assert_eq!(region.map_read::<u32>(&on_device.queue, ..)?[0], part as u32 / 4);
    assert_eq!(region.parent().unwrap().host_ptr()?, buffer.host_ptr()?);
    Ok(())
}

#[clmatrix_harness::test]
fn the_host_memory_is_returned_with_the_device_writes(on_device: OnDevice) -> Result<()> {
    let memory = counting(16);
    let address = memory.as_ptr();
    let buffer = Buffer::using_host_memory(&on_device.context, MemFlags::READ_WRITE, memory)?;
    on_device.run(DOUBLE, &[&buffer], 16)?;
    let memory: Vec<u32> = buffer.into_host_memory(&on_device.queue)?;
    assert_eq!(memory, (0..16).map(|i| 2 * i).collect::<Vec<_>>());
    assert_eq!(memory.as_ptr(), address);
    Ok(())
}

#[clmatrix_harness::test]
fn boxes_and_arrays_are_returned_unchanged(on_device: OnDevice) -> Result<()> {
    let boxed: Box<[u32]> = counting(16).into();
    let buffer = Buffer::using_host_memory(&on_device.context, MemFlags::READ_WRITE, boxed)?;
    enqueue_fill(&on_device.queue, &buffer, &5_u32, 4..8)?;
    let boxed: Box<[u32]> = buffer.into_host_memory(&on_device.queue)?;
    assert_eq!(boxed[..3], [0, 5, 2]);
    let array = Array2::from_shape_vec((2, 3).f(), counting(6)).unwrap();
    let buffer = Buffer::using_host_memory(&on_device.context, MemFlags::READ_WRITE, array)?;
    on_device.run(DOUBLE, &[&buffer], 6)?;
    let array: Array2<u32> = buffer.into_host_memory(&on_device.queue)?;
    assert_eq!(array, array![[0, 4, 8], [2, 6, 10]]);
    Ok(())
}

#[clmatrix_harness::test]
fn the_host_memory_is_returned_by_the_only_handle(on_device: OnDevice) -> Result<()> {
    let queue = &on_device.queue;
    let buffer = counting_in_place(&on_device, 16)?;
    let other = buffer.clone();
    let returned = buffer.into_host_memory::<Vec<u32>>(queue).unwrap_err();
    assert!(returned.error.detail().contains("other handles"), "{returned}");
    drop(other);
    let buffer = returned.memory.expect("the buffer");
    let map = buffer.map_read::<u32>(queue, ..)?;
    let returned = buffer.into_host_memory::<Vec<u32>>(queue).unwrap_err();
    assert_eq!(map[3], 3);
    drop(map);
    let buffer = returned.memory.expect("the buffer");
    let returned = buffer.into_host_memory::<Vec<f64>>(queue).unwrap_err();
    assert!(returned.error.detail().contains("another type"), "{returned}");
    assert_eq!(returned.memory.expect("the buffer").into_host_memory::<Vec<u32>>(queue)?[3], 3);
    Ok(())
}

/// rusticl counts events as references, Intel's runtime keeps a buffer for them without a count.
#[clmatrix_harness::test]
fn host_memory_that_an_event_keeps_is_returned_later(on_device: OnDevice) -> Result<()> {
    let buffer = counting_in_place(&on_device, 4)?;
    let filled = enqueue_fill(&on_device.queue, &buffer, &7_u32, ..)?;
    let result = buffer.into_host_memory::<Vec<u32>>(&on_device.queue);
    drop(filled);
    let memory = match result.map_err(|returned| returned.memory) {
        Ok(memory) => memory,
        Err(Ok(buffer)) => buffer.into_host_memory(&on_device.queue)?,
        Err(Err(released)) => released.wait(Duration::from_secs(10)).expect("it is destroyed"),
    };
    assert_eq!(memory, [7; 4]);
    Ok(())
}

#[clmatrix_harness::test]
fn a_buffer_that_other_code_refers_to_is_returned(on_device: OnDevice) -> Result<()> {
    let buffer = counting_in_place(&on_device, 4)?;
    let raw = buffer.as_raw();
    // SAFETY: the buffer is alive.
    unsafe { cl::retain_mem_object(raw) }.expect("another reference");
    let returned = buffer.into_host_memory::<Vec<u32>>(&on_device.queue).unwrap_err();
    assert!(returned.error.detail().contains("other references"), "{returned}");
    // SAFETY: the reference is that of above.
    unsafe { cl::release_mem_object(raw) }.expect("the reference goes");
    let buffer = returned.memory.expect("the buffer");
    assert_eq!(buffer.into_host_memory::<Vec<u32>>(&on_device.queue)?, counting(4));
    Ok(())
}

#[clmatrix_harness::test]
fn refused_host_memory_is_returned(on_device: OnDevice) -> Result<()> {
    let context = &on_device.context;
    let returned = Buffer::using_host_memory(context, MemFlags::COPY_HOST_PTR, vec![7_u32; 4]);
    let returned = returned.unwrap_err();
    assert_eq!((returned.error.code_name(), returned.memory), ("CL_INVALID_VALUE", vec![7; 4]));
    let returned = Buffer::using_host_memory(context, MemFlags::READ_WRITE, Vec::<u32>::new());
    assert_eq!(returned.unwrap_err().error.code_name(), "CL_INVALID_BUFFER_SIZE");
    let every_other = Array2::<u32>::zeros((4, 4)).slice_move(ndarray::s![.., ..;2]);
    let returned = Buffer::using_host_memory(context, MemFlags::READ_WRITE, every_other);
    let returned = returned.unwrap_err();
    assert_eq!(returned.error.code_name(), "CL_INVALID_HOST_PTR");
    assert_eq!(returned.memory.dim(), (4, 2));
    Ok(())
}

#[clmatrix_harness::test]
fn other_buffers_have_no_host_memory(on_device: OnDevice) -> Result<()> {
    let buffer = buffer_of(&on_device, &counting(4))?;
    let returned = buffer.into_host_memory::<Vec<u32>>(&on_device.queue).unwrap_err();
    assert_eq!(returned.error.code_name(), "CL_INVALID_OPERATION");
    Ok(())
}

/// The driver writes to the memory long after the last handle is gone. So much memory goes back to
/// the operating system as soon as it is freed, and the driver's write would crash.
#[clmatrix_harness::test(requires(max_alloc = "64 MiB"))]
fn the_host_memory_outlives_the_commands_on_it(on_device: OnDevice) -> Result<()> {
    let gate = gate(&on_device.context);
    let buffer = counting_in_place(&on_device, 16 << 20)?;
    let filled = enqueue_fill(on_device.queue.after(&gate), &buffer, &7_u32, ..)?;
    drop(buffer);
    open(&gate);
    filled.wait()?;
    on_device.queue.finish()?;
    Ok(())
}
