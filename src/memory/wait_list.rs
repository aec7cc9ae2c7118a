//! The events that a command waits for.

use std::marker::PhantomData;

use cl3::error_codes::{CL_INVALID_CONTEXT, CL_INVALID_VALUE};
use cl3::event::CL_EVENT_CONTEXT;
use cl3::types::{cl_context, cl_event, cl_uint};
use opencl3::event::Event;

use crate::error::{Error, Result, in_call};

/// The events that a command waits for, made from whatever holds some: `[]`, `&event`,
/// `[&first, &second]`, `&events[..]`, `&vec`.
///
/// An event of another queue is waited for only once that queue is flushed, as in OpenCL.
#[derive(Debug, Default)]
pub struct WaitList<'a> {
    events: Vec<cl_event>,
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
    fn from(events: [&'a Event; N]) -> Self {
        events.into_iter().collect()
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
    /// The arguments of `call`, whose queue belongs to `context`. Drivers differ in whether they
    /// notice a foreign event.
    pub(super) fn arguments(
        &self,
        call: &'static str,
        context: cl_context,
    ) -> Result<(cl_uint, *const cl_event)> {
        for (position, &event) in self.events.iter().enumerate() {
            let of: isize = cl3::event::get_event_info(event, CL_EVENT_CONTEXT)
                .map_err(in_call("clGetEventInfo"))?
                .into();
            if of as cl_context != context {
                let why = format!("event {position} of the wait list is of another context");
                return Err(Error::refused(call, CL_INVALID_CONTEXT, why));
            }
        }
        let count = cl_uint::try_from(self.events.len()).map_err(|_| {
            Error::refused(call, CL_INVALID_VALUE, "the wait list has more than 2^32 events")
        })?;
        let events = if count == 0 { std::ptr::null() } else { self.events.as_ptr() };
        Ok((count, events))
    }
}
