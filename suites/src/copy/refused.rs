//! Copies in each direction that OpenCL forbids, and that the library refuses before the driver sees them.

use clmatrix::memory::{Buffer, HostRect, Linear, MemFlags, Rect, WaitList, enqueue_copy};
use clmatrix::{CommandQueue, Result, UserEvent};
use clmatrix_harness::CtxFactory;

use crate::buffer::{buffer_of, contents, counting, refusal};
use crate::support::on_device::OnDevice;

/// A way to copy 16 bytes from a buffer, or to one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Way {
    Read,
    ReadRect,
    ReadGaps,
    ReadOwned,
    Write,
    WriteRect,
    WriteGaps,
    WriteOwned,
    CopyFrom,
    CopyFromRect,
    CopyTo,
    CopyToRect,
}

impl Way {
    const ALL: [Self; 12] = [
        Self::Read,
        Self::ReadRect,
        Self::ReadGaps,
        Self::ReadOwned,
        Self::Write,
        Self::WriteRect,
        Self::WriteGaps,
        Self::WriteOwned,
        Self::CopyFrom,
        Self::CopyFromRect,
        Self::CopyTo,
        Self::CopyToRect,
    ];

    /// Returns whether it is the host that reads the buffer.
    fn host_reads(self) -> bool {
        matches!(self, Self::Read | Self::ReadRect | Self::ReadGaps | Self::ReadOwned)
    }

    /// Returns whether it is the host that writes the buffer.
    fn host_writes(self) -> bool {
        matches!(self, Self::Write | Self::WriteRect | Self::WriteGaps | Self::WriteOwned)
    }

    /// Returns whether it changes the buffer.
    fn changes(self) -> bool {
        self.host_writes() || matches!(self, Self::CopyTo | Self::CopyToRect)
    }

    /// Copies with `buffer`; `other` is the other side between buffers.
    fn go<'a>(
        self,
        queue: &CommandQueue,
        buffer: &Buffer,
        other: &Buffer,
        wait_for: impl Into<WaitList<'a>>,
    ) -> Result<()> {
        let wait_for = wait_for.into();
        let (mut data, rows) = ([0_u32; 4], HostRect::new([8, 2]));
        let mut plane = ndarray::Array2::<u32>::zeros((2, 4));
        let gaps = ndarray::s![.., 1..3];
        match self {
            Self::Read => enqueue_copy(queue.after(wait_for), &mut data, buffer, ..).map(drop),
            Self::ReadRect => {
                enqueue_copy(queue.after(wait_for), &mut data, buffer, rows).map(drop)
            }
            Self::ReadGaps => {
                enqueue_copy(queue.after(wait_for), plane.slice_mut(gaps), buffer, ..).map(drop)
            }
            Self::ReadOwned => {
                enqueue_copy(queue.after(wait_for), vec![0_u32; 4], buffer, ..)?.wait()?;
                Ok(())
            }
            Self::Write => enqueue_copy(queue.after(wait_for), buffer, &data, ..).map(drop),
            Self::WriteRect => enqueue_copy(queue.after(wait_for), buffer, &data, rows).map(drop),
            Self::WriteGaps => {
                enqueue_copy(queue.after(wait_for), buffer, plane.slice(gaps), ..).map(drop)
            }
            Self::WriteOwned => {
                enqueue_copy(queue.after(wait_for), buffer, vec![0_u32; 4], ..)?.wait()?;
                Ok(())
            }
            Self::CopyFrom => enqueue_copy(queue.after(wait_for), other, buffer, ..).map(drop),
            Self::CopyTo => {
                let all = Linear::default().byte_count(16);
                enqueue_copy(queue.after(wait_for), buffer, other, all).map(drop)
            }
            Self::CopyFromRect => {
                enqueue_copy(queue.after(wait_for), other, buffer, Rect::new([8, 2])).map(drop)
            }
            Self::CopyToRect => {
                enqueue_copy(queue.after(wait_for), buffer, other, Rect::new([8, 2])).map(drop)
            }
        }
    }
}

#[clmatrix_harness::test]
fn valid_copies_of_all_kinds_are_accepted(on_device: OnDevice) -> Result<()> {
    for way in Way::ALL {
        let (buffer, other) =
            (buffer_of(&on_device, &counting(4))?, buffer_of(&on_device, &[0; 4])?);
        way.go(&on_device.queue, &buffer, &other, [])?;
        let changed = contents(&on_device, &buffer)? == [0; 4];
        assert_eq!(changed, way.changes(), "{way:?}");
    }
    Ok(())
}

#[clmatrix_harness::test]
fn copies_of_objects_of_another_context_are_refused(
    on_device: OnDevice,
    ctx_factory: CtxFactory,
) -> Result<()> {
    let context = ctx_factory()?;
    let queue = CommandQueue::new(&context)?;
    let elsewhere = OnDevice { context, queue };
    let event = UserEvent::new(&elsewhere.context)?;
    event.set_complete()?;
    let stranger = buffer_of(&elsewhere, &[1; 4])?;
    let (own, other) = (buffer_of(&on_device, &[1; 4])?, buffer_of(&on_device, &[1; 4])?);
    for way in Way::ALL {
        let buffer = way.go(&on_device.queue, &stranger, &other, []);
        let queue = way.go(&elsewhere.queue, &own, &other, []);
        let event = way.go(&on_device.queue, &own, &other, &event);
        for (refused, what) in [(buffer, "buffer"), (queue, "queue"), (event, "event")] {
            assert_eq!(refusal(refused), "CL_INVALID_CONTEXT", "{way:?}, {what}");
        }
    }
    Ok(())
}

#[clmatrix_harness::test]
fn copies_of_mapped_bytes_are_refused(on_device: OnDevice) -> Result<()> {
    let (buffer, other) = (buffer_of(&on_device, &counting(4))?, buffer_of(&on_device, &[0; 4])?);
    let queue = &on_device.queue;
    let map = buffer.map_read_write::<u32>(queue, 3..)?;
    for way in Way::ALL {
        assert_eq!(refusal(way.go(queue, &buffer, &other, [])), "CL_INVALID_OPERATION", "{way:?}");
    }
    drop(map);
    let map = buffer.map_read::<u32>(queue, ..1)?;
    for way in Way::ALL {
        let result = way.go(queue, &buffer, &other, []);
        if way.changes() {
            assert_eq!(refusal(result), "CL_INVALID_OPERATION", "{way:?}");
        } else {
            result?;
        }
    }
    assert_eq!(map[..], [0], "nothing was changed");
    Ok(())
}

#[clmatrix_harness::test]
fn copies_against_host_access_flags_are_refused(on_device: OnDevice) -> Result<()> {
    let other = buffer_of(&on_device, &[0; 4])?;
    for (flags, reads, writes) in [
        (MemFlags::HOST_READ_ONLY, true, false),
        (MemFlags::HOST_WRITE_ONLY, false, true),
        (MemFlags::HOST_NO_ACCESS, false, false),
    ] {
        let flags = flags | MemFlags::READ_WRITE;
        let buffer = Buffer::from_slice(&on_device.context, flags, &counting(4))?;
        for way in Way::ALL {
            let result = way.go(&on_device.queue, &buffer, &other, []);
            if (way.host_reads() && !reads) || (way.host_writes() && !writes) {
                assert_eq!(refusal(result), "CL_INVALID_OPERATION", "{way:?}, {flags:?}");
            } else {
                result?;
            }
        }
    }
    Ok(())
}

#[clmatrix_harness::test]
fn a_failed_event_in_a_wait_list_is_refused(on_device: OnDevice) -> Result<()> {
    let (buffer, other) = (buffer_of(&on_device, &counting(4))?, buffer_of(&on_device, &[0; 4])?);
    let failed = crate::support::gate::gate(&on_device.context);
    crate::support::gate::fail(&failed);
    for way in Way::ALL {
        let refused = refusal(way.go(&on_device.queue, &buffer, &other, &failed));
        assert_eq!(refused, "CL_EXEC_STATUS_ERROR_FOR_EVENTS_IN_WAIT_LIST", "{way:?}");
    }
    assert_eq!(contents(&on_device, &buffer)?, counting(4));
    Ok(())
}
