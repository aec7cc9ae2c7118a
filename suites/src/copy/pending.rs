//! Copies that do not block: they own their host memory until they have ended.

use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Waker};
use std::thread;

use super::*;
use crate::support::task::{Unpark, block_on};

#[clmatrix_harness::test]
fn owned_memory_is_written_read_and_returned(on_device: OnDevice) -> Result<()> {
    let buffer = buffer_of(&on_device, &[0; 6])?;
    let double = || on_device.run(DOUBLE, &[&buffer], 6);
    let vector = enqueue_copy(&on_device.queue, &buffer, counting(6), ..)?.wait()?;
    assert_eq!(vector, counting(6), "it is the source's again");
    double()?;
    let vector = enqueue_copy(&on_device.queue, vector, &buffer, ..)?.wait()?;
    assert_eq!(vector, [0, 2, 4, 6, 8, 10]);

    let boxed = enqueue_copy(&on_device.queue, &buffer, vector.into_boxed_slice(), ..)?.wait()?;
    double()?;
    let boxed = enqueue_copy(&on_device.queue, boxed, &buffer, ..)?.wait()?;
    assert_eq!(*boxed, [0, 4, 8, 12, 16, 20]);

    let array = Array2::from_shape_vec((2, 3), boxed.into_vec()).expect("six elements");
    let array = enqueue_copy(&on_device.queue, &buffer, array, ..)?.wait()?;
    double()?;
    let array: Array2<u32> = enqueue_copy(&on_device.queue, array, &buffer, ..)?.wait()?;
    assert_eq!(array, ndarray::arr2(&[[0, 8, 16], [24, 32, 40]]));
    Ok(())
}

#[clmatrix_harness::test]
fn a_transfer_is_a_future(on_device: OnDevice) -> Result<()> {
    let (buffer, gate) = buffer_and_gate(&on_device)?;
    let mut pending = buffer.read_async(on_device.queue.after(&gate), vec![0_u32; 4])?;
    let first = Pin::new(&mut pending).poll(&mut Context::from_waker(Waker::noop()));
    assert!(first.is_pending(), "{EARLY}: clEnqueueReadBuffer");
    assert_eq!(meanwhile(&gate, open, || block_on(pending))?, counting(4));
    let pending = buffer.write_async(&on_device.queue, counting(4))?;
    on_device.queue.finish()?;
    assert_eq!(block_on(pending)?, counting(4));
    Ok(())
}

/// A waker may own its task, and the task the transfer.
#[clmatrix_harness::test]
fn a_transfer_that_has_ended_keeps_no_waker(on_device: OnDevice) -> Result<()> {
    let (buffer, gate) = buffer_and_gate(&on_device)?;
    let mut pending = buffer.read_async(on_device.queue.after(&gate), vec![0_u32; 4])?;
    let task = Arc::new(Unpark(thread::current()));
    let waker = Waker::from(Arc::clone(&task));
    for _ in 0..2 {
        let polled = Pin::new(&mut pending).poll(&mut Context::from_waker(&waker));
        assert!(polled.is_pending(), "it did not wait");
    }
    drop(waker);
    open(&gate);
    assert!(soon(|| Ok(Arc::strong_count(&task) == 1))?, "the transfer still has a waker");
    assert_eq!(block_on(pending)?, counting(4));
    Ok(())
}

/// Counts the threads of this process that wake tasks, which Linux tells.
fn waking_threads() -> Option<usize> {
    let threads = cfg!(target_os = "linux").then(|| std::fs::read_dir("/proc/self/task"))?;
    let threads = threads.expect("the threads of a process");
    let name = |thread: std::io::Result<std::fs::DirEntry>| {
        std::fs::read_to_string(thread.ok()?.path().join("comm")).ok()
    };
    Some(threads.filter_map(name).filter(|name| name == "transfers\n").count())
}

/// The thread ends with the last of them.
#[clmatrix_harness::test]
fn one_thread_wakes_the_tasks_of_all_transfers(on_device: OnDevice) -> Result<()> {
    let (buffer, gate) = buffer_and_gate(&on_device)?;
    let read = |_| Ok(buffer.read_async(on_device.queue.after(&gate), vec![0_u32; 4])?);
    let mut transfers = (0..300).map(read).collect::<Result<Vec<_>>>()?;
    for transfer in &mut transfers {
        let polled = Pin::new(transfer).poll(&mut Context::from_waker(Waker::noop()));
        assert!(polled.is_pending(), "{EARLY}: clEnqueueReadBuffer");
    }
    // It has its name soon after its start.
    let is_one = soon(|| Ok(waking_threads().is_none_or(|count| count == 1)));
    open(&gate);
    assert!(is_one?, "{:?} threads", waking_threads());
    for transfer in transfers {
        assert_eq!(block_on(transfer)?, counting(4));
    }
    assert!(
        soon(|| Ok(waking_threads().is_none_or(|count| count == 0)))?,
        "the thread waits for nothing"
    );
    Ok(())
}

/// The end of one transfer wakes its task although another one, which was polled before, has not ended.
#[clmatrix_harness::test]
fn a_transfer_is_not_held_up_by_another_one(on_device: OnDevice) -> Result<()> {
    let buffer = buffer_of(&on_device, &counting(4))?;
    let (first_gate, gate) = (UserEvent::new(&on_device.context)?, gate(&on_device.context));
    let other_queue = on_device.another_queue();
    let mut first = buffer.read_async(other_queue.after(&first_gate), vec![0_u32; 4])?;
    let polled = Pin::new(&mut first).poll(&mut Context::from_waker(Waker::noop()));
    assert!(polled.is_pending(), "{EARLY}: clEnqueueReadBuffer");
    let second = buffer.read_async(on_device.queue.after(&gate), vec![0_u32; 4])?;
    assert_eq!(meanwhile(&gate, open, || block_on(second))?, counting(4));
    open(&first_gate);
    assert_eq!(block_on(first)?, counting(4));
    Ok(())
}

/// The event fails first: on PoCL, a thread must not wait meanwhile.
// quirk: POCL-10
#[clmatrix_harness::test]
fn a_future_returns_the_memory_of_a_failed_transfer(on_device: OnDevice) -> Result<()> {
    let (buffer, gate) = buffer_and_gate(&on_device)?;
    let pending = buffer.read_async(on_device.queue.after(&gate), vec![7_u32; 4])?;
    fail(&gate);
    let error = block_on(pending).unwrap_err();
    assert_eq!(error.error.code_name(), WAIT_LIST_FAILED);
    assert_eq!(error.memory, Some(vec![7; 4]));
    Ok(())
}

#[clmatrix_harness::test]
fn all_bytes_of_any_size_are_copied(on_device: OnDevice) -> Result<()> {
    for size in SIZES {
        let (data, to, host) = (source(size), before(size + 20), bytes(2, size + 7));
        let buffer = buffer_with(&on_device, &to)?;
        let at = Linear::default().dst_offset(5);
        let data = enqueue_copy(&on_device.queue, &buffer, data, at)?.wait()?;
        assert_moved(&bytes_in(&on_device, &buffer)?, &to, 5, &data);
        let at = Linear::default().src_offset(5).byte_count(size);
        let found = enqueue_copy(&on_device.queue, host.clone(), &buffer, at)?.wait()?;
        assert_moved(&found, &host, 0, &data);
    }
    Ok(())
}

#[clmatrix_harness::test]
fn a_source_may_be_an_arc(on_device: OnDevice) -> Result<()> {
    let shared: Arc<[u32]> = counting(4).into();
    let (one, other) = (buffer_of(&on_device, &[9; 4])?, buffer_of(&on_device, &[9; 4])?);
    let gate = gate(&on_device.context);
    let first = enqueue_copy(on_device.queue.after(&gate), &one, Arc::clone(&shared), ..)?;
    let second = enqueue_copy(on_device.queue.after(&gate), &other, Arc::clone(&shared), ..)?;
    assert_eq!(*shared, counting(4), "it can be read meanwhile");
    open(&gate);
    assert!(Arc::ptr_eq(&first.wait()?, &shared));
    drop(second);
    assert_eq!(Arc::strong_count(&shared), 1, "both have let go of it");
    for buffer in [one, other] {
        on_device.run(DOUBLE, &[&buffer], 4)?;
        assert_eq!(contents(&on_device, &buffer)?, [0, 2, 4, 6]);
    }
    Ok(())
}

#[clmatrix_harness::test]
fn owned_memory_is_copied_by_rectangles(on_device: OnDevice) -> Result<()> {
    let buffer = buffer_of(&on_device, &counting(9))?;
    on_device.run(DOUBLE, &[&buffer], 9)?;
    let column = HostRect::new([4, 3]).buffer_origin([4]).buffer_pitches([12]);
    let found = enqueue_copy(&on_device.queue, vec![1_u32; 4], &buffer, column)?.wait()?;
    assert_eq!(found, [2, 8, 14, 1]);
    enqueue_copy(&on_device.queue, &buffer, vec![70_u32, 80, 90], column)?.wait()?;
    on_device.run(DOUBLE, &[&buffer], 9)?;
    assert_eq!(contents(&on_device, &buffer)?, [0, 140, 8, 12, 160, 20, 24, 180, 32]);
    Ok(())
}

/// A copy to the device or from it, behind a gate.
#[derive(Clone, Copy, Debug)]
enum To {
    Device,
    Host,
}

impl To {
    /// Copies sevens to `buffer`, or what is in it to the host.
    fn issue(self, at: Order<'_>, buffer: &Buffer) -> Result<PendingTransfer<Vec<u32>>> {
        Ok(match self {
            Self::Device => enqueue_copy(at, buffer, vec![7_u32; 4], ..)?,
            Self::Host => enqueue_copy(at, vec![7_u32; 4], buffer, ..)?,
        })
    }

    /// Returns the content of either memory afterwards.
    fn moved(self) -> Vec<u32> {
        match self {
            Self::Device => vec![7; 4],
            Self::Host => counting(4),
        }
    }
}

#[rstest]
#[clmatrix_harness::test]
fn a_transfer_returns_before_its_wait_list_completes(
    on_device: OnDevice,
    #[values(To::Device, To::Host)] to: To,
) -> Result<()> {
    let (buffer, gate) = buffer_and_gate(&on_device)?;
    let pending = to.issue(on_device.queue.after(&gate), &buffer)?;
    assert_waits(pending.event(), "the copy")?;
    let other_queue = on_device.another_queue();
    let mut before = [0_u32; 4];
    enqueue_copy(&other_queue, &mut before, &buffer, ..)?;
    assert_eq!(before[..], counting(4), "nothing has happened yet");
    let memory = meanwhile(&gate, open, || pending.wait())?;
    assert_eq!(memory, to.moved());
    assert_eq!(contents(&on_device, &buffer)?, to.moved());
    Ok(())
}

#[rstest]
#[clmatrix_harness::test]
fn a_dropped_transfer_waits(
    on_device: OnDevice,
    #[values(To::Device, To::Host)] to: To,
) -> Result<()> {
    let (buffer, gate) = buffer_and_gate(&on_device)?;
    let pending = to.issue(on_device.queue.after(&gate), &buffer)?;
    meanwhile(&gate, open, || drop(pending));
    assert_eq!(contents(&on_device, &buffer)?, to.moved());
    Ok(())
}

#[rstest]
#[clmatrix_harness::test]
fn a_forgotten_transfer_runs(
    on_device: OnDevice,
    #[values(To::Device, To::Host)] to: To,
) -> Result<()> {
    let (buffer, gate) = buffer_and_gate(&on_device)?;
    std::mem::forget(to.issue(on_device.queue.after(&gate), &buffer)?);
    open(&gate);
    on_device.queue.finish()?;
    assert_eq!(contents(&on_device, &buffer)?, to.moved());
    Ok(())
}

#[rstest]
#[clmatrix_harness::test]
fn memory_is_returned_if_an_event_of_the_wait_list_fails(
    on_device: OnDevice,
    #[values(To::Device, To::Host)] to: To,
) -> Result<()> {
    let (buffer, gate) = buffer_and_gate(&on_device)?;
    let pending = to.issue(on_device.queue.after(&gate), &buffer)?;
    // Before any thread waits for it.
    // quirk: POCL-10
    fail(&gate);
    let returned = pending.wait().expect_err("it did not fail");
    assert_eq!(returned.error.code_name(), WAIT_LIST_FAILED);
    assert_eq!(returned.memory, Some(vec![7; 4]));
    Ok(())
}

#[clmatrix_harness::test]
fn the_event_of_a_transfer_orders_later_commands(on_device: OnDevice) -> Result<()> {
    let (buffer, gate) = buffer_and_gate(&on_device)?;
    let pending = enqueue_copy(on_device.queue.after(&gate), &buffer, vec![7_u32; 4], ..)?;
    let other_queue = on_device.another_queue();
    let found = meanwhile(&gate, open, || -> Result<_> {
        let mut found = [0_u32; 4];
        enqueue_copy(other_queue.after(pending.event()), &mut found, &buffer, ..)?;
        Ok(found)
    })?;
    assert_eq!(found, [7; 4]);
    assert_eq!(pending.wait()?, [7; 4]);
    Ok(())
}

#[clmatrix_harness::test]
fn a_transfer_outlives_its_queue_and_buffer(on_device: OnDevice) -> Result<()> {
    let queue = on_device.another_queue();
    let buffer = buffer_of(&on_device, &counting(1 << 16))?;
    let pending = enqueue_copy(&queue, vec![0_u32; 1 << 16], &buffer, ..)?;
    drop((queue, buffer));
    assert_eq!(pending.wait()?, counting(1 << 16));
    Ok(())
}

#[clmatrix_harness::test]
fn transfers_on_an_out_of_order_queue_wait_for_their_own_events(
    on_device: OnDevice,
    device: Device,
) -> Result<()> {
    let queue = on_device.out_of_order_queue(device)?;
    let (buffer, gate) = buffer_and_gate(&on_device)?;
    let to_device = enqueue_copy(queue.after(&gate), &buffer, vec![7_u32; 2], ..)?;
    let at = Linear::default().src_offset(8);
    // On a queue of its own, since a device need not reorder anything.
    let to_host = enqueue_copy(&on_device.queue, vec![0_u32; 2], &buffer, at)?;
    assert_eq!(to_host.wait()?, [2, 3]);
    assert_waits(to_device.event(), "clEnqueueWriteBuffer")?;
    assert_eq!(meanwhile(&gate, open, || to_device.wait())?, [7, 7]);
    assert_eq!(contents(&on_device, &buffer)?, [7, 7, 2, 3]);
    Ok(())
}

#[clmatrix_harness::test]
fn a_map_waits_for_a_transfer(on_device: OnDevice) -> Result<()> {
    let (buffer, gate) = buffer_and_gate(&on_device)?;
    let pending = enqueue_copy(on_device.queue.after(&gate), &buffer, vec![7_u32; 4], ..)?;
    let other_queue = on_device.another_queue();
    assert_eq!(meanwhile(&gate, open, || buffer.map_read::<u32>(&other_queue, ..))?[..], [7; 4]);
    assert_eq!(pending.wait()?, [7; 4]);
    Ok(())
}

#[clmatrix_harness::test]
fn a_refused_transfer_returns_the_memory(on_device: OnDevice) -> Result<()> {
    let buffer = buffer_of(&on_device, &counting(4))?;
    let memory = counting(5);
    let Err(TransferError { error, memory: Some(memory) }) =
        enqueue_copy(&on_device.queue, &buffer, memory, ..)
    else {
        panic!("it was not refused with the memory")
    };
    assert_eq!(refusal(Err::<(), Error>(error)), "CL_INVALID_VALUE");
    assert_eq!(memory, counting(5));
    let refused = enqueue_copy(&on_device.queue, memory, &buffer, ..).map_err(|returned| {
        assert_eq!(returned.memory, Some(counting(5)));
        Error::from(returned)
    });
    assert_eq!(refusal(refused), "CL_INVALID_VALUE");
    let none = enqueue_copy(&on_device.queue, &buffer, Vec::<u32>::new(), ..).map_err(Error::from);
    assert_eq!(refusal(none), "CL_INVALID_VALUE");
    // An array of its own that has gaps.
    let mut gaps = Array2::<u32>::ones((4, 4));
    gaps.slice_collapse(s![.., ..1]);
    let refused = enqueue_copy(&on_device.queue, &buffer, gaps, ..).expect_err("it has gaps");
    assert!(refused.error.detail().contains("standard layout"), "{}", refused.error);
    assert_eq!(refused.memory, Some(Array2::ones((4, 1))));
    let failed = gate(&on_device.context);
    fail(&failed);
    let refused = enqueue_copy(on_device.queue.after(&failed), &buffer, counting(4), ..)
        .expect_err("it failed");
    assert_eq!(refused.error.code_name(), WAIT_LIST_FAILED);
    assert_eq!(refused.memory, Some(counting(4)));
    Ok(())
}

#[clmatrix_harness::test]
fn threads_transfer_on_different_queues(on_device: OnDevice) -> Result<()> {
    const THREADS: usize = 4;
    let part = region_offset(on_device.device(), 4096)?;
    let buffer = Buffer::new(&on_device.context, MemFlags::READ_WRITE, part * THREADS)?;
    let parts: Vec<_> = (0..THREADS)
        .map(|thread| buffer.sub_buffer(part * thread..part * thread + 4096))
        .collect::<Result<_>>()?;
    thread::scope(|scope| {
        for (part, thread) in parts.iter().zip(0..) {
            let queue = on_device.another_queue();
            scope.spawn(move || {
                for round in 0..20 {
                    let data = vec![thread * 100 + round; 1024];
                    let there = enqueue_copy(&queue, part, data.clone(), ..).unwrap();
                    let back = enqueue_copy(queue.after(there.event()), vec![0; 1024], part, ..);
                    // Another thread may wait for it, or none.
                    let back = back.unwrap();
                    let waiter = thread::spawn(move || back.wait().unwrap());
                    if round % 2 == 0 {
                        assert_eq!(there.wait().unwrap(), data);
                    }
                    assert_eq!(waiter.join().unwrap(), data);
                }
            });
        }
    });
    Ok(())
}

#[clmatrix_harness::test]
fn many_transfers_may_be_pending(on_device: OnDevice) -> Result<()> {
    let buffer = buffer_of(&on_device, &[0; 64])?;
    let gate = gate(&on_device.context);
    let transfers = (0..64)
        .map(|i| {
            let at = Linear::default().dst_offset(4 * i);
            Ok(enqueue_copy(on_device.queue.after(&gate), &buffer, vec![i as u32], at)?)
        })
        .collect::<Result<Vec<_>>>()?;
    open(&gate);
    for (transfer, i) in transfers.into_iter().zip(0..64).rev() {
        assert_eq!(transfer.wait()?, [i]);
    }
    on_device.run(DOUBLE, &[&buffer], 64)?;
    assert!(contents(&on_device, &buffer)?.iter().zip(0..).all(|(found, i)| *found == 2 * i));
    Ok(())
}
