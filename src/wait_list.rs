//! The events that a command waits for.

use std::marker::PhantomData;
use std::ptr::{self, NonNull};

use cl3::error_codes::{
    CL_EXEC_STATUS_ERROR_FOR_EVENTS_IN_WAIT_LIST, CL_INVALID_CONTEXT, CL_INVALID_VALUE,
};
use cl3::types::{cl_context, cl_event, cl_uint};
use smallvec::SmallVec;

use crate::error::{Error, Result};
use crate::event::{Event, Outcome, UserEvent};

/// The events that a command waits for: `[]`, `&event`, `[&first, &second]`, `&events[..]`, `&vec`,
/// `Some(&event)`, an iterator over references, `&user_event`, `&transfer`.
///
/// The queues of the events are flushed, as OpenCL requires (OpenCL 3.0, 5.15), except on Oclgrind, where
/// a flush blocks. An event that has failed is refused with
/// CL_EXEC_STATUS_ERROR_FOR_EVENTS_IN_WAIT_LIST.
#[derive(Clone, Debug, Default)]
pub struct WaitList<'a>(EventRefs<'a>);

/// References to events, for which a list may outlive its events and be shortened: the destructor of a `SmallVec` of
/// references counts as a use of them, and its lifetime is invariant.
#[derive(Clone, Debug, Default)]
struct EventRefs<'a> {
    events: SmallVec<[NonNull<Event>; 4]>,
    borrowed: PhantomData<&'a Event>,
}

// SAFETY: it holds references to events, which are Sync.
unsafe impl Send for EventRefs<'_> {}
// SAFETY: as above.
unsafe impl Sync for EventRefs<'_> {}

impl<'a> EventRefs<'a> {
    #[inline]
    fn push(&mut self, event: &'a Event) {
        self.events.push(NonNull::from(event));
    }

    #[inline]
    fn iter(&self) -> impl ExactSizeIterator<Item = &'a Event> {
        // SAFETY: each pointer comes from a reference that lives as long as `'a`.
        self.events.iter().map(|event| unsafe { event.as_ref() })
    }
}

impl<'a> FromIterator<&'a Event> for EventRefs<'a> {
    fn from_iter<I: IntoIterator<Item = &'a Event>>(events: I) -> Self {
        let events = events.into_iter().map(NonNull::from).collect();
        Self { events, borrowed: PhantomData }
    }
}

impl<'a, I: IntoIterator<Item = &'a Event>> From<I> for WaitList<'a> {
    #[inline]
    fn from(events: I) -> Self {
        Self(events.into_iter().collect())
    }
}

impl<'a> From<&'a Event> for WaitList<'a> {
    #[inline]
    fn from(event: &'a Event) -> Self {
        Some(event).into()
    }
}

impl<'a> From<&'a UserEvent> for WaitList<'a> {
    fn from(event: &'a UserEvent) -> Self {
        Self::from(&**event)
    }
}

/// A wait list for the driver: the events that have not completed.
#[derive(Debug, Default)]
pub(crate) struct RawWaitList<'a> {
    raw: SmallVec<[cl_event; 4]>,
    events: EventRefs<'a>,
}

impl<'a> RawWaitList<'a> {
    /// The number of events and the events.
    #[inline]
    pub fn arguments(&self) -> (cl_uint, *const cl_event) {
        let events = if self.raw.is_empty() { ptr::null() } else { self.raw.as_ptr() };
        (self.raw.len() as cl_uint, events)
    }

    #[inline]
    pub fn events(&self) -> impl ExactSizeIterator<Item = &'a Event> {
        self.events.iter()
    }

    pub fn push(&mut self, event: &'a Event) {
        self.raw.push(event.as_raw());
        self.events.push(event);
    }
}

impl<'a> WaitList<'a> {
    /// Returns the list for `call`, whose queue belongs to `context`, without the events that have
    /// completed.
    ///
    /// Refuses events of another context, which Oclgrind accepts, and events that have failed: on PoCL
    /// a command with such an event never completes.
    // quirk: OCLGRIND-9, POCL-4
    #[inline]
    pub(crate) fn prepare(
        &self,
        call: &'static str,
        context: cl_context,
    ) -> Result<RawWaitList<'a>> {
        if self.0.events.is_empty() {
            Ok(RawWaitList::default())
        } else {
            self.checked(call, context, false)
        }
    }

    /// Returns the list as [`prepare`](Self::prepare) does, with the events that have completed.
    pub(crate) fn prepare_all(
        &self,
        call: &'static str,
        context: cl_context,
    ) -> Result<RawWaitList<'a>> {
        self.checked(call, context, true)
    }

    #[cold]
    fn checked(
        &self,
        call: &'static str,
        context: cl_context,
        with_completed: bool,
    ) -> Result<RawWaitList<'a>> {
        if let Some(position) = self.0.iter().position(|event| event.context_raw() != context) {
            let reason = format!("event {position} of the wait list belongs to another context");
            return Err(Error::refused(call, CL_INVALID_CONTEXT, reason));
        }
        let mut list = RawWaitList::default();
        for (position, event) in self.0.iter().enumerate() {
            match event.outcome() {
                Some(Outcome::Failed) => return Err(failed(call, position)),
                Some(Outcome::Complete) if !with_completed => {}
                Some(Outcome::Complete) | None => list.push(event),
            }
        }
        let is_too_long = cl_uint::try_from(list.raw.len()).is_err();
        let reason = "the wait list has more than 2^32 events";
        Error::refuse_if(is_too_long, call, CL_INVALID_VALUE, || reason)?;
        Ok(list)
    }

    /// Waits for the events before a blocking `call`, which is then enqueued without a wait list. All
    /// known drivers report success for a blocking call if an event of its wait list fails.
    // quirk: DRIVER-1
    #[inline]
    pub(crate) fn wait(&self, call: &'static str, context: cl_context) -> Result<()> {
        if self.0.events.is_empty() { Ok(()) } else { self.wait_for_all(call, context) }
    }

    #[cold]
    fn wait_for_all(&self, call: &'static str, context: cl_context) -> Result<()> {
        let pending = self.checked(call, context, false)?;
        for event in pending.events() {
            if event.wait_until_ended()? == Outcome::Failed {
                let position = self.0.iter().position(|found| found == event).unwrap_or_default();
                return Err(failed(call, position));
            }
        }
        Ok(())
    }
}

#[cold]
fn failed(call: &'static str, position: usize) -> Error {
    let reason = format!("event {position} of the wait list failed");
    Error::refused(call, CL_EXEC_STATUS_ERROR_FOR_EVENTS_IN_WAIT_LIST, reason)
}
