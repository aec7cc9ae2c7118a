//! Copies in each direction that OpenCL forbids, and that the library refuses before the driver sees them.

use super::*;

use Effect::{DeviceReads, DeviceWrites, HostReads, HostWrites};

/// The effect of a copy on its buffer.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Effect {
    HostReads,
    HostWrites,
    DeviceReads,
    DeviceWrites,
}

impl Effect {
    /// Returns whether it changes the buffer.
    fn changes(self) -> bool {
        matches!(self, HostWrites | DeviceWrites)
    }
}

/// Copies with a buffer; the other one is the other side between buffers.
type CopyWith = fn(Order<'_>, &Buffer, &Buffer) -> Result<()>;

/// The ways to copy 16 bytes from a buffer, or to one.
const WAYS: [(&str, Effect, CopyWith); 12] = [
    ("Read", HostReads, |at, buffer, _| enqueue_copy(at, &mut [0_u32; 4], buffer, ..).map(drop)),
    ("ReadRect", HostReads, |at, buffer, _| {
        enqueue_copy(at, &mut [0_u32; 4], buffer, HostRect::new([8, 2])).map(drop)
    }),
    ("ReadGaps", HostReads, |at, buffer, _| {
        let mut plane = Array2::<u32>::zeros((2, 4));
        enqueue_copy(at, plane.slice_mut(s![.., 1..3]), buffer, ..).map(drop)
    }),
    ("ReadOwned", HostReads, |at, buffer, _| {
        enqueue_copy(at, vec![0_u32; 4], buffer, ..)?.wait().map(drop).map_err(Error::from)
    }),
    ("Write", HostWrites, |at, buffer, _| enqueue_copy(at, buffer, &[0_u32; 4], ..).map(drop)),
    ("WriteRect", HostWrites, |at, buffer, _| {
        enqueue_copy(at, buffer, &[0_u32; 4], HostRect::new([8, 2])).map(drop)
    }),
    ("WriteGaps", HostWrites, |at, buffer, _| {
        let plane = Array2::<u32>::zeros((2, 4));
        enqueue_copy(at, buffer, plane.slice(s![.., 1..3]), ..).map(drop)
    }),
    ("WriteOwned", HostWrites, |at, buffer, _| {
        enqueue_copy(at, buffer, vec![0_u32; 4], ..)?.wait().map(drop).map_err(Error::from)
    }),
    ("CopyFrom", DeviceReads, |at, buffer, other| enqueue_copy(at, other, buffer, ..).map(drop)),
    ("CopyFromRect", DeviceReads, |at, buffer, other| {
        enqueue_copy(at, other, buffer, Rect::new([8, 2])).map(drop)
    }),
    ("CopyTo", DeviceWrites, |at, buffer, other| {
        enqueue_copy(at, buffer, other, Linear::default().byte_count(16)).map(drop)
    }),
    ("CopyToRect", DeviceWrites, |at, buffer, other| {
        enqueue_copy(at, buffer, other, Rect::new([8, 2])).map(drop)
    }),
];

/// The buffer of a copy, and the other side between buffers.
fn buffers(on_device: &OnDevice) -> Result<(Buffer, Buffer)> {
    Ok((buffer_of(on_device, &counting(4))?, buffer_of(on_device, &[0; 4])?))
}

#[clmatrix_harness::test]
fn valid_copies_of_all_kinds_are_accepted(on_device: OnDevice) -> Result<()> {
    for (way, effect, copy) in WAYS {
        let (buffer, other) = buffers(&on_device)?;
        copy(Order::from(&on_device.queue), &buffer, &other)?;
        let changed = contents(&on_device, &buffer)? == [0; 4];
        assert_eq!(changed, effect.changes(), "{way}");
    }
    Ok(())
}

#[clmatrix_harness::test]
fn copies_of_objects_of_another_context_are_refused(
    on_device: OnDevice,
    elsewhere: OnDevice,
) -> Result<()> {
    let event = UserEvent::new(&elsewhere.context)?;
    event.set_complete()?;
    let stranger = buffer_of(&elsewhere, &[1; 4])?;
    let (own, other) = (buffer_of(&on_device, &[1; 4])?, buffer_of(&on_device, &[1; 4])?);
    for (way, _, copy) in WAYS {
        let buffer = copy(Order::from(&on_device.queue), &stranger, &other);
        let queue = copy(Order::from(&elsewhere.queue), &own, &other);
        let event = copy(on_device.queue.after(&event), &own, &other);
        for (refused, what) in [(buffer, "buffer"), (queue, "queue"), (event, "event")] {
            assert_eq!(refusal(refused), "CL_INVALID_CONTEXT", "{way}, {what}");
        }
    }
    Ok(())
}

#[clmatrix_harness::test]
fn copies_of_mapped_bytes_are_refused(on_device: OnDevice) -> Result<()> {
    let (buffer, other) = buffers(&on_device)?;
    let at = Order::from(&on_device.queue);
    let map = buffer.map_read_write::<u32>(&on_device.queue, 3..)?;
    for (way, _, copy) in WAYS {
        assert_eq!(refusal(copy(at.clone(), &buffer, &other)), "CL_INVALID_OPERATION", "{way}");
    }
    drop(map);
    let map = buffer.map_read::<u32>(&on_device.queue, ..1)?;
    for (way, effect, copy) in WAYS {
        let result = copy(at.clone(), &buffer, &other);
        if effect.changes() {
            assert_eq!(refusal(result), "CL_INVALID_OPERATION", "{way}");
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
        for (way, effect, copy) in WAYS {
            let result = copy(Order::from(&on_device.queue), &buffer, &other);
            if (effect == HostReads && !reads) || (effect == HostWrites && !writes) {
                assert_eq!(refusal(result), "CL_INVALID_OPERATION", "{way}, {flags:?}");
            } else {
                result?;
            }
        }
    }
    Ok(())
}

#[clmatrix_harness::test]
fn a_failed_event_in_a_wait_list_is_refused(on_device: OnDevice) -> Result<()> {
    let (buffer, other) = buffers(&on_device)?;
    let failed = gate(&on_device.context);
    fail(&failed);
    for (way, _, copy) in WAYS {
        let refused = refusal(copy(on_device.queue.after(&failed), &buffer, &other));
        assert_eq!(refused, WAIT_LIST_FAILED, "{way}");
    }
    assert_eq!(contents(&on_device, &buffer)?, counting(4));
    Ok(())
}
