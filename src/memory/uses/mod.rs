//! Which bytes of an object are mapped, and which commands are under way on which bytes.
//!
//! This is what lets safe code map memory: see the module documentation of [`super`]. The lock is
//! never held across a driver call that can wait, so a command is entered before the driver is asked
//! for it, and what came of it is added afterwards.

mod table;

use std::ops::Range;

#[cfg(loom)]
use loom::sync::{Condvar, Mutex, MutexGuard};
use std::sync::{Arc, PoisonError};
#[cfg(not(loom))]
use std::sync::{Condvar, Mutex, MutexGuard};

use cl3::command_queue as cl;
use cl3::error_codes::{CL_INVALID_COMMAND_QUEUE, CL_INVALID_CONTEXT, CL_INVALID_OPERATION};
use cl3::types::{cl_command_queue, cl_context};
use opencl3::command_queue::CommandQueue;

use crate::error::{Error, Result, in_call};
use crate::handle::{EventRef, Outcome, QueueRef};
use table::{Before, Entered, Obstacle, Queue, Refusal, Running, Table};

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
    shared: Shared<KnownQueue, Pending>,
}

/// The rules under a lock.
#[derive(Debug)]
struct Shared<Q, E> {
    table: Mutex<Table<Q, E>>,
    /// Notified when a command has been issued.
    issued: Condvar,
}

impl<Q, E> Default for Shared<Q, E> {
    fn default() -> Self {
        Self { table: Mutex::new(Table::default()), issued: Condvar::new() }
    }
}

impl<Q: Queue, E> Shared<Q, E> {
    fn lock(&self) -> MutexGuard<'_, Table<Q, E>> {
        // Nothing panics in the middle of a change to the table.
        self.table.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Tells maps that wait for what was being issued.
    fn tell(&self, change: impl FnOnce(&mut Table<Q, E>)) {
        let mut table = self.lock();
        change(&mut table);
        let is_awaited = table.waiting > 0;
        drop(table);
        // A system call.
        if is_awaited {
            self.issued.notify_all();
        }
    }

    /// What an entered map has to come after, once other threads have issued what they are just
    /// issuing on its bytes: it keeps away what is new.
    fn before_map<Error>(
        &self,
        id: u64,
        key: usize,
        range: &Range<usize>,
        access: Access,
        share: impl Fn(&Q) -> std::result::Result<Q, Error>,
    ) -> std::result::Result<std::result::Result<Before<Q, E>, Error>, Refusal> {
        let mut table = self.lock();
        while table.is_being_issued(range, access) {
            table.waiting += 1;
            table = self.issued.wait(table).unwrap_or_else(PoisonError::into_inner);
            table.waiting -= 1;
        }
        table.before_map(id, key, range, access, share)
    }
}

/// A queue, with what was asked of it once.
#[derive(Debug)]
struct KnownQueue {
    queue: QueueRef,
    in_order: bool,
}

impl Queue for KnownQueue {
    fn key(&self) -> usize {
        self.queue.get() as usize
    }

    fn is_in_order(&self) -> bool {
        self.in_order
    }
}

impl KnownQueue {
    /// Queue and object must be of one context: some drivers crash otherwise.
    fn ask(call: &'static str, queue: &CommandQueue, context: cl_context) -> Result<Self> {
        let info = |name| {
            cl::get_command_queue_info(queue.get(), name).map_err(in_call("clGetCommandQueueInfo"))
        };
        if isize::from(info(cl::CL_QUEUE_CONTEXT)?) as cl_context != context {
            let why = "the queue is of another context than the memory";
            return Err(Error::refused(call, CL_INVALID_CONTEXT, why));
        }
        let properties: u64 = info(cl::CL_QUEUE_PROPERTIES)?.into();
        let in_order = properties & cl::CL_QUEUE_OUT_OF_ORDER_EXEC_MODE_ENABLE == 0;
        Ok(Self { queue: QueueRef::retain(queue)?, in_order })
    }

    fn try_clone(&self) -> Result<Self> {
        Ok(Self { queue: self.queue.try_clone()?, in_order: self.in_order })
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
        Arc::new(Self { shared: Shared::default() })
    }

    fn lock(&self) -> MutexGuard<'_, Table<KnownQueue, Pending>> {
        self.shared.lock()
    }

    /// Whether there are bytes of which nobody can tell when they are free again.
    pub(crate) fn has_lost(&self) -> bool {
        self.lock().has_lost()
    }

    /// Enters a use with `enter`, for which `ask` asks about its queue.
    fn enter<T>(
        &self,
        call: &'static str,
        ask: impl Fn() -> Result<KnownQueue>,
        range: &Range<usize>,
        enter: impl Fn(
            &mut Table<KnownQueue, Pending>,
            bool,
        ) -> std::result::Result<T, Obstacle<Pending>>,
    ) -> Result<T> {
        let mut settled = false;
        loop {
            let obstacle = match enter(&mut self.lock(), settled) {
                Ok(entered) => return Ok(entered),
                Err(obstacle) => obstacle,
            };
            match obstacle {
                Obstacle::UnknownQueue => self.introduce(ask()?),
                Obstacle::Unmapping(running) => {
                    self.settle(running);
                    settled = true;
                }
                Obstacle::Refused(refusal) => return Err(in_use(call, range, &refusal)),
            }
        }
    }

    /// Refuses a queue of another context than `context`, the object's.
    pub(crate) fn check_queue(
        &self,
        call: &'static str,
        queue: &CommandQueue,
        context: cl_context,
    ) -> Result<()> {
        if !self.lock().knows(queue.get() as usize) {
            self.introduce(KnownQueue::ask(call, queue, context)?);
        }
        Ok(())
    }

    fn introduce(&self, queue: KnownQueue) {
        let made_room = self.lock().introduce(queue);
        let Some((queue, ids)) = made_room else { return };
        if ids.is_empty() {
            return;
        }
        match queue.queue.last_command() {
            Ok(event) => {
                let event = Arc::new(Pending { event, after: Vec::new() });
                self.shared.tell(|table| {
                    ids.iter().for_each(|id| table.set_running(*id, Arc::clone(&event)));
                });
            }
            Err(error) => {
                log::error!("{error}: bytes stay closed to maps");
                self.shared.tell(|table| ids.iter().for_each(|id| table.set_lost(*id)));
            }
        }
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
        self.wait_for(self.before_end(call, 0)?)?;
        Ok(())
    }

    /// The events after which all commands on these bytes that this crate knows of have ended, other
    /// than those on `queue`, which runs its commands in order. Refuses where they are mapped.
    /// Nobody may be able to enter new ones.
    pub(crate) fn events_before_end(
        &self,
        call: &'static str,
        queue: cl_command_queue,
    ) -> Result<Vec<EventRef>> {
        let before = self.before_end(call, queue as usize)?;
        let mut events = last_commands(before.queues)?;
        for (_, pending) in before.running {
            if pending.outcome().is_none() {
                events.push(pending.event.try_clone()?);
            }
        }
        Ok(events)
    }

    /// What the end of the bytes has to come after, on the queue `key`.
    fn before_end(&self, call: &'static str, key: usize) -> Result<Before<KnownQueue, Pending>> {
        let all = 0..usize::MAX;
        let refused = |refusal: Refusal| in_use(call, &all, &refusal);
        if self.lock().has_maps() {
            let why = "are mapped; unmap them first";
            return Err(refused(Refusal { held: all.clone(), why }));
        }
        // No map has this number.
        self.shared
            .before_map(0, key, &all, Access::Write, KnownQueue::try_clone)
            .map_err(refused)?
    }

    /// Waits for what a map has to come after. `false` where the end of another map failed.
    fn wait_for(&self, before: Before<KnownQueue, Pending>) -> Result<bool> {
        let mut well = true;
        for (queue, commands) in before.queues {
            queue.queue.last_command()?.wait_until_ended()?;
            self.lock().queue_was_idle(queue.key(), commands);
        }
        for (id, event) in before.running {
            let outcome = event.wait_until_ended()?;
            well &= outcome == Outcome::Complete || !self.lock().is_map(id);
            self.end(id, outcome);
        }
        Ok(well)
    }
}

/// Whether `queue`, which must be of `context`, runs its commands one after the other.
pub(crate) fn runs_in_order(
    call: &'static str,
    queue: &CommandQueue,
    context: cl_context,
) -> Result<bool> {
    Ok(KnownQueue::ask(call, queue, context)?.in_order)
}

/// Events that end when all has that the queues were given up to now.
fn last_commands(queues: Vec<(KnownQueue, u64)>) -> Result<Vec<EventRef>> {
    let last = |(queue, _): (KnownQueue, u64)| {
        let event = queue.queue.last_command()?;
        // Nobody else may ever flush it.
        queue.queue.flush()?;
        Ok(event)
    };
    queues.into_iter().map(last).collect()
}

fn in_use(call: &'static str, wanted: &Range<usize>, refusal: &Refusal) -> Error {
    let Refusal { held, why } = refusal;
    let why = format!("bytes {wanted:?} overlap bytes {held:?}, which {why}");
    Error::refused(call, CL_INVALID_OPERATION, why)
}

/// A command's use of bytes: from before the driver is asked for the command. If it is dropped, the
/// driver was not.
#[derive(Debug)]
pub(crate) struct CommandUse<'a> {
    uses: &'a Arc<Uses>,
    queue: usize,
    range: Range<usize>,
    access: Access,
    entered: Entered,
}

impl<'a> CommandUse<'a> {
    /// Refuses bytes that are mapped, and a queue of another context than the object's.
    pub(crate) fn enter(
        call: &'static str,
        queue: &CommandQueue,
        context: cl_context,
        uses: &'a Arc<Uses>,
        range: Range<usize>,
        access: Access,
    ) -> Result<Self> {
        let key = queue.get() as usize;
        let ask = || KnownQueue::ask(call, queue, context);
        let entered = uses.enter(call, ask, &range, |table, settled| {
            table.enter_command(key, &range, access, settled)
        })?;
        Ok(Self { uses, queue: key, range, access, entered })
    }

    /// The command has been enqueued, and ends with `event`.
    pub(crate) fn issued(self, event: &EventRef) {
        if let Entered::Alone(id) = self.entered {
            match event.try_clone() {
                Ok(event) => {
                    self.uses.issued(id, Pending { event, after: Vec::new() });
                    std::mem::forget(self);
                }
                Err(error) => {
                    // It cannot be remembered, so it must be over before it is forgotten.
                    log::warn!("{error}; waiting instead");
                    if event.wait_until_ended().is_err() {
                        self.lost();
                    }
                }
            }
        }
    }

    /// The driver may have taken the command, and nobody can tell when it ends.
    pub(crate) fn lost(self) {
        match self.entered {
            Entered::OnQueue => self.uses.lock().lose(self.range.clone(), self.access),
            Entered::Alone(id) => {
                self.uses.shared.tell(|table| table.set_lost(id));
                std::mem::forget(self);
            }
        }
    }
}

impl Drop for CommandUse<'_> {
    fn drop(&mut self) {
        match self.entered {
            Entered::OnQueue => self.uses.shared.tell(|table| table.was_issued(self.queue)),
            Entered::Alone(id) => self.uses.end(id, Outcome::Complete),
        }
    }
}

/// A map's use of bytes. If it is dropped, the driver has not mapped them.
#[derive(Debug)]
pub(crate) struct MapUse {
    uses: Arc<Uses>,
    id: u64,
    queue: cl_command_queue,
    in_order: bool,
    over: bool,
}

// SAFETY: queues may be used from any thread, and `uses` keeps this one.
unsafe impl Send for MapUse {}
// SAFETY: as above.
unsafe impl Sync for MapUse {}

impl MapUse {
    /// Enters a map, and waits for what has to end first.
    ///
    /// Refuses bytes that are mapped, and a queue of another context than the object's.
    pub(crate) fn enter(
        call: &'static str,
        queue: &CommandQueue,
        context: cl_context,
        uses: &Arc<Uses>,
        range: Range<usize>,
        access: Access,
    ) -> Result<Self> {
        let (entered, before) = Self::enter_before(call, queue, context, uses, &range, access)?;
        if uses.wait_for(before)? {
            Ok(entered)
        } else {
            Err(in_use(call, &range, &Refusal { held: range.clone(), why: LOST_MAP }))
        }
    }

    /// Enters a map that does not block, and gives the events of what has to end first.
    ///
    /// Refuses what [`enter`](Self::enter) refuses.
    pub(crate) fn enter_after(
        call: &'static str,
        queue: &CommandQueue,
        context: cl_context,
        uses: &Arc<Uses>,
        range: Range<usize>,
        access: Access,
    ) -> Result<(Self, Vec<EventRef>)> {
        let (entered, before) = Self::enter_before(call, queue, context, uses, &range, access)?;
        let mut events = last_commands(before.queues)?;
        for (id, pending) in before.running {
            match pending.outcome() {
                Some(Outcome::Failed) if uses.lock().is_map(id) => {
                    uses.end(id, Outcome::Failed);
                    return Err(in_use(
                        call,
                        &range,
                        &Refusal { held: range.clone(), why: LOST_MAP },
                    ));
                }
                Some(outcome) => uses.end(id, outcome),
                None => events.push(pending.event.try_clone()?),
            }
        }
        Ok((entered, events))
    }

    fn enter_before(
        call: &'static str,
        queue: &CommandQueue,
        context: cl_context,
        uses: &Arc<Uses>,
        range: &Range<usize>,
        access: Access,
    ) -> Result<(Self, Before<KnownQueue, Pending>)> {
        let key = queue.get() as usize;
        let ask = || KnownQueue::ask(call, queue, context);
        let (id, in_order) = uses.enter(call, ask, range, |table, settled| {
            table.enter_map(key, range, access, settled)
        })?;
        let entered =
            Self { uses: Arc::clone(uses), id, queue: queue.get(), in_order, over: false };
        let before = uses
            .shared
            .before_map(id, key, range, access, KnownQueue::try_clone)
            .map_err(|refusal| in_use(call, range, &refusal))??;
        Ok((entered, before))
    }

    /// Whether the queue on which the map ends runs its commands in order.
    pub(crate) fn is_in_order(&self) -> bool {
        self.in_order
    }

    /// The queue on which the map ends, valid until then.
    pub(crate) fn queue(&self) -> cl_command_queue {
        self.queue
    }

    /// The driver was asked, on the map's own queue or another, for the end of the map after `after`:
    /// it ends with `event`.
    pub(crate) fn unmapped(mut self, own_queue: bool, event: &EventRef, after: Vec<EventRef>) {
        if own_queue && self.in_order && after.is_empty() {
            self.uses.shared.tell(|table| table.was_unmapped(self.id));
            self.over = true;
            return;
        }
        match event.try_clone() {
            Ok(event) => {
                self.uses.issued(self.id, Pending { event, after });
                self.over = true;
            }
            // It cannot be remembered, so it must be over before it is forgotten.
            Err(error) => match event.wait_until_ended() {
                Ok(Outcome::Complete) if after.is_empty() => log::warn!("{error}; waited instead"),
                _ => {
                    log::error!("{error}: its bytes stay closed");
                    self.lost();
                }
            },
        }
    }

    /// Nobody can tell whether the map has ended.
    pub(crate) fn lost(mut self) {
        self.uses.shared.tell(|table| table.set_lost(self.id));
        self.over = true;
    }
}

impl Drop for MapUse {
    fn drop(&mut self) {
        if !self.over {
            self.uses.end(self.id, Outcome::Complete);
        }
    }
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
        let no_queue = || Err(Error::refused(call, CL_INVALID_COMMAND_QUEUE, "there is no queue"));
        let enter = |table: &mut Table<_, _>, settled| table.enter_host(range, access, settled);
        let id = uses.enter(call, no_queue, range, enter)?;
        let entered = Self { uses: Arc::clone(uses), id };
        // No queue has this number.
        let before = uses.shared.before_map(id, 0, range, access, KnownQueue::try_clone);
        if uses.wait_for(before.map_err(|refusal| in_use(call, range, &refusal))??)? {
            Ok(entered)
        } else {
            Err(in_use(call, range, &Refusal { held: range.clone(), why: LOST_MAP }))
        }
    }
}

impl Drop for HostUse {
    fn drop(&mut self) {
        self.uses.end(self.id, Outcome::Complete);
    }
}
