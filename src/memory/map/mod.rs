//! Buffers in the host's address space (OpenCL 3.0, 5.5.2; `pyopencl.enqueue_map_buffer`,
//! `pyopencl.MemoryMap`).

use std::fmt;
use std::marker::PhantomData;
use std::ops::{Deref, DerefMut, RangeBounds};
use std::ptr::{self, NonNull};
use std::slice;

use bytemuck::Pod;
use cl3::command_queue as cl;
use cl3::error_codes::{CL_INVALID_VALUE, CL_MAP_FAILURE};
use cl3::memory::{CL_MAP_READ, CL_MAP_WRITE, CL_MAP_WRITE_INVALIDATE_REGION};
use cl3::types::CL_BLOCKING;
use opencl3::command_queue::CommandQueue;
use opencl3::event::Event;

use super::buffer::Buffer;
use super::command::check_not_failed;
use super::object::check_host_access;
use super::range::check_not_empty;
use super::uses::{Access, MapUse};
use super::wait_list::WaitList;
use crate::error::{Error, Result, in_call};
use crate::handle::EventRef;

/// How bytes are mapped (`cl_map_flags`; `pyopencl.map_flags`): [`MapRead`], [`MapWrite`],
/// [`MapReadWrite`] or [`MapWriteInvalidate`].
pub trait MapMode: Copy + sealed::Mode {}

/// A mode in which the host may write what is mapped.
pub trait WritableMapMode: MapMode {}

mod sealed {
    /// What a mode means to the driver and to the buffer's flags.
    pub trait Mode {
        const FLAGS: u64;
        const HOST_READS: bool;
        const HOST_WRITES: bool;
    }
}

macro_rules! map_modes {
    ($($(#[$doc:meta])* $name:ident: $flags:expr, reads $reads:literal, writes $writes:literal;)*) => {
        $(
            $(#[$doc])*
            #[derive(Clone, Copy, Debug)]
            pub struct $name;

            impl MapMode for $name {}

            impl sealed::Mode for $name {
                const FLAGS: u64 = $flags;
                const HOST_READS: bool = $reads;
                const HOST_WRITES: bool = $writes;
            }
        )*
    };
}

map_modes! {
    /// The host reads (CL_MAP_READ).
    MapRead: CL_MAP_READ, reads true, writes false;
    /// The host writes, and finds what is on the device (CL_MAP_WRITE).
    MapWrite: CL_MAP_WRITE, reads false, writes true;
    /// The host reads and writes (CL_MAP_READ | CL_MAP_WRITE): PyOpenCL's default.
    MapReadWrite: CL_MAP_READ | CL_MAP_WRITE, reads true, writes true;
    /// The host writes all of it, and finds anything (CL_MAP_WRITE_INVALIDATE_REGION, OpenCL 1.2).
    MapWriteInvalidate: CL_MAP_WRITE_INVALIDATE_REGION, reads false, writes true;
}

impl WritableMapMode for MapWrite {}
impl WritableMapMode for MapReadWrite {}
impl WritableMapMode for MapWriteInvalidate {}

/// Bytes of a buffer as a slice of the host's; `&mut` only if `M` writes.
///
/// Unmapped by [`unmap`](Self::unmap), or when dropped; what goes wrong then is logged. If it is
/// forgotten, its bytes stay mapped for good, and the buffer is never released.
///
/// ```compile_fail,E0596
/// # use clmatrix::memory::*;
/// fn read_only_is_read_only(mut map: BufferMap<f32, MapRead>) {
///     map[0] = 1.0;
/// }
/// ```
pub struct BufferMap<T: Pod, M: MapMode> {
    pointer: NonNull<T>,
    /// In elements.
    len: usize,
    /// `None` once unmapped.
    map_use: Option<MapUse>,
    buffer: Buffer,
    mode: PhantomData<M>,
}

// SAFETY: it stands for its bytes like a `Box<[T]>`; the handles in it may go anywhere.
unsafe impl<T: Pod + Send, M: MapMode> Send for BufferMap<T, M> {}
// SAFETY: as above.
unsafe impl<T: Pod + Sync, M: MapMode> Sync for BufferMap<T, M> {}

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
/// failed; CL_MAP_FAILURE where the driver's pointer does not suit `T`, and what the driver answers.
pub fn enqueue_map_buffer<'a, T: Pod, M: MapMode>(
    queue: &CommandQueue,
    buffer: &Buffer,
    _mode: M,
    range: impl RangeBounds<usize>,
    wait_for: impl Into<WaitList<'a>>,
) -> Result<BufferMap<T, M>> {
    const CALL: &str = "clEnqueueMapBuffer";
    let range = buffer.bytes(CALL, range)?;
    check_not_empty(CALL, &range)?;
    let len = elements::<T>(CALL, range.len())?;
    if M::HOST_READS {
        check_host_access(CALL, buffer.flags(), Access::Read)?;
    }
    if M::HOST_WRITES {
        check_host_access(CALL, buffer.flags(), Access::Write)?;
    }
    let access = if M::HOST_WRITES { Access::Write } else { Access::Read };
    let context = buffer.context_raw();
    wait_for.into().wait(CALL, context)?;
    let whole = buffer.in_whole(&range);
    let map_use = MapUse::enter(
        CALL,
        queue,
        context,
        buffer.object().uses(),
        buffer.object().in_uses(&whole),
        access,
    )?;
    let mut pointer = ptr::null_mut();
    // SAFETY: all handles are alive and of one context, the range is within the buffer, and the
    // result goes where a pointer fits.
    let event = unsafe {
        cl::enqueue_map_buffer(
            queue.get(),
            buffer.as_raw(),
            CL_BLOCKING,
            M::FLAGS,
            range.start,
            range.len(),
            &mut pointer,
            0,
            ptr::null(),
        )
    }
    .map_err(in_call(CALL))?;
    // SAFETY: the driver has just made it, with one reference.
    let event = match unsafe { EventRef::from_driver(CALL, event) } {
        Ok(event) => event,
        Err(error) => {
            map_use.lost();
            return Err(error);
        }
    };
    let Some(pointer) = NonNull::new(pointer.cast::<T>()) else {
        return Err(Error::refused(CALL, CL_MAP_FAILURE, "the driver gave a null pointer"));
    };
    // From here on, leaving unmaps.
    let map = BufferMap {
        pointer,
        len,
        map_use: Some(map_use),
        buffer: buffer.clone(),
        mode: PhantomData,
    };
    check_not_failed(CALL, &event)?;
    if !pointer.is_aligned() {
        let why = format!(
            "the bytes are at {pointer:?}, elements must be at multiples of {} bytes",
            align_of::<T>()
        );
        return Err(Error::refused(CALL, CL_MAP_FAILURE, why));
    }
    Ok(map)
}

/// How many elements `size` bytes are.
fn elements<T>(call: &'static str, size: usize) -> Result<usize> {
    match size.checked_rem(size_of::<T>()) {
        Some(0) => Ok(size / size_of::<T>()),
        _ => {
            let why =
                format!("{size} bytes are no whole number of elements of {} bytes", size_of::<T>());
            Err(Error::refused(call, CL_INVALID_VALUE, why))
        }
    }
}

impl<T: Pod, M: MapMode> BufferMap<T, M> {
    /// Gives the bytes back to the device (`clEnqueueUnmapMemObject`; PyOpenCL's
    /// `MemoryMap.release`), on the queue that mapped them. The event says when they are there.
    ///
    /// # Errors
    /// CL_INVALID_CONTEXT for an event of another context, and
    /// CL_EXEC_STATUS_ERROR_FOR_EVENTS_IN_WAIT_LIST for one that has failed; the bytes are then
    /// given back without waiting. And what the driver answers; the bytes then stay closed for good,
    /// and so they do where an event fails later on.
    pub fn unmap<'a>(mut self, wait_for: impl Into<WaitList<'a>>) -> Result<Event> {
        Ok(self.enqueue_unmap(&wait_for.into())?.into_event())
    }

    fn enqueue_unmap(&mut self, wait_for: &WaitList<'_>) -> Result<EventRef> {
        const CALL: &str = "clEnqueueUnmapMemObject";
        let (count, events) = wait_for.arguments(CALL, self.buffer.context_raw())?;
        let after = wait_for.retained()?;
        let Some(map_use) = self.map_use.take() else {
            return Err(Error::refused(CALL, CL_INVALID_VALUE, "the bytes are not mapped"));
        };
        // SAFETY: the handles are alive and of one context, and the bytes are mapped at this
        // pointer; no borrow of them is left, and none can be made any more.
        let event = unsafe {
            cl::enqueue_unmap_mem_object(
                map_use.queue(),
                self.buffer.as_raw(),
                self.pointer.as_ptr().cast(),
                count,
                events,
            )
        };
        // SAFETY: the driver has just made it, with one reference.
        let event = event
            .map_err(in_call(CALL))
            .and_then(|event| unsafe { EventRef::from_driver(CALL, event) });
        match &event {
            Ok(event) => map_use.unmapped(event, after),
            Err(_) => map_use.lost(),
        }
        event
    }
}

impl<T: Pod, M: MapMode> Drop for BufferMap<T, M> {
    fn drop(&mut self) {
        if self.map_use.is_some()
            && let Err(error) = self.enqueue_unmap(&WaitList::default())
        {
            log::error!("{error}");
        }
    }
}

impl<T: Pod, M: MapMode> Deref for BufferMap<T, M> {
    type Target = [T];

    fn deref(&self) -> &[T] {
        // SAFETY: the driver keeps `len` elements mapped here until they are unmapped, which takes
        // `self`; the pointer is aligned; any bytes are a `T`; and `self.map_use` keeps commands and
        // maps that write away.
        unsafe { slice::from_raw_parts(self.pointer.as_ptr(), self.len) }
    }
}

impl<T: Pod, M: WritableMapMode> DerefMut for BufferMap<T, M> {
    fn deref_mut(&mut self) -> &mut [T] {
        // SAFETY: as for `deref`; for a mode that writes, `self.map_use` keeps away all commands and
        // all other maps.
        unsafe { slice::from_raw_parts_mut(self.pointer.as_ptr(), self.len) }
    }
}

impl<T: Pod + fmt::Debug, M: MapMode> fmt::Debug for BufferMap<T, M> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Debug::fmt(&**self, f)
    }
}
