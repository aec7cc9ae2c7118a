//! The number of references to a context.

use std::sync::Weak;

use crate::dropped_queues::DroppedQueues;

/// The references to a context, seen without a reference of its own: [`Context::watch`](crate::Context::watch).
///
/// A number above 0 after the last use of a context is a leak. It is right even where the driver counts no
/// references.
///
/// ```
/// use clmatrix::{CommandQueue, Context};
///
/// # fn main() -> clmatrix::Result<()> {
/// # let some = clmatrix::create_some_context()?;
/// let context = Context::new(some.devices())?;
/// let watch = context.watch();
/// let queue = CommandQueue::new(&context)?;
/// assert_eq!(watch.references(), 2);
/// drop(context);
/// assert_eq!(watch.references(), 1);
/// drop(queue);
/// assert_eq!(watch.references(), 0);
/// # Ok(())
/// # }
/// ```
#[derive(Clone, Debug)]
pub struct ContextWatch(pub(crate) Weak<DroppedQueues>);

impl ContextWatch {
    /// Returns the number of references that this library holds to the context through the watched handle: one for
    /// the handle and its clones, and one for each queue, user event, program, kernel, sampler, memory object,
    /// allocator and cache entry that was created with it. Objects of `from_raw` are not counted.
    pub fn references(&self) -> usize {
        self.0.strong_count()
    }
}
