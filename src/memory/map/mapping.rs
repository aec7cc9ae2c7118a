//! Bytes that the driver has mapped, or is about to, until they are unmapped.

use std::ffi::c_void;
use std::mem;
use std::ops::Range;
use std::ptr::{self, NonNull};
use std::sync::Arc;

use cl3::error_codes::{CL_INVALID_VALUE, CL_MAP_FAILURE};
use cl3::types::{CL_BLOCKING, CL_NON_BLOCKING, cl_bool, cl_command_queue, cl_event, cl_uint};
use opencl3::command_queue::CommandQueue;
use opencl3::event::Event;

use crate::error::{Error, Result};
use crate::handle::{EventRef, Outcome};
use crate::memory::command::{Arguments, check_not_failed};
use crate::memory::context::MemContext;
use crate::memory::uses::{Access, MapUse, Marked, Moment, Uses};
use crate::memory::wait_list::WaitList;

/// Memory that can be mapped. It is alive as long as this is.
pub trait Mappable: Clone {
    /// The driver's functions that map it and unmap it.
    const MAP: &'static str;
    const UNMAP: &'static str;

    fn context(&self) -> &MemContext;

    fn uses(&self) -> &Arc<Uses>;

    /// Asks the driver to unmap it.
    ///
    /// # Safety
    /// It is mapped at `pointer`, which nobody uses any more; all handles are valid and of its
    /// context.
    unsafe fn ask_to_unmap(
        &self,
        pointer: *mut c_void,
        arguments: Arguments,
    ) -> std::result::Result<cl_event, i32>;
}

/// What the driver is asked with to map: the queue, whether it blocks, and the wait list.
pub(crate) type MapArguments = (cl_command_queue, cl_bool, cl_uint, *const cl_event);

/// What the driver has mapped, or is about to, and nobody unmaps yet: [`Mapping::of`] does.
#[must_use]
pub(crate) struct Mapped {
    pointer: NonNull<c_void>,
    map_use: MapUse,
    event: EventRef,
}

impl Mapped {
    /// Where it is mapped, aligned for `T`.
    #[inline]
    pub(crate) fn pointer<K: Mappable, T>(&self) -> Result<NonNull<T>> {
        aligned::<K, T>(self.pointer)
    }
}

/// Bytes of `memory` in the host's address space. Unmapped when dropped; if it is forgotten, they
/// stay mapped and closed for good, and the memory is never released.
#[derive(Debug)]
pub struct Mapping<K: Mappable> {
    pointer: NonNull<c_void>,
    /// `None` once unmapped.
    map_use: Option<MapUse>,
    /// Of the map.
    event: EventRef,
    memory: K,
}

// SAFETY: the pointer is only handed out, and queues may be used from any thread; the rest says for
// itself what it is.
unsafe impl<K: Mappable + Send> Send for Mapping<K> {}
// SAFETY: as above.
unsafe impl<K: Mappable + Sync> Sync for Mapping<K> {}

impl<K: Mappable> Mapping<K> {
    /// Maps bytes of `memory`, counted as its `uses` do, and returns when they can be used.
    ///
    /// `ask` asks the driver, and puts its pointer where it is told. It is given valid handles of
    /// the memory's context.
    #[inline(always)]
    pub(crate) fn blocking(
        queue: &CommandQueue,
        memory: &K,
        range: Range<usize>,
        access: Access,
        wait_for: &WaitList<'_>,
        ask: impl FnOnce(MapArguments, &mut *mut c_void) -> std::result::Result<cl_event, i32>,
    ) -> Result<Mapped> {
        let context = memory.context().raw();
        wait_for.wait(K::MAP, context)?;
        let (map_use, doubt) = memory.uses().enter_map(K::MAP, queue, context, &range, access)?;
        let arguments = (queue.get(), CL_BLOCKING, 0, ptr::null());
        let mapped = Self::ask(memory, map_use, arguments, None, ask)?;
        if doubt.is_there() { Self::make_sure(mapped, memory) } else { Ok(mapped) }
    }

    /// Makes sure that a map that blocked is there, and has overtaken nothing. By value, so that what
    /// most maps do not need costs them nothing.
    #[cold]
    fn make_sure(mapped: Mapped, memory: &K) -> Result<Mapped> {
        let overtaken = Self::overtaken(memory, mapped.map_use);
        match overtaken.and_then(|overtaken| check::<K>(&mapped.event, &overtaken)) {
            Ok(()) => Ok(mapped),
            Err(error) => Err(Self::give_back(mapped, memory, error)),
        }
    }

    /// What a map that has been asked for may have overtaken.
    #[cold]
    fn overtaken(memory: &K, map_use: MapUse) -> Result<Vec<EventRef>> {
        memory.uses().queue_of(K::MAP, map_use)?.overtaken()
    }

    /// Unmaps a map that is not returned to the caller, and returns `error`.
    #[cold]
    pub(crate) fn give_back(mapped: Mapped, memory: &K, error: Error) -> Error {
        let mut mapping = Self::of(mapped, memory.clone());
        mapping.leave_if_failed();
        drop(mapping);
        error
    }

    /// What keeps the bytes mapped.
    #[inline]
    pub(crate) fn of(mapped: Mapped, memory: K) -> Self {
        let Mapped { pointer, map_use, event } = mapped;
        Self { pointer, map_use: Some(map_use), event, memory }
    }

    /// Maps bytes of `memory` some time after this has returned. Gives what the map has to come after,
    /// and fails with, besides its own event.
    pub(crate) fn non_blocking(
        queue: &CommandQueue,
        memory: &K,
        range: Range<usize>,
        access: Access,
        wait_for: &WaitList<'_>,
        ask: impl FnOnce(MapArguments, &mut *mut c_void) -> std::result::Result<cl_event, i32>,
    ) -> Result<(Self, Vec<EventRef>)> {
        let context = memory.context().raw();
        wait_for.arguments(K::MAP, context)?;
        let mut after = wait_for.retained()?;
        let (map_use, before) =
            memory.uses().enter_map_after(K::MAP, queue, context, &range, access)?;
        after.extend(before);
        let events: WaitList<'_> = after.iter().map(EventRef::as_event).collect();
        let arguments = events.arguments(K::MAP, context);
        let (count, list) = arguments.inspect_err(|_| memory.uses().was_not_mapped(map_use))?;
        let arguments = (queue.get(), CL_NON_BLOCKING, count, list);
        let mapped = Self::ask(memory, map_use, arguments, Some(&events), ask)?;
        let mapping = Self::of(mapped, memory.clone());
        after.extend(Self::overtaken(memory, map_use)?);
        Ok((mapping, after))
    }

    /// Asks the driver for a map that has been entered. The wait list is that in `arguments`.
    #[inline(always)]
    fn ask(
        memory: &K,
        map_use: MapUse,
        arguments: MapArguments,
        wait_for: Option<&WaitList<'_>>,
        ask: impl FnOnce(MapArguments, &mut *mut c_void) -> std::result::Result<cl_event, i32>,
    ) -> Result<Mapped> {
        let mark = match wait_for {
            Some(wait_for) if !wait_for.is_empty() => {
                memory.uses().queue_of(K::MAP, map_use).and_then(|queue| queue.mark(wait_for))
            }
            _ => Ok(Marked::default()),
        };
        let mark = mark.inspect_err(|_| memory.uses().was_not_mapped(map_use))?;
        let mut pointer = ptr::null_mut();
        let event = match ask(arguments, &mut pointer) {
            Ok(event) => event,
            Err(code) => {
                mark.was_refused();
                memory.uses().was_not_mapped(map_use);
                return Err(Error::from_call(K::MAP, code));
            }
        };
        // SAFETY: the driver has just made it.
        unsafe { mark.was_issued(event) };
        // SAFETY: as above, with one reference.
        match (unsafe { EventRef::from_driver(K::MAP, event) }, NonNull::new(pointer)) {
            (Ok(event), Some(pointer)) => Ok(Mapped { pointer, map_use, event }),
            (event, _) => Err(Self::lost(memory, map_use, event)),
        }
    }

    /// It may be mapped, and nobody can tell since when, or where.
    #[cold]
    fn lost(memory: &K, map_use: MapUse, event: Result<EventRef>) -> Error {
        memory.uses().lose_map(map_use);
        mem::forget(memory.clone());
        let null = || Error::refused(K::MAP, CL_MAP_FAILURE, "the driver returned a null pointer");
        event.err().unwrap_or_else(null)
    }

    /// Where it is mapped, aligned for `T`.
    #[inline]
    pub(crate) fn pointer<T>(&self) -> Result<NonNull<T>> {
        aligned::<K, T>(self.pointer)
    }

    /// The event of the map.
    pub(crate) fn event(&self) -> &Event {
        self.event.as_event()
    }

    /// Returns when a map that does not block, and has to come `after` these, can be used.
    pub(crate) fn wait(&self, after: &[EventRef]) -> Result<()> {
        self.event.wait_until_ended()?;
        check::<K>(&self.event, after)
    }

    /// Unmaps it on the queue that mapped it, or on `queue`. The caller has given up what it made
    /// of the pointer.
    #[inline]
    pub(crate) fn unmap(
        &mut self,
        queue: Option<&CommandQueue>,
        wait_for: &WaitList<'_>,
    ) -> Result<EventRef> {
        match (queue, self.map_use.take()) {
            (None, Some(map_use)) if wait_for.is_empty() => {
                let arguments = (map_use.queue(), 0, ptr::null());
                let asked = Moment::now();
                let event = self.ask_to_unmap(arguments, map_use, Marked::default())?;
                self.memory.uses().was_unmapped(K::UNMAP, map_use, asked, &event);
                Ok(event)
            }
            (queue, map_use) => self.unmap_after(queue, map_use, wait_for),
        }
    }

    #[cold]
    fn unmap_after(
        &mut self,
        queue: Option<&CommandQueue>,
        map_use: Option<MapUse>,
        wait_for: &WaitList<'_>,
    ) -> Result<EventRef> {
        // If this fails, it is still mapped.
        self.map_use = map_use;
        let Some(map_use) = map_use else {
            return Err(Error::refused(K::UNMAP, CL_INVALID_VALUE, "the bytes are not mapped"));
        };
        let (context, uses) = (self.memory.context().raw(), self.memory.uses());
        let (count, events) = wait_for.arguments(K::UNMAP, context)?;
        let after = wait_for.retained()?;
        let queue = match queue {
            Some(queue) => uses.check_queue(K::UNMAP, queue, context)?,
            None => uses.queue_of(K::UNMAP, map_use)?,
        };
        let mark = if count == 0 { Marked::default() } else { queue.mark(wait_for)? };
        self.map_use = None;
        let event = self.ask_to_unmap((queue.get(), count, events), map_use, mark)?;
        self.memory.uses().was_unmapped_by(map_use, &event, after);
        Ok(event)
    }

    /// Asks the driver to unmap what has been mapped, and is not in use any more.
    #[inline(always)]
    fn ask_to_unmap(
        &self,
        arguments: Arguments,
        map_use: MapUse,
        mark: Marked,
    ) -> Result<EventRef> {
        // SAFETY: the handles are alive and of one context, and the bytes are mapped at this
        // pointer, which is not used any more.
        let asked = unsafe { self.memory.ask_to_unmap(self.pointer.as_ptr(), arguments) };
        let lost = |error| {
            self.memory.uses().lose_map(map_use);
            Err(error)
        };
        match asked {
            Ok(event) => {
                // SAFETY: the driver has just made it.
                unsafe { mark.was_issued(event) };
                // SAFETY: as above, with one reference.
                unsafe { EventRef::from_driver(K::UNMAP, event) }.or_else(lost)
            }
            Err(code) => {
                mark.was_refused();
                lost(Error::from_call(K::UNMAP, code))
            }
        }
    }

    /// Unmaps it, where nobody is there to be told of an error.
    #[cold]
    fn end(&mut self) {
        if let Err(error) = self.give_up() {
            if let Some(map_use) = self.map_use.take() {
                self.memory.uses().lose_map(map_use);
            }
            log::error!("{error}");
        }
    }

    /// Takes it for unmapped if it has failed and an unmap would do harm.
    #[cold]
    pub(crate) fn leave_if_failed(&mut self) {
        let Some(map_use) = self.map_use else { return };
        let uses = self.memory.uses();
        if self.event.outcome() == Some(Outcome::Failed)
            && uses.queue_of(K::MAP, map_use).is_ok_and(|queue| !queue.unmaps_what_failed())
        {
            uses.was_not_mapped(map_use);
            self.map_use = None;
        }
    }

    /// Unmaps what may not be mapped yet.
    fn give_up(&mut self) -> Result<EventRef> {
        let in_order = self.map_use.is_none_or(|map_use| self.memory.uses().ends_in_order(map_use));
        if in_order || self.event.outcome().is_some() {
            self.unmap(None, &WaitList::default())
        } else {
            let mapped = self.event.try_clone()?;
            self.unmap(None, &mapped.as_event().into())
        }
    }
}

impl<K: Mappable> Drop for Mapping<K> {
    #[inline]
    fn drop(&mut self) {
        if self.map_use.is_some() {
            self.end();
        }
    }
}

/// Returns whether a map that has ended has ended well, with all that it had to come after.
#[cold]
fn check<K: Mappable>(event: &EventRef, after: &[EventRef]) -> Result<()> {
    check_not_failed(K::MAP, event)?;
    after.iter().try_for_each(|event| {
        // If the map has overtaken it, it has not ended.
        event.wait_until_ended()?;
        // quirk: INTEL-1
        check_not_failed(K::MAP, event)
    })
}

#[inline]
fn aligned<K: Mappable, T>(pointer: NonNull<c_void>) -> Result<NonNull<T>> {
    let pointer = pointer.cast::<T>();
    if pointer.is_aligned() { Ok(pointer) } else { Err(misaligned(K::MAP, pointer)) }
}

#[cold]
fn misaligned<T>(call: &'static str, pointer: NonNull<T>) -> Error {
    let why = format!(
        "the bytes are at {pointer:?}, elements must be at multiples of {} bytes",
        align_of::<T>()
    );
    Error::refused(call, CL_MAP_FAILURE, why)
}
