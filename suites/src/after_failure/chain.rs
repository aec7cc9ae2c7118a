//! Failures of the events in a wait list, and how far they reach.
// quirk: INTEL-1

use std::cell::Cell;
use std::sync::mpsc;

use clmatrix::cl3::event::wait_for_events;
use clmatrix::memory::{MapReadWrite, MemFlags, enqueue_copy, enqueue_fill};
use clmatrix::pool::{DeferredAllocator, MemoryPool};
use clmatrix::{Device, Event, Result, Status, UserEvent, enqueue_barrier};
use rstest::rstest;

use super::maps::check;
use super::{LEN, NEW, OLD, WAIT_LIST_FAILED, fill_elsewhere};
use crate::buffer::{buffer_of, contents, refusal};
use crate::support::gate::{fail, gate, open};
use crate::support::on_device::{OnDevice, on_device};

/// Enqueues `length` fills of other memory, each on a queue of its own, the first behind `gate` and each
/// other behind the one before. Returns their events.
fn chain(on: &OnDevice, length: usize, gate: &UserEvent) -> Result<Vec<Event>> {
    let mut events = vec![fill_elsewhere(on, &on.another_queue(), gate)?];
    for _ in 1..length {
        events.push(fill_elsewhere(on, &on.another_queue(), &events[events.len() - 1])?);
    }
    Ok(events)
}

/// It must not show memory to which a fill still writes.
#[rstest]
#[clmatrix_harness::test]
fn a_map_fails_or_waits_for_earlier_commands(
    on_device: OnDevice,
    #[values(1, 3)] length: usize,
) -> Result<()> {
    let on = &on_device;
    let buffer = buffer_of(on, &[OLD; LEN])?;
    let (closed, opened) = (gate(&on.context), gate(&on.context));
    let chain = chain(on, length, &closed)?;
    let filled = enqueue_fill(on.another_queue().after(&opened), &buffer, &NEW, ..)?;
    let last = &chain[length - 1];
    let map = buffer.map_async::<u32, _>(on.queue.after(last), MapReadWrite, ..)?;
    open(&opened);
    fail(&closed);
    check(map.wait(), |map| map.unmap_on(&on.another_queue())?.wait())?;
    filled.wait()
}

#[rstest]
#[clmatrix_harness::test]
fn a_read_after_a_failed_command_fails(
    on_device: OnDevice,
    #[values(1, 3)] length: usize,
) -> Result<()> {
    let on = &on_device;
    let buffer = buffer_of(on, &[OLD; 4])?;
    let closed = gate(&on.context);
    let chain = chain(on, length, &closed)?;
    let queue = on.another_queue();
    let read = enqueue_copy(queue.after(&chain[length - 1]), vec![7_u32; 4], &buffer, ..)?;
    fail(&closed);
    let error = read.wait().map(drop).map_err(|back| back.error);
    assert_eq!(refusal(error), WAIT_LIST_FAILED);
    assert_eq!(contents(on, &buffer)?, [OLD; 4]);
    Ok(())
}

/// Drops the guard of a map before it fails.
#[clmatrix_harness::test]
fn bytes_of_a_failed_map_can_be_mapped_again(on_device: OnDevice) -> Result<()> {
    let on = &on_device;
    let buffer = buffer_of(on, &[OLD; 4])?;
    let closed = gate(&on.context);
    let queue = on.another_queue();
    let map = buffer.map_async::<u32, _>(queue.after(&closed), MapReadWrite, ..)?;
    let event = map.event().clone();
    drop(map);
    fail(&closed);
    assert!(event.wait().is_err());
    enqueue_fill(&on.queue, &buffer, &7_u32, ..)?;
    assert_eq!(contents(on, &buffer)?, [7; 4]);
    Ok(())
}

/// It is called once, and dropped then, whatever the driver does.
#[clmatrix_harness::test]
fn a_callback_is_called_when_its_command_fails(on_device: OnDevice) -> Result<()> {
    let on = &on_device;
    let closed = gate(&on.context);
    let event = fill_elsewhere(on, &on.another_queue(), &closed)?;
    let (before, after) = (mpsc::channel(), mpsc::channel());
    event.on_complete(move |status| before.0.send(status).expect("the test waits"))?;
    fail(&closed);
    assert!(event.wait().is_err());
    event.on_complete(move |status| after.0.send(status).expect("the test waits"))?;
    for called in [before.1, after.1] {
        let statuses: Vec<Status> = called.iter().collect();
        assert!(matches!(statuses[..], [Status::Failed(..0)]), "{statuses:?}");
    }
    Ok(())
}

thread_local!(static IS_LOOKING: Cell<bool> = const { Cell::new(false) });

/// Neither the drop of a queue nor a pool calls it: the program may have a lock that it takes.
#[clmatrix_harness::test]
fn no_look_for_dropped_queues_runs_a_callback(on_device: OnDevice) -> Result<()> {
    let on = &on_device;
    let pool = MemoryPool::new(DeferredAllocator::new(&on.context, MemFlags::READ_WRITE)?)?;
    let (closed, queue) = (gate(&on.context), on.another_queue());
    let block = pool.allocate(16)?;
    let event = enqueue_fill(queue.after(&closed), &block, &NEW, ..)?;
    let (call, calls) = mpsc::channel();
    event.on_complete(move |_| call.send(IS_LOOKING.get()).expect("the test waits"))?;
    fail(&closed);
    assert!(wait_for_events(&[event.as_raw()]).is_err());
    IS_LOOKING.set(true);
    drop((queue, block));
    drop((on.another_queue(), pool.allocate(1)?));
    IS_LOOKING.set(false);
    assert!(event.status()?.has_ended());
    assert_eq!(calls.iter().collect::<Vec<_>>(), [false]);
    Ok(())
}

/// The barrier fails, and with it what comes after it in its queue.
#[clmatrix_harness::test]
fn a_command_after_a_barrier_that_failed_says_what_it_did(
    on_device: OnDevice,
    device: Device,
) -> Result<()> {
    let on = &on_device;
    let queue = on.out_of_order_queue(device)?;
    let buffer = buffer_of(on, &[OLD; 4])?;
    let closed = gate(&on.context);
    drop(enqueue_barrier(queue.after(&closed))?);
    let event = enqueue_fill(&queue, &buffer, &NEW, ..)?;
    fail(&closed);
    let outcome = event.status().and_then(|_| event.wait());
    let expected = if outcome.is_ok() { [NEW; 4] } else { [OLD; 4] };
    assert_eq!(contents(on, &buffer)?, expected);
    Ok(())
}
