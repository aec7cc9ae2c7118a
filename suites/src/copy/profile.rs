//! The event of each call has the command's times.

use clmatrix::{Profile, QueueProperties};

use super::*;

/// Returns whether the command was queued, submitted, started and ended in this order.
fn check(event: &Event, what: &str) -> Result<()> {
    event.wait()?;
    let Profile { queued, submitted, started, ended, .. } = event.profile()?;
    let times = [queued, submitted, started, ended];
    assert!(times.is_sorted(), "{what}: {times:?}");
    assert!(times[3] > 0, "{what}: {times:?}");
    Ok(())
}

#[clmatrix_harness::test]
fn events_have_profiling_times(on_device: OnDevice) -> Result<()> {
    let queue = CommandQueue::with_properties(&on_device.context, QueueProperties::PROFILING)?;
    let (buffer, other) = (buffer_of(&on_device, &[1; 64])?, buffer_of(&on_device, &[2; 64])?);
    let (mut data, rows) = ([0_u32; 64], HostRect::new([16, 4]));
    for (what, event) in [
        ("read", enqueue_copy(&queue, &mut data, &buffer, ..)?),
        ("read of a rectangle", enqueue_copy(&queue, &mut data, &buffer, rows)?),
        ("write", enqueue_copy(&queue, &buffer, &data, ..)?),
        ("write of a rectangle", enqueue_copy(&queue, &buffer, &data, rows)?),
        ("copy", enqueue_copy(&queue, &buffer, &other, ..)?),
        ("copy of a rectangle", enqueue_copy(&queue, &buffer, &other, Rect::new([16, 4]))?),
        ("fill", enqueue_fill(&queue, &buffer, &7_u32, ..)?),
        ("migration", enqueue_migrate_mem_objects(&queue, &[&buffer], MigrationFlags::default())?),
    ] {
        check(&event, what)?;
    }
    let pending = enqueue_copy(&queue, vec![0_u32; 64], &buffer, ..)?;
    check(pending.event(), "read that does not block")?;
    assert_eq!(pending.wait()?, [7; 64]);
    Ok(())
}
