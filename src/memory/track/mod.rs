//! Tracks which commands and maps use which bytes of a memory object.
//!
//! # What is tracked
//! Each memory object has one [`AccessTracker`], shared by everything that uses the same bytes:
//! clones, regions, images of buffers, buffers in shared virtual memory. It records
//! - every command that the library enqueues on the object, with its range of bytes, its
//!   [`Access`] and its event;
//! - every map, from before the driver is called until the unmap has completed;
//! - every access of the host that needs no map.
//!
//! One rule follows from it: a map and an access of the host wait for exactly the commands on their bytes
//! where either writes, a free for all commands on them, each by its own event. None of these waits relies on the order of a queue, because
//! queues of some drivers lose their order when a command fails. A memory pool waits by the same
//! events, except on the in-order queue that used a block last: there, it reuses the block at once.
//! Commands do not wait for each other: their order is that of the queues and the wait lists, as in C.
//!
//! # The life of a command
//! ```text
//!             begin_command                submitted            reaped
//!  (nothing) ---------------> Submitting ------------> Submitted ------> (nothing)
//!                                 |  |                  its event tells when it has ended
//!                      rejected   |  |   no event
//!             (nothing) <---------'  '----------> Untracked   maps and frees are refused
//! ```
//! A command on bytes that are mapped is refused, unless both only read.
//!
//! # The life of a map
//! ```text
//!             begin_map               mapped           begin_unmap             unmapped
//!  (nothing) -----------> Submitting --------> Mapped -------------> Submitting --------> Unmapping
//!                             |                                          |                 |     |
//!                  rejected   |                                rejected  |         failed  |     | completed
//!             (nothing) <-----'                            Poisoned <----'  Poisoned <-----'     '--> (nothing)
//! ```
//! The bytes of a poisoned map stay closed: the driver may still have them mapped.
//!
//! # Locks
//! One mutex per object protects its [`Table`]. The driver is not called meanwhile, but for the
//! release of events. A flag beside it tells a pool, which has the only handle to the object then, that the table is
//! empty. A thread that needs the events of commands which other threads are submitting waits on a
//! condition variable until the driver has returned; such calls do not block.
//!
//! A command that has ended is removed when its end is noticed: when 16 commands have begun since the
//! last look at 32 others, and when a map, a free or a pool looks at the bytes.

mod table;

use std::ops::Range;
use std::ptr;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use cl3::error_codes::CL_INVALID_OPERATION;
use parking_lot::{Condvar, Mutex, MutexGuard};

use crate::error::{Error, Result};
use crate::event::{Event, Outcome};
use crate::queue::{CommandQueue, QueueState};
use table::Batch;
pub(crate) use table::Few;
use table::{Conflict, Predecessor, Table, TrackedEvent};

/// The kind of an access to bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Access {
    /// The bytes are read.
    Read,
    /// The bytes are written, and perhaps read.
    Write,
}

impl TrackedEvent for Event {
    #[inline]
    fn known_outcome(&self) -> Option<Outcome> {
        self.known_outcome()
    }
}

/// The bytes of an object, however many there are.
const ALL: Range<usize> = 0..usize::MAX;

/// The commands and maps of one memory object. Ranges are in bytes from its start.
#[derive(Debug, Default)]
pub struct AccessTracker {
    table: Mutex<Table<Event>>,
    /// Notified when a submission has ended, if a thread waits for one.
    submitted: Condvar,
    /// False only if the table is empty. Changes with the table locked.
    is_used: AtomicBool,
}

/// A map that is being submitted, with the commands that it has to come after.
#[derive(Debug)]
pub(crate) struct BegunMap {
    pub id: u64,
    pub predecessors: Few<Event>,
}

/// An access of the host to bytes that need no map. Ends when dropped.
#[derive(Debug)]
pub(crate) struct HostAccess {
    tracker: Arc<AccessTracker>,
    id: u64,
}

impl Drop for HostAccess {
    fn drop(&mut self) {
        self.tracker.remove_map(self.id);
    }
}

impl AccessTracker {
    /// Returns the tracker of an object that nothing uses yet.
    pub(crate) fn new() -> Arc<Self> {
        Arc::default()
    }

    #[inline]
    fn lock(&self) -> MutexGuard<'_, Table<Event>> {
        self.table.lock()
    }

    /// Changes the table, and wakes the threads that wait for the end of a submission.
    #[inline]
    fn change<T>(&self, change: impl FnOnce(&mut Table<Event>) -> T) -> T {
        let mut table = self.lock();
        let result = change(&mut table);
        let is_awaited = table.waiting > 0;
        self.is_used.store(!table.is_empty(), Ordering::Release);
        drop(table);
        // A system call.
        if is_awaited {
            self.submitted.notify_all();
        }
        result
    }

    /// Waits while `is_submitting`.
    fn wait_while(
        &self,
        table: &mut MutexGuard<'_, Table<Event>>,
        is_submitting: impl Fn(&Table<Event>) -> bool,
    ) {
        while is_submitting(table) {
            table.waiting += 1;
            self.submitted.wait(table);
            table.waiting -= 1;
        }
    }

    /// Adds a command that is about to be submitted, and returns its id. The caller passes the id to
    /// [`submitted`](Self::submitted), [`rejected`](Self::rejected) or
    /// [`untracked`](Self::untracked).
    ///
    /// # Errors
    /// CL_INVALID_OPERATION where the bytes are mapped.
    #[inline]
    pub(crate) fn begin_command(
        &self,
        call: &'static str,
        range: &Range<usize>,
        access: Access,
    ) -> Result<u64> {
        let begun = self.begin_now(range, access, false);
        match begun {
            Ok(id) => Ok(id),
            Err(conflict) => self
                .begin_after(call, range, conflict, |asked| self.begin_now(range, access, asked)),
        }
    }

    #[inline]
    fn begin_now(
        &self,
        range: &Range<usize>,
        access: Access,
        asked: bool,
    ) -> std::result::Result<u64, Conflict<Event>> {
        let mut table = self.lock();
        let begun = table.begin_command(range, access, asked);
        self.is_used.store(!table.is_empty(), Ordering::Release);
        begun
    }

    /// Calls `begin` after the driver was asked about the events of `conflict`, until it has no more to
    /// ask about.
    #[cold]
    fn begin_after(
        &self,
        call: &'static str,
        range: &Range<usize>,
        mut conflict: Conflict<Event>,
        begin: impl Fn(bool) -> std::result::Result<u64, Conflict<Event>>,
    ) -> Result<u64> {
        while let Conflict::Ask(events) = &conflict {
            for event in events {
                event.outcome();
            }
            let asked = events.iter().all(|event| event.known_outcome().is_none());
            match begin(asked) {
                Ok(id) => return Ok(id),
                Err(next) => conflict = next,
            }
        }
        Err(in_use(call, range, &conflict))
    }

    /// Records the event of a command.
    #[inline]
    pub(crate) fn submitted(&self, id: u64, event: &Event) {
        if self.change(|table| table.submitted(id, event)) {
            self.reap();
        }
    }

    /// Removes a command that the driver did not take.
    #[cold]
    pub(crate) fn rejected(&self, id: u64) {
        self.change(|table| table.remove_command(id));
    }

    /// Records that the end of a command is unknown: the driver returned no event.
    #[cold]
    pub(crate) fn untracked(&self, id: u64) {
        self.change(|table| table.untracked(id));
    }

    /// Removes commands and maps that have ended, among those that the look is at.
    #[cold]
    pub(crate) fn reap(&self) {
        // Drops the last references to most events without the lock.
        let events = self.lock().events();
        ask_in_order(&events);
        self.change(Table::reap);
    }

    /// Removes the commands and maps that have ended, and returns the events of the others.
    fn reap_all(&self) -> Batch<Event> {
        let events = self.lock().events_on(&ALL);
        ask_in_order(&events);
        self.change(Table::reap_all);
        self.lock().events_on(&ALL)
    }

    /// Removes each command when it has ended, although nothing may ever look at the bytes again.
    #[cold]
    pub(crate) fn reap_when_ended(self: &Arc<Self>) {
        for event in self.reap_all() {
            let tracker = Arc::downgrade(self);
            let reap = move |_| {
                if let Some(tracker) = tracker.upgrade() {
                    tracker.reap_all();
                }
            };
            if let Err(error) = event.on_complete(reap) {
                log::warn!("{error}: memory may be freed late");
            }
        }
    }

    /// Records a command that other code has enqueued on these bytes.
    ///
    /// # Errors
    /// CL_INVALID_OPERATION where the bytes are mapped.
    pub(crate) fn record(
        &self,
        call: &'static str,
        event: &Event,
        range: &Range<usize>,
    ) -> Result<()> {
        let id = self.begin_command(call, range, Access::Write)?;
        self.submitted(id, event);
        Ok(())
    }

    /// Begins a map, and returns the commands that it has to come after, without those that others of
    /// them wait for. The caller passes the id to [`mapped`](Self::mapped),
    /// [`remove_map`](Self::remove_map) or [`poison`](Self::poison).
    ///
    /// # Errors
    /// CL_INVALID_OPERATION where the bytes are mapped and one of the maps writes, and where a command
    /// without an event uses them.
    pub(crate) fn begin_map(
        &self,
        call: &'static str,
        range: &Range<usize>,
        access: Access,
    ) -> Result<BegunMap> {
        let id = self.begin(call, range, access)?;
        let find = |table: &mut Table<_>| table.last_predecessors(id, range, access);
        let predecessors =
            self.predecessors(call, range, access, find).inspect_err(|_| self.remove_map(id))?;
        Ok(BegunMap { id, predecessors })
    }

    /// Adds a map that is about to be submitted.
    fn begin(&self, call: &'static str, range: &Range<usize>, access: Access) -> Result<u64> {
        let begin = |asked| {
            let mut table = self.lock();
            // Waits also for unmaps of maps that do not conflict: PoCL finds maps by their address.
            // quirk: POCL-13
            self.wait_while(&mut table, |table| table.is_submitting_map(range));
            let begun = table.begin_map(range, access, asked);
            self.is_used.store(!table.is_empty(), Ordering::Release);
            begun
        };
        begin(false).or_else(|conflict| self.begin_after(call, range, conflict, begin))
    }

    /// Returns the commands before an access to these bytes that `find` finds, without those that have
    /// ended.
    fn predecessors(
        &self,
        call: &'static str,
        range: &Range<usize>,
        access: Access,
        find: impl Fn(
            &mut Table<Event>,
        ) -> std::result::Result<Few<Predecessor<Event>>, Conflict<Event>>,
    ) -> Result<Few<Event>> {
        loop {
            let mut table = self.lock();
            self.wait_while(&mut table, |table| table.is_submitting(range, access));
            let found = find(&mut table).map_err(|conflict| in_use(call, range, &conflict))?;
            drop(table);
            let mut pending = Few::new();
            let mut has_failed = false;
            for Predecessor { event, unmaps } in found {
                match event.outcome() {
                    None => pending.push(event),
                    Some(Outcome::Complete) => {}
                    Some(Outcome::Failed) => {
                        has_failed = true;
                        if let Some((map, mapped)) = unmaps
                            && self.is_poisoned(map, &mapped)?
                        {
                            return Err(in_use(call, range, &poisoned(range)));
                        }
                    }
                }
            }
            // The commands before one that has failed may be left out although they have not ended.
            if !has_failed {
                return Ok(pending);
            }
        }
    }

    /// Returns whether the failed unmap of the map `id` leaves bytes mapped.
    fn is_poisoned(&self, id: u64, mapped: &Event) -> Result<bool> {
        if mapped.outcome().is_none() {
            // Nothing else may ever flush it.
            mapped.flush_queue(ptr::null_mut())?;
        }
        Ok(self.lock().is_poisoned(id))
    }

    /// Records that the driver maps the bytes from `address` on, with this event.
    pub(crate) fn mapped(&self, id: u64, event: &Event, address: usize) {
        self.change(|table| table.mapped(id, event, address));
    }

    /// Removes a map that the driver did not take or that has failed.
    pub(crate) fn remove_map(&self, id: u64) {
        self.change(|table| table.remove_map(id));
    }

    /// Closes the bytes of a map for good: the driver may have them mapped.
    #[cold]
    pub(crate) fn poison(&self, id: u64) {
        self.change(|table| table.poison(id));
    }

    /// Begins the unmap of a map of these bytes, and returns the events that it has to come after:
    /// those of other maps that begin at the same address. PoCL finds the record of a map by the
    /// address alone, and may remove that of a map that has not run.
    // quirk: POCL-13
    pub(crate) fn begin_unmap(
        &self,
        id: u64,
        range: &Range<usize>,
        has_failed: bool,
    ) -> Few<Event> {
        let mut table = self.lock();
        self.wait_while(&mut table, |table| table.is_submitting_map(range));
        table.begin_unmap(id, has_failed)
    }

    /// Records the unmap of a map, with the events of both.
    pub(crate) fn unmapped(&self, id: u64, mapped: &Event, unmapped: &Event) {
        if self.change(|table| table.unmapping(id, mapped, unmapped)) {
            self.reap();
        }
    }

    /// Begins an access of the host, and waits for the commands on the bytes.
    ///
    /// # Errors
    /// CL_INVALID_OPERATION where the bytes are mapped and the map or the access writes, and the
    /// driver's errors.
    pub(crate) fn access_by_host(
        self: &Arc<Self>,
        call: &'static str,
        range: &Range<usize>,
        access: Access,
    ) -> Result<HostAccess> {
        let id = self.begin(call, range, access)?;
        self.change(|table| table.accessing(id));
        let begun = HostAccess { tracker: Arc::clone(self), id };
        let find = |table: &mut Table<_>| table.predecessors(id, range, access);
        for event in self.predecessors(call, range, access, find)? {
            event.wait_until_ended()?;
        }
        Ok(begun)
    }

    /// Returns whether nothing is mapped, and every command that is not known to have ended is on the
    /// in-order queue `queue`.
    #[inline]
    pub(crate) fn is_used_only_on(&self, queue: Option<&CommandQueue>) -> bool {
        !self.is_used.load(Ordering::Acquire) || self.is_free_for(queue, &ALL) == Some(true)
    }

    /// Returns whether every command on these bytes that is not known to have ended is on the in-order
    /// queue `queue`; `None` if bytes are mapped or the end of a command is unknown. Calls the
    /// driver for the release of events only.
    #[inline]
    pub(crate) fn is_free_for(
        &self,
        queue: Option<&CommandQueue>,
        range: &Range<usize>,
    ) -> Option<bool> {
        let raw = queue.filter(|queue| queue.is_in_order()).map(CommandQueue::as_raw);
        self.lock().has_only(range, |event| {
            raw.is_some_and(|raw| event.is_of(raw)) || event.known_outcome().is_some()
        })
    }

    /// Returns the events of the commands on these bytes that have not ended, other than those on the
    /// in-order queue `queue`; `None` if bytes are mapped or the end of a command is unknown. The
    /// caller makes sure that no command begins.
    #[cold]
    pub(crate) fn pending(
        &self,
        queue: Option<&CommandQueue>,
        range: &Range<usize>,
    ) -> Option<Vec<Event>> {
        let raw = queue.filter(|queue| queue.is_in_order()).map(CommandQueue::as_raw);
        for event in self.lock().events_on(range) {
            event.outcome();
        }
        let mut pending = self.lock().pending(range)?;
        pending.retain(|event| {
            !raw.is_some_and(|raw| event.is_of(raw)) && event.known_outcome().is_none()
        });
        Some(pending)
    }

    /// Waits until all commands have ended. The caller makes sure that no command begins.
    ///
    /// # Errors
    /// CL_INVALID_OPERATION where bytes are mapped or the end of a command is unknown, and the
    /// driver's errors.
    pub(crate) fn wait_until_idle(&self, call: &'static str) -> Result<()> {
        for event in self.events_before_free(call)? {
            event.wait_until_ended()?;
        }
        // An unmap may have failed.
        self.events_before_free(call).map(drop)
    }

    /// Returns the events of all commands that have not ended. The caller makes sure that no command
    /// begins.
    ///
    /// # Errors
    /// CL_INVALID_OPERATION where bytes are mapped or the end of a command is unknown.
    pub(crate) fn events_before_free(&self, call: &'static str) -> Result<Few<Event>> {
        if self.lock().has_maps() {
            return Err(Error::refused(
                call,
                CL_INVALID_OPERATION,
                "bytes are mapped; unmap them first",
            ));
        }
        // No map has the id 0.
        let find = |table: &mut Table<_>| table.predecessors(0, &ALL, Access::Write);
        self.predecessors(call, &ALL, Access::Write, find)
    }
}

/// Asks the driver for the ends of these commands, but for those behind a command of their in-order
/// queue that has not ended: they have rarely ended. On drivers that poison queues they may have failed.
fn ask_in_order(events: &[Event]) {
    let mut pending = Few::new();
    for event in events {
        let is_ordered =
            |queue: &&Arc<QueueState>| queue.is_in_order() && !queue.driver().poisons_queues;
        let queue = event.queue().filter(is_ordered).map(|queue| queue.raw());
        if !queue.is_some_and(|queue| pending.contains(&queue)) && event.outcome().is_none() {
            pending.extend(queue);
        }
    }
}

fn in_use(call: &'static str, wanted: &Range<usize>, conflict: &Conflict<Event>) -> Error {
    let reason = match conflict {
        Conflict::InUse(held, reason) => {
            format!("bytes {wanted:?} overlap bytes {held:?}, which {reason}")
        }
        Conflict::Ask(_) => format!("bytes {wanted:?} are being unmapped"),
    };
    Error::refused(call, CL_INVALID_OPERATION, reason)
}

fn poisoned(range: &Range<usize>) -> Conflict<Event> {
    Conflict::InUse(range.clone(), table::IS_POISONED)
}
