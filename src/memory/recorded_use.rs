//! Uses of memory by commands that other code enqueues.

use cl3::error_codes::CL_INVALID_CONTEXT;

use super::command::AccessedRange;
use crate::error::{Error, Result};
use crate::event::Event;
use crate::queue::CommandQueue;

/// A use of memory by commands that the library did not enqueue, such as those of cl3 and opencl3:
/// the argument of [`MemoryObject::record_use`](super::MemoryObject::record_use) and
/// [`SvmPointer::record_use`](super::SvmPointer::record_use).
#[derive(Clone, Copy, Debug)]
#[non_exhaustive]
pub enum RecordedUse<'a> {
    /// The command with this event.
    Event(&'a Event),
    /// All commands that have been enqueued on this queue. A marker stands for them, so the order
    /// of the queue must hold: none of the commands fails.
    Queue(&'a CommandQueue),
}

impl<'a> From<&'a Event> for RecordedUse<'a> {
    fn from(event: &'a Event) -> Self {
        Self::Event(event)
    }
}

impl<'a> From<&'a CommandQueue> for RecordedUse<'a> {
    fn from(queue: &'a CommandQueue) -> Self {
        Self::Queue(queue)
    }
}

impl RecordedUse<'_> {
    /// Records that the commands access these bytes.
    ///
    /// # Errors
    /// CL_INVALID_CONTEXT for an event or queue of another context, CL_INVALID_OPERATION where the
    /// bytes are mapped, and the driver's errors.
    pub(crate) fn record(self, bytes: &AccessedRange<'_>) -> Result<()> {
        const CALL: &str = "record_use";
        let context = match self {
            Self::Event(event) => event.context_raw(),
            Self::Queue(queue) => queue.context_raw(),
        };
        if context != bytes.context {
            let why = "the event or queue belongs to another context than the memory";
            return Err(Error::refused(CALL, CL_INVALID_CONTEXT, why));
        }
        let record = |event: &Event| bytes.tracker.record(CALL, event, &bytes.range);
        match self {
            Self::Event(event) => record(event),
            Self::Queue(queue) => record(&queue.enqueue_marker([])?),
        }
    }
}
