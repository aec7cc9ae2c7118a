//! Maps that were dropped before they had run, on a driver that does not unmap them then.
// quirk: RUSTICL-3

use std::ffi::c_void;
use std::ops::Range;

use cl3::types::cl_mem;

use crate::error::Result;
use crate::event::Event;
use crate::handle::MemRef;
use crate::memory::mapping::{queue_of, submit_unmap};
use crate::wait_list::RawWaitList;

const UNMAP: &str = "clEnqueueUnmapMemObject";

/// A map whose guard is gone. It has a reference to the driver's memory object; shared virtual memory has the tracker
/// that holds this map.
#[derive(Debug)]
pub(crate) struct LeftMap {
    /// The id of the map in the tracker.
    pub id: u64,
    /// The bytes, as the tracker counts them.
    pub range: Range<usize>,
    /// `None` for shared virtual memory. Released before the event.
    memory: Option<MemRef>,
    /// The event of the map, which keeps the queue and the context.
    pub event: Event,
    pointer: *mut c_void,
}

// SAFETY: the pointer is only handed to the driver; the other fields are Send.
unsafe impl Send for LeftMap {}

impl LeftMap {
    /// # Safety
    /// `memory` is valid, and the command of `event` maps it at `pointer`, which nothing uses any more.
    ///
    /// # Errors
    /// The driver's errors.
    pub unsafe fn new(
        id: u64,
        range: Range<usize>,
        event: Event,
        memory: Option<cl_mem>,
        pointer: *mut c_void,
    ) -> Result<Self> {
        // SAFETY: the caller vouches for the handle.
        let memory = memory.map(|memory| unsafe { MemRef::retain(memory) }).transpose()?;
        Ok(Self { id, range, event, memory, pointer })
    }

    /// Unmaps the bytes on the queue that mapped them. The map has ended.
    pub fn unmap(&self) -> Result<Event> {
        let memory = self.memory.as_ref().map(MemRef::get);
        let submitted = queue_of(&self.event).submit(UNMAP, &RawWaitList::default(), |arguments| {
            // SAFETY: the handles are alive and of one context, and the bytes are mapped at this pointer,
            // which is not used any more.
            unsafe { submit_unmap(memory, self.pointer, arguments) }
        });
        Ok(submitted?)
    }
}
