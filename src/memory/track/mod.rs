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
//! where either writes, a free for all commands on them, each by its own event. None of these waits relies on the
//! order of a queue, because queues of some drivers lose their order when a command fails. A memory pool waits by the
//! same events, except on the in-order queue that used a block last: there, it reuses the block at once.
//! Commands do not wait for each other: their order is that of the queues and the wait lists, as in C.
//!
//! # The life of a command
//! ```text
//!             begin_command                submitted            reaped
//!  (nothing) ---------------> Submitting ------------> Submitted ------> (nothing)
//!                                 |  |                  its event shows when it has ended
//!                      rejected   |  |   no event
//!             (nothing) <---------'  '----------> Untracked   maps and frees are refused
//! ```
//! A command on bytes that are mapped is refused, unless both only read.
//!
//! # The life of a map
//! ```text
//!             begin_map             unmapped
//!  (nothing) -----------> Mapped --------------> Unmapping
//!                          |  |                   |     |
//!      not mapped          |  |  not unmapped     |     |  completed
//!             (nothing) <--'  '-----> Poisoned <--'     '----------> (nothing)
//!                                          failed
//! ```
//! The bytes of a poisoned map stay closed: the driver may still have them mapped.
//!
//! # Locks
//! One mutex per object protects its [`Table`]. The driver is not called meanwhile, except to release events, and
//! queues with the last event of their commands. A flag beside it shows a pool, which has the only handle to the
//! object then, that the table is empty. A thread that needs the events of commands that other threads are submitting
//! waits on a condition variable until the driver has returned; such calls do not block.
//!
//! A command that has ended is removed when its end is noticed: when 16 commands have begun since the last scan of 32
//! others, when a map, a free or a pool checks the bytes, and in memory of a pool when its queue has no handles any
//! more.

mod left;
mod maps;
mod table;

use std::ops::Range;
use std::ptr;
use std::sync::atomic::{AtomicBool, AtomicPtr, Ordering};
use std::sync::{Arc, OnceLock, Weak};

use cl3::error_codes::CL_INVALID_OPERATION;
use parking_lot::{Condvar, Mutex};

use crate::dropped_queues::DroppedQueues;
use crate::error::{Error, Result};
use crate::event::{Event, HAVE_FAILED, Outcome};
use crate::memory::range::overlap;
use crate::queue::CommandQueue;
use crate::queue_state::QueueState;
pub(crate) use left::LeftMap;
pub(crate) use table::Few;
use table::{Batch, Conflict, NO_ID, Table, TrackedEvent, Use};

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

    #[inline]
    fn have_failed() -> bool {
        HAVE_FAILED.load(Ordering::Acquire)
    }
}

/// All bytes of an object of any size.
const ALL: Range<usize> = 0..usize::MAX;

/// The commands and maps of one memory object. Ranges are in bytes from its start.
#[derive(Debug, Default)]
pub struct AccessTracker {
    table: Mutex<Table<Event>>,
    /// The maps that the driver could not unmap yet. Locked before the table.
    left: Mutex<Vec<LeftMap>>,
    /// Notified when a submission has ended, if a thread waits for one.
    submitted: Condvar,
    /// False only if the table is empty. Changes with the table locked.
    is_used: AtomicBool,
    /// In memory of a pool, this tracker and the dropped queues of its context.
    pool: OnceLock<(Weak<Self>, Weak<DroppedQueues>)>,
    /// The queue of the last command on memory of a pool, which finds this tracker; null if it may not.
    last_queue: AtomicPtr<QueueState>,
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

    /// Changes the table, and wakes the threads that wait for the end of a submission.
    #[inline]
    fn change<T>(&self, change: impl FnOnce(&mut Table<Event>) -> T) -> T {
        let mut table = self.table.lock();
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
        self.begin(call, &Use::new(range, access), Table::begin_command)
    }

    /// Calls `begin` after the driver was queried for the events of `conflict`, until `begin` returns no more events
    /// to query, and after the unmap of maps that were left.
    #[cold]
    fn begin_after<I>(
        &self,
        call: &'static str,
        range: &Range<usize>,
        mut conflict: Conflict<Event>,
        begin: impl Fn(bool) -> std::result::Result<I, Conflict<Event>>,
    ) -> Result<I> {
        let mut may_be_left = true;
        loop {
            let asked = match &conflict {
                Conflict::Ask(events) => {
                    for event in events {
                        event.outcome();
                    }
                    events.iter().all(|event| event.known_outcome().is_none())
                }
                Conflict::InUse(..) if may_be_left => {
                    may_be_left = false;
                    self.unmap_left(range, true)?;
                    false
                }
                Conflict::InUse(..) => return Err(in_use(call, range, &conflict)),
            };
            match begin(asked) {
                Ok(id) => return Ok(id),
                Err(next) => conflict = next,
            }
        }
    }

    /// Records the event of a command.
    #[inline]
    pub(crate) fn submitted(&self, id: u64, event: &Event) {
        let has_many = self.change(|table| table.submitted(id, event));
        self.add_user(event);
        if has_many {
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

    /// Removes commands and maps that have ended, among those of the next scan.
    #[cold]
    pub(crate) fn reap(&self) {
        // Drops the last references to most events without the lock.
        let events = self.table.lock().events();
        ask_in_order(&events);
        self.change(Table::reap);
    }

    /// Makes this a tracker of memory of a pool, which releases queues.
    pub(crate) fn set_pool(self: &Arc<Self>, dropped: &Arc<DroppedQueues>) {
        self.pool.get_or_init(|| (Arc::downgrade(self), Arc::downgrade(dropped)));
    }

    /// Makes the queue of a command, which the table has, find this tracker.
    #[inline]
    fn add_user(&self, event: &Event) {
        if let (Some((this, _)), Some(queue)) = (self.pool.get(), event.queue_state())
            && !ptr::eq(self.last_queue.load(Ordering::Acquire), Arc::as_ptr(queue))
        {
            self.last_queue.store(Arc::as_ptr(queue).cast_mut(), Ordering::Release);
            queue.add_used(this.clone());
        }
    }

    /// Removes commands of queues without handles, if they have ended. Otherwise, returns true, and the next call of
    /// a pool tries again. Runs no callback.
    pub(crate) fn let_queues_go(&self) -> bool {
        // Before the table is read, so that later commands find it changed.
        self.last_queue.store(ptr::null_mut(), Ordering::Release);
        let of_dropped = |event: &Event| {
            event.queue_state().is_some_and(|queue| queue.handles.load(Ordering::Acquire) == 0)
        };
        loop {
            let events = self.table.lock().pending(of_dropped);
            if !events.iter().all(Event::has_ended_quietly) {
                break;
            }
            self.change(|table| table.reap_on(&ALL));
            if events.is_empty() {
                return false;
            }
        }
        if let Some((this, dropped)) = self.pool.get()
            && let Some(dropped) = dropped.upgrade()
        {
            dropped.add(this);
        }
        true
    }

    /// Removes the commands and maps that have ended, and returns the events of the others.
    pub(crate) fn reap_all(&self) -> Batch<Event> {
        let events = self.table.lock().events_on(&ALL);
        ask_in_order(&events);
        self.change(|table| table.reap_on(&ALL));
        self.table.lock().events_on(&ALL)
    }

    /// Removes all commands when the last of them has ended, even if nothing uses the bytes again.
    #[cold]
    pub(crate) fn reap_when_ended(self: &Arc<Self>) {
        let events = self.reap_all();
        let pending = events.iter().rev().filter(|event| event.outcome().is_none());
        // The last command of each queue: a driver may not call back for one that fails.
        let mut queues = Few::new();
        for event in pending {
            let queue = event.queue_state().map(Arc::as_ptr);
            if queues.contains(&queue) {
                continue;
            }
            queues.push(queue);
            let tracker = Arc::downgrade(self);
            let look_again = move |_| tracker.upgrade().iter().for_each(Self::reap_when_ended);
            if let Err(error) = event.when_ended(look_again) {
                log::warn!("{error}: memory may be freed late");
            }
        }
        if queues.is_empty() {
            self.change(|table| table.reap_on(&ALL));
        }
    }

    /// Begins a map, which is found `by_address` alone, and returns its id and the commands that must run before it.
    /// If the driver does not map them, the caller passes the id to [`remove_map`](Self::remove_map) or
    /// [`poison`](Self::poison).
    ///
    /// # Errors
    /// CL_INVALID_OPERATION where the bytes are mapped and one of the maps writes, where the two maps begin
    /// at the same byte and are found by address, and where a command without an event uses the bytes.
    pub(crate) fn begin_map(
        &self,
        call: &'static str,
        range: &Range<usize>,
        access: Access,
        by_address: bool,
    ) -> Result<(u64, Few<Event>)> {
        let used = Use { by_address, ..Use::new(range, access) };
        let id = self.begin(call, &used, Table::begin_map)?;
        let predecessors = self.predecessors(call, id, &used);
        predecessors.inspect_err(|_| self.remove_map(id)).map(|events| (id, events))
    }

    /// Adds a command or a map that is about to be submitted.
    #[inline]
    fn begin<I>(
        &self,
        call: &'static str,
        used: &Use,
        add: impl Fn(&mut Table<Event>, &Use, bool) -> std::result::Result<I, Conflict<Event>>,
    ) -> Result<I> {
        let begin = |asked| {
            let mut table = self.table.lock();
            let begun = add(&mut table, used, asked);
            self.is_used.store(!table.is_empty(), Ordering::Release);
            begun
        };
        begin(false).or_else(|conflict| self.begin_after(call, &used.range, conflict, begin))
    }

    /// Returns the events of the commands before this use by the map `id` that have not ended.
    fn predecessors(&self, call: &'static str, id: u64, used: &Use) -> Result<Few<Event>> {
        loop {
            let mut table = self.table.lock();
            table.waiting += 1;
            self.submitted.wait_while(&mut table, |table| table.is_submitting(used));
            table.waiting -= 1;
            let found = table.predecessors(id, used);
            drop(table);
            let mut pending = found.map_err(|conflict| in_use(call, &used.range, &conflict))?;
            let mut has_failed = false;
            pending.retain(|event| {
                let outcome = event.outcome();
                has_failed |= outcome == Some(Outcome::Failed);
                outcome.is_none()
            });
            if !has_failed {
                return Ok(pending);
            }
            // An unmap that has failed closes its bytes, unless the map has failed, too.
            self.ask(&used.range);
        }
    }

    /// Queries the ends of the commands on these bytes.
    pub(crate) fn ask(&self, range: &Range<usize>) {
        // The table is not locked meanwhile: callbacks of commands that have failed run here.
        let events = self.table.lock().events_on(range);
        for event in events {
            event.outcome();
        }
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

    /// Records that the driver refuses the unmap of a map that has run.
    #[cold]
    pub(crate) fn not_unmapped(&self, id: u64, mapped: &Event, error: &Error) {
        match mapped.known_outcome() {
            // The driver says that nothing is mapped.
            Some(Outcome::Failed) => self.remove_map(id),
            _ => {
                log::error!("{error}");
                self.poison(id);
            }
        }
    }

    /// Records the unmap of a map, with the events of both.
    pub(crate) fn unmapped(&self, id: u64, mapped: &Event, unmapped: &Event) {
        let has_many = self.change(|table| table.unmapping(id, mapped, unmapped));
        [mapped, unmapped].iter().for_each(|event| self.add_user(event));
        if has_many {
            self.reap();
        }
    }

    /// Keeps a map that the driver refuses to unmap before it has run. The next use of its bytes unmaps it.
    #[cold]
    pub(crate) fn leave(&self, map: LeftMap) {
        self.left.lock().push(map);
    }

    /// Unmaps the maps of these bytes that were left and have run; all of them, if it `waits`.
    fn unmap_left(&self, range: &Range<usize>, waits: bool) -> Result<()> {
        let on_bytes = |map: &LeftMap| overlap(&map.range, range);
        let events: Few<_> = {
            let left = self.left.lock();
            left.iter().filter(|map| on_bytes(map)).map(|map| map.event.clone()).collect()
        };
        for event in &events {
            if waits { event.wait_until_ended().map(drop)? } else { _ = event.outcome() }
        }
        // Locked until the table has all of them.
        let mut left = self.left.lock();
        let has_run = |map: &mut LeftMap| on_bytes(map) && map.event.known_outcome().is_some();
        for map in left.extract_if(.., has_run) {
            match map.unmap() {
                Ok(unmapped) => {
                    self.change(|table| table.unmapping(map.id, &map.event, &unmapped));
                    self.add_user(&unmapped);
                }
                Err(error) => self.not_unmapped(map.id, &map.event, &error),
            }
        }
        drop(left);
        events.iter().filter_map(Event::queue_state).for_each(|it| it.end_without_handles());
        Ok(())
    }

    /// Begins an access of the host, and waits for the commands on the bytes.
    ///
    /// # Errors
    /// CL_INVALID_OPERATION where the bytes are mapped and the map or the access writes, and where an unmap
    /// of them fails meanwhile; the driver's errors.
    pub(crate) fn access_by_host(
        self: &Arc<Self>,
        call: &'static str,
        range: &Range<usize>,
        access: Access,
    ) -> Result<HostAccess> {
        let used = Use::new(range, access);
        let id = self.begin(call, &used, Table::begin_map)?;
        let begun = HostAccess { tracker: Arc::clone(self), id };
        self.wait_for_predecessors(call, id, &used)?;
        Ok(begun)
    }

    /// Waits until the commands before this use by the map `id` have ended.
    fn wait_for_predecessors(&self, call: &'static str, id: u64, used: &Use) -> Result<()> {
        // Checks again after each wait: an unmap may have failed meanwhile.
        loop {
            let pending = self.predecessors(call, id, used)?;
            if pending.is_empty() {
                return Ok(());
            }
            for event in pending {
                event.wait_until_ended()?;
            }
            // An unmap fails with its map.
            self.ask(&used.range);
        }
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
        self.table.lock().has_only(range, needs_no_wait(queue))
    }

    /// Returns the events of the commands on these bytes that have not ended, other than those on the
    /// in-order queue `queue`; `None` if bytes are mapped or the end of a command is unknown. Unmaps maps that were left
    /// and have run, and removes the commands that have ended. The caller makes sure that no command begins.
    #[cold]
    pub(crate) fn pending(
        &self,
        queue: Option<&CommandQueue>,
        range: &Range<usize>,
    ) -> Option<Vec<Event>> {
        self.unmap_left(range, false).ok()?;
        self.ask(range);
        self.change(|table| table.reap_on(range));
        let used = Use::new(range, Access::Write);
        let found = self.table.lock().predecessors(NO_ID, &used);
        let needs_no_wait = needs_no_wait(queue);
        let mut pending = found.ok()?.into_vec();
        pending.retain(|event| !needs_no_wait(event));
        Some(pending)
    }

    /// Waits until all commands have ended. The caller makes sure that no command begins.
    ///
    /// # Errors
    /// CL_INVALID_OPERATION where bytes are mapped or the end of a command is unknown, and the
    /// driver's errors.
    pub(crate) fn wait_until_idle(&self, call: &'static str) -> Result<()> {
        self.check_unmapped(call)?;
        self.wait_for_predecessors(call, NO_ID, &Use::new(&ALL, Access::Write))
    }

    /// Returns the events of all commands that have not ended. The caller makes sure that no command
    /// begins.
    ///
    /// # Errors
    /// CL_INVALID_OPERATION where bytes are mapped or the end of a command is unknown.
    pub(crate) fn events_before_free(&self, call: &'static str) -> Result<Few<Event>> {
        self.check_unmapped(call)?;
        self.predecessors(call, NO_ID, &Use::new(&ALL, Access::Write))
    }

    fn check_unmapped(&self, call: &'static str) -> Result<()> {
        self.unmap_left(&ALL, true)?;
        let has_maps = self.table.lock().has_maps();
        let reason = "bytes are mapped; unmap them first";
        Error::refuse_if(has_maps, call, CL_INVALID_OPERATION, || reason)
    }
}

/// Returns a function that returns whether a command is on the in-order queue `queue`, or is known to have ended.
#[inline]
fn needs_no_wait(queue: Option<&CommandQueue>) -> impl Fn(&Event) -> bool {
    let raw = queue.filter(|queue| queue.is_in_order()).map(CommandQueue::as_raw);
    move |event| raw.is_some_and(|raw| event.is_of(raw)) || event.known_outcome().is_some()
}

/// Queries the ends of these commands, except those behind a command of their in-order queue that has not ended: they
/// have rarely ended.
fn ask_in_order(events: &[Event]) {
    let mut pending = Few::new();
    for event in events {
        let queue =
            event.queue_state().filter(|queue| queue.is_in_order()).map(|queue| queue.raw());
        if !queue.is_some_and(|queue| pending.contains(&queue)) && event.outcome().is_none() {
            pending.extend(queue);
        }
    }
}

fn in_use(call: &'static str, wanted: &Range<usize>, conflict: &Conflict<Event>) -> Error {
    let shown = |bytes: &Range<usize>| match bytes {
        bytes if *bytes == ALL => "all bytes".to_owned(),
        bytes => format!("bytes {bytes:?}"),
    };
    let wanted = shown(wanted);
    let reason = match conflict {
        Conflict::InUse(held, reason) => {
            format!("{wanted} overlap {}, which {reason}", shown(held))
        }
        Conflict::Ask(_) => format!("{wanted} are being unmapped"),
    };
    Error::refused(call, CL_INVALID_OPERATION, reason)
}

#[cfg(test)]
mod tests {
    use std::thread;
    use std::time::Duration;

    use super::*;
    use crate::event::UserEvent;

    const CALL: &str = "test";

    #[test]
    fn an_access_is_refused_if_an_unmap_fails_while_it_waits() -> Result<()> {
        let context = crate::create_some_context()?;
        let (mapped, unmapped) = (UserEvent::new(&context)?, UserEvent::new(&context)?);
        let tracker = AccessTracker::new();
        let (id, _) = tracker.begin_map(CALL, &(0..8), Access::Read, false)?;
        mapped.set_complete()?;
        tracker.unmapped(id, &mapped, &unmapped);
        thread::scope(|scope| {
            let access = scope.spawn(|| tracker.access_by_host(CALL, &(0..8), Access::Write));
            while !tracker.table.lock().has_maps() {
                thread::yield_now();
            }
            // Long enough for the thread to wait for the unmap.
            thread::sleep(Duration::from_millis(20));
            // SAFETY: no command waits for the event.
            unsafe { unmapped.set_failed(-5) }?;
            let access = access.join().expect("the thread does not panic");
            assert_eq!(access.expect_err("the bytes may be mapped").code(), CL_INVALID_OPERATION);
            Ok(())
        })
    }

    #[test]
    fn messages_about_all_bytes_have_no_number_for_their_end() {
        let tracker = AccessTracker::new();
        let id =
            tracker.begin_command("a call", &(0..4), Access::Write).expect("nothing is mapped");
        tracker.untracked(id);
        let error = tracker.wait_until_idle("a free").expect_err("the command has no event");
        assert!(error.to_string().contains("all bytes overlap bytes 0..4"), "{error}");
    }
}
