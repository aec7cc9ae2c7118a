//! Maps of buffers (OpenCL 3.0, 5.2.4; `pyopencl.enqueue_map_buffer`).

use std::borrow::Cow;
use std::ffi::c_void;
use std::ops::{Range, RangeBounds};
use std::ptr;
use std::sync::Arc;

use bytemuck::Pod;
use cl3::types::{CL_NON_BLOCKING, cl_mem};

use super::Buffer;
use super::handle::BufferRef;
use crate::create::create;
use crate::driver::Driver;
use crate::error::Result;
use crate::memory::mapping::{Mappable, Mapping, access, check_mode, map_methods};
use crate::memory::range::checked_elements;
use crate::memory::track::AccessTracker;
use crate::memory::{
    MapMode, MapRead, MapReadWrite, MapWrite, MapWriteInvalidate, Order, PendingMap, SliceMap,
};
use crate::queue::{Arguments, CommandQueue, Submitted};

impl Mappable for BufferRef {
    const MAP: &'static str = "clEnqueueMapBuffer";

    fn tracker(&self) -> &Arc<AccessTracker> {
        self.object().tracker()
    }

    fn mem_object(&self) -> Option<cl_mem> {
        Some(self.raw())
    }
}

/// Elements of a buffer as a slice on the host; `&mut` only if `M` writes
/// (`pyopencl.MemoryMap`).
///
/// Unmapped by [`unmap`](SliceMap::unmap), or by a drop, which logs errors. If it is forgotten, its
/// bytes stay mapped for good, and the buffer is never released.
///
/// ```compile_fail,E0596
/// # use clmatrix::memory::*;
/// fn read_only_is_read_only(mut map: BufferMap<f32, MapRead>) {
///     map[0] = 1.0;
/// }
/// ```
pub type BufferMap<T, M> = SliceMap<Mapping<BufferRef>, T, M>;

impl Buffer {
    map_methods! {
        "the buffer, elements of `T`,", pub, RangeBounds<usize>, BufferMap, enqueue
    }
}

/// Maps elements of a buffer.
///
/// # Safety
/// Without `is_blocking`, nothing reaches the elements before the event of the guard has completed.
unsafe fn enqueue<T: Pod, M: MapMode>(
    buffer: &Buffer,
    order: &Order<'_>,
    range: impl RangeBounds<usize>,
    is_blocking: bool,
) -> Result<BufferMap<T, M>> {
    let bytes = checked_elements::<T>(BufferRef::MAP, "buffer", buffer.size(), range)?;
    check_mode::<M>(BufferRef::MAP, buffer.flags())?;
    let (reference, place) = place(order.queue, buffer, &bytes);
    let (memory, accessed) = (reference.as_ref(), buffer.accessed(&bytes, access::<M>()));
    let submit = |arguments: Arguments, pointer: &mut *mut c_void| {
        // SAFETY: the handles are alive and of one context, and the bytes are within the buffer.
        unsafe { submit::<M>(memory.raw(), &place, arguments, pointer) }
    };
    let mapping = Mapping::new(order, memory, &accessed, is_blocking, submit)?;
    // SAFETY: as the caller promises.
    unsafe { SliceMap::mapped(mapping, bytes.len()) }
}

/// Returns the object that the driver maps, and the bytes there: those of the whole buffer in place of a
/// region's if the driver confuses regions.
// quirk: NVIDIA-11
#[inline]
fn place<'a>(
    queue: &CommandQueue,
    buffer: &'a Buffer,
    bytes: &Range<usize>,
) -> (Cow<'a, BufferRef>, Range<usize>) {
    let reference = buffer.reference();
    match reference.is_sub_buffer() && queue.state().driver.contains(Driver::CONFUSES_REGIONS) {
        true => (Cow::Owned(reference.to_whole()), buffer.in_whole(bytes)),
        false => (Cow::Borrowed(reference), bytes.clone()),
    }
}

/// Calls the driver for a map of `bytes` of a buffer, which does not block.
///
/// # Safety
/// All handles are valid and of one context, and the bytes are within the buffer.
pub(in crate::memory) unsafe fn submit<M: MapMode>(
    raw: cl_mem,
    bytes: &Range<usize>,
    (queue, count, events): Arguments,
    pointer: &mut *mut c_void,
) -> Submitted {
    let (blocking, offset, size) = (CL_NON_BLOCKING, bytes.start, bytes.len());
    let (flags, mut event) = (M::FLAGS, ptr::null_mut());
    // SAFETY: as the caller promises.
    *pointer = unsafe {
        create!(clEnqueueMapBuffer(
            queue, raw, blocking, flags, offset, size, count, events, &mut event
        ))
    }?;
    Ok(event)
}
