//! One thread makes an event fail while another enqueues commands that must keep their order.
// quirk: POCL-2

use std::sync::atomic::{AtomicU32, Ordering};
use std::{hint, thread};

use clmatrix::memory::{
    Buffer, BufferMap, MapReadWrite, MemFlags, enqueue_fill_buffer, enqueue_map_buffer,
    enqueue_map_buffer_nonblocking, enqueue_read_buffer,
};
use clmatrix::{CommandQueue, Event, Result};
use rstest::rstest;

use super::{LEN, OLD, Slow, WAIT_LIST_FAILED};
use crate::buffer::{buffer_of, contents, refusal};
use crate::support::gate::{fail, gate, meanwhile, open};
use crate::support::on_device::{OnDevice, on_device};

const ROUNDS: u32 = 300;

/// Does both at about the same time, the one or the other a bit later.
fn at_once<A: Send, B>(round: u32, a: impl FnOnce() -> A + Send, b: impl FnOnce() -> B) -> (A, B) {
    let ready = AtomicU32::new(0);
    let start = |delay: u32| {
        ready.fetch_add(1, Ordering::SeqCst);
        while ready.load(Ordering::SeqCst) < 2 {
            hint::spin_loop();
        }
        (0..delay).for_each(|_| hint::spin_loop());
    };
    let (mine, others) = (20 * (round % 32), 20 * (round / 32 % 32));
    thread::scope(|scope| {
        let thread = scope.spawn(|| {
            start(others);
            a()
        });
        start(mine);
        let b = b();
        (thread.join().unwrap(), b)
    })
}

fn gated_fill(queue: &CommandQueue, buffer: &Buffer, value: u32, gate: &Event) -> Result<Event> {
    enqueue_fill_buffer(queue, buffer, &value, .., gate)
}

/// 1 if there is a map, which shows this, and 0 if it failed with what it came after.
#[track_caller]
fn shows(map: Result<BufferMap<u32, MapReadWrite>>, value: u32, round: u32) -> u32 {
    match map {
        Ok(map) => {
            assert_eq!(map[..], [value; 4], "in round {round}");
            1
        }
        Err(error) => {
            assert_eq!(refusal::<()>(Err(error)), WAIT_LIST_FAILED);
            0
        }
    }
}

/// Whichever of them comes first on their queue.
#[rstest]
#[clmatrix_harness::test]
fn a_map_waits_for_commands_of_another_thread(on_device: OnDevice) -> Result<()> {
    let on = &on_device;
    let elsewhere = Buffer::new(&on.context, MemFlags::READ_WRITE, 16)?;
    let mut shown = 0;
    for round in 0..ROUNDS {
        let buffer = buffer_of(on, &[OLD; 4])?;
        let queue = on.another_queue();
        let (opened, failed) = (gate(&on.context), gate(&on.context));
        let (filled, fails) = at_once(
            round,
            || gated_fill(&queue, &buffer, 7, &opened),
            || gated_fill(&queue, &elsewhere, 7, &failed),
        );
        let (filled, _fails) = (filled?, fails?);
        fail(&failed);
        let map =
            enqueue_map_buffer_nonblocking::<u32, _>(&on.queue, &buffer, MapReadWrite, .., [])?;
        open(&opened);
        // Where the other came first, the fill may have failed with it.
        let new = if filled.wait().is_ok() { 7 } else { OLD };
        shown += shows(map.wait(), new, round);
    }
    assert_ne!(shown, 0, "no map could be used");
    Ok(())
}

/// A kernel that waits for nothing, and may come right before the command that fails.
#[rstest]
#[clmatrix_harness::test]
fn a_map_waits_for_a_kernel_of_another_thread(on_device: OnDevice) -> Result<()> {
    let on = &on_device;
    let elsewhere = Buffer::new(&on.context, MemFlags::READ_WRITE, 16)?;
    let mut slow = Slow::new(on)?;
    // As short as it can be and still be seen.
    slow.rounds = (slow.rounds / 64).max(1);
    for round in 0..ROUNDS / 3 {
        let buffer = buffer_of(on, &[OLD; LEN])?;
        let queue = on.another_queue();
        let failed = gate(&on.context);
        let (ran, fails) = at_once(
            round,
            || slow.enqueue(&queue, &buffer, None),
            || gated_fill(&queue, &elsewhere, 7, &failed),
        );
        let (ran, _fails) = (ran?, fails?);
        fail(&failed);
        let map = enqueue_map_buffer::<u32, _>(&on.queue, &buffer, MapReadWrite, .., [])?;
        // Where the other came first, the kernel may have failed with it.
        let new = if ran.wait().is_ok() { slow.written } else { OLD };
        assert!(
            map.iter().all(|value| *value == new),
            "in round {round}: {:?}..., not {new}",
            &map[..4]
        );
    }
    Ok(())
}

/// The unmap is what fails. Its queue is not known long to the memory that was mapped, as more come
/// than are kept in mind.
#[rstest]
#[clmatrix_harness::test(fresh_context)]
fn a_map_waits_for_commands_of_another_thread_before_a_failed_unmap(
    on_device: OnDevice,
) -> Result<()> {
    let on = &on_device;
    let others: Vec<_> = (0..12).map(|_| on.another_queue()).collect();
    let mut shown = 0;
    for round in 0..ROUNDS {
        let (buffer, elsewhere) = (buffer_of(on, &[OLD; 4])?, buffer_of(on, &[OLD; 4])?);
        let queue = on.another_queue();
        let used_by = |queue| enqueue_fill_buffer(queue, &elsewhere, &OLD, 8.., []);
        used_by(&queue)?;
        for other in &others[..5] {
            used_by(other)?;
        }
        let mapped = enqueue_map_buffer::<u32, _>(&on.queue, &elsewhere, MapReadWrite, ..2, [])?;
        let (opened, failed) = (gate(&on.context), gate(&on.context));
        let filled = gated_fill(&queue, &buffer, 7, &opened)?;
        let (used, unmapped) = at_once(
            round,
            || others[5..].iter().try_for_each(|other| used_by(other).map(drop)),
            || mapped.unmap_on(&queue, &failed),
        );
        let (_, _unmapped) = (used?, unmapped?);
        fail(&failed);
        let map =
            enqueue_map_buffer_nonblocking::<u32, _>(&on.queue, &buffer, MapReadWrite, .., [])?;
        open(&opened);
        filled.wait()?;
        shown += shows(map.wait(), 7, round);
    }
    assert_ne!(shown, 0, "no map could be used");
    Ok(())
}

/// An event fails while another thread enqueues commands that depend on it: each of them ends.
#[rstest]
#[clmatrix_harness::test]
fn an_event_fails_while_commands_that_wait_for_it_are_enqueued(
    on_device: OnDevice,
    #[values(0, 1, 2)] between: usize,
) -> Result<()> {
    let on = &on_device;
    let buffer = buffer_of(on, &[OLD; 4])?;
    for round in 0..ROUNDS {
        let queue = on.another_queue();
        let failed = gate(&on.context);
        let before = (0..between).try_fold(None, |before: Option<Event>, _| {
            gated_fill(&on.another_queue(), &buffer, 7, before.as_ref().unwrap_or(&failed))
                .map(Some)
        })?;
        let (enqueued, ()) = at_once(
            round,
            || {
                // One is refused if the event has failed by then.
                let fill =
                    || gated_fill(&queue, &buffer, 7, before.as_ref().unwrap_or(&failed)).ok();
                [(); 4].map(|()| fill())
            },
            || fail(&failed),
        );
        for event in enqueued.into_iter().flatten().chain(before) {
            assert!(event.wait().is_err(), "in round {round}");
        }
    }
    assert_eq!(contents(on, &buffer)?, [OLD; 4]);
    Ok(())
}

/// As above, of commands without a wait list behind one that fails.
#[rstest]
#[clmatrix_harness::test]
fn an_event_fails_while_later_commands_are_enqueued(on_device: OnDevice) -> Result<()> {
    let on = &on_device;
    let (buffer, elsewhere) = (buffer_of(on, &[OLD; 4])?, buffer_of(on, &[OLD; 4])?);
    for round in 0..ROUNDS {
        let queue = on.another_queue();
        let failed = gate(&on.context);
        let first = gated_fill(&queue, &elsewhere, 7, &failed)?;
        let (enqueued, ()) = at_once(
            round,
            || [(); 4].map(|()| enqueue_fill_buffer(&queue, &buffer, &7_u32, .., [])),
            || fail(&failed),
        );
        // They may fail with the first, or be refused after it, and end in any case.
        for event in enqueued.into_iter().flatten() {
            _ = event.wait();
        }
        assert!(first.wait().is_err(), "in round {round}");
    }
    enqueue_fill_buffer(&on.queue, &buffer, &8_u32, .., [])?;
    assert_eq!(contents(on, &buffer)?, [8; 4]);
    Ok(())
}

/// The call does not wait for what the failure waits for.
#[rstest]
#[clmatrix_harness::test]
fn an_event_fails_while_a_blocking_call_waits_for_it(on_device: OnDevice) -> Result<()> {
    let on = &on_device;
    let (buffer, elsewhere) = (buffer_of(on, &[OLD; 4])?, buffer_of(on, &[OLD; 4])?);
    let failed = gate(&on.context);
    gated_fill(&on.queue, &elsewhere, 7, &failed)?;
    let mut data = [0; 4];
    let read =
        meanwhile(&failed, fail, || enqueue_read_buffer(&on.queue, &buffer, 0, &mut data, []));
    match read {
        Ok(_) => assert_eq!(data, [OLD; 4]),
        Err(error) => assert_eq!(refusal::<()>(Err(error)), WAIT_LIST_FAILED),
    }
    Ok(())
}
