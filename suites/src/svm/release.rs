//! How shared virtual memory is freed (`clSVMFree`, `clEnqueueSVMFree`): after what uses it.

use super::*;

/// Enough for the driver to take it from the system, and give it back.
const MANY: u32 = 1 << 18;

/// The rule of a kernel that reads memory, and of the free of it.
const FREED: &str = "clEnqueueSVMFree frees memory after the commands before it, and those of its wait list (5.6.1)";

fn many(value: u32) -> Vec<u32> {
    vec![value; MANY as usize]
}

/// A kernel that copies `svm` to the buffer once the gate is open, and its event.
fn gated_reader(
    on: &OnDevice,
    queue: &CommandQueue,
    svm: &SvmAllocation,
    gate: &Event,
) -> Result<(Buffer, Event)> {
    let source = "kernel void k(global const uint *from, global uint *to) {
        to[get_global_id(0)] = from[get_global_id(0)];
    }";
    let out = Buffer::new(&on.context, MemFlags::READ_WRITE, svm.size())?;
    let mut copy = on.kernel(source, "")?;
    let mut launch = copy.launch();
    launch.arg_read(svm).arg(&out).global(svm.size() / 4);
    // SAFETY: the kernel takes two pieces of memory, and has as many work items as elements.
    let event = unsafe { launch.enqueue(queue.after(gate))? };
    drop(launch);
    queue.flush()?;
    Ok((out, event))
}

/// Allocates memory that has been freed too early, and overwrites it. Only a driver that gives out
/// the same memory again exposes the fault; one that overwrites memory when it frees it exposes the
/// fault every time, which `cli/tests/binary/wrong_driver.rs` checks.
fn take_what_is_free(on: &OnDevice) -> Result<Vec<SvmAllocation>> {
    (0..4).map(|_| svm_of(on, COARSE, &many(0xdead))).collect()
}

/// Returns the content of the buffer after the kernel.
fn found_in(on: &OnDevice, buffer: &Buffer) -> Result<Vec<u32>> {
    Ok(buffer.map_read::<u32>(&on.queue, ..)?.to_vec())
}

/// Without a queue, dropping waits.
#[rstest]
#[clmatrix_harness::test(requires(svm = "fine"))]
fn dropped_svm_waits_for_its_kernels(
    on_device: OnDevice,
    #[values(COARSE, FINE)] flags: SvmFlags,
) -> Result<()> {
    let svm = svm_of(&on_device, flags, &many(7))?;
    let gate = gate(&on_device.context);
    let queue = on_device.another_queue();
    let (out, copied) = gated_reader(&on_device, &queue, &svm, &gate)?;
    let clone = svm.clone();
    // Not the last.
    drop(clone);
    meanwhile(&gate, open, || drop(svm));
    assert_eq!(copied.status()?, Status::Complete, "the kernel, before the memory was dropped");
    assert_elements(&found_in(&on_device, &out)?, &many(7), FREED);
    Ok(())
}

#[clmatrix_harness::test(requires(svm))]
fn svm_bound_to_a_queue_is_freed_on_the_queue(on_device: OnDevice) -> Result<()> {
    let queue = on_device.another_queue();
    let svm = SvmAllocation::builder(&on_device.context).size(many(7).len() * 4).queue(&queue);
    let svm = svm.build()?;
    enqueue_copy(&queue, &svm, &many(7)[..], ..)?;
    let gate = gate(&on_device.context);
    let (out, _) = gated_reader(&on_device, &queue, &svm, &gate)?;
    // It does not wait: only this test opens the gate.
    drop(svm);
    let _others = take_what_is_free(&on_device)?;
    open(&gate);
    assert_elements(&found_in(&on_device, &out)?, &many(7), FREED);
    queue.finish()?;
    Ok(())
}

/// The queue that it is freed on is not the only one that uses it.
#[clmatrix_harness::test(requires(svm))]
fn svm_bound_to_a_queue_is_freed_after_commands_of_other_queues(on_device: OnDevice) -> Result<()> {
    let (queue, other_queue) = (on_device.another_queue(), on_device.another_queue());
    let svm = svm_of(&on_device, COARSE, &many(7))?;
    svm.bind_to_queue(&queue)?;
    let gate = gate(&on_device.context);
    let (out, _) = gated_reader(&on_device, &other_queue, &svm, &gate)?;
    drop(svm);
    thread::sleep(A_MOMENT);
    let _others = take_what_is_free(&on_device)?;
    open(&gate);
    assert_elements(&found_in(&on_device, &out)?, &many(7), FREED);
    queue.finish()?;
    Ok(())
}

#[clmatrix_harness::test(requires(svm))]
fn enqueue_release_waits_for_its_wait_list_and_queue(on_device: OnDevice) -> Result<()> {
    let (queue, other_queue) = (&on_device.queue, on_device.another_queue());
    let gates = [(); 3].map(|()| gate(&on_device.context));
    let svm = svm_of(&on_device, COARSE, &many(7))?;
    let (out, _) = gated_reader(&on_device, queue, &svm, &gates[0])?;
    enqueue_fill(other_queue.after(&gates[1]), &svm, &7_u32, ..)?;
    let released = svm.enqueue_release(queue.after(&gates[2]))?;
    for gate in &gates {
        thread::sleep(A_MOMENT);
        assert_waits(&released, "clEnqueueSVMFree")?;
        open(gate);
    }
    released.wait()?;
    assert_elements(&found_in(&on_device, &out)?, &many(7), FREED);
    Ok(())
}

#[clmatrix_harness::test(requires(svm))]
fn a_refused_release_returns_the_svm(on_device: OnDevice, ctx_factory: CtxFactory) -> Result<()> {
    let queue = &on_device.queue;
    let svm = svm_of(&on_device, COARSE, &counting(4))?;
    let refused = |svm: SvmAllocation, queue: &CommandQueue| {
        let Err(returned) = svm.enqueue_release(queue) else { panic!("it was not refused") };
        let svm = returned.memory.expect("the memory");
        (refusal(Err::<(), _>(returned.error)), svm)
    };
    let clone = svm.clone();
    let (code, svm) = refused(svm, queue);
    assert_eq!(code, "CL_INVALID_OPERATION", "there is another handle");
    drop(clone);
    let map = svm.map_read::<u32>(queue, ..)?;
    let (code, svm) = refused(svm, queue);
    assert_eq!(code, "CL_INVALID_OPERATION", "it is mapped");
    drop(map);
    let context: Context = ctx_factory().expect("another context");
    let foreign = CommandQueue::new(&context)?;
    let (code, svm) = refused(svm, &foreign);
    assert_eq!(code, "CL_INVALID_CONTEXT");
    let buffer = svm.as_buffer(MemFlags::READ_ONLY, ..)?;
    let (code, svm) = refused(svm, queue);
    assert_eq!(code, "CL_INVALID_OPERATION", "there is a buffer");
    drop(buffer);
    assert_eq!(svm.map_read::<u32>(queue, ..)?[..], counting(4));
    assert!(is_released_soon(svm, queue)?, "it is refused for no reason");
    Ok(())
}

/// It is unknown whether the bytes are still mapped.
#[rstest]
#[clmatrix_harness::test(requires(svm))]
fn svm_of_a_failed_unmap_is_not_released(
    on_device: OnDevice,
    #[values(false, true)] noticed: bool,
) -> Result<()> {
    let queue = &on_device.queue;
    let svm = svm_of(&on_device, COARSE, &counting(4))?;
    let gate = gate(&on_device.context);
    let unmapped = svm.map_read_write::<u32>(queue, ..)?.unmap_on(queue.after(&gate))?;
    fail(&gate);
    // Without a flush, the status may never change. The driver may refuse the flush after the failure.
    _ = queue.flush();
    let has_ended = soon(|| Ok(unmapped.status()?.has_ended()))?;
    assert!(has_ended, "clEnqueueSVMUnmap has not ended, although its wait list failed");
    let other = on_device.another_queue();
    if noticed {
        assert_eq!(refusal(svm.map_read::<u32>(&other, ..)), "CL_INVALID_OPERATION");
    }
    let released = svm.enqueue_release(&other);
    assert_eq!(refusal(released.map_err(|back| back.error)), "CL_INVALID_OPERATION");
    Ok(())
}

/// The guard of a map is dropped before the map fails. OpenCL leaves open whether the driver accepts the
/// free and what becomes of it, behind an unmap that has failed as well.
#[clmatrix_harness::test(requires(svm))]
fn svm_of_a_failed_map_is_released(on_device: OnDevice) -> Result<()> {
    let svm = svm_of(&on_device, COARSE, &counting(4))?;
    let gate = gate(&on_device.context);
    let map = svm.map_async::<u32, _>(on_device.another_queue().after(&gate), MapReadWrite, ..)?;
    let mapped = map.event().clone();
    drop(map);
    fail(&gate);
    mapped.wait().expect_err("clEnqueueSVMMap succeeded, although its wait list failed");
    match svm.enqueue_release(&on_device.queue) {
        Ok(released) => _ = released.wait(),
        Err(back) => assert!(back.error.detail().is_empty(), "it counts as mapped: {}", back.error),
    }
    Ok(())
}

#[clmatrix_harness::test(requires(svm))]
fn an_out_of_order_queue_is_refused(on_device: OnDevice, device: Device) -> Result<()> {
    let queue = on_device.out_of_order_queue(device)?;
    let wrong = "CL_INVALID_COMMAND_QUEUE";
    let bound = SvmAllocation::builder(&on_device.context).size(64).queue(&queue).build();
    assert_eq!(refusal(bound), wrong);
    let svm = svm_of(&on_device, COARSE, &counting(4))?;
    assert_eq!(refusal(svm.bind_to_queue(&queue)), wrong);
    assert_eq!(refusal(svm.enqueue_release(&queue).map_err(|back| back.error)), wrong);
    Ok(())
}

#[clmatrix_harness::test(requires(svm))]
fn a_queue_of_another_context_is_refused(
    on_device: OnDevice,
    ctx_factory: CtxFactory,
) -> Result<()> {
    let context: Context = ctx_factory().expect("another context");
    let foreign = CommandQueue::new(&context)?;
    let bound = SvmAllocation::builder(&on_device.context).size(64).queue(&foreign).build();
    assert_eq!(refusal(bound), "CL_INVALID_CONTEXT");
    let svm = svm_of(&on_device, COARSE, &counting(4))?;
    assert_eq!(refusal(svm.bind_to_queue(&foreign)), "CL_INVALID_CONTEXT");
    Ok(())
}

/// Commands of the old queue end before a free on the new queue.
#[clmatrix_harness::test(requires(svm))]
fn rebound_svm_is_freed_after_its_former_queue(on_device: OnDevice) -> Result<()> {
    let (first, second) = (on_device.another_queue(), on_device.another_queue());
    let elsewhere = svm_of(&on_device, COARSE, &[0])?;
    let svm = SvmAllocation::builder(&on_device.context).size(64).queue(&first).build()?;
    let gate = gate(&on_device.context);
    // The library does not know that this has to do with `svm`.
    enqueue_fill(first.after(&gate), &elsewhere, &7_u32, ..)?;
    svm.bind_to_queue(&second)?;
    svm.bind_to_queue(&second)?;
    let released = svm.enqueue_release(&second)?;
    thread::sleep(A_MOMENT);
    assert_waits(&released, "clEnqueueSVMFree, behind a barrier of its queue,")?;
    open(&gate);
    released.wait()?;
    assert_eq!(released.queue(), Some(second));
    Ok(())
}

#[clmatrix_harness::test(requires(svm))]
fn unbind_from_queue_waits_for_the_queue(on_device: OnDevice) -> Result<()> {
    let queue = on_device.another_queue();
    let elsewhere = svm_of(&on_device, COARSE, &[0])?;
    let svm = SvmAllocation::builder(&on_device.context).size(64).queue(&queue).build()?;
    let gate = gate(&on_device.context);
    let filled = enqueue_fill(queue.after(&gate), &elsewhere, &7_u32, ..)?;
    meanwhile(&gate, open, || svm.unbind_from_queue())?;
    assert_eq!(filled.status()?, Status::Complete, "the fill, before the memory was unbound");
    svm.unbind_from_queue()
}

/// The queue's last reference may go with the memory.
#[clmatrix_harness::test(requires(svm))]
fn svm_keeps_its_bound_queue(on_device: OnDevice) -> Result<()> {
    let queue = on_device.another_queue();
    let svm = SvmAllocation::builder(&on_device.context).size(64).queue(&queue).build()?;
    drop(queue);
    drop(svm);
    Ok(())
}
