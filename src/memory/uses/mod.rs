//! Which bytes of an object are mapped, and which commands are under way on which bytes.
//!
//! This is what lets safe code map memory: see the module documentation of [`super`]. The lock is
//! never held across a driver call that can wait, so a command is entered before the driver is asked
//! for it, and what came of it is added afterwards.

mod issuing;
pub(crate) mod lock;
#[cfg(all(test, loom))]
mod loom_tests;
mod marks;
mod queue;
mod table;

use std::ops::Range;
use std::ptr;

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use cl3::error_codes::{CL_INVALID_COMMAND_QUEUE, CL_INVALID_OPERATION};
use cl3::types::{cl_command_queue, cl_context};
use opencl3::command_queue::CommandQueue;

use crate::error::{Error, Result};
use crate::handle::{EventRef, Outcome};
use issuing::{Issuing, Slot};
use lock::{Condvar, Mutex, MutexGuard};
pub(crate) use marks::Moment;
pub(crate) use queue::{KnownQueue, Marked};
pub(crate) use table::Entered;
use table::{Before, EnteredMap, Obstacle, Queue, Refusal, Retired, Running, Table};

/// What is done to bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Access {
    /// They are read.
    Read,
    /// They are written, and perhaps read.
    Write,
}

/// Whether two ranges have a byte in common.
pub(super) fn overlap(a: &Range<usize>, b: &Range<usize>) -> bool {
    a.start.max(b.start) < a.end.min(b.end)
}

const LOST_MAP: &str = "stay closed: an unmap of them failed";

/// The uses of one object and all that shares its bytes. Ranges are in bytes from its start.
#[derive(Debug)]
pub struct Uses {
    shared: Shared<Arc<KnownQueue>, Pending>,
    /// The only queue that has been used, 0 for none, or [`MANY`]: what is not followed by itself.
    only_queue: AtomicUsize,
}

/// More than one queue, or one that may reorder its commands. No queue has this number.
const MANY: usize = usize::MAX;

/// The rules under a lock.
#[derive(Debug)]
struct Shared<Q, E> {
    table: Mutex<Table<Q, E>>,
    issuing: Issuing,
    /// Notified when a command has been issued.
    issued: Condvar,
}

impl<Q, E> Default for Shared<Q, E> {
    fn default() -> Self {
        Self { table: Mutex::default(), issuing: Issuing::default(), issued: Condvar::default() }
    }
}

impl<Q: Queue, E> Shared<Q, E> {
    #[inline]
    fn lock(&self) -> MutexGuard<'_, Table<Q, E>> {
        // Nothing panics in the middle of a change to the table.
        self.table.lock()
    }

    /// Tells maps that wait for what was being issued.
    #[inline]
    fn tell<T>(&self, change: impl FnOnce(&mut Table<Q, E>) -> T) -> T {
        let mut table = self.lock();
        let result = change(&mut table);
        let is_awaited = table.waiting > 0;
        drop(table);
        // A system call.
        if is_awaited {
            self.issued.notify_all();
        }
        result
    }

    /// Enters a command that the driver is about to be asked for, if it is a usual one.
    #[inline]
    fn enter_usual(&self, key: usize, range: &Range<usize>, access: Access) -> Option<Slot> {
        self.issuing.begin_usual(key, range, access, |slot| self.tell_of(slot))
    }

    /// A command of an in-order queue has been issued, or has not been taken.
    #[inline]
    fn was_issued(&self, slot: Slot) {
        if self.issuing.end(slot) {
            self.tell_of(slot);
        }
    }

    #[cold]
    fn tell_of(&self, slot: Slot) {
        let table = self.lock();
        // Who still has to wait will say so again.
        self.issuing.let_be(slot);
        drop(table);
        self.issued.notify_all();
    }

    /// What an entered map has to come after, once other threads have issued what they are just
    /// issuing on its bytes: it keeps away what is new.
    fn before_map(
        &self,
        id: u64,
        key: usize,
        range: &Range<usize>,
        access: Access,
    ) -> std::result::Result<Before<Q, E>, Refusal> {
        let mut table = self.lock();
        while table.is_being_issued(&self.issuing, range, access) {
            table.waiting += 1;
            table = self.issued.wait(table);
            table.waiting -= 1;
        }
        table.before_map(id, key, range, access)
    }
}

/// Something that has been enqueued.
#[derive(Debug)]
pub(crate) struct Pending {
    event: EventRef,
    /// What it fails with. Intel's runtime calls a command complete that never ran because of its
    /// wait list.
    after: Vec<EventRef>,
}

impl Pending {
    /// `None` where it has not ended, or cannot tell.
    fn outcome(&self) -> Option<Outcome> {
        self.event.outcome().map(|outcome| self.with_wait_list(outcome))
    }

    fn wait_until_ended(&self) -> Result<Outcome> {
        Ok(self.with_wait_list(self.event.wait_until_ended()?))
    }

    fn with_wait_list(&self, outcome: Outcome) -> Outcome {
        let failed = |event: &EventRef| event.outcome() == Some(Outcome::Failed);
        if self.after.iter().any(failed) { Outcome::Failed } else { outcome }
    }
}

impl Uses {
    /// Those of an object that nobody uses yet.
    pub(crate) fn new() -> Arc<Self> {
        Arc::new(Self { shared: Shared::default(), only_queue: AtomicUsize::new(0) })
    }

    #[inline]
    fn lock(&self) -> MutexGuard<'_, Table<Arc<KnownQueue>, Pending>> {
        self.shared.lock()
    }

    /// Enters a command of `queue` that the driver is about to be asked for, if it is much like the one
    /// before it; [`enter_unusual`](Self::enter_unusual) enters the others.
    #[inline]
    pub(crate) fn enter_usual(
        &self,
        queue: &CommandQueue,
        range: &Range<usize>,
        access: Access,
    ) -> Option<Slot> {
        self.shared.enter_usual(queue.get().addr(), range, access)
    }

    /// Enters a command of `queue` that the driver is about to be asked for.
    ///
    /// Refuses bytes that are mapped, and a queue of another context than the object's.
    #[cold]
    pub(crate) fn enter_unusual(
        &self,
        call: &'static str,
        queue: &CommandQueue,
        context: cl_context,
        range: &Range<usize>,
        access: Access,
    ) -> Result<Entered> {
        let (key, issuing) = (queue.get().addr(), &self.shared.issuing);
        let enter = |table: &mut Table<_, _>, settled| {
            table.enter_command(issuing, key, range, access, settled)
        };
        // SAFETY: the queue is alive while it is borrowed.
        let ask = || unsafe { KnownQueue::of(call, queue.get(), context) };
        let entered = enter(&mut self.lock(), false);
        entered.or_else(|obstacle| self.overcome(obstacle, call, ask, range, enter))
    }

    /// Enters a use with `enter` when what is in its way has been looked at; `ask` asks about its
    /// queue.
    #[cold]
    fn overcome<T>(
        &self,
        mut obstacle: Obstacle<Pending>,
        call: &'static str,
        ask: impl Fn() -> Result<Arc<KnownQueue>>,
        range: &Range<usize>,
        enter: impl Fn(
            &mut Table<Arc<KnownQueue>, Pending>,
            bool,
        ) -> std::result::Result<T, Obstacle<Pending>>,
    ) -> Result<T> {
        let mut settled = false;
        loop {
            match obstacle {
                Obstacle::UnknownQueue => self.introduce(ask()?),
                Obstacle::Unmapping(running) => {
                    self.settle(running);
                    settled = true;
                }
                Obstacle::Refused(refusal) => return Err(in_use(call, range, &refusal)),
            }
            let entered = enter(&mut self.lock(), settled);
            match entered {
                Ok(entered) => return Ok(entered),
                Err(next) => obstacle = next,
            }
        }
    }

    /// The driver was asked for a command that has been entered, and took it: it ends with `event`.
    #[inline]
    pub(crate) fn was_issued(&self, entered: Entered, event: &EventRef) {
        if let Entered::OnQueue(slot) = entered {
            self.shared.was_issued(slot);
        } else if let Entered::Alone(id) = entered {
            self.remember(id, event);
        }
    }

    /// The driver was asked for a command that has been entered, and did not take it.
    #[cold]
    pub(crate) fn was_refused(&self, entered: Entered) {
        match entered {
            Entered::Not => {}
            Entered::OnQueue(slot) => self.shared.was_issued(slot),
            Entered::Alone(id) => self.end(id, Outcome::Complete),
        }
    }

    /// The driver may have taken a command on these bytes, and nobody can tell when it ends.
    #[cold]
    pub(crate) fn was_lost(&self, entered: Entered, range: &Range<usize>, access: Access) {
        match entered {
            Entered::Not => {}
            Entered::OnQueue(slot) => {
                self.lock().lose(range.clone(), access);
                self.only_queue.store(MANY, Ordering::Release);
                self.shared.was_issued(slot);
            }
            Entered::Alone(id) => self.shared.tell(|table| table.set_lost(id)),
        }
    }

    #[cold]
    fn remember(&self, id: u64, event: &EventRef) {
        match event.try_clone() {
            Ok(event) => self.issued(id, Pending { event, after: Vec::new() }),
            Err(error) => {
                // It cannot be remembered, so it must be over before it is forgotten.
                log::warn!("{error}; waiting instead");
                match event.wait_until_ended() {
                    Ok(outcome) => self.end(id, outcome),
                    Err(_) => self.shared.tell(|table| table.set_lost(id)),
                }
            }
        }
    }

    /// What is known of a queue. Refuses one of another context than `context`, the object's.
    pub(crate) fn check_queue(
        &self,
        call: &'static str,
        queue: &CommandQueue,
        context: cl_context,
    ) -> Result<Arc<KnownQueue>> {
        if let Some(known) = self.queue(queue.get()) {
            return Ok(known);
        }
        // SAFETY: the queue is alive while it is borrowed.
        let queue = unsafe { KnownQueue::of(call, queue.get(), context) }?;
        // It may have to make room again at any time.
        self.introduce(Arc::clone(&queue));
        Ok(queue)
    }

    fn queue(&self, queue: cl_command_queue) -> Option<Arc<KnownQueue>> {
        self.lock().queue(queue.addr()).cloned()
    }

    /// What is known of the queue on which a map ends: it does not make room before.
    #[cold]
    pub(crate) fn queue_of(&self, call: &'static str, entered: MapUse) -> Result<Arc<KnownQueue>> {
        let ended = || Error::refused(call, CL_INVALID_COMMAND_QUEUE, "the map has ended");
        self.queue(entered.queue).ok_or_else(ended)
    }

    fn introduce(&self, queue: Arc<KnownQueue>) {
        let retired = {
            let mut table = self.lock();
            let retired = table.introduce(&self.shared.issuing, queue);
            self.only_queue.store(table.only_queue().unwrap_or(MANY), Ordering::Release);
            retired
        };
        if let Some(retired) = retired {
            self.follow(retired);
        }
    }

    /// From now on, an event tells when that ends which a queue has been given.
    fn follow(&self, Retired { queue, ids }: Retired<Arc<KnownQueue>>) {
        if ids.is_empty() {
            return;
        }
        match queue.last_commands() {
            Ok(events) => {
                let pending = |event| Arc::new(Pending { event, after: Vec::new() });
                let events: Vec<_> = events.into_iter().map(pending).collect();
                self.shared
                    .tell(|table| ids.iter().for_each(|id| table.set_all_running(*id, &events)));
            }
            Err(error) => {
                log::error!("{error}: bytes stay closed to maps");
                self.shared.tell(|table| ids.iter().for_each(|id| table.set_lost(*id)));
            }
        }
    }

    /// Whether all uses were on this queue, which runs them in order, or there were none. Nobody may be
    /// about to enter one of the bytes that this is asked for.
    #[inline]
    pub(crate) fn are_all_on(&self, key: usize) -> bool {
        let only = self.only_queue.load(Ordering::Acquire);
        only == key || only == 0
    }

    /// The events after which all uses of these bytes have ended that this crate knows of, other than
    /// those on `queue`, if it runs them in order; `None` where the bytes are mapped, and where nobody can
    /// tell. Nobody may be able to enter new uses of them.
    #[cold]
    pub(crate) fn unended(
        &self,
        queue: Option<&KnownQueue>,
        range: &Range<usize>,
    ) -> Result<Option<Vec<EventRef>>> {
        let key = queue.filter(|queue| queue.is_in_order()).map_or(0, |queue| queue.get().addr());
        let retired = self.lock().retire_others(&self.shared.issuing, key);
        retired.into_iter().for_each(|retired| self.follow(retired));
        let Some(running) = self.lock().running(range) else { return Ok(None) };
        self.settle(running);
        let table = self.lock();
        let Some(running) = table.running(range) else { return Ok(None) };
        // They are there still because of what others just do to other bytes.
        let queues = table.others_on(key, range);
        self.only_queue.store(table.only_queue().unwrap_or(MANY), Ordering::Release);
        drop(table);
        let running = running.iter().map(|(_, pending)| pending.event.try_clone());
        let mut events = running.collect::<Result<Vec<_>>>()?;
        for queue in queues {
            events.extend(queue.last_commands()?);
        }
        Ok(Some(events))
    }

    /// Enters something on these bytes that ends with `event`, and that nobody else would tell of.
    #[cold]
    pub(crate) fn enter_event(
        &self,
        call: &'static str,
        event: &EventRef,
        range: &Range<usize>,
    ) -> Result<()> {
        let event = Arc::new(Pending { event: event.try_clone()?, after: Vec::new() });
        self.shared.tell(|table| {
            table.enter_running(range.clone(), event).map_err(|held| in_use(call, range, &held))
        })?;
        self.only_queue.store(MANY, Ordering::Release);
        self.tidy();
        Ok(())
    }

    /// Removes those that have ended.
    fn settle(&self, running: Vec<Running<Pending>>) {
        for (id, event) in running {
            if let Some(outcome) = event.outcome() {
                self.end(id, outcome);
            }
        }
    }

    fn end(&self, id: u64, outcome: Outcome) {
        self.shared.tell(|table| match outcome {
            Outcome::Complete => table.remove(id),
            Outcome::Failed => table.fail(id),
        });
    }

    /// Forgets the uses that have ended, if there are many.
    fn tidy(&self) {
        let untidy = self.lock().untidy();
        if let Some(running) = untidy {
            self.settle(running);
            self.lock().was_tidied();
        }
    }

    /// A command that was entered has been issued, and ends with `event`.
    fn issued(&self, id: u64, pending: Pending) {
        if pending.outcome() == Some(Outcome::Complete) {
            self.end(id, Outcome::Complete);
        } else {
            self.shared.tell(|table| table.set_running(id, Arc::new(pending)));
            self.tidy();
        }
    }

    /// Waits until all commands on these bytes that this crate knows of have ended, and refuses
    /// where they are mapped. Nobody may be able to enter new ones.
    pub(crate) fn wait_until_idle(&self, call: &'static str) -> Result<()> {
        // No queue has this number.
        let well = self.wait_for(self.before_end(call, 0)?)?;
        if well { Ok(()) } else { Err(lost_map(call, &(0..usize::MAX))) }
    }

    /// The events after which all commands on these bytes that this crate knows of have ended, other
    /// than those that `queue` orders. Refuses where they are mapped. Nobody may be able to enter new
    /// ones.
    pub(crate) fn events_before_end(
        &self,
        call: &'static str,
        queue: &KnownQueue,
    ) -> Result<Vec<EventRef>> {
        // No queue has the number 0.
        let key = if queue.is_strict() { queue.get().addr() } else { 0 };
        let before = self.before_end(call, key)?;
        let mut events = last_commands(before.queues)?;
        for (_, pending) in before.running {
            if pending.outcome().is_none() {
                events.push(pending.event.try_clone()?);
            }
        }
        Ok(events)
    }

    /// What the end of the bytes has to come after, on the queue `key`.
    fn before_end(
        &self,
        call: &'static str,
        key: usize,
    ) -> Result<Before<Arc<KnownQueue>, Pending>> {
        let all = 0..usize::MAX;
        let refused = |refusal: Refusal| in_use(call, &all, &refusal);
        if self.lock().has_maps() {
            let why = "are mapped; unmap them first";
            return Err(refused(Refusal { held: all.clone(), why }));
        }
        // No map has this number.
        self.shared.before_map(0, key, &all, Access::Write).map_err(refused)
    }

    /// Waits for what a map has to come after. `false` where the end of another map failed.
    fn wait_for(&self, before: Before<Arc<KnownQueue>, Pending>) -> Result<bool> {
        let mut well = true;
        for (queue, commands) in before.queues {
            let mut all_ran = true;
            for event in queue.last_commands()? {
                all_ran &= event.wait_until_ended()? == Outcome::Complete;
            }
            if all_ran {
                self.lock().queue_was_idle(queue.key(), commands);
            }
        }
        for (id, event) in before.running {
            let outcome = event.wait_until_ended()?;
            well &= outcome == Outcome::Complete || !self.lock().is_map(id);
            self.end(id, outcome);
        }
        Ok(well)
    }
}

/// Events after which all has ended that the queues were given up to now.
fn last_commands(queues: Vec<(Arc<KnownQueue>, u64)>) -> Result<Vec<EventRef>> {
    let mut events = Vec::new();
    for (queue, _) in queues {
        events.extend(queue.last_commands()?);
    }
    // Where something failed, a wait list with it would be refused.
    events.retain(|event| event.outcome().is_none());
    Ok(events)
}

fn in_use(call: &'static str, wanted: &Range<usize>, refusal: &Refusal) -> Error {
    let Refusal { held, why } = refusal;
    let why = format!("bytes {wanted:?} overlap bytes {held:?}, which {why}");
    Error::refused(call, CL_INVALID_OPERATION, why)
}

/// A map's use of bytes, from before the driver is asked for it. Whoever has one says how it ends.
#[derive(Clone, Copy, Debug)]
pub(crate) struct MapUse {
    id: u64,
    /// The queue on which the map ends; the uses keep it until then.
    queue: cl_command_queue,
}

impl MapUse {
    pub(crate) fn queue(&self) -> cl_command_queue {
        self.queue
    }
}

/// Whether a map may have failed, or overtaken something, because of a command that has failed.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Doubt(bool);

impl Doubt {
    /// To be asked when the driver was asked for the map.
    #[inline]
    pub(crate) fn is_there(self) -> bool {
        self.0 || marks::are_there()
    }
}

impl Uses {
    /// Enters a map, and waits for what has to end first.
    ///
    /// Refuses bytes that are mapped, and a queue of another context than the object's.
    #[inline(always)]
    pub(crate) fn enter_map(
        &self,
        call: &'static str,
        queue: &CommandQueue,
        context: cl_context,
        range: &Range<usize>,
        access: Access,
    ) -> Result<(MapUse, Doubt)> {
        let map = self.enter_map_only(call, queue, context, range, access)?;
        let entered = MapUse { id: map.id, queue: queue.get() };
        if map.must_wait {
            self.wait_before_map(call, entered, range, access)?;
        }
        Ok((entered, Doubt(map.may_fail)))
    }

    #[cold]
    fn wait_before_map(
        &self,
        call: &'static str,
        entered: MapUse,
        range: &Range<usize>,
        access: Access,
    ) -> Result<()> {
        let waited = self
            .before_map(call, entered, range, access)
            .and_then(|before| self.wait_for(before))
            .and_then(|well| if well { Ok(()) } else { Err(lost_map(call, range)) });
        waited.inspect_err(|_| self.was_not_mapped(entered))
    }

    /// Enters a map that does not block, and gives the events of what has to end first.
    ///
    /// Refuses what [`enter_map`](Self::enter_map) refuses.
    pub(crate) fn enter_map_after(
        &self,
        call: &'static str,
        queue: &CommandQueue,
        context: cl_context,
        range: &Range<usize>,
        access: Access,
    ) -> Result<(MapUse, Vec<EventRef>)> {
        let map = self.enter_map_only(call, queue, context, range, access)?;
        let entered = MapUse { id: map.id, queue: queue.get() };
        if !map.must_wait {
            return Ok((entered, Vec::new()));
        }
        let events = self
            .before_map(call, entered, range, access)
            .and_then(|before| self.events_of(call, range, before));
        match events {
            Ok(events) => Ok((entered, events)),
            Err(error) => {
                self.was_not_mapped(entered);
                Err(error)
            }
        }
    }

    fn events_of(
        &self,
        call: &'static str,
        range: &Range<usize>,
        before: Before<Arc<KnownQueue>, Pending>,
    ) -> Result<Vec<EventRef>> {
        let mut events = last_commands(before.queues)?;
        for (id, pending) in before.running {
            match pending.outcome() {
                Some(Outcome::Failed) if self.lock().is_map(id) => {
                    self.end(id, Outcome::Failed);
                    return Err(lost_map(call, range));
                }
                Some(outcome) => self.end(id, outcome),
                None => events.push(pending.event.try_clone()?),
            }
        }
        Ok(events)
    }

    #[inline(always)]
    fn enter_map_only(
        &self,
        call: &'static str,
        queue: &CommandQueue,
        context: cl_context,
        range: &Range<usize>,
        access: Access,
    ) -> Result<EnteredMap> {
        let (key, issuing) = (queue.get().addr(), &self.shared.issuing);
        let entered = self.lock().enter_map(issuing, key, range, access, false);
        match entered {
            Ok(entered) => Ok(entered),
            Err(obstacle) => self.enter_map_still(obstacle, call, queue, context, range, access),
        }
    }

    #[cold]
    fn enter_map_still(
        &self,
        obstacle: Obstacle<Pending>,
        call: &'static str,
        queue: &CommandQueue,
        context: cl_context,
        range: &Range<usize>,
        access: Access,
    ) -> Result<EnteredMap> {
        let (key, issuing) = (queue.get().addr(), &self.shared.issuing);
        // SAFETY: the queue is alive while it is borrowed.
        let ask = || unsafe { KnownQueue::of(call, queue.get(), context) };
        self.overcome(obstacle, call, ask, range, |table, settled| {
            table.enter_map(issuing, key, range, access, settled)
        })
    }

    fn before_map(
        &self,
        call: &'static str,
        entered: MapUse,
        range: &Range<usize>,
        access: Access,
    ) -> Result<Before<Arc<KnownQueue>, Pending>> {
        let key = entered.queue.addr();
        self.shared
            .before_map(entered.id, key, range, access)
            .map_err(|refusal| in_use(call, range, &refusal))
    }

    /// Whether the queue on which the map ends runs its commands in order.
    pub(crate) fn ends_in_order(&self, entered: MapUse) -> bool {
        self.lock().ends_in_order(entered.id)
    }

    /// The driver did not map what has been entered.
    pub(crate) fn was_not_mapped(&self, entered: MapUse) {
        self.end(entered.id, Outcome::Complete);
    }

    /// Enters what the host does to bytes that need no map, and waits for what has to end first.
    ///
    /// Refuses bytes that are mapped.
    pub(crate) fn enter_host(
        &self,
        call: &'static str,
        range: &Range<usize>,
        access: Access,
    ) -> Result<MapUse> {
        let no_queue = || Err(Error::refused(call, CL_INVALID_COMMAND_QUEUE, "there is no queue"));
        let enter = |table: &mut Table<_, _>, settled| {
            table.enter_host(&self.shared.issuing, range, access, settled)
        };
        let entered = enter(&mut self.lock(), false);
        let id = match entered {
            Ok(id) => id,
            Err(obstacle) => self.overcome(obstacle, call, no_queue, range, enter)?,
        };
        // No queue has this number.
        let entered = MapUse { id, queue: ptr::null_mut() };
        self.wait_before_map(call, entered, range, access)?;
        Ok(entered)
    }

    /// The driver was asked at that moment, on the map's own queue, for the end of the map: it ends
    /// with `event`.
    #[inline]
    pub(crate) fn was_unmapped(
        &self,
        call: &'static str,
        entered: MapUse,
        asked: Moment,
        event: &EventRef,
    ) {
        if asked.was_disturbed() {
            self.mark_unmap(call, entered, event);
        }
        if !self.shared.tell(|table| table.was_unmapped(entered.id)) {
            self.was_unmapped_by(entered, event, Vec::new());
        }
    }

    #[cold]
    fn mark_unmap(&self, call: &'static str, entered: MapUse, event: &EventRef) {
        match self.queue_of(call, entered) {
            Ok(queue) => queue.mark_command(event),
            Err(error) => log::error!("{error}"),
        }
    }

    /// The driver was asked, on any queue, for the end of the map after `after`: it ends with `event`.
    #[cold]
    pub(crate) fn was_unmapped_by(&self, entered: MapUse, event: &EventRef, after: Vec<EventRef>) {
        self.only_queue.store(MANY, Ordering::Release);
        match event.try_clone() {
            Ok(event) => self.issued(entered.id, Pending { event, after }),
            // It cannot be remembered, so it must be over before it is forgotten.
            Err(error) => match event.wait_until_ended() {
                Ok(Outcome::Complete) if after.is_empty() => {
                    log::warn!("{error}; waited instead");
                    self.end(entered.id, Outcome::Complete);
                }
                _ => {
                    log::error!("{error}: its bytes stay closed");
                    self.lose_map(entered);
                }
            },
        }
    }

    /// Nobody can tell whether the map has ended.
    pub(crate) fn lose_map(&self, entered: MapUse) {
        self.only_queue.store(MANY, Ordering::Release);
        self.shared.tell(|table| table.set_lost(entered.id));
    }
}

fn lost_map(call: &'static str, range: &Range<usize>) -> Error {
    in_use(call, range, &Refusal { held: range.clone(), why: LOST_MAP })
}

/// The host's use of bytes that need no map.
#[derive(Debug)]
pub(crate) struct HostUse {
    uses: Arc<Uses>,
    id: u64,
}

impl HostUse {
    /// Enters it, and waits for what has to end first.
    ///
    /// Refuses bytes that are mapped.
    pub(crate) fn enter(
        call: &'static str,
        uses: &Arc<Uses>,
        range: &Range<usize>,
        access: Access,
    ) -> Result<Self> {
        let id = uses.enter_host(call, range, access)?.id;
        Ok(Self { uses: Arc::clone(uses), id })
    }
}

impl Drop for HostUse {
    fn drop(&mut self) {
        self.uses.end(self.id, Outcome::Complete);
    }
}
