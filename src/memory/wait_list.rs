//! The events that a command waits for.

use std::marker::PhantomData;
use std::ptr;

use cl3::error_codes::{
    CL_EXEC_STATUS_ERROR_FOR_EVENTS_IN_WAIT_LIST, CL_INVALID_CONTEXT, CL_INVALID_VALUE,
};
use cl3::event::CL_EVENT_CONTEXT;
use cl3::types::{cl_context, cl_event, cl_uint};
use opencl3::event::Event;
use smallvec::SmallVec;

use crate::error::{Error, Result, in_call};
use crate::handle::{EventRef, Outcome, outcome};

/// The events that a command waits for, made from whatever holds some: `[]`, `&event`,
/// `[&first, &second]`, `&events[..]`, `&vec`.
///
/// An event of another queue is waited for only once that queue is flushed, as in OpenCL; calls
/// that block flush it themselves. An event that has failed is refused with
/// CL_EXEC_STATUS_ERROR_FOR_EVENTS_IN_WAIT_LIST.
#[derive(Debug, Default)]
pub struct WaitList<'a> {
    events: SmallVec<[cl_event; 4]>,
    borrowed: PhantomData<&'a Event>,
}

impl<'a> FromIterator<&'a Event> for WaitList<'a> {
    fn from_iter<I: IntoIterator<Item = &'a Event>>(events: I) -> Self {
        let events = events.into_iter().map(Event::get).collect();
        Self { events, borrowed: PhantomData }
    }
}

impl<'a> From<&'a Event> for WaitList<'a> {
    fn from(event: &'a Event) -> Self {
        [event].into()
    }
}

impl<'a, const N: usize> From<[&'a Event; N]> for WaitList<'a> {
    #[inline]
    fn from(events: [&'a Event; N]) -> Self {
        if N == 0 { Self::default() } else { events.into_iter().collect() }
    }
}

impl<'a> From<&'a [Event]> for WaitList<'a> {
    fn from(events: &'a [Event]) -> Self {
        events.iter().collect()
    }
}

impl<'a> From<&'a Vec<Event>> for WaitList<'a> {
    fn from(events: &'a Vec<Event>) -> Self {
        events.iter().collect()
    }
}

impl WaitList<'_> {
    #[inline]
    pub(super) fn is_empty(&self) -> bool {
        self.events.is_empty()
    }

    /// The arguments of `call`, whose queue belongs to `context`.
    ///
    /// Refuses events of another context, which Oclgrind accepts, and events that have failed: on PoCL
    /// a command with such an event never completes.
    // quirk: OCLGRIND-9, POCL-4
    #[inline]
    pub(super) fn arguments(
        &self,
        call: &'static str,
        context: cl_context,
    ) -> Result<(cl_uint, *const cl_event)> {
        if self.events.is_empty() { Ok((0, ptr::null())) } else { self.checked(call, context) }
    }

    #[cold]
    fn checked(
        &self,
        call: &'static str,
        context: cl_context,
    ) -> Result<(cl_uint, *const cl_event)> {
        self.check_contexts(call, context)?;
        self.check_none_failed(call)?;
        let count = cl_uint::try_from(self.events.len()).map_err(|_| {
            Error::refused(call, CL_INVALID_VALUE, "the wait list has more than 2^32 events")
        })?;
        Ok((count, self.events.as_ptr()))
    }

    /// Refuses events of another context.
    pub(crate) fn check_contexts(&self, call: &'static str, context: cl_context) -> Result<()> {
        for (position, &event) in self.events.iter().enumerate() {
            let of: isize = cl3::event::get_event_info(event, CL_EVENT_CONTEXT)
                .map_err(in_call("clGetEventInfo"))?
                .into();
            if of as cl_context != context {
                let why = format!("event {position} of the wait list belongs to another context");
                return Err(Error::refused(call, CL_INVALID_CONTEXT, why));
            }
        }
        Ok(())
    }

    /// References to the events that do not depend on the caller's.
    #[inline]
    pub(super) fn retained(&self) -> Result<Vec<EventRef>> {
        if self.events.is_empty() { Ok(Vec::new()) } else { self.retain_all() }
    }

    #[cold]
    fn retain_all(&self) -> Result<Vec<EventRef>> {
        // SAFETY: the events are alive while they are borrowed.
        self.events.iter().map(|&event| unsafe { EventRef::retain(event) }).collect()
    }

    /// Waits for the events before a blocking `call`, which is then enqueued without a wait list. All
    /// known drivers report success for a blocking call if an event of its wait list fails.
    // quirk: DRIVER-1
    #[inline]
    pub(super) fn wait(&self, call: &'static str, context: cl_context) -> Result<()> {
        if self.events.is_empty() { Ok(()) } else { self.wait_for_all(call, context) }
    }

    #[cold]
    fn wait_for_all(&self, call: &'static str, context: cl_context) -> Result<()> {
        self.checked(call, context)?;
        let waited = cl3::event::wait_for_events(&self.events);
        self.check_none_failed(call)?;
        waited.map_err(in_call("clWaitForEvents"))
    }

    fn check_none_failed(&self, call: &'static str) -> Result<()> {
        match self.events.iter().position(|&event| outcome(event) == Some(Outcome::Failed)) {
            Some(position) => Err(Error::refused(
                call,
                CL_EXEC_STATUS_ERROR_FOR_EVENTS_IN_WAIT_LIST,
                format!("event {position} of the wait list failed"),
            )),
            None => Ok(()),
        }
    }
}
