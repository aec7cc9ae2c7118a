//! Events and leaks of a pool, for pools that report them.

use std::backtrace::Backtrace;
use std::borrow::Cow;
use std::cmp::Reverse;
use std::collections::BTreeMap;
use std::fmt::{self, Write};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::time::{Duration, Instant};

use parking_lot::Mutex;

use super::bin::Binning;

/// An action of a pool, for [`PoolOptions::on_event`](super::PoolOptions::on_event). `Display`
/// prints a line of a trace.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub struct PoolEvent<'a> {
    /// The kind of action.
    pub kind: PoolEventKind,
    /// The requested bytes; all bytes of a block or slab that is freed.
    pub size: usize,
    /// The bin of `size`.
    pub bin: u32,
    /// The time that the action took; for a returned block, the time that it was active.
    pub time: Duration,
    /// The name of a returned block, from [`Pooled::named`](super::Pooled::named).
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
    /// A block has been returned.
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

/// The hook for the events of a pool.
pub(super) type Hook = Arc<dyn Fn(&PoolEvent<'_>) + Send + Sync>;

/// The records of a pool that reports events or leaks.
pub(super) struct Trace {
    hook: Option<Hook>,
    reports_leaks: bool,
    active: Mutex<Active>,
}

/// The active blocks, by [`Block::key`](super::block::Block::key).
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

impl Trace {
    /// Returns the records of a pool that reports events or leaks.
    pub fn new(hook: Option<Hook>, reports_leaks: bool) -> Option<Self> {
        let active = Mutex::default();
        (hook.is_some() || reports_leaks).then_some(Self { hook, reports_leaks, active })
    }

    /// Calls the hook.
    pub fn emit(&self, event: &PoolEvent<'_>) {
        if let Some(hook) = &self.hook
            && catch_unwind(AssertUnwindSafe(|| hook(event))).is_err()
        {
            log::error!("memory pool: the `on_event` hook panicked on {event}");
        }
    }

    /// Records a block that is handed out, and returns the active bytes.
    pub fn record_activation(&self, key: usize, size: usize) -> usize {
        let backtrace = self.reports_leaks.then(Backtrace::force_capture);
        let record = Record { size, since: Instant::now(), name: None, backtrace };
        let mut active = self.active.lock();
        active.blocks.insert(key, record);
        active.bytes += size;
        active.bytes
    }

    /// Names an active block.
    pub fn name(&self, key: usize, name: Cow<'static, str>) {
        if let Some(record) = self.active.lock().blocks.get_mut(&key) {
            record.name = Some(name);
        }
    }

    /// Reports a returned block.
    pub fn report_return(&self, key: usize, binning: Binning) {
        let mut active = self.active.lock();
        let Some(record) = active.blocks.remove(&key) else { return };
        active.bytes -= record.size;
        drop(active);
        self.emit(&PoolEvent {
            kind: PoolEventKind::Returned,
            size: record.size,
            bin: binning.bin(record.size),
            time: record.since.elapsed(),
            name: record.name.as_deref(),
        });
    }

    /// Reports that a block of the allocator has been freed since `since`.
    #[cold]
    pub fn freed(&self, size: usize, bin: u32, since: Instant) {
        let (kind, time) = (PoolEventKind::Freed, since.elapsed());
        self.emit(&PoolEvent { kind, size, bin, time, name: None });
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

/// Lists the active blocks, the largest first.
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
