//! Events and leaks of a pool, for pools that report them.

use std::backtrace::Backtrace;
use std::borrow::Cow;
use std::cmp::Reverse;
use std::collections::BTreeMap;
use std::fmt::{self, Write};
use std::mem;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::time::{Duration, Instant};

use parking_lot::Mutex;

use super::block::Block;
use super::memory::Memory;
use super::pooled::Pooled;
use super::shared::Shared;
use crate::error::{Class, Result};

/// An action of a pool, for [`PoolOptions::on_event`](super::PoolOptions::on_event). `Display`
/// prints a line of a trace.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct PoolEvent<'a> {
    /// The kind of action.
    pub kind: PoolEventKind,
    /// The requested bytes; all bytes of a block or slab that is freed.
    pub size: usize,
    /// The bin of `size`.
    pub bin: u32,
    /// The time that the action took; for a block that comes back, the time that it was active.
    pub time: Duration,
    /// The name of a block that comes back, from [`Pooled::named`].
    pub name: Option<&'a str>,
}

/// The kind of an action of a pool.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum PoolEventKind {
    /// The pool has handed out new memory from its allocator: a block, or the first part of a slab.
    Allocated,
    /// The pool has handed out a held block, or a part of a slab that it had.
    Reused,
    /// A block comes back.
    Returned,
    /// The memory of a block or slab has been freed.
    Freed,
    /// Memory has run out.
    OutOfMemory,
}

impl fmt::Display for PoolEvent<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { kind, size, bin, time, name } = self;
        write!(f, "{kind:?}: {size} bytes of bin {bin}, {} ns", time.as_nanos())?;
        name.map_or(Ok(()), |name| write!(f, ", {name:?}"))
    }
}

/// The hook that gets the events of a pool.
pub(super) type Hook = Arc<dyn Fn(&PoolEvent<'_>) + Send + Sync>;

/// The records of a pool that reports events or leaks.
pub(super) struct Insight {
    hook: Option<Hook>,
    reports_leaks: bool,
    active: Mutex<Active>,
}

/// The active blocks, by address.
#[derive(Default)]
struct Active {
    blocks: BTreeMap<usize, Record>,
    bytes: usize,
}

/// The record of an active block.
struct Record {
    size: usize,
    since: Instant,
    name: Option<Cow<'static, str>>,
    backtrace: Option<Backtrace>,
}

impl Insight {
    /// Returns the records of a pool that reports events or leaks.
    pub fn new(hook: Option<Hook>, reports_leaks: bool) -> Option<Self> {
        let active = Mutex::default();
        (hook.is_some() || reports_leaks).then_some(Self { hook, reports_leaks, active })
    }

    fn tell(&self, event: &PoolEvent<'_>) {
        if let Some(hook) = &self.hook
            && catch_unwind(AssertUnwindSafe(|| hook(event))).is_err()
        {
            log::error!("memory pool: the `on_event` hook panicked on {event}");
        }
    }

    /// Records a block that is handed out, and returns the active bytes.
    fn goes<M: Memory>(&self, block: &Block<M>) -> usize {
        let backtrace = self.reports_leaks.then(Backtrace::force_capture);
        let (size, since) = (block.memory.size(), Instant::now());
        let record = Record { size, since, name: None, backtrace };
        let mut active = self.active.lock();
        active.blocks.insert(key(block), record);
        active.bytes += size;
        active.bytes
    }

    fn name<M: Memory>(&self, block: &Block<M>, name: Cow<'static, str>) {
        if let Some(record) = self.active.lock().blocks.get_mut(&key(block)) {
            record.name = Some(name);
        }
    }

    /// Reports a block that comes back.
    pub fn comes_back<M: Memory>(&self, block: &Block<M>) {
        let mut active = self.active.lock();
        let Some(record) = active.blocks.remove(&key(block)) else { return };
        active.bytes -= record.size;
        drop(active);
        self.tell(&PoolEvent {
            kind: PoolEventKind::Returned,
            size: record.size,
            bin: block.pool().binning.bin(record.size),
            time: record.since.elapsed(),
            name: record.name.as_deref(),
        });
    }

    /// Reports that a block of the allocator's has been freed, which began at `since`.
    #[cold]
    pub fn freed(&self, size: usize, bin: u32, since: Instant) {
        let (kind, time) = (PoolEventKind::Freed, since.elapsed());
        self.tell(&PoolEvent { kind, size, bin, time, name: None });
    }

    /// Logs the active blocks of a pool whose last handle is dropped.
    pub fn report_leaks(&self) {
        if !self.reports_leaks {
            return;
        }
        let active = self.active.lock();
        let report = (!active.blocks.is_empty()).then(|| report(&active));
        drop(active);
        if let Some(report) = report {
            log::warn!("{report}");
        }
    }
}

/// The address of a block, which no other block has while this one is active.
fn key<M: Memory>(block: &Block<M>) -> usize {
    (&raw const *block).addr()
}

/// The largest first.
fn report(active: &Active) -> String {
    let mut leaks: Vec<_> = active.blocks.values().collect();
    leaks.sort_by_key(|leak| Reverse(leak.size));
    let (count, bytes) = (leaks.len(), active.bytes);
    let mut text =
        format!("memory pool: dropped while {count} blocks with {bytes} bytes are in use");
    for Record { size, name, backtrace, .. } in leaks {
        let name = name.as_ref().map_or("without a name".to_owned(), |name| format!("{name:?}"));
        // Writing to a `String` does not fail.
        _ = write!(text, "\n{size} bytes, {name}, allocated at");
        if let Some(backtrace) = backtrace {
            _ = write!(text, "\n{backtrace}");
        }
    }
    text
}

impl<M: Memory> Shared<M> {
    /// Reports the result of `allocate`, if the pool reports events or leaks.
    #[inline]
    pub fn watched(
        &self,
        size: usize,
        allocate: impl FnOnce() -> Result<Pooled<M>>,
    ) -> Result<Pooled<M>> {
        match &self.insight {
            None => allocate(),
            Some(insight) => self.watch(insight, size, allocate),
        }
    }

    #[cold]
    fn watch(
        &self,
        insight: &Insight,
        size: usize,
        allocate: impl FnOnce() -> Result<Pooled<M>>,
    ) -> Result<Pooled<M>> {
        let began = Instant::now();
        let result = allocate();
        let event = |kind| {
            let (bin, time) = (self.binning.bin(size), began.elapsed());
            insight.tell(&PoolEvent { kind, size, bin, time, name: None });
        };
        match result {
            Ok(mut block) => {
                self.raise_peak_active(insight.goes(block.block()));
                let is_new = mem::replace(&mut block.block_mut().is_new, false);
                event(if is_new { PoolEventKind::Allocated } else { PoolEventKind::Reused });
                Ok(block)
            }
            Err(error) => {
                if error.class() == Class::OutOfMemory {
                    event(PoolEventKind::OutOfMemory);
                }
                Err(error)
            }
        }
    }
}

impl<M: Memory> Pooled<M> {
    /// Names the block until it comes back. The name appears in the event of its return
    /// ([`PoolOptions::on_event`](super::PoolOptions::on_event)) and in the report of leaks
    /// ([`PoolOptions::report_leaks`](super::PoolOptions::report_leaks)). A pool that reports neither keeps
    /// no names.
    ///
    /// ```
    /// use clmatrix::memory::MemFlags;
    /// use clmatrix::pool::{DeferredAllocator, MemoryPool, PoolOptions};
    ///
    /// # fn main() -> clmatrix::Result<()> {
    /// # let context = clmatrix::create_some_context()?;
    /// let allocator = DeferredAllocator::new(&context, MemFlags::READ_WRITE)?;
    /// let pool = MemoryPool::with_options(allocator, PoolOptions::new().report_leaks())?;
    /// let weights = pool.allocate(1 << 20)?.named("weights");
    /// # drop(weights);
    /// # Ok(())
    /// # }
    /// ```
    #[must_use]
    pub fn named(self, name: impl Into<Cow<'static, str>>) -> Self {
        if let Some(insight) = &self.block().pool().insight {
            insight.name(self.block(), name.into());
        }
        self
    }
}
