//! Memory in the host's address space (OpenCL 3.0, 5.5.2; `pyopencl.enqueue_map_buffer`,
//! `pyopencl.MemoryMap`, `pyopencl.SVMMap`).
//!
//! All guards of maps have a [`Mapping`]. The kinds of memory have their maps in `buffer/map.rs`,
//! `image/map.rs` and `svm/map.rs`.

#[cfg(feature = "ndarray")]
mod array;
pub(crate) mod map;
pub(crate) mod mode;
pub(crate) mod pending;
pub(crate) mod slice;

pub(crate) use map::map_methods;
pub(crate) use mode::{access, check_mode};
pub(crate) use pending::map_guard;

use std::borrow::Cow;
use std::ffi::c_void;
use std::mem;
use std::ops::Range;
use std::ptr::{self, NonNull};
use std::sync::Arc;

use cl3::command_queue as cl;
use cl3::error_codes::{CL_INVALID_VALUE, CL_MAP_FAILURE};
use cl3::types::cl_mem;

use crate::driver::Driver;
use crate::error::{Error, Result};
use crate::event::{Event, Outcome};
use crate::memory::command::AccessedRange;
use crate::memory::track::{AccessTracker, Few, LeftMap};
use crate::order::Order;
use crate::queue::{Arguments, CommandQueue, NotSubmitted, Submitted, enqueue_marker};
use crate::queue_state::QueueState;
use crate::wait_list::{RawWaitList, WaitList};

/// A handle to memory that can be mapped. It keeps the memory alive.
pub trait Mappable: Clone + Send + Sync {
    /// The driver's function for maps.
    const MAP: &'static str;
    /// The driver's function for unmaps.
    const UNMAP: &'static str = "clEnqueueUnmapMemObject";

    /// Returns the tracker of the memory's commands and maps.
    fn tracker(&self) -> &Arc<AccessTracker>;

    /// Returns the driver's memory object that maps the bytes; `None` for shared virtual memory.
    fn mem_object(&self) -> Option<cl_mem>;
}

/// The length of a wait list that may be slow: PoCL walks all of it for each event.
const LONG: usize = 64;

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
    /// Maps bytes of `memory`, as its tracker counts them. Returns when they can be used, or before that if it
    /// does not block.
    ///
    /// `submit` calls the driver without blocking, and stores the driver's pointer. The handles that it gets
    /// are valid and of the memory's context.
    pub(crate) fn new(
        order: &Order<'_>,
        memory: &K,
        accessed: &AccessedRange<'_>,
        is_blocking: bool,
        mut submit: impl FnMut(Arguments, &mut *mut c_void) -> Submitted,
    ) -> Result<Self> {
        let Order { queue, wait_for } = order;
        queue.check_context(K::MAP, "memory", accessed.context)?;
        if !is_blocking {
            return Self::submit(queue, memory, accessed, Some(wait_for), submit)
                .map(|(mapping, _)| mapping);
        }
        wait_for.wait(K::MAP, queue.context_raw())?;
        loop {
            let (mapping, predecessors) = Self::submit(queue, memory, accessed, None, &mut submit)?;
            mapping.event.wait_until_ended()?;
            // The bytes can be mapped although a command on them has failed, unless it was an unmap.
            if !predecessors.iter().any(|event| event.outcome() == Some(Outcome::Failed)) {
                return mapping.event.wait_in(K::MAP).map(|()| mapping);
            }
            // An unmap fails with its map.
            accessed.tracker.ask(&accessed.range);
        }
    }

    /// Submits a map after `wait_for` and after the commands on its bytes, which it returns. Without
    /// `wait_for`, it may block.
    fn submit(
        queue: &CommandQueue,
        memory: &K,
        accessed: &AccessedRange<'_>,
        wait_for: Option<&WaitList<'_>>,
        mut submit: impl FnMut(Arguments, &mut *mut c_void) -> Submitted,
    ) -> Result<(Self, Few<Event>)> {
        let AccessedRange { tracker, range, access, context } = accessed;
        let prepared = wait_for.map(|list| list.prepare(K::MAP, *context));
        let mut wait_list = prepared.transpose()?.unwrap_or_default();
        let by_address = queue.state().driver.contains(Driver::FINDS_MAPS_BY_ADDRESS);
        let (id, predecessors) = tracker.begin_map(K::MAP, range, *access, by_address)?;
        let awaited = awaited(queue, &predecessors, wait_for.is_none());
        let awaited = awaited.inspect_err(|_| tracker.remove_map(id))?;
        awaited.iter().for_each(|event| wait_list.push(event));
        let mut pointer = ptr::null_mut();
        let submitted =
            queue.state().submit(K::MAP, &wait_list, |arguments| submit(arguments, &mut pointer));
        let event = match (submitted, NonNull::new(pointer)) {
            (Ok(event), Some(pointer)) => {
                let (range, memory) = (range.clone(), memory.clone());
                let mapping = Self { pointer, range, id: Some(id), event, memory };
                return Ok((mapping, predecessors));
            }
            (Err(NotSubmitted::Rejected(error)), _) => {
                tracker.remove_map(id);
                return Err(error);
            }
            (Err(NotSubmitted::NoEvent(error)), _) => Err(error),
            (Ok(event), None) => Ok(event),
        };
        // The memory may be mapped at an unknown time or place: it must never be released.
        tracker.poison(id);
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

    /// Unmaps the bytes on the queue that mapped them, or at `order`. The caller has given up all uses
    /// of the pointer.
    #[inline]
    pub(crate) fn unmap(&mut self, order: Option<&Order<'_>>) -> Result<Event> {
        let Some(id) = self.id else {
            return Err(Error::refused(K::UNMAP, CL_INVALID_VALUE, "the bytes are not mapped"));
        };
        let (context, own_queue) = (self.event.context_raw(), queue_of(&self.event));
        // If the queue or the wait list is refused, the bytes are still mapped.
        let (queue, mut wait_list) = match order {
            Some(Order { queue, wait_for }) => {
                queue.check_context(K::UNMAP, "memory", context)?;
                (queue.state(), wait_for.prepare(K::UNMAP, context)?)
            }
            None => (own_queue, RawWaitList::default()),
        };
        let tracker = self.memory.tracker();
        // A drop has just queried the end, and all other maps have been waited for.
        let has_run = self.event.known_outcome().is_some();
        if !has_run {
            wait_list.push(&self.event);
        }
        let submitted = queue.submit(K::UNMAP, &wait_list, |arguments| {
            // SAFETY: the handles are alive and of one context, and the bytes are mapped at this
            // pointer, which is not used any more.
            unsafe { submit_unmap(self.memory.mem_object(), self.pointer.as_ptr(), arguments) }
        });
        self.id = None;
        match submitted {
            Ok(event) => {
                tracker.unmapped(id, &self.event, &event);
                queue.end_without_handles();
                own_queue.end_without_handles();
                Ok(event)
            }
            // The drop leaves it to the tracker.
            // quirk: RUSTICL-3
            Err(NotSubmitted::Rejected(error)) if !has_run => {
                self.id = Some(id);
                Err(error)
            }
            Err(NotSubmitted::Rejected(error)) => {
                tracker.not_unmapped(id, &self.event, &error);
                Err(error)
            }
            Err(NotSubmitted::NoEvent(error)) => {
                tracker.poison(id);
                Err(error)
            }
        }
    }

    /// Leaves a map that has not run to the tracker, which unmaps it later.
    // quirk: RUSTICL-3
    #[cold]
    fn leave(&self, id: u64) -> Result<()> {
        let (range, event) = (self.range.clone(), self.event.clone());
        let (memory, pointer) = (self.memory.mem_object(), self.pointer.as_ptr());
        // SAFETY: the handle is alive, and the bytes are mapped at this pointer, which is not used any more.
        let map = unsafe { LeftMap::new(id, range, event, memory, pointer) }?;
        self.memory.tracker().leave(map);
        Ok(())
    }
}

impl<K: Mappable> Drop for Mapping<K> {
    #[inline]
    fn drop(&mut self) {
        let Some(id) = self.id else { return };
        if self.event.outcome() == Some(Outcome::Failed)
            && !queue_of(&self.event).driver.contains(Driver::UNMAPS_FAILED_MAPS)
        {
            return self.memory.tracker().remove_map(id);
        }
        let result = match (self.unmap(None), self.id) {
            (Err(_), Some(id)) => self.leave(id),
            (unmapped, _) => unmapped.map(drop),
        };
        if let Err(error) = result {
            log::error!("{error}");
        }
    }
}

/// Returns the events for the wait list of a map behind `events`. If the list is long, waits for the events and
/// returns none, or returns markers in their place if the map does not block.
fn awaited<'a>(
    queue: &CommandQueue,
    events: &'a [Event],
    blocks: bool,
) -> Result<Cow<'a, [Event]>> {
    if events.len() <= LONG {
        return Ok(Cow::Borrowed(events));
    }
    if blocks {
        events.iter().try_for_each(|event| event.wait_until_ended().map(drop))?;
        return Ok(Cow::Borrowed(&[]));
    }
    events.chunks(LONG).map(|some| enqueue_marker(queue.after(some))).collect()
}

/// Returns the queue that mapped bytes, by the event of the map.
#[inline]
pub(crate) fn queue_of(map: &Event) -> &Arc<QueueState> {
    map.queue_state().expect("a map is a command of a queue")
}

/// Calls the driver for an unmap.
///
/// # Safety
/// The memory object, or shared virtual memory without one, is mapped at `pointer`, which is not used any
/// more; all handles are valid and of its context.
#[inline]
pub(crate) unsafe fn submit_unmap(
    memory: Option<cl_mem>,
    pointer: *mut c_void,
    (queue, count, events): Arguments,
) -> Submitted {
    match memory {
        // SAFETY: as the caller promises.
        Some(raw) => unsafe { cl::enqueue_unmap_mem_object(queue, raw, pointer, count, events) },
        // SAFETY: as the caller promises.
        None => unsafe { cl::enqueue_svm_unmap(queue, pointer, count, events) },
    }
}

#[cold]
fn misaligned<T>(call: &'static str, pointer: NonNull<T>) -> Error {
    let reason = format!(
        "the bytes are at {pointer:?}, elements must be at multiples of {} bytes",
        align_of::<T>()
    );
    Error::refused(call, CL_MAP_FAILURE, reason)
}
