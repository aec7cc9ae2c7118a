//! Shared virtual memory that is given up while a kernel writes to it is freed afterwards.

use clmatrix::memory::{SvmAllocation, SvmFlags, SvmPointer, enqueue_svm_memfill};
use clmatrix::{Event, Result};
use rstest::rstest;

use super::{By, Failed, LEN, OLD, behind_a_slow_kernel, fails, is_over};
use crate::support::gate::{fail, gate};
use crate::support::on_device::{OnDevice, on_device};

/// How it is given up.
#[derive(Clone, Copy, Debug)]
pub(super) enum Way {
    Drop,
    /// Bound to the kernel's queue.
    DropBound,
    /// Bound to another queue.
    DropBoundElsewhere,
    Release,
    ReleaseElsewhere,
}

impl Way {
    /// Gives `svm` up; the event says when it is gone.
    fn give_up(self, on: &OnDevice, failed: &Failed, svm: SvmAllocation) -> Result<Option<Event>> {
        let queue = match self {
            Self::Drop => {
                failed.meanwhile(|| drop(svm));
                return Ok(None);
            }
            Self::DropBound | Self::Release => &failed.queue,
            Self::DropBoundElsewhere | Self::ReleaseElsewhere => &on.queue,
        };
        match self {
            Self::DropBound | Self::DropBoundElsewhere => {
                svm.bind_to_queue(queue)?;
                drop(svm);
                Ok(None)
            }
            _ => svm.enqueue_release(Some(queue), []).map(Some).map_err(|back| back.error),
        }
    }
}

/// Allocates memory that holds `OLD`.
pub(super) fn allocate(on: &OnDevice) -> Result<SvmAllocation> {
    let svm = SvmAllocation::new(&on.context, 4 * LEN, 0, SvmFlags::READ_WRITE)?;
    enqueue_svm_memfill(&on.another_queue(), &svm, &OLD, .., [])?.wait()?;
    Ok(svm)
}

#[rstest]
#[clmatrix_harness::test(requires(svm))]
fn svm_is_freed_after_its_commands(
    on_device: OnDevice,
    #[values(By::Work, By::Gate)] by: By,
    #[values(
        Way::Drop,
        Way::DropBound,
        Way::DropBoundElsewhere,
        Way::Release,
        Way::ReleaseElsewhere
    )]
    way: Way,
) -> Result<()> {
    let svm = allocate(&on_device)?;
    let failed = behind_a_slow_kernel(&on_device, by, &svm, |queue| fails(&on_device, queue))?;
    is_freed_afterwards(&on_device, svm, &failed, way)
}

/// Gives `svm` up, which the slow command of `failed` writes, and checks that it is freed afterwards.
pub(super) fn is_freed_afterwards(
    on: &OnDevice,
    svm: SvmAllocation,
    failed: &Failed,
    way: Way,
) -> Result<()> {
    let freed = way.give_up(on, failed, svm)?;
    // They take what has been freed too early.
    let others = (0..4).map(|_| allocate(on)).collect::<Result<Vec<_>>>()?;
    if let Some(freed) = freed {
        // Where a command failed, it may never be freed.
        if failed.meanwhile(|| freed.wait()).is_ok() {
            assert!(is_over(&failed.slow)?, "it was freed too early");
        }
    } else {
        failed.meanwhile(|| failed.slow.wait())?;
    }
    failed.slow.wait()?;
    for other in &others {
        let found = other.map_ro::<u32>(&on.another_queue(), [])?;
        assert_eq!(found[..], vec![OLD; LEN], "the command wrote to what it was not given");
    }
    Ok(())
}

/// The free waits for the slow kernel and for a command on the memory that fails.
#[rstest]
#[clmatrix_harness::test(requires(svm))]
fn svm_with_a_command_that_fails_later_is_freed_after_the_others(
    on_device: OnDevice,
    #[values(By::Work, By::Gate)] by: By,
    #[values(Way::DropBound, Way::DropBoundElsewhere, Way::Release, Way::ReleaseElsewhere)]
    way: Way,
) -> Result<()> {
    let on = &on_device;
    let svm = allocate(on)?;
    let closed = gate(&on.context);
    let failed = behind_a_slow_kernel(on, by, &svm, |_| {
        enqueue_svm_memfill(&on.another_queue(), &svm, &OLD, .., &closed).map(drop)
    })?;
    let freed = way.give_up(on, &failed, svm)?;
    fail(&closed);
    let others = (0..4).map(|_| allocate(on)).collect::<Result<Vec<_>>>()?;
    failed.meanwhile(|| failed.slow.wait())?;
    // It is never freed.
    assert!(freed.is_none_or(|freed| freed.wait().is_err()));
    for other in &others {
        let found = other.map_ro::<u32>(&on.another_queue(), [])?;
        assert_eq!(found[..], vec![OLD; LEN], "the kernel wrote to what it was not given");
    }
    Ok(())
}
