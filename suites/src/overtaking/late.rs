//! The command fails when others have been enqueued behind it.

use clmatrix::Result;
use clmatrix::memory::{Buffer, MemFlags, enqueue_fill_buffer};
use rstest::rstest;

use super::maps::{Way, check, map_buffer, old};
use super::{By, LEN, OLD, On, behind_a_slow_kernel};
use crate::buffer::{buffer_of, contents};
use crate::gate::{fail, gate, open};
use crate::on_device::{OnDevice, on_device};

/// What is enqueued behind the command that fails.
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
fn a_map_comes_after_the_kernel(
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
