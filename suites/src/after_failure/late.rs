//! The command fails when others have been enqueued behind it.

use std::thread;

use clmatrix::memory::{
    Buffer, MapReadWrite, MemFlags, enqueue_fill_buffer, enqueue_map_buffer_nonblocking,
};
use clmatrix::{Event, Result};
use rstest::rstest;

use super::maps::{Way, check, map_buffer, old};
use super::{By, LEN, OLD, On, behind_a_slow_kernel};
use crate::buffer::{buffer_of, contents};
use crate::support::gate::{A_MOMENT, fail, gate, open};
use crate::support::on_device::{OnDevice, on_device};

/// The command that is enqueued behind the one that fails.
#[derive(Clone, Copy, Debug)]
enum Behind {
    /// A command without a wait list.
    One,
    /// One that has nothing to wait for when the other fails.
    Opened,
    /// One that fails before the other does.
    FailsFirst,
    /// One that fails after the other has.
    FailsLast,
}

#[rstest]
#[clmatrix_harness::test]
fn a_map_waits_for_the_kernel(
    on_device: OnDevice,
    #[values(By::Work, By::Gate)] by: By,
    #[values(Behind::One, Behind::Opened, Behind::FailsFirst, Behind::FailsLast)] behind: Behind,
    #[values((On::Same, Way::NonBlocking), (On::Another, Way::Blocking))] (queue, way): (On, Way),
) -> Result<()> {
    let on = &on_device;
    let buffer = buffer_of(on, &old())?;
    let elsewhere = Buffer::new(&on.context, MemFlags::READ_WRITE, 16)?;
    let failed = behind_a_slow_kernel(on, by, &buffer, |queue| {
        let (first, second) = (gate(&on.context), gate(&on.context));
        enqueue_fill_buffer(queue, &elsewhere, &OLD, .., &first)?;
        if matches!(behind, Behind::One) {
            enqueue_fill_buffer(queue, &elsewhere, &OLD, .., [])?;
        } else {
            enqueue_fill_buffer(queue, &elsewhere, &OLD, .., &second)?;
        }
        match behind {
            Behind::One | Behind::FailsLast => fail(&first),
            Behind::Opened => {
                open(&second);
                fail(&first);
            }
            Behind::FailsFirst => {
                fail(&second);
                fail(&first);
            }
        }
        if matches!(behind, Behind::FailsLast) {
            fail(&second);
        }
        Ok(())
    })?;
    let queue = queue.of(on, &failed);
    let left = failed.meanwhile(|| check(map_buffer(queue, &buffer, way), failed.value));
    failed.slow.wait()?;
    assert_eq!(contents(on, &buffer)?, vec![left; LEN]);
    Ok(())
}

/// It may fail with the other, but it must not show what the kernel has not written yet.
#[rstest]
#[clmatrix_harness::test]
fn an_enqueued_map_waits_for_the_kernel(
    on_device: OnDevice,
    #[values(By::Work, By::Gate)] by: By,
    #[values(On::Same, On::Another)] queue: On,
) -> Result<()> {
    let on = &on_device;
    let buffer = buffer_of(on, &old())?;
    let elsewhere = Buffer::new(&on.context, MemFlags::READ_WRITE, 16)?;
    let closed = gate(&on.context);
    let failed = behind_a_slow_kernel(on, by, &buffer, |queue| {
        enqueue_fill_buffer(queue, &elsewhere, &OLD, .., &closed).map(drop)
    })?;
    let queue = queue.of(on, &failed);
    let map = enqueue_map_buffer_nonblocking::<u32, _>(queue, &buffer, MapReadWrite, .., [])?;
    fail(&closed);
    let gate = failed.gate.take();
    let left = thread::scope(|scope| {
        // If the map failed with the other, it does not wait for this.
        scope.spawn(|| {
            thread::sleep(A_MOMENT);
            gate.iter().for_each(open);
        });
        check(map.wait(), failed.value)
    });
    failed.slow.wait()?;
    if left != failed.value {
        assert_eq!(contents(on, &buffer)?, vec![left; LEN]);
    }
    Ok(())
}

/// A driver may still tell a command of the end of what it waited for when it has failed long since,
/// and no handle to its event is left.
#[rstest]
#[clmatrix_harness::test]
fn an_event_in_the_wait_list_of_a_failed_command_completes_later(
    on_device: OnDevice,
) -> Result<()> {
    let on = &on_device;
    let buffer = Buffer::new(&on.context, MemFlags::READ_WRITE, 16)?;
    for _ in 0..50 {
        let queue = on.another_queue();
        let [opened, failed, other] = [(); 3].map(|()| gate(&on.context));
        drop(enqueue_fill_buffer(&queue, &buffer, &OLD, .., [&*opened, &*failed])?);
        fail(&failed);
        let fill = enqueue_fill_buffer(&on.queue, &buffer, &7_u32, .., &other)?;
        open(&other);
        fill.wait()?;
        open(&opened);
    }
    assert_eq!(contents(on, &buffer)?, [7; 4]);
    Ok(())
}

/// As above, where the event ends long after the failure: later failures on the same queue give the
/// library the occasion to let go of the failed command.
#[rstest]
#[clmatrix_harness::test]
fn an_event_in_the_wait_list_of_a_failed_command_completes_much_later(
    on_device: OnDevice,
) -> Result<()> {
    let on = &on_device;
    let buffer = Buffer::new(&on.context, MemFlags::READ_WRITE, 16)?;
    let queue = on.another_queue();
    let fails_behind = |opened: &Event| -> Result<()> {
        let failed = gate(&on.context);
        drop(enqueue_fill_buffer(&queue, &buffer, &OLD, .., [opened, &failed])?);
        fail(&failed);
        Ok(())
    };
    let opened = gate(&on.context);
    (0..20).try_for_each(|_| fails_behind(&opened))?;
    // Longer than a driver takes to notify the commands behind a failed one.
    thread::sleep(6 * A_MOMENT);
    (0..20).try_for_each(|_| fails_behind(&opened))?;
    open(&opened);
    enqueue_fill_buffer(&on.queue, &buffer, &7_u32, .., [])?;
    assert_eq!(contents(on, &buffer)?, [7; 4]);
    Ok(())
}

/// The program has dropped the queue, the memory and the event when the command fails.
#[rstest]
#[clmatrix_harness::test]
fn a_command_fails_after_its_queue_was_released(on_device: OnDevice) -> Result<()> {
    let on = &on_device;
    let closed = gate(&on.context);
    let mut used = Vec::new();
    for _ in 0..20 {
        let (queue, buffer) = (on.another_queue(), buffer_of(on, &[OLD; 4])?);
        drop(enqueue_fill_buffer(&queue, &buffer, &7_u32, .., &closed)?);
        drop(enqueue_fill_buffer(&queue, &buffer, &7_u32, .., [])?);
        used.push((queue, buffer));
    }
    thread::scope(|scope| {
        // The release of a queue blocks on Oclgrind, as a flush does.
        // quirk: OCLGRIND-2
        scope.spawn(|| {
            thread::sleep(A_MOMENT);
            fail(&closed);
        });
        drop(used);
    });
    assert_eq!(contents(on, &buffer_of(on, &old())?)?, old());
    Ok(())
}

/// As above, dropped between the failure and the end of another event of the wait list.
#[rstest]
#[clmatrix_harness::test]
fn an_event_in_the_wait_list_of_a_failed_command_outlives_the_queue(
    on_device: OnDevice,
) -> Result<()> {
    let on = &on_device;
    let opened = gate(&on.context);
    for _ in 0..20 {
        let (queue, buffer) = (on.another_queue(), buffer_of(on, &[OLD; 4])?);
        let failed = gate(&on.context);
        drop(enqueue_fill_buffer(&queue, &buffer, &7_u32, .., [&*opened, &*failed])?);
        fail(&failed);
    }
    open(&opened);
    assert_eq!(contents(on, &buffer_of(on, &old())?)?, old());
    Ok(())
}
