//! Shared virtual memory that is given up before an earlier fill of it has run is freed afterwards.

use clmatrix::memory::{SvmAllocation, SvmFlags, SvmPointer, enqueue_fill};
use clmatrix::{Event, Result};
use rstest::rstest;

use super::{Failed, LEN, NEW, OLD, behind_a_gated_fill, fill_elsewhere};
use crate::support::gate::{fail, gate};
use crate::support::on_device::{OnDevice, on_device};

/// How it is given up.
#[derive(Clone, Copy, Debug)]
enum Way {
    Drop,
    /// Bound to the queue of the fill.
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
            _ => match svm.enqueue_release(queue) {
                Ok(freed) => Ok(Some(freed)),
                // OpenCL names no code for a call after a failed command: the driver may refuse it.
                Err(back) if back.error.detail().is_empty() => {
                    failed.meanwhile(|| drop(back));
                    Ok(None)
                }
                Err(back) => Err(back.error),
            },
        }
    }
}

/// Allocates memory that holds `OLD`.
fn allocate(on: &OnDevice) -> Result<SvmAllocation> {
    let svm = SvmAllocation::new(&on.context, 4 * LEN, 0, SvmFlags::READ_WRITE)?;
    enqueue_fill(&on.another_queue(), &svm, &OLD, ..)?.wait()?;
    Ok(svm)
}

/// Checks that memory which has been allocated since holds what it was given.
fn check_others(on: &OnDevice, others: &[SvmAllocation]) -> Result<()> {
    for other in others {
        let found = other.map_read::<u32>(&on.another_queue(), ..)?;
        assert_eq!(found[..], vec![OLD; LEN], "the fill wrote to memory that was freed");
    }
    Ok(())
}

#[rstest]
#[clmatrix_harness::test(requires(svm))]
fn svm_is_freed_after_its_commands(
    on_device: OnDevice,
    #[values(
        Way::Drop,
        Way::DropBound,
        Way::DropBoundElsewhere,
        Way::Release,
        Way::ReleaseElsewhere
    )]
    way: Way,
) -> Result<()> {
    let on = &on_device;
    let svm = allocate(on)?;
    let failed = behind_a_gated_fill(
        on,
        |queue, gate| enqueue_fill(queue.after(gate), &svm, &NEW, ..),
        |queue, gate| fill_elsewhere(on, queue, gate),
    )?;
    let freed = way.give_up(on, &failed, svm)?;
    // They take what has been freed too early.
    let others = (0..4).map(|_| allocate(on)).collect::<Result<Vec<_>>>()?;
    if let Some(freed) = freed {
        // The free may have failed with the command before it. Then the memory is never freed.
        if failed.meanwhile(|| freed.wait()).is_ok() {
            assert!(failed.filled.status()?.has_ended(), "it was freed too early");
        }
    }
    failed.meanwhile(|| failed.filled.wait())?;
    check_others(on, &others)
}

/// The free waits for the gated fill and for a command on the memory that fails.
#[clmatrix_harness::test(requires(svm))]
fn svm_with_a_command_that_fails_is_never_freed(on_device: OnDevice) -> Result<()> {
    let on = &on_device;
    let svm = allocate(on)?;
    let (queue, closed) = (on.another_queue(), gate(&on.context));
    let filled = enqueue_fill(queue.after(&closed), &svm, &NEW, ..)?;
    let freed = svm.enqueue_release(&on.queue).map_err(|back| back.error)?;
    fail(&closed);
    let others = (0..4).map(|_| allocate(on)).collect::<Result<Vec<_>>>()?;
    assert!(filled.wait().is_err() && freed.wait().is_err());
    check_others(on, &others)
}
