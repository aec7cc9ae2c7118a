//! Host memory in the hands of the driver.

use std::mem::ManuallyDrop;

/// Host memory that the driver may use: it is dropped only by who says that it does not any more, so
/// that it outlives whatever unwinds. On the heap, so that moving this moves no owner of it.
pub(crate) struct InUse<H>(ManuallyDrop<Box<H>>);

impl<H> InUse<H> {
    pub(crate) fn new(memory: H) -> Self {
        Self(ManuallyDrop::new(Box::new(memory)))
    }

    pub(crate) fn as_mut(&mut self) -> &mut H {
        &mut self.0
    }

    /// The driver does not use it, or not any more.
    pub(crate) fn end(self) -> Box<H> {
        ManuallyDrop::into_inner(self.0)
    }
}
