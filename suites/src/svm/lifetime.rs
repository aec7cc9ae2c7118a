//! The lifetime of shared virtual memory and of its parts.

use super::*;

#[clmatrix_harness::test(requires(svm))]
fn svm_outlives_the_context_handle(on_device: OnDevice) -> Result<()> {
    let OnDevice { context, queue } = on_device;
    let svm = SvmAllocation::builder(&context).size(16).queue(&queue).build()?;
    drop(context);
    enqueue_fill(&queue, &svm, &7_u32, ..)?;
    drop(svm.map_read_write::<u32>(&queue, ..)?);
    let mut found = [0_u32; 4];
    enqueue_copy(&queue, &mut found, &svm, ..)?;
    assert_eq!(found, [7; 4], "clEnqueueSVMMemcpy shows the fill before a map");
    drop(queue);
    drop(svm);
    Ok(())
}

/// Whatever way the memory goes.
#[rstest]
#[clmatrix_harness::test(requires(svm = "fine"))]
fn freed_svm_releases_its_context(
    on_device: OnDevice,
    #[values("drop", "bound", "enqueue", "buffer", "map", "zero")] way: &str,
) -> Result<()> {
    let OnDevice { context, queue } = on_device;
    queue.finish()?;
    let before = context.reference_count()?;
    let svm = SvmAllocation::new(&context, if way == "zero" { 0 } else { 16 }, 0, FINE)?;
    match way {
        "drop" | "zero" => drop(svm),
        "bound" => {
            svm.bind_to_queue(&queue)?;
            enqueue_fill(&queue, &svm, &7_u32, ..)?;
            drop(svm);
        }
        "enqueue" => drop(svm.enqueue_release(&queue)?),
        "buffer" => {
            let buffer = svm.as_buffer(MemFlags::READ_WRITE, ..)?;
            drop(svm);
            drop(buffer);
        }
        "map" => {
            let map = svm.map_read_write::<u32>(&queue, ..)?;
            drop(svm);
            drop(map);
        }
        _ => unreachable!(),
    }
    queue.finish()?;
    let counts = || Ok(context.reference_count()? == before);
    assert!(soon(counts)?, "{} references, not {before}", context.reference_count()?);
    Ok(())
}

/// The queue of a command under way may be given up.
#[clmatrix_harness::test(requires(svm))]
fn a_command_outlives_its_queue_handle(on_device: OnDevice) -> Result<()> {
    let svm = svm_of(&on_device, COARSE, &counting(4))?;
    let queue = CommandQueue::new(&on_device.context)?;
    let gate = gate(&on_device.context);
    let filled = enqueue_fill(queue.after(&gate), &svm, &7_u32, ..)?;
    queue.flush()?;
    drop(queue);
    open(&gate);
    filled.wait()?;
    assert_eq!(contents(&on_device, &svm)?, [7; 4], "a fill that has been waited for");
    Ok(())
}

#[clmatrix_harness::test(requires(svm))]
fn threads_use_different_ranges_at_once(on_device: OnDevice) -> Result<()> {
    const THREADS: u32 = 4;
    const EACH: usize = 256;
    let svm = svm_of(&on_device, COARSE, &[0; THREADS as usize * EACH])?;
    let work = |thread: u32| -> Result<()> {
        let queue = on_device.another_queue();
        let start = thread as usize * EACH;
        let (elements, bytes) = (start..start + EACH, start * 4..(start + EACH) * 4);
        for round in 0..20 {
            enqueue_fill(&queue, &svm, &(round * THREADS + thread), bytes.clone())?;
            let mut map = svm.map_read_write::<u32>(&queue, elements.clone())?;
            assert!(map.iter().all(|x| *x == round * THREADS + thread), "{map:?}");
            map.fill(thread);
        }
        Ok(())
    };
    thread::scope(|scope| -> Result<()> {
        let threads: Vec<_> = (0..THREADS).map(|t| scope.spawn(move || work(t))).collect();
        threads.into_iter().try_for_each(|thread| thread.join().unwrap())
    })?;
    let expected: Vec<u32> = (0..THREADS).flat_map(|t| [t; EACH]).collect();
    assert_on_device(&on_device, &svm, &expected);
    Ok(())
}

#[clmatrix_harness::test(requires(svm))]
fn threads_allocate_and_free_at_once(on_device: OnDevice) -> Result<()> {
    let on = &on_device;
    let work = |thread: u32| -> Result<()> {
        let queue = on.another_queue();
        for round in 0..50 {
            let svm = SvmAllocation::builder(&on.context).size(4096).queue(&queue).build()?;
            enqueue_fill(&queue, &svm, &(round * 4 + thread), ..)?;
            if round % 2 == 0 {
                svm.unbind_from_queue()?;
            }
            let mut found = [0_u32; 1024];
            enqueue_copy(&queue, &mut found, &svm, ..)?;
            assert_eq!(found, [round * 4 + thread; 1024]);
        }
        Ok(())
    };
    thread::scope(|scope| -> Result<()> {
        let threads: Vec<_> = (0..4).map(|t| scope.spawn(move || work(t))).collect();
        threads.into_iter().try_for_each(|thread| thread.join().unwrap())
    })
}

#[clmatrix_harness::test(requires(svm))]
fn a_clone_may_be_dropped_in_another_thread(on_device: OnDevice) -> Result<()> {
    let svm = svm_of(&on_device, COARSE, &counting(4))?;
    let clone = svm.clone();
    thread::spawn(move || drop(clone)).join().unwrap();
    double(&on_device, &svm)?;
    thread::spawn(move || drop(svm)).join().unwrap();
    on_device.queue.finish()?;
    Ok(())
}
