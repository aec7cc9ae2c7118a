//! Maps of buffers.

use std::ffi::c_void;
use std::ops::{Range, RangeBounds};
use std::sync::Arc;

use crate::queue::{Arguments, CommandQueue};
use bytemuck::Pod;
use cl3::command_queue as cl;
use cl3::types::{cl_context, cl_event};

use super::mapping::{MapArguments, Mappable, Mapping};
use super::slice::{SliceMap, elements};
use super::{MapMode, PendingMap, access, check_mode};
use crate::error::Result;
use crate::memory::buffer::{Buffer, Held};
use crate::memory::object::MemoryObject;
use crate::memory::range::check_not_empty;
use crate::memory::track::AccessTracker;
use crate::wait_list::WaitList;

impl Mappable for Held {
    const MAP: &'static str = "clEnqueueMapBuffer";
    const UNMAP: &'static str = "clEnqueueUnmapMemObject";

    fn context_raw(&self) -> cl_context {
        self.object().context().raw()
    }

    fn tracker(&self) -> &Arc<AccessTracker> {
        self.object().tracker()
    }

    #[inline]
    unsafe fn submit_unmap(
        &self,
        pointer: *mut c_void,
        (queue, count, events): Arguments,
    ) -> std::result::Result<cl_event, i32> {
        // SAFETY: as the caller promises.
        unsafe { cl::enqueue_unmap_mem_object(queue, self.raw(), pointer, count, events) }
    }
}

/// Bytes of a buffer as a slice of the host's; `&mut` only if `M` writes.
///
/// Unmapped by [`unmap`](SliceMap::unmap), or when dropped; what goes wrong then is logged. If it is
/// forgotten, its bytes stay mapped for good, and the buffer is never released.
///
/// ```compile_fail,E0596
/// # use clmatrix::memory::*;
/// fn read_only_is_read_only(mut map: BufferMap<f32, MapRead>) {
///     map[0] = 1.0;
/// }
/// ```
pub type BufferMap<T, M> = SliceMap<Mapping<Held>, T, M>;

/// Maps the bytes `range` of `buffer` as elements of `T`, and returns when they can be used
/// (`clEnqueueMapBuffer`).
///
/// Waits for what this crate has enqueued on these bytes, on any queue, where it or the map
/// writes. `..` maps the whole buffer.
///
/// ```no_run
/// # use clmatrix::memory::*;
/// # fn f(queue: &clmatrix::CommandQueue, buffer: &Buffer) -> clmatrix::Result<()> {
/// let mut map = enqueue_map_buffer::<f32, _>(queue, buffer, MapReadWrite, .., [])?;
/// map[0] += 1.0;
/// map.unmap([])?;
/// # Ok(())
/// # }
/// ```
///
/// # Errors
/// CL_INVALID_CONTEXT, CL_INVALID_VALUE for bytes that are not there or are no whole number of
/// elements, CL_INVALID_OPERATION where the flags forbid it, or where the bytes are mapped and either
/// map writes; CL_EXEC_STATUS_ERROR_FOR_EVENTS_IN_WAIT_LIST where a command that it waited for
/// failed; CL_MAP_FAILURE where the driver's pointer does not suit `T`, and the driver's errors.
pub fn enqueue_map_buffer<'a, T: Pod, M: MapMode>(
    queue: &CommandQueue,
    buffer: &Buffer,
    _mode: M,
    range: impl RangeBounds<usize>,
    wait_for: impl Into<WaitList<'a>>,
) -> Result<BufferMap<T, M>> {
    let (range, len) = checked::<T, M>(buffer, range)?;
    let mapping = Mapping::blocking(
        queue,
        buffer.held(),
        buffer.in_tracker(&range),
        access::<M>(),
        &wait_for.into(),
        |arguments, pointer| ask::<M>(buffer, &range, arguments, pointer),
    )?;
    SliceMap::mapped(mapping, len)
}

/// Has the bytes `range` of `buffer` mapped as elements of `T`, and returns at once: they can be used
/// when the result has been waited for (PyOpenCL's `is_blocking=False`).
///
/// The map comes after what this crate has enqueued on these bytes, on any queue, where it or the
/// map writes.
///
/// ```
/// # use clmatrix::memory::*;
/// # fn main() -> clmatrix::Result<()> {
/// # let context = clmatrix::create_some_context()?;
/// # let queue = clmatrix::CommandQueue::new(&context)?;
/// let buffer = Buffer::from_slice(&context, MemFlags::READ_WRITE, &[1_u32, 2, 3])?;
/// let map = enqueue_map_buffer_nonblocking::<u32, _>(&queue, &buffer, MapRead, 4.., [])?;
/// // ... something else ...
/// assert_eq!(map.wait()?[..], [2, 3]);
/// # Ok(())
/// # }
/// ```
///
/// # Errors
/// Those of [`enqueue_map_buffer`]; what fails later on, [`wait`](PendingMap::wait) reports.
pub fn enqueue_map_buffer_nonblocking<'a, T: Pod, M: MapMode>(
    queue: &CommandQueue,
    buffer: &Buffer,
    _mode: M,
    range: impl RangeBounds<usize>,
    wait_for: impl Into<WaitList<'a>>,
) -> Result<PendingMap<BufferMap<T, M>>> {
    let (range, len) = checked::<T, M>(buffer, range)?;
    let mapping = Mapping::non_blocking(
        queue,
        buffer.held(),
        buffer.in_tracker(&range),
        access::<M>(),
        &wait_for.into(),
        |arguments, pointer| ask::<M>(buffer, &range, arguments, pointer),
    )?;
    SliceMap::pending(mapping, len)
}

/// The bytes, and how many elements they are.
#[inline]
fn checked<T, M: MapMode>(
    buffer: &Buffer,
    range: impl RangeBounds<usize>,
) -> Result<(Range<usize>, usize)> {
    let range = buffer.bytes(Held::MAP, range)?;
    check_not_empty(Held::MAP, &range)?;
    let len = elements::<T>(Held::MAP, range.len())?;
    check_mode::<M>(Held::MAP, buffer.flags())?;
    Ok((range, len))
}

fn ask<M: MapMode>(
    buffer: &Buffer,
    range: &Range<usize>,
    (queue, blocking, count, events): MapArguments,
    pointer: &mut *mut c_void,
) -> std::result::Result<cl_event, i32> {
    let raw = buffer.as_raw();
    let (offset, size) = (range.start, range.len());
    // SAFETY: the handles are alive and of one context, the range is within the buffer, and the
    // result goes where a pointer fits.
    unsafe {
        cl::enqueue_map_buffer(queue, raw, blocking, M::FLAGS, offset, size, pointer, count, events)
    }
}
