//! One kernel launched many times, and kernels in threads.

use std::thread;

use super::*;

const ADD: &str = "kernel void k(global uint *x, uint n) { x[get_global_id(0)] += n; }";

#[clmatrix_harness::test]
fn a_kernel_is_launched_many_times(on_device: OnDevice) -> Result<()> {
    let mut add = known(&on_device, ADD)?;
    let (a, b) = (buffer_of(&on_device, &counting(4))?, buffer_of(&on_device, &[0; 4])?);
    for n in 0..100_u32 {
        let buffer = if n % 2 == 0 { &a } else { &b };
        // SAFETY: the arguments are what the kernel declares, with an element for each work item.
        unsafe { add.launch().arg(buffer).arg(n).global(4).enqueue(&on_device.queue)? };
    }
    assert_eq!(contents(&on_device, &a)?, [2450, 2451, 2452, 2453]);
    assert_eq!(contents(&on_device, &b)?, [2500; 4]);
    Ok(())
}

#[clmatrix_harness::test]
fn a_launch_is_enqueued_again(on_device: OnDevice) -> Result<()> {
    let mut add = known(&on_device, ADD)?;
    let buffer = buffer_of(&on_device, &[0; 4])?;
    let mut launch = add.launch();
    launch.arg(&buffer).arg(3_u32).global(4);
    for _ in 0..5 {
        // SAFETY: the arguments are what the kernel declares, with an element for each work item.
        unsafe { launch.enqueue(&on_device.queue)? };
    }
    launch.global(2);
    // SAFETY: as above.
    unsafe { launch.enqueue(&on_device.queue)? };
    assert_eq!(contents(&on_device, &buffer)?, [18, 18, 15, 15]);
    Ok(())
}

/// The second enqueue is refused because its queue is of another context.
#[clmatrix_harness::test]
fn a_map_waits_for_the_first_enqueue_if_the_second_is_refused(
    on_device: OnDevice,
    elsewhere: OnDevice,
) -> Result<()> {
    let mut add = known(&on_device, ADD)?;
    let buffer = buffer_of(&on_device, &[0; 4])?;
    let gate = gate(&on_device.context);
    let mut launch = add.launch();
    launch.arg(&buffer).arg(3_u32).global(4);
    // SAFETY: the arguments are what the kernel declares, with an element for each work item.
    unsafe { launch.enqueue(on_device.queue.after(&gate))? };
    // SAFETY: as above.
    assert_eq!(refusal(unsafe { launch.enqueue(&elsewhere.queue) }), "CL_INVALID_CONTEXT");
    let queue = on_device.another_queue();
    let map = meanwhile(&gate, open, || buffer.map_read_write::<u32>(&queue, ..))?;
    assert_eq!(map[..], [3; 4]);
    map.unmap()?.wait()?;
    assert_eq!(contents(&on_device, &buffer)?, [3; 4]);
    Ok(())
}

/// The second enqueue is refused because a map of its first argument is pending by then.
#[clmatrix_harness::test]
fn a_map_waits_for_the_first_enqueue_if_the_second_finds_a_map(on_device: OnDevice) -> Result<()> {
    let source = "kernel void k(global uint *x, global uint *y) {
        y[get_global_id(0)] = x[get_global_id(0)];
    }";
    let mut kernel = known(&on_device, source)?;
    let (x, y) = (buffer_of(&on_device, &counting(4))?, buffer_of(&on_device, &[9; 4])?);
    let gate = gate(&on_device.context);
    let mut launch = kernel.launch();
    launch.arg(&x).arg(&y).global(4);
    // SAFETY: the arguments are what the kernel declares, with an element for each work item.
    unsafe { launch.enqueue(on_device.queue.after(&gate))? };
    let queues = [on_device.another_queue(), on_device.another_queue()];
    let (pending, map) = soon_open(&gate, || -> Result<_> {
        let pending = x.map_async::<u32, _>(&queues[0], MapReadWrite, ..)?;
        // SAFETY: as above.
        assert_eq!(refusal(unsafe { launch.enqueue(&on_device.queue) }), "CL_INVALID_OPERATION");
        let map = y.map_read_write::<u32>(&queues[1], ..)?;
        Ok((pending, map))
    })?;
    assert_eq!(map[..], [0, 1, 2, 3]);
    drop((map, pending.wait()?));
    assert_eq!(contents(&on_device, &y)?, [0, 1, 2, 3]);
    Ok(())
}

/// The second enqueue is refused because its queue is of another context.
#[clmatrix_harness::test(requires(svm))]
fn memory_is_freed_after_the_first_enqueue_if_the_second_is_refused(
    on_device: OnDevice,
    elsewhere: OnDevice,
) -> Result<()> {
    const LEN: usize = 1 << 12;
    let source = "kernel void k(global uint *x) { x[get_global_id(0)] = 1; }";
    let mut kernel = known(&on_device, source)?;
    let allocate = || -> Result<SvmAllocation> {
        let svm = SvmAllocation::new(&on_device.context, 4 * LEN, 0, SvmFlags::READ_WRITE)?;
        enqueue_fill(&on_device.another_queue(), &svm, &7_u32, ..)?.wait()?;
        Ok(svm)
    };
    let svm = allocate()?;
    let gate = gate(&on_device.context);
    let mut launch = kernel.launch();
    launch.arg(&svm).global(LEN);
    // SAFETY: the argument is what the kernel declares, with an element for each work item.
    unsafe { launch.enqueue(on_device.queue.after(&gate))? };
    // SAFETY: as above.
    let refused = unsafe { launch.enqueue(&elsewhere.queue) };
    assert_eq!(refusal(refused), "CL_INVALID_CONTEXT");
    drop(launch);
    meanwhile(&gate, open, || drop(svm));
    // They take the bytes that were freed too early.
    let others = (0..4).map(|_| allocate()).collect::<Result<Vec<_>>>()?;
    on_device.queue.finish()?;
    for other in &others {
        assert_eq!(other.map_read::<u32>(&on_device.queue, ..)?[..], [7; LEN]);
    }
    Ok(())
}

#[clmatrix_harness::test]
fn memory_may_be_dropped_after_its_kernel_is_enqueued(on_device: OnDevice) -> Result<()> {
    let source = "kernel void k(global const uint *x, global uint *y) {
        y[get_global_id(0)] += x[get_global_id(0)];
    }";
    let mut kernel = known(&on_device, source)?;
    let sum = buffer_of(&on_device, &[0; 4])?;
    for n in 0..50 {
        let buffer = buffer_of(&on_device, &[n; 4])?;
        // SAFETY: the arguments are what the kernel declares, with an element for each work item.
        unsafe { kernel.launch().arg_read(&buffer).arg(&sum).global(4).enqueue(&on_device.queue)? };
    }
    assert_eq!(contents(&on_device, &sum)?, [1225; 4]);
    Ok(())
}

/// Each thread has its kernel and queue.
#[clmatrix_harness::test]
fn threads_launch_their_own_kernels(on_device: OnDevice) -> Result<()> {
    let kernels: Vec<Kernel> = (0..4).map(|_| known(&on_device, ADD)).collect::<Result<_>>()?;
    let sums: Vec<Result<Vec<u32>>> = thread::scope(|scope| {
        let work = |(n, mut add): (u32, Kernel)| {
            let on_device = &on_device;
            scope.spawn(move || -> Result<Vec<u32>> {
                let queue = on_device.another_queue();
                let buffer = buffer_of(on_device, &[0; 4])?;
                for i in 0..100 {
                    // SAFETY: the arguments are what the kernel declares, with an element for each
                    // work item.
                    unsafe { add.launch().arg(&buffer).arg(n * i).global(4).enqueue(&queue)? };
                }
                queue.finish()?;
                contents(on_device, &buffer)
            })
        };
        let threads: Vec<_> = (0..).zip(kernels).map(work).collect();
        threads.into_iter().map(|thread| thread.join().unwrap()).collect()
    });
    for (n, sum) in (0..).zip(sums) {
        assert_eq!(sum?, [4950 * n; 4]);
    }
    Ok(())
}

#[clmatrix_harness::test]
fn a_kernel_of_a_handle_is_launched(on_device: OnDevice) -> Result<()> {
    let program = Program::build(&on_device.context, DOUBLE)?;
    let kernel = program.kernel("k")?;
    let raw = kernel.as_raw();
    // SAFETY: the handle is valid.
    let mut double = unsafe { Kernel::retain_raw(raw) }?;
    drop((program, kernel));
    let buffer = buffer_of(&on_device, &counting(4))?;
    // SAFETY: the argument is what the kernel declares, with an element for each work item.
    unsafe { double.launch().arg(&buffer).global(4).enqueue(&on_device.queue)? };
    assert_eq!(contents(&on_device, &buffer)?, [0, 2, 4, 6]);
    assert_eq!(double.as_raw(), raw);
    assert_eq!(double.opencl3()?.get(), raw);
    Ok(())
}

/// A buffer that a kernel would keep is not destroyed, so its host memory would not come back.
#[rstest]
#[case::launched(false, false)]
#[case::refused(true, false)]
#[case::region(false, true)]
#[clmatrix_harness::test]
fn a_kernel_does_not_keep_its_buffers(
    on_device: OnDevice,
    #[case] is_refused: bool,
    #[case] is_region: bool,
) -> Result<()> {
    let (context, queue) = (&on_device.context, &on_device.queue);
    let mut add = known(&on_device, ADD)?;
    let offset = if is_region { region_offset(on_device.device(), 64)? } else { 0 };
    let memory = vec![1_u32; offset / 4 + 16];
    let buffer = Buffer::using_host_memory(context, MemFlags::READ_WRITE, memory)?;
    let argument = if is_region { buffer.sub_buffer(offset..)? } else { buffer.clone() };
    let mut launch = add.launch();
    launch.arg(&argument).global(16);
    _ = if is_refused { launch.arg([2.0_f32; 4]) } else { launch.arg(2_u32) };
    // SAFETY: the arguments are what the kernel declares, with an element for each work item, or refused.
    let event = unsafe { launch.enqueue(queue) };
    assert_eq!(event.is_err(), is_refused, "{event:?}");
    drop(launch);
    drop((event, argument));
    let memory: Vec<u32> = buffer.into_host_memory(queue)?;
    assert_eq!(memory[offset / 4], if is_refused { 1 } else { 3 });
    Ok(())
}

/// The kernel writes long after the last handle is gone, and another launch has taken its place. So much memory goes
/// back to the operating system as soon as it is freed, and the write would crash.
#[clmatrix_harness::test(requires(max_alloc = "64 MiB"))]
fn host_memory_outlives_the_kernels_on_it(on_device: OnDevice) -> Result<()> {
    let (context, queue) = (&on_device.context, &on_device.queue);
    let mut add = known(&on_device, ADD)?;
    let other = buffer_of(&on_device, &[0; 4])?;
    let gate = gate(context);
    let buffer = Buffer::using_host_memory(context, MemFlags::READ_WRITE, vec![0_u32; 16 << 20])?;
    for buffer in [&buffer, &other] {
        // SAFETY: the arguments are what the kernel declares, with an element for each work item.
        unsafe { add.launch().arg(buffer).arg(2_u32).global(4).enqueue(queue.after(&gate))? };
    }
    drop(buffer);
    open(&gate);
    queue.finish()?;
    assert_eq!(contents(&on_device, &other)?, [2; 4]);
    Ok(())
}
