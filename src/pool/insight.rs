//! What a pool tells of what it does, and of what has not come back to it: for those that ask.

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

/// Something that a pool has done, for [`PoolOptions::on_event`](super::PoolOptions::on_event). Its
/// `Display` is a line of a trace.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct PoolEvent<'a> {
    /// What.
    pub kind: PoolEventKind,
    /// The bytes that were asked for; of a block or a root that is freed, all that it had.
    pub size: usize,
    /// The bin of these.
    pub bin: u32,
    /// How long it took; of a block that comes back, how long it was away.
    pub time: Duration,
    /// What [`Pooled::named`] called it, where it comes back.
    pub name: Option<&'a str>,
}

/// What a pool has done.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum PoolEventKind {
    /// It has handed out memory that its allocator has just made: a block, or the first region of a root.
    Allocated,
    /// It has handed out a block that it held, or a region of a root that it had.
    Reused,
    /// A block comes back.
    Returned,
    /// The memory of a block or of a root has been given up.
    Freed,
    /// It has nothing to hand out.
    OutOfMemory,
}

impl fmt::Display for PoolEvent<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { kind, size, bin, time, name } = self;
        write!(f, "{kind:?}: {size} bytes of bin {bin}, {} ns", time.as_nanos())?;
        name.map_or(Ok(()), |name| write!(f, ", {name:?}"))
    }
}

/// Who is told of what a pool does.
pub(super) type Hook = Arc<dyn Fn(&PoolEvent<'_>) + Send + Sync>;

/// What a pool that tells keeps in mind.
pub(super) struct Insight {
    hook: Option<Hook>,
    reports_leaks: bool,
    active: Mutex<Active>,
}

/// The blocks that are away, by where they are in memory.
#[derive(Default)]
struct Active {
    blocks: BTreeMap<usize, Record>,
    bytes: usize,
}

/// What is known of a block that is away.
struct Record {
    size: usize,
    since: Instant,
    name: Option<Cow<'static, str>>,
    backtrace: Option<Backtrace>,
}

impl Insight {
    /// For a pool that is to tell something.
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

    /// Gives how many bytes are away now.
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

    /// A block that is about to be held again, or freed.
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

    /// The pool has gone: logs what is still away.
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

/// No other block of the pool is there while this one is away.
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
        // Nothing goes wrong where text is written to memory.
        _ = write!(text, "\n{size} bytes, {name}, allocated at");
        if let Some(backtrace) = backtrace {
            _ = write!(text, "\n{backtrace}");
        }
    }
    text
}

impl<M: Memory> Shared<M> {
    /// Hands out what `allocate` gives.
    #[inline]
    pub fn watched(
        &self,
        size: usize,
        allocate: impl FnOnce() -> Result<Box<Block<M>>>,
    ) -> Result<Pooled<M>> {
        match &self.insight {
            None => allocate().map(Pooled::new),
            Some(insight) => self.watch(insight, size, allocate),
        }
    }

    #[cold]
    fn watch(
        &self,
        insight: &Insight,
        size: usize,
        allocate: impl FnOnce() -> Result<Box<Block<M>>>,
    ) -> Result<Pooled<M>> {
        let began = Instant::now();
        let result = allocate();
        let event = |kind| {
            let (bin, time) = (self.binning.bin(size), began.elapsed());
            insight.tell(&PoolEvent { kind, size, bin, time, name: None });
        };
        match result {
            Ok(mut block) => {
                self.raise_peak_active(insight.goes(&block));
                let is_new = mem::replace(&mut block.is_new, false);
                // From here on, it goes back where something unwinds.
                let pooled = Pooled::new(block);
                event(if is_new { PoolEventKind::Allocated } else { PoolEventKind::Reused });
                Ok(pooled)
            }
            Err(error) => {
                if error.class() == Class::OutOfMemory {
                    event(PoolEventKind::OutOfMemory);
                }
                Err(error)
            }
        }
    }

    /// The memory of a block or of a root has been given up since then.
    #[cold]
    pub fn was_freed(&self, size: usize, began: Instant) {
        if let Some(insight) = &self.insight {
            let (kind, bin, time) = (PoolEventKind::Freed, self.binning.bin(size), began.elapsed());
            insight.tell(&PoolEvent { kind, size, bin, time, name: None });
        }
    }
}

impl<M: Memory> Pooled<M> {
    /// Gives it a name, which the pool tells with what it tells of this memory until that comes back:
    /// in the event of that ([`PoolOptions::on_event`](super::PoolOptions::on_event)), and where it is
    /// reported as a leak ([`PoolOptions::report_leaks`](super::PoolOptions::report_leaks)). A pool that
    /// does neither keeps no names.
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
