//! The number of memory objects that the library holds.

use std::sync::atomic::{AtomicUsize, Ordering};

pub(super) static OBJECTS: AtomicUsize = AtomicUsize::new(0);

/// Counts an object, or its bytes, from its creation until it is released.
#[derive(Debug)]
pub(crate) struct Live(&'static AtomicUsize, usize);

impl Live {
    pub fn new(count: &'static AtomicUsize) -> Self {
        Self::of_size(count, 1)
    }

    pub fn of_size(count: &'static AtomicUsize, size: usize) -> Self {
        count.fetch_add(size, Ordering::Relaxed);
        Self(count, size)
    }
}

impl Drop for Live {
    fn drop(&mut self) {
        self.0.fetch_sub(self.1, Ordering::Relaxed);
    }
}

/// Returns the number of buffers, images, pipes and allocations of shared virtual memory in this process
/// that this library has created or adopted and not released yet. Memory that a pool holds counts.
///
/// A growing number is a leak. It is right even where the driver counts no references.
///
/// ```standalone_crate
/// use clmatrix::memory::{Buffer, MemFlags, live_objects};
///
/// # fn main() -> clmatrix::Result<()> {
/// # let context = clmatrix::create_some_context()?;
/// let before = live_objects();
/// let buffer = Buffer::new(&context, MemFlags::READ_WRITE, 64)?;
/// assert_eq!(live_objects(), before + 1);
/// drop(buffer);
/// assert_eq!(live_objects(), before);
/// # Ok(())
/// # }
/// ```
pub fn live_objects() -> usize {
    OBJECTS.load(Ordering::Relaxed)
}
