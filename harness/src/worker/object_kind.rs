//! The objects that a driver counts as references to their context.

use std::any::Any;

use clmatrix::Context;
use clmatrix::cl3::event::{CL_COMPLETE, create_user_event, set_user_event_status};
use clmatrix::opencl3::Result;
use clmatrix::opencl3::command_queue::CommandQueue;
use clmatrix::opencl3::event::Event;
use clmatrix::opencl3::memory::{Buffer, CL_MEM_READ_WRITE};
use clmatrix::opencl3::program::Program;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// A kind of objects that belong to a context.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum ObjectKind {
    /// Command queues.
    Queue,
    /// Buffers.
    Buffer,
    /// User events.
    Event,
    /// Programs.
    Program,
}

/// A user event that is set before it is released. The release of a context hangs if one of its user events
/// was released before.
// quirk: NVIDIA-9
struct UnsetEvent(Event);

impl Drop for UnsetEvent {
    fn drop(&mut self) {
        // Without an effect on the count, which is taken before.
        let _ = set_user_event_status(self.0.get(), CL_COMPLETE);
    }
}

impl ObjectKind {
    const ALL: [Self; 4] = [Self::Queue, Self::Buffer, Self::Event, Self::Program];

    /// Returns the kinds that the driver counts in CL_CONTEXT_REFERENCE_COUNT. An object of each kind is
    /// created and released.
    pub(super) fn counted_in(context: &Context) -> Vec<Self> {
        Self::ALL.into_iter().filter(|kind| kind.is_counted_in(context) == Ok(true)).collect()
    }

    fn is_counted_in(self, context: &Context) -> Result<bool> {
        let before = context.reference_count()?;
        let _object = self.create_in(context)?;
        Ok(context.reference_count()? > before)
    }

    /// Creates an object by opencl3: the objects of `clmatrix` have references to their contexts.
    fn create_in(self, context: &Context) -> Result<Box<dyn Any>> {
        Ok(match self {
            #[allow(deprecated, reason = "the other function needs OpenCL 2.0")]
            Self::Queue => Box::new(CommandQueue::create_default(context, 0)?),
            Self::Buffer => {
                // SAFETY: no host memory is given.
                let buffer = unsafe {
                    Buffer::<u8>::create(context, CL_MEM_READ_WRITE, 64, std::ptr::null_mut())
                };
                Box::new(buffer?)
            }
            Self::Event => Box::new(UnsetEvent(Event::new(create_user_event(context.get())?))),
            Self::Program => Box::new(Program::create_from_source(context, "kernel void k() {}")?),
        })
    }
}
