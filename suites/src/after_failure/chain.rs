//! Failures of the events in a wait list, and how far they reach.
// quirk: INTEL-1

use std::sync::Barrier;
use std::thread;

use clmatrix::memory::{
    Buffer, MapReadWrite, MemFlags, enqueue_copy, enqueue_fill_buffer,
    enqueue_map_buffer_nonblocking,
};
use clmatrix::{Event, Result, UserEvent};
use rstest::rstest;

use super::maps::{check, old};
use super::{By, LEN, OLD, On, WAIT_LIST_FAILED, behind_a_slow_kernel};
use crate::buffer::{buffer_of, contents, refusal};
use crate::support::gate::{fail, gate};
use crate::support::on_device::{OnDevice, on_device};

/// Enqueues `length` fills of other memory, each on a queue of its own, the first behind `gate` and each
/// other behind the one before. Returns the last.
fn chain(on: &OnDevice, length: usize, gate: &UserEvent) -> Result<Event> {
    let elsewhere = Buffer::new(&on.context, MemFlags::READ_WRITE, 16)?;
    let mut last = enqueue_fill_buffer(&on.another_queue(), &elsewhere, &OLD, .., gate)?;
    for _ in 1..length {
        last = enqueue_fill_buffer(&on.another_queue(), &elsewhere, &OLD, .., &last)?;
    }
    Ok(last)
}

/// It must not show memory to which a kernel still writes.
#[rstest]
#[clmatrix_harness::test]
fn a_map_fails_or_waits_for_the_kernel(
    on_device: OnDevice,
    #[values(On::Same, On::Another)] queue: On,
    #[values(1, 2, 3)] length: usize,
) -> Result<()> {
    let on = &on_device;
    let buffer = buffer_of(on, &old())?;
    let closed = gate(&on.context);
    let last = chain(on, length, &closed)?;
    let kernel = behind_a_slow_kernel(on, By::Work, &buffer, |_| Ok(()))?;
    let queue = queue.of(on, &kernel);
    let map = enqueue_map_buffer_nonblocking::<u32, _>(queue, &buffer, MapReadWrite, .., &last)?;
    fail(&closed);
    let left = check(map.wait(), kernel.value);
    kernel.slow.wait()?;
    // A map that failed may keep its bytes.
    if left != kernel.value {
        assert_eq!(contents(on, &buffer)?, vec![left; LEN]);
    }
    Ok(())
}

#[rstest]
#[clmatrix_harness::test]
fn a_read_after_a_failed_command_fails(
    on_device: OnDevice,
    #[values(1, 2, 3)] length: usize,
) -> Result<()> {
    let on = &on_device;
    let buffer = buffer_of(on, &[OLD; 4])?;
    let closed = gate(&on.context);
    let last = chain(on, length, &closed)?;
    // The queue may be unusable afterwards.
    let queue = on.another_queue();
    let read = enqueue_copy(&queue, vec![7_u32; 4], &buffer, .., &last)?;
    fail(&closed);
    let error = read.wait().map(drop).map_err(|back| back.error);
    assert_eq!(refusal(error), WAIT_LIST_FAILED);
    assert_eq!(contents(on, &buffer)?, [OLD; 4]);
    Ok(())
}

#[rstest]
#[clmatrix_harness::test]
fn two_events_of_a_wait_list_fail(on_device: OnDevice) -> Result<()> {
    let on = &on_device;
    let buffer = buffer_of(on, &[OLD; 4])?;
    let gates = [gate(&on.context), gate(&on.context)];
    let queue = on.another_queue();
    let fill = enqueue_fill_buffer(&queue, &buffer, &7_u32, .., [&*gates[0], &*gates[1]])?;
    gates.iter().for_each(fail);
    assert!(fill.wait().is_err());
    assert_eq!(contents(on, &buffer)?, [OLD; 4]);
    Ok(())
}

/// Several threads find the end of a cancelled command at the same time.
#[rstest]
#[clmatrix_harness::test]
fn threads_agree_on_the_end_of_a_command(on_device: OnDevice) -> Result<()> {
    const THREADS: usize = 4;
    let on = &on_device;
    let buffer = buffer_of(on, &[OLD; 4])?;
    for round in 0..300 {
        let closed = gate(&on.context);
        let fill = enqueue_fill_buffer(&on.another_queue(), &buffer, &7_u32, .., &closed)?;
        // Before any thread waits for it.
        // quirk: POCL-10
        fail(&closed);
        let start = Barrier::new(THREADS);
        let has_completed = thread::scope(|scope| {
            let wait = || {
                start.wait();
                (0..3).any(|_| fill.wait().is_ok())
            };
            let threads = [(); THREADS].map(|()| scope.spawn(wait));
            threads.map(|thread| thread.join().unwrap())
        });
        assert_eq!(has_completed, [false; THREADS], "in round {round}");
    }
    Ok(())
}

/// Drops the guards of two maps, the second of which comes after the first, before the first fails.
#[rstest]
#[clmatrix_harness::test]
fn bytes_of_a_failed_map_can_be_mapped_again(on_device: OnDevice) -> Result<()> {
    let on = &on_device;
    let buffer = buffer_of(on, &[OLD; 4])?;
    let closed = gate(&on.context);
    let queues = [on.another_queue(), on.another_queue()];
    let map = |queue, wait_for: Option<&Event>| {
        let map =
            enqueue_map_buffer_nonblocking::<u32, _>(queue, &buffer, MapReadWrite, .., wait_for);
        map.map(|map| map.event().clone())
    };
    let maps = [map(&queues[0], Some(&closed))?, map(&queues[1], None)?];
    fail(&closed);
    for event in &maps {
        _ = event.wait();
    }
    enqueue_fill_buffer(&on.queue, &buffer, &7_u32, .., [])?;
    assert_eq!(contents(on, &buffer)?, [7; 4]);
    Ok(())
}

/// The caller keeps no event of the commands behind the one that fails.
#[rstest]
#[clmatrix_harness::test]
fn events_of_commands_after_a_failed_one_may_be_released(on_device: OnDevice) -> Result<()> {
    let on = &on_device;
    let (buffer, other) = (buffer_of(on, &[OLD; 4])?, buffer_of(on, &[OLD; 4])?);
    for _ in 0..20 {
        let queue = on.another_queue();
        let closed = gate(&on.context);
        drop(enqueue_fill_buffer(&queue, &buffer, &7_u32, .., &closed)?);
        for _ in 0..3 {
            drop(enqueue_fill_buffer(&queue, &other, &7_u32, .., [])?);
            drop(enqueue_fill_buffer(&queue, &buffer, &7_u32, .., [])?);
        }
        fail(&closed);
    }
    // Commands of the released queues may still write to the other buffers.
    let unused = buffer_of(on, &[OLD; 4])?;
    enqueue_fill_buffer(&on.queue, &unused, &8_u32, .., [])?;
    assert_eq!(contents(on, &unused)?, [8; 4]);
    Ok(())
}
