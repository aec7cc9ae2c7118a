//! The options of a pool.

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use cl3::error_codes::CL_INVALID_VALUE;

use super::bin::Binning;
use super::trace::{Hook, PoolEvent};
use crate::error::{Error, Result};
use crate::memory::setters::setters;

/// The options of a pool. The default is PyOpenCL's pool, ordered across queues.
///
/// ```
/// use clmatrix::memory::MemFlags;
/// use clmatrix::pool::{DeferredAllocator, MemoryPool, PoolOptions};
///
/// # fn main() -> clmatrix::Result<()> {
/// # let context = clmatrix::create_some_context()?;
/// let allocator = DeferredAllocator::new(&context, MemFlags::READ_WRITE)?;
/// let options = PoolOptions::new().max_oversize_percent(25).limit(1 << 30);
/// let pool = MemoryPool::with_options(allocator, options)?;
/// # drop(pool.allocate(1000)?);
/// # Ok(())
/// # }
/// ```
#[derive(Clone)]
#[must_use]
pub struct PoolOptions {
    leading_bits: u32,
    pub(super) max_oversize_percent: u32,
    pub(super) limit: usize,
    pub(super) max_idle: Option<Duration>,
    pub(super) is_ordered: bool,
    pub(super) on_out_of_memory: Option<Arc<dyn Fn() + Send + Sync>>,
    pub(super) on_event: Option<Hook>,
    pub(super) reports_leaks: bool,
}

impl Default for PoolOptions {
    fn default() -> Self {
        Self {
            leading_bits: 4,
            max_oversize_percent: 0,
            limit: usize::MAX,
            max_idle: None,
            is_ordered: true,
            on_out_of_memory: None,
            on_event: None,
            reports_leaks: false,
        }
    }
}

impl PoolOptions {
    /// Returns the defaults.
    pub fn new() -> Self {
        Self::default()
    }

    setters! {
        /// Sets the number of bits below the highest that select the bin (PyOpenCL's `leading_bits_in_bin_id`): 4 by
        /// default, 26 at most. A block is at most 1 / 2^`bits` larger than the request that created it.
        leading_bits |bits: u32| bits;

        /// Also reuses held blocks up to `percent` % larger than a new block would be: 0 by default, as in
        /// PyOpenCL. 25 is recommended: it limits the held memory at little waste in each block.
        max_oversize_percent |percent: u32| percent;

        /// Limits the memory from the allocator to `bytes` bytes; a request beyond the limit is out of memory. A
        /// request counts as the largest of its bin (4096 bytes as 4351), unless the allocator is a slab or a pool. A
        /// queue waits for other queues before it gets a block beyond the limit. Freed memory does not count, even if
        /// clones, regions or maps still keep it.
        limit |bytes: usize| bytes;

        /// Frees blocks that have been held for `age` when the pool requests memory from its allocator, and in
        /// [`trim_idle`](super::Pool::trim_idle). Without it, the pool does not read the clock.
        max_idle |age: Duration| Some(age);

        /// Calls `reclaim` when memory has run out, before the pool frees held blocks: `reclaim` may drop
        /// blocks. PyOpenCL runs the garbage collector there. No lock is held, and `reclaim` may use the pool;
        /// it is not called again while it runs. The pool owns it, so it must not own the pool.
        on_out_of_memory |reclaim: impl Fn() + Send + Sync + 'static| Some(Arc::new(reclaim));

        /// Calls `hook` for each action of the pool, in the thread that caused it. Each call reads the clock.
        /// No lock is held. A panic of the hook is logged.
        ///
        /// If memory has run out, other threads without memory wait until the hook has returned from
        /// [`Freed`](super::PoolEventKind::Freed), so the hook must not wait for them.
        ///
        /// ```
        /// # use clmatrix::memory::MemFlags;
        /// # use clmatrix::pool::{DeferredAllocator, MemoryPool, PoolOptions};
        /// # fn main() -> clmatrix::Result<()> {
        /// # let context = clmatrix::create_some_context()?;
        /// # let allocator = DeferredAllocator::new(&context, MemFlags::READ_WRITE)?;
        /// let options = PoolOptions::new().on_event(|event| println!("{event}"));
        /// let pool = MemoryPool::with_options(allocator, options)?;
        /// drop(pool.allocate(1000)?);
        /// // Allocated: 1000 bytes of bin 159, 16180 ns
        /// // Returned: 1000 bytes of bin 159, 3141 ns
        /// # Ok(())
        /// # }
        /// ```
        on_event |hook: impl Fn(&PoolEvent<'_>) + Send + Sync + 'static| Some(Arc::new(hook));
    }

    /// Logs a warning if the last handle to the pool is dropped while blocks are in use, with the size, the
    /// name ([`Pooled::named`](super::Pooled::named)) and the backtrace of each allocation. Each allocation
    /// takes a backtrace, which costs microseconds.
    pub fn report_leaks(mut self) -> Self {
        self.reports_leaks = true;
        self
    }

    /// Reuses blocks without regard to the commands that still use them, as PyOpenCL does.
    ///
    /// # Safety
    /// The commands on a block end before its next user's commands begin, or are on the same in-order
    /// queue.
    pub unsafe fn unordered(mut self) -> Self {
        self.is_ordered = false;
        self
    }

    pub(super) fn binning(&self) -> Result<Binning> {
        Binning::new(self.leading_bits).ok_or_else(|| {
            let reason = format!(
                "{} leading bits; bin numbers have room for {}",
                self.leading_bits,
                Binning::MAX_BITS
            );
            Error::refused("MemoryPool", CL_INVALID_VALUE, reason)
        })
    }
}

impl fmt::Debug for PoolOptions {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("PoolOptions")
            .field("leading_bits", &self.leading_bits)
            .field("larger_percent", &self.max_oversize_percent)
            .field("limit", &self.limit)
            .field("max_idle", &self.max_idle)
            .field("is_ordered", &self.is_ordered)
            .finish_non_exhaustive()
    }
}
