//! What a pool is to be like.

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use cl3::error_codes::CL_INVALID_VALUE;

use super::bin::Binning;
use crate::error::{Error, Result};

/// What a pool is to be like. The default is PyOpenCL's pool, ordered across queues.
///
/// ```
/// use clmatrix::memory::MemFlags;
/// use clmatrix::pool::{DeferredAllocator, MemoryPool, PoolOptions};
///
/// # fn main() -> clmatrix::Result<()> {
/// # let context = clmatrix::create_some_context()?;
/// let allocator = DeferredAllocator::new(&context, MemFlags::READ_WRITE)?;
/// let options = PoolOptions::new().reuse_larger(25).limit(1 << 30);
/// let pool = MemoryPool::with_options(allocator, options)?;
/// # drop(pool.allocate(1000)?);
/// # Ok(())
/// # }
/// ```
#[derive(Clone)]
#[must_use]
pub struct PoolOptions {
    leading_bits: u32,
    pub(super) larger_percent: u32,
    pub(super) limit: usize,
    pub(super) idle_age: Option<Duration>,
    pub(super) is_ordered: bool,
    pub(super) reclaim: Option<Arc<dyn Fn() + Send + Sync>>,
}

impl Default for PoolOptions {
    fn default() -> Self {
        Self {
            leading_bits: 4,
            larger_percent: 0,
            limit: usize::MAX,
            idle_age: None,
            is_ordered: true,
            reclaim: None,
        }
    }
}

impl PoolOptions {
    /// The defaults.
    pub fn new() -> Self {
        Self::default()
    }

    /// How many bits below the highest tell the bins apart (PyOpenCL's `leading_bits_in_bin_id`): 4 by
    /// default, 26 at most. A block is at most 1 / 2^`bits` larger than what it was made for.
    pub fn leading_bits(mut self, bits: u32) -> Self {
        self.leading_bits = bits;
        self
    }

    /// A held block will also do if it is up to so many percent larger than a new one would be: 0 by
    /// default, as in PyOpenCL. 25 is recommended: it bounds what is held at little waste in each block.
    pub fn reuse_larger(mut self, percent: u32) -> Self {
        self.larger_percent = percent;
        self
    }

    /// The pool never has more than so many bytes from its allocator: beyond that, memory has run out.
    pub fn limit(mut self, bytes: usize) -> Self {
        self.limit = bytes;
        self
    }

    /// Blocks that have been held for so long are freed when the pool asks its allocator for memory, and
    /// by [`trim_idle`](super::Pool::trim_idle). Without it, the pool does not look at the clock.
    pub fn idle_age(mut self, age: Duration) -> Self {
        self.idle_age = Some(age);
        self
    }

    /// What is called when memory has run out, before the pool frees what it holds: it may drop blocks. It
    /// stands where PyOpenCL runs the garbage collector. No lock is held, and it may use the pool; it is
    /// not called for memory that runs out while it runs. What it owns lives as long as the pool, so it
    /// must not own the pool.
    pub fn on_out_of_memory(mut self, reclaim: impl Fn() + Send + Sync + 'static) -> Self {
        self.reclaim = Some(Arc::new(reclaim));
        self
    }

    /// Hands blocks on without a look at what still uses them, as PyOpenCL does.
    ///
    /// # Safety
    /// What uses a block ends before what uses it next begins, or is on the same in-order queue.
    pub unsafe fn unordered(mut self) -> Self {
        self.is_ordered = false;
        self
    }

    pub(super) fn binning(&self) -> Result<Binning> {
        Binning::new(self.leading_bits).ok_or_else(|| {
            let why = format!(
                "{} leading bits; bin numbers have room for {}",
                self.leading_bits,
                Binning::MOST_BITS
            );
            Error::refused("MemoryPool", CL_INVALID_VALUE, why)
        })
    }
}

impl fmt::Debug for PoolOptions {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("PoolOptions")
            .field("leading_bits", &self.leading_bits)
            .field("larger_percent", &self.larger_percent)
            .field("limit", &self.limit)
            .field("idle_age", &self.idle_age)
            .field("is_ordered", &self.is_ordered)
            .finish_non_exhaustive()
    }
}
