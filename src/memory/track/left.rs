//! Maps that were dropped before they had run, on a driver that does not unmap them then.
// quirk: RUSTICL-3

use std::ffi::c_void;
use std::ops::Range;

use cl3::memory::{release_mem_object, retain_mem_object};
use cl3::types::cl_mem;

use crate::error::{Error, Result, in_call};
use crate::event::Event;
use crate::memory::mapping::submit_unmap;
use crate::queue::NotSubmitted;
use crate::wait_list::RawWaitList;

const UNMAP: &str = "clEnqueueUnmapMemObject";

/// A map whose guard is gone. Has a reference to the driver's memory object; shared virtual
/// memory has the tracker that this is in.
#[derive(Debug)]
pub(crate) struct LeftMap {
    /// The id of the map in the tracker.
    pub id: u64,
    /// The bytes, as the tracker counts them.
    pub range: Range<usize>,
    /// The event of the map, which keeps the queue and the context.
    pub event: Event,
    /// `None` for shared virtual memory.
    memory: Option<cl_mem>,
    pointer: *mut c_void,
}

// SAFETY: memory objects may be used from any thread (OpenCL 3.0, appendix A.2), and the pointer is only
// handed to the driver.
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
        if let Some(memory) = memory {
            // SAFETY: the caller vouches for the handle.
            unsafe { retain_mem_object(memory) }.map_err(in_call("clRetainMemObject"))?;
        }
        Ok(Self { id, range, event, memory, pointer })
    }

    /// Unmaps the bytes on the queue that mapped them. The map has ended.
    pub fn unmap(&self) -> Result<Event> {
        let queue = self.event.queue().expect("a map is a command of a queue");
        let submitted = queue.submit(UNMAP, &RawWaitList::default(), |arguments| {
            // SAFETY: the handles are alive and of one context, and the bytes are mapped at this pointer,
            // which is not used any more.
            unsafe { submit_unmap(self.memory, self.pointer, arguments) }
        });
        submitted.map_err(|error| match error {
            NotSubmitted::Rejected(error) | NotSubmitted::NoEvent(error) => error,
        })
    }
}

impl Drop for LeftMap {
    fn drop(&mut self) {
        let Some(memory) = self.memory else { return };
        // SAFETY: the reference is this struct's, and released once.
        if let Err(code) = unsafe { release_mem_object(memory) } {
            log::error!("{}", Error::from_call("clReleaseMemObject", code));
        }
    }
}
