//! The number of memory objects that the library holds.

use std::sync::atomic::{AtomicUsize, Ordering};

static LIVE: AtomicUsize = AtomicUsize::new(0);

/// Counts a memory object from its creation until it is released.
#[derive(Debug)]
pub(crate) struct Live(());

impl Live {
    pub fn new() -> Self {
        LIVE.fetch_add(1, Ordering::Relaxed);
        Self(())
    }
}

impl Drop for Live {
    fn drop(&mut self) {
        LIVE.fetch_sub(1, Ordering::Relaxed);
    }
}

/// Returns the number of buffers, images, pipes and allocations of shared virtual memory in this process
/// that this library has created or adopted and not released yet. Memory that a pool holds counts.
///
/// A number that has grown tells of a leak, also where the driver counts no references.
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
    LIVE.load(Ordering::Relaxed)
}
