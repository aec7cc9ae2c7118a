//! Memory in the host's address space (OpenCL 3.0, 5.5.2; `pyopencl.enqueue_map_buffer`,
//! `pyopencl.MemoryMap`, `pyopencl.SVMMap`).
//!
//! All guards of maps have a [`Mapping`]. The kinds of memory have their maps in `buffer/map.rs`,
//! `image/map.rs` and `svm/map.rs`.

pub(crate) mod mode;
pub(crate) mod pending;
pub(crate) mod slice;

use std::ffi::c_void;
use std::mem;
use std::ops::Range;
use std::ptr::{self, NonNull};
use std::sync::Arc;

use cl3::error_codes::{CL_INVALID_CONTEXT, CL_INVALID_VALUE, CL_MAP_FAILURE};
use cl3::types::{CL_NON_BLOCKING, cl_bool, cl_command_queue, cl_context, cl_event, cl_uint};

use crate::error::{Error, Result};
use crate::event::{Event, Outcome};
use crate::memory::track::{Access, AccessTracker, Few};
use crate::queue::{Arguments, CommandQueue, NotSubmitted, QueueState};
use crate::wait_list::WaitList;

/// A handle to memory that can be mapped. It keeps the memory alive.
pub trait Mappable: Clone + Send + Sync {
    /// The driver's function for maps.
    const MAP: &'static str;
    /// The driver's function for unmaps.
    const UNMAP: &'static str;

    /// Returns the driver's handle of the memory's context.
    fn context_raw(&self) -> cl_context;

    /// Returns the tracker of the memory's commands and maps.
    fn tracker(&self) -> &Arc<AccessTracker>;

    /// Calls the driver for an unmap.
    ///
    /// # Safety
    /// The memory is mapped at `pointer`, which is not used any more; all handles are valid and of its
    /// context.
    unsafe fn submit_unmap(
        &self,
        pointer: *mut c_void,
        arguments: Arguments,
    ) -> std::result::Result<cl_event, i32>;
}

/// The arguments of a map: the queue, whether the call blocks, and the wait list.
pub(crate) type MapArguments = (cl_command_queue, cl_bool, cl_uint, *const cl_event);

/// Bytes of `memory` in the host's address space, from the map on. Unmapped when dropped; if it is
/// forgotten, the bytes stay mapped and closed for good, and the memory is never released.
#[derive(Debug)]
pub struct Mapping<K: Mappable> {
    pointer: NonNull<c_void>,
    /// The bytes, as the tracker counts them.
    range: Range<usize>,
    /// The id of the map in the tracker; `None` once unmapped.
    id: Option<u64>,
    /// The event of the map.
    event: Event,
    memory: K,
}

// SAFETY: the pointer is only handed out; the other fields are Send.
unsafe impl<K: Mappable> Send for Mapping<K> {}
// SAFETY: as above; the other fields are Sync.
unsafe impl<K: Mappable> Sync for Mapping<K> {}

impl<K: Mappable> Mapping<K> {
    /// Maps bytes of `memory`, counted as its tracker does, and returns when they can be used.
    ///
    /// `submit` calls the driver and stores the driver's pointer. The handles that it gets are valid
    /// and of the memory's context.
    pub(crate) fn blocking(
        queue: &CommandQueue,
        memory: &K,
        range: Range<usize>,
        access: Access,
        wait_for: &WaitList<'_>,
        mut submit: impl FnMut(MapArguments, &mut *mut c_void) -> std::result::Result<cl_event, i32>,
    ) -> Result<Self> {
        check_context::<K>(queue, memory)?;
        wait_for.wait(K::MAP, queue.context_raw())?;
        loop {
            let (mapping, predecessors) =
                Self::submit(queue, memory, &range, access, &WaitList::default(), &mut submit)?;
            if mapping.event.wait_until_ended()? == Outcome::Complete {
                return Ok(mapping);
            }
            // The bytes can be mapped although a command on them has failed.
            if !has_any_failed(&predecessors) {
                return Err(mapping.event.failure(K::MAP));
            }
        }
    }

    /// Maps bytes of `memory` some time after this has returned.
    pub(crate) fn non_blocking(
        queue: &CommandQueue,
        memory: &K,
        range: Range<usize>,
        access: Access,
        wait_for: &WaitList<'_>,
        submit: impl FnMut(MapArguments, &mut *mut c_void) -> std::result::Result<cl_event, i32>,
    ) -> Result<Self> {
        check_context::<K>(queue, memory)?;
        Self::submit(queue, memory, &range, access, wait_for, submit).map(|(mapping, _)| mapping)
    }

    /// Submits a map after `wait_for` and after the commands on its bytes, which it returns.
    fn submit(
        queue: &CommandQueue,
        memory: &K,
        range: &Range<usize>,
        access: Access,
        wait_for: &WaitList<'_>,
        mut submit: impl FnMut(MapArguments, &mut *mut c_void) -> std::result::Result<cl_event, i32>,
    ) -> Result<(Self, Few<Event>)> {
        let queue = queue.state();
        queue.check_usable(K::MAP)?;
        let tracker = memory.tracker();
        let (begun, pointer, submitted) = loop {
            let begun;
            let mut wait_list = wait_for.prepare(K::MAP, queue.context_raw())?;
            begun = tracker.begin_map(K::MAP, range, access)?;
            begun.predecessors.iter().for_each(|event| wait_list.push(event));
            let mut pointer = ptr::null_mut();
            let submitted = queue.submit(K::MAP, &wait_list, |(queue, count, events)| {
                submit((queue, CL_NON_BLOCKING, count, events), &mut pointer)
            });
            drop(wait_list);
            // A command on the bytes may have failed since it was listed.
            if matches!(submitted, Err(NotSubmitted::Rejected(_)))
                && has_any_failed(&begun.predecessors)
            {
                tracker.remove_map(begun.id);
                continue;
            }
            break (begun, pointer, submitted);
        };
        let event = match (submitted, NonNull::new(pointer)) {
            (Ok(event), Some(pointer)) => {
                tracker.mapped(begun.id, &event, pointer.as_ptr().addr());
                let (range, memory) = (range.clone(), memory.clone());
                let mapping = Self { pointer, range, id: Some(begun.id), event, memory };
                // The caller cannot know of them, so nothing else may ever flush them.
                for event in &begun.predecessors {
                    event.flush_queue(queue.raw())?;
                }
                return Ok((mapping, begun.predecessors));
            }
            (Err(NotSubmitted::Rejected(error)), _) => {
                tracker.remove_map(begun.id);
                return Err(error);
            }
            (Err(NotSubmitted::NoEvent(error)), _) => Err(error),
            (Ok(event), None) => Ok(event),
        };
        // The memory may be mapped at an unknown time or place: it must never be released.
        tracker.poison(begun.id);
        mem::forget(memory.clone());
        let null = "the driver returned a null pointer";
        Err(event.err().unwrap_or_else(|| Error::refused(K::MAP, CL_MAP_FAILURE, null)))
    }

    /// Returns the address of the bytes, aligned for `T`.
    #[inline]
    pub(crate) fn pointer<T>(&self) -> Result<NonNull<T>> {
        let pointer = self.pointer.cast::<T>();
        if pointer.is_aligned() { Ok(pointer) } else { Err(misaligned(K::MAP, pointer)) }
    }

    /// Returns the event of the map.
    #[inline]
    pub(crate) fn event(&self) -> &Event {
        &self.event
    }

    /// Waits until the bytes can be used.
    pub(crate) fn wait(&self) -> Result<()> {
        match self.event.wait_until_ended()? {
            Outcome::Complete => Ok(()),
            Outcome::Failed => Err(self.event.failure(K::MAP)),
        }
    }

    /// Unmaps the bytes on the queue that mapped them, or on `queue`. The caller has given up all uses
    /// of the pointer.
    #[inline]
    pub(crate) fn unmap(
        &mut self,
        queue: Option<&CommandQueue>,
        wait_for: &WaitList<'_>,
    ) -> Result<Event> {
        let Some(id) = self.id else {
            return Err(Error::refused(K::UNMAP, CL_INVALID_VALUE, "the bytes are not mapped"));
        };
        let queue = match queue {
            Some(queue) => {
                check_context::<K>(queue, &self.memory)?;
                Arc::clone(queue.state())
            }
            None => Arc::clone(self.queue()),
        };
        let tracker = self.memory.tracker();
        let (others, submitted) = loop {
            let others;
            // If the wait list is refused, the bytes are still mapped.
            let mut wait_list = wait_for.prepare(K::UNMAP, queue.context_raw())?;
            // The end of a map that has been waited for is known.
            let outcome = self.event.outcome();
            others = tracker.begin_unmap(id, &self.range, outcome == Some(Outcome::Failed));
            if outcome.is_none() {
                wait_list.push(&self.event);
            }
            others.iter().for_each(|event| wait_list.push(event));
            let submitted = queue.submit(K::UNMAP, &wait_list, |arguments| {
                // SAFETY: the handles are alive and of one context, and the bytes are mapped at this
                // pointer, which is not used any more.
                unsafe { self.memory.submit_unmap(self.pointer.as_ptr(), arguments) }
            });
            drop(wait_list);
            // This map or another one may have failed since it was listed.
            let is_known_now = outcome.is_none() && self.event.outcome() == Some(Outcome::Failed);
            if matches!(submitted, Err(NotSubmitted::Rejected(_)))
                && (is_known_now || has_any_failed(&others))
            {
                continue;
            }
            break (others, submitted);
        };
        self.id = None;
        match submitted {
            Ok(event) => {
                tracker.unmapped(id, &self.event, &event);
                // The caller may not know of them, so nothing else may ever flush them.
                self.event.flush_queue(queue.raw())?;
                others.iter().try_for_each(|other| other.flush_queue(queue.raw()))?;
                Ok(event)
            }
            Err(NotSubmitted::Rejected(error) | NotSubmitted::NoEvent(error)) => {
                tracker.poison(id);
                Err(error)
            }
        }
    }

    /// Returns the queue that mapped the bytes.
    fn queue(&self) -> &Arc<QueueState> {
        self.event.queue().expect("a map is a command of a queue")
    }
}

impl<K: Mappable> Drop for Mapping<K> {
    #[inline]
    fn drop(&mut self) {
        let Some(id) = self.id else { return };
        if self.event.outcome() == Some(Outcome::Failed)
            && !self.queue().driver().unmaps_failed_maps
        {
            return self.memory.tracker().remove_map(id);
        }
        if let Err(error) = self.unmap(None, &WaitList::default()) {
            log::error!("{error}");
        }
    }
}

fn has_any_failed(events: &[Event]) -> bool {
    events.iter().any(|event| event.outcome() == Some(Outcome::Failed))
}

/// Refuses a queue of another context than the memory.
#[inline]
fn check_context<K: Mappable>(queue: &CommandQueue, memory: &K) -> Result<()> {
    if queue.context_raw() == memory.context_raw() {
        return Ok(());
    }
    let reason = "the queue belongs to another context than the memory";
    Err(Error::refused(K::MAP, CL_INVALID_CONTEXT, reason))
}

#[cold]
fn misaligned<T>(call: &'static str, pointer: NonNull<T>) -> Error {
    let reason = format!(
        "the bytes are at {pointer:?}, elements must be at multiples of {} bytes",
        align_of::<T>()
    );
    Error::refused(call, CL_MAP_FAILURE, reason)
}
