//! One thread enqueues what fails while another enqueues what must not be overtaken.

use std::sync::atomic::{AtomicU32, Ordering};
use std::{hint, thread};

use clmatrix::memory::{
    Buffer, MapReadWrite, MemFlags, enqueue_fill_buffer, enqueue_map_buffer,
    enqueue_map_buffer_nonblocking,
};
use clmatrix::{CommandQueue, Event, Result};
use rstest::rstest;

use super::{LEN, OLD, Slow};
use crate::buffer::buffer_of;
use crate::gate::{fail, gate, open};
use crate::on_device::{OnDevice, on_device};

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

/// Whichever of them comes first on their queue.
#[rstest]
#[clmatrix_harness::test]
fn a_map_comes_after_what_was_enqueued_meanwhile(on_device: OnDevice) -> Result<()> {
    let on = &on_device;
    let elsewhere = Buffer::new(&on.context, MemFlags::READ_WRITE, 16)?;
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
        if let Ok(map) = map.wait() {
            assert_eq!(map[..], [new; 4], "in round {round}");
        }
    }
    Ok(())
}

/// A kernel that waits for nothing, and may come right before the command that fails.
#[rstest]
#[clmatrix_harness::test]
fn a_map_comes_after_a_kernel_that_was_enqueued_meanwhile(on_device: OnDevice) -> Result<()> {
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
        assert!(map.iter().all(|value| *value == new), "in round {round}");
    }
    Ok(())
}
