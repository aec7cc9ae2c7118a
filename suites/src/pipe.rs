//! Pipes (OpenCL 3.0, 5.4; `pyopencl.Pipe`).

use std::collections::HashSet;

use clmatrix::cl3::memory::{CL_MEM_SIZE, CL_PIPE_MAX_PACKETS, get_mem_object_info, get_pipe_info};
use clmatrix::memory::{Buffer, MemFlags, MemoryObject, ObjectType, Pipe};
use clmatrix::opencl3::device::Device as RawDevice;
use clmatrix::{Class, Device, Kernel, Result};
use clmatrix_harness::CtxFactory;
use rstest::rstest;

use crate::buffer::{buffer_of, contents, refusal};
use crate::support::on_device::{OnDevice, on_device, soon};
use crate::support::unanswered;

/// Writes a packet for each work item, or counts in `failed` that there was no room.
const SEND: &str = "
    kernel void k(write_only pipe uint out, global uint *failed) {
        uint packet = 10 + get_global_id(0);
        if (write_pipe(out, &packet) != 0) atomic_inc(failed);
    }";

/// Reads packets until there are none, or `n` of them.
const RECEIVE: &str = "
    kernel void k(read_only pipe uint in, global uint *packets, uint n, global uint *count) {
        uint i = 0;
        while (i < n && read_pipe(in, &packets[i]) == 0) i++;
        *count = i;
    }";

/// The kernel `k`, which may use pipes.
fn kernel(on_device: &OnDevice, source: &str) -> Result<Kernel> {
    on_device.kernel(source, &format!("{} -cl-kernel-arg-info", on_device.opencl_c_2()?))
}

fn pipe_of(on_device: &OnDevice, max_packets: u32) -> Result<Pipe> {
    Pipe::new(&on_device.context, MemFlags::READ_WRITE, 4, max_packets)
}

#[clmatrix_harness::test(requires(pipes))]
fn packets_are_passed_from_kernel_to_kernel(on_device: OnDevice) -> Result<()> {
    let mut send = kernel(&on_device, SEND)?;
    let mut receive = kernel(&on_device, RECEIVE)?;
    let pipe = pipe_of(&on_device, 16)?;
    let failed = buffer_of(&on_device, &[0])?;
    let (packets, count) = (buffer_of(&on_device, &[0; 16])?, buffer_of(&on_device, &[0])?);
    // SAFETY: the arguments are those that the kernels declare, with packets of their size and room
    // for `n` of them.
    unsafe {
        send.launch().arg(&pipe).arg(&failed).global(12).enqueue(&on_device.queue)?;
        let mut launch = receive.launch();
        launch.arg(&pipe).arg(&packets).arg(16_u32).arg(&count).global(1);
        launch.enqueue(&on_device.queue)?;
    }
    assert_eq!(contents(&on_device, &failed)?, [0]);
    assert_eq!(contents(&on_device, &count)?, [12]);
    let mut found = contents(&on_device, &packets)?[..12].to_vec();
    found.sort_unstable();
    assert_eq!(found, (10..22).collect::<Vec<u32>>());
    Ok(())
}

/// Has one kernel send `from`, `from + 1`, ... and another receive at most `n` packets, and says
/// which.
fn through(on_device: &OnDevice, pipe: &Pipe, from: u32, n: u32) -> Result<Vec<u32>> {
    let source = "kernel void k(write_only pipe uint out, uint from) {
        for (uint i = from; i < from + 4; i++) write_pipe(out, &i);
    }";
    let mut send = kernel(on_device, source)?;
    let mut receive = kernel(on_device, RECEIVE)?;
    let (packets, count) = (buffer_of(on_device, &[0; 8])?, buffer_of(on_device, &[0])?);
    // SAFETY: the arguments are those that the kernels declare, with packets of their size and room
    // for `n` of them.
    unsafe {
        send.launch().arg(pipe).arg(from).global(1).enqueue(&on_device.queue)?;
        let mut launch = receive.launch();
        launch.arg(pipe).arg(&packets).arg(n).arg(&count).global(1).enqueue(&on_device.queue)?;
    }
    let count = contents(on_device, &count)?[0];
    Ok(contents(on_device, &packets)?[..count as usize].to_vec())
}

#[clmatrix_harness::test(requires(pipes))]
fn a_pipe_keeps_unread_packets_in_order(on_device: OnDevice) -> Result<()> {
    let pipe = pipe_of(&on_device, 8)?;
    assert_eq!(through(&on_device, &pipe, 0, 3)?, [0, 1, 2]);
    assert_eq!(through(&on_device, &pipe, 4, 3)?, [3, 4, 5]);
    assert_eq!(through(&on_device, &pipe, 8, 8)?, [6, 7, 8, 9, 10, 11]);
    Ok(())
}

#[clmatrix_harness::test(requires(pipes))]
fn an_empty_pipe_accepts_packets_again(on_device: OnDevice) -> Result<()> {
    let pipe = pipe_of(&on_device, 8)?;
    assert_eq!(through(&on_device, &pipe, 0, 8)?, [0, 1, 2, 3]);
    assert_eq!(through(&on_device, &pipe, 4, 8)?, [4, 5, 6, 7]);
    Ok(())
}

#[clmatrix_harness::test(requires(pipes))]
fn a_full_pipe_accepts_no_packets(on_device: OnDevice) -> Result<()> {
    let mut send = kernel(&on_device, SEND)?;
    let pipe = pipe_of(&on_device, 4)?;
    let failed = buffer_of(&on_device, &[0])?;
    // SAFETY: the arguments are those that the kernel declares, with packets of its size.
    unsafe { send.launch().arg(&pipe).arg(&failed).global(64).enqueue(&on_device.queue)? };
    // A driver may make room for more than it was asked for.
    let failed = contents(&on_device, &failed)?[0];
    assert!((1..=60).contains(&failed), "{failed} of 64 packets found no room for 4");
    Ok(())
}

#[rstest]
#[clmatrix_harness::test(requires(pipes))]
fn queries_return_the_properties_of_a_pipe(
    on_device: OnDevice,
    #[values(
        MemFlags::empty(),
        MemFlags::READ_WRITE,
        MemFlags::HOST_NO_ACCESS,
        MemFlags::READ_WRITE.union(MemFlags::HOST_NO_ACCESS)
    )]
    flags: MemFlags,
) -> Result<()> {
    let pipe = Pipe::new(&on_device.context, flags, 12, 5)?;
    assert_eq!((pipe.packet_size(), pipe.max_packets()), (12, 5));
    assert_eq!(pipe.flags(), MemFlags::READ_WRITE | MemFlags::HOST_NO_ACCESS);
    assert_eq!(pipe.object_type()?, ObjectType::Pipe);
    assert_eq!(pipe.reference_count()?, 1);
    assert_eq!(pipe.context(), on_device.context);
    assert_eq!(pipe.associated_memory_object()?, None);
    assert_eq!((pipe.offset(), pipe.map_count()?), (0, 0));
    let driver_says: usize = get_mem_object_info(pipe.as_raw(), CL_MEM_SIZE).unwrap().into();
    assert_eq!(MemoryObject::size(&pipe), driver_says);
    assert!(driver_says >= 60, "{driver_says}");
    let driver_says: u32 = get_pipe_info(pipe.as_raw(), CL_PIPE_MAX_PACKETS).unwrap().into();
    assert_eq!(driver_says, 5);
    Ok(())
}

#[clmatrix_harness::test(requires(pipes, opencl = "3.0"))]
fn a_pipe_has_no_properties_by_default(on_device: OnDevice) -> Result<()> {
    assert_eq!(pipe_of(&on_device, 4)?.pipe_properties()?, Vec::<isize>::new());
    Ok(())
}

#[clmatrix_harness::test(requires(pipes))]
fn handles_are_counted_and_compared(on_device: OnDevice) -> Result<()> {
    let (pipe, other) = (pipe_of(&on_device, 4)?, pipe_of(&on_device, 4)?);
    assert_eq!(pipe, pipe.clone());
    assert_ne!(pipe, other);
    assert_eq!([pipe.clone(), other, pipe.clone()].into_iter().collect::<HashSet<_>>().len(), 2);
    // SAFETY: the handle is valid.
    let again = unsafe { Pipe::retain_raw(pipe.as_raw())? };
    assert_eq!(again, pipe);
    assert_eq!((again.packet_size(), again.max_packets()), (4, 4));
    assert_eq!(pipe.reference_count()?, 2);
    let raw = again.as_raw();
    std::mem::forget(again);
    // SAFETY: the handle is valid, and its reference is that of `again`.
    let taken = unsafe { Pipe::from_raw(raw)? };
    assert_eq!(pipe.reference_count()?, 2);
    drop(taken);
    assert!(soon(|| Ok(pipe.reference_count()? == 1))?, "{}", pipe.reference_count()?);
    Ok(())
}

#[clmatrix_harness::test(requires(pipes))]
fn invalid_sizes_are_refused(on_device: OnDevice, device: Device) -> Result<()> {
    let most = RawDevice::new(device.as_raw()).pipe_max_packet_size().map_err(unanswered)?;
    for (packet_size, max_packets) in
        [(0, 4), (most + 1, 4), (u32::MAX, 4), (4, 0), (most, u32::MAX)]
    {
        let result = Pipe::new(&on_device.context, MemFlags::empty(), packet_size, max_packets);
        assert_eq!(refusal(result), "CL_INVALID_PIPE_SIZE", "{max_packets} of {packet_size} bytes");
    }
    Pipe::new(&on_device.context, MemFlags::empty(), most, 1)?;
    Ok(())
}

#[rstest]
#[clmatrix_harness::test(requires(pipes))]
fn invalid_flags_are_refused(
    on_device: OnDevice,
    #[values(
        MemFlags::READ_ONLY,
        MemFlags::WRITE_ONLY,
        MemFlags::HOST_READ_ONLY,
        MemFlags::COPY_HOST_PTR,
        MemFlags::USE_HOST_PTR
    )]
    flags: MemFlags,
) {
    let result = Pipe::new(&on_device.context, flags, 4, 4);
    assert_eq!(refusal(result), "CL_INVALID_VALUE");
}

#[clmatrix_harness::test(requires(pipes))]
fn pipes_and_buffers_are_not_interchangeable(
    on_device: OnDevice,
    ctx_factory: CtxFactory,
) -> Result<()> {
    let (pipe, buffer) = (pipe_of(&on_device, 4)?, buffer_of(&on_device, &[0; 4])?);
    // SAFETY: the handles are valid.
    unsafe {
        assert_eq!(refusal(Pipe::retain_raw(buffer.as_raw())), "CL_INVALID_MEM_OBJECT");
        assert_eq!(refusal(Buffer::retain_raw(pipe.as_raw())), "CL_INVALID_MEM_OBJECT");
    }
    let mut send = kernel(&on_device, SEND)?;
    let queue = &on_device.queue;
    let elsewhere = ctx_factory()?;
    let stranger = Pipe::new(&elsewhere, MemFlags::empty(), 4, 4)?;
    // SAFETY: all of it is refused.
    unsafe {
        let result = send.launch().arg(&buffer).arg(&buffer).global(1).enqueue(queue);
        assert_eq!(refusal(result), "CL_INVALID_ARG_VALUE");
        let result = send.launch().arg(&pipe).arg(&pipe).global(1).enqueue(queue);
        assert_eq!(refusal(result), "CL_INVALID_ARG_VALUE");
        let result = send.launch().arg(&stranger).arg(&buffer).global(1).enqueue(queue);
        assert_eq!(refusal(result), "CL_INVALID_CONTEXT");
    }
    Ok(())
}

/// With pipes, this makes one; elsewhere the error says that there are none.
#[clmatrix_harness::test]
fn a_device_without_pipes_is_unsupported(on_device: OnDevice, device: Device) -> Result<()> {
    let result = pipe_of(&on_device, 4);
    let has_pipes =
        RawDevice::new(device.as_raw()).pipe_max_packet_size().is_ok_and(|most| most > 0);
    match result {
        Ok(_) => assert!(has_pipes),
        Err(error) => {
            assert!(!has_pipes, "{error}");
            assert_eq!(
                (error.class(), error.code_name()),
                (Class::Unsupported, "CL_INVALID_OPERATION")
            );
            assert!(error.detail().contains("no device of the context has pipes"), "{error}");
        }
    }
    Ok(())
}
