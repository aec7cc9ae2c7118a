//! The rules of who may use which bytes when, free of drivers and locks.
//!
//! Commands on an in-order queue are not followed one by one: what the queue was given last ends
//! last, so it is enough to know which bytes the queue has touched. All else is: maps, and commands
//! on queues that may reorder them.
//!
//! Here is what may be entered. What the table knows of queues is in [`known`], what a map comes after
//! in [`before`], and what comes of what has been entered in [`course`].

mod before;
mod course;
mod entry;
mod known;

use std::ops::Range;
use std::sync::Arc;

use super::issuing::{Issuing, Slot};
use super::{Access, overlap};
pub(super) use before::Before;
use entry::{State, Use};
use known::Known;
pub(super) use known::Retired;

/// A command queue, as far as the rules go.
pub(crate) trait Queue: Clone {
    /// What tells it from others.
    fn key(&self) -> usize;

    /// Returns whether it runs its commands one after the other.
    fn is_in_order(&self) -> bool;

    /// Whether what it is given next ends after all that it has been given: one that runs its
    /// commands in order may not promise that once one has failed.
    fn orders_what_follows(&self) -> bool;

    /// Returns whether one of its commands may fail without a mark before it.
    fn fails_without_mark(&self) -> bool;
}

/// Why bytes of a command cannot be mapped of which nobody can tell any more when it ends.
const LOST_COMMAND: &str = "are used by a command for which the driver returned no event";

/// Why bytes of a map cannot be used of which nobody can tell any more whether it has ended.
pub(super) const LOST_MAP: &str = "can no longer be used, because an unmap of them failed";

/// Why bytes cannot be used.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Refusal {
    pub held: Range<usize>,
    pub why: &'static str,
}

/// What is in the way of a use.
#[derive(Debug)]
pub(super) enum Obstacle<E> {
    /// The queue has to be introduced first.
    UnknownQueue,
    /// The ends of maps, to be looked at: those that have ended well are to be removed.
    Unmapping(Vec<Running<E>>),
    /// It is not allowed.
    Refused(Refusal),
}

/// Something that has been enqueued, by its id.
pub(super) type Running<E> = (u64, Arc<E>);

/// A command that has been entered.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Entered {
    /// Not at all.
    Not,
    /// Among the others of its in-order queue.
    OnQueue(Slot),
    /// By itself.
    Alone(u64),
}

/// A map that has been entered.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct EnteredMap {
    pub id: u64,
    /// True if there may be something that it has to come after.
    pub must_wait: bool,
    /// True if it may fail because something before it failed, even if there is no mark.
    pub may_fail: bool,
}

/// The uses of the bytes of one object.
#[derive(Debug)]
pub(super) struct Table<Q, E> {
    queues: Vec<Known<Q>>,
    /// Commands, apart from maps, so that a command need not look at all others.
    commands: Vec<Use<E>>,
    maps: Vec<Use<E>>,
    /// The largest count of commands of a queue that made room.
    counted: u64,
    last_id: u64,
    /// The number of uses at which those that have ended are looked for.
    tidy_at: usize,
    /// Threads that wait until nothing is being issued.
    pub waiting: u32,
}

impl<Q, E> Default for Table<Q, E> {
    fn default() -> Self {
        Self {
            queues: vec![],
            commands: vec![],
            maps: vec![],
            counted: 0,
            last_id: 0,
            tidy_at: course::SLACK,
            waiting: 0,
        }
    }
}

impl<Q: Queue, E> Table<Q, E> {
    fn new_id(&mut self) -> u64 {
        self.last_id += 1;
        self.last_id
    }

    /// Enters a command that is about to be issued. With `settled`, the ends of maps that are still
    /// under way are for the queues to order.
    pub fn enter_command(
        &mut self,
        issuing: &Issuing,
        key: usize,
        range: &Range<usize>,
        access: Access,
        settled: bool,
    ) -> Result<Entered, Obstacle<E>> {
        self.check_maps(range, access, settled)?;
        let may_open = self.maps.is_empty();
        let Some(known) = self.known(key) else { return Err(Obstacle::UnknownQueue) };
        if !known.queue.is_in_order() {
            return Ok(self.enter_alone(range.clone(), access));
        }
        let slot = known.enter(issuing, range, access);
        if may_open {
            issuing.open(key, slot, [&known.touched.read, &known.touched.written]);
        }
        Ok(Entered::OnQueue(slot))
    }

    fn enter_alone(&mut self, range: Range<usize>, access: Access) -> Entered {
        let id = self.new_id();
        self.commands.push(Use::command(id, range, access, State::Issuing));
        Entered::Alone(id)
    }

    /// Enters a map that ends on the queue `key`. With `settled`, it is to come after the ends of
    /// maps that are still under way.
    #[inline]
    pub fn enter_map(
        &mut self,
        issuing: &Issuing,
        key: usize,
        range: &Range<usize>,
        access: Access,
        settled: bool,
    ) -> Result<EnteredMap, Obstacle<E>> {
        // Before it is looked at which queues are busy.
        issuing.close();
        if !self.maps.is_empty() {
            self.check_maps(range, access, settled)?;
        }
        let has_others = !self.maps.is_empty() || !self.commands.is_empty();
        let mut must_wait = has_others;
        let mut own = None;
        for known in &mut self.queues {
            let is_own = known.key == key;
            let is_ordered = is_own && known.queue.orders_what_follows();
            must_wait |= (!is_ordered || issuing.is_busy(known.slot))
                && known.touched.conflicts_with(range, access);
            if is_own {
                own = Some(known);
            }
        }
        let Some(known) = own else { return Err(Obstacle::UnknownQueue) };
        known.maps += 1;
        let may_fail = must_wait || known.queue.fails_without_mark();
        let id = self.push_map(range, access, Some(key));
        Ok(EnteredMap { id, must_wait, may_fail })
    }

    /// Enters what the host does to bytes that need no map, as a map that ends on no queue.
    pub fn enter_host(
        &mut self,
        issuing: &Issuing,
        range: &Range<usize>,
        access: Access,
        settled: bool,
    ) -> Result<u64, Obstacle<E>> {
        issuing.close();
        self.check_maps(range, access, settled)?;
        Ok(self.push_map(range, access, None))
    }

    #[inline]
    fn push_map(&mut self, range: &Range<usize>, access: Access, queue: Option<usize>) -> u64 {
        let id = self.new_id();
        self.maps.push(Use { id, range: range.clone(), access, state: State::Mapped, queue });
        id
    }

    fn check_maps(
        &self,
        range: &Range<usize>,
        access: Access,
        settled: bool,
    ) -> Result<(), Obstacle<E>> {
        let mut unmapping = Vec::new();
        for map in self.maps.iter().filter(|map| map.conflicts_with(range, access)) {
            let why = match &map.state {
                State::Running(event) => {
                    unmapping.push((map.id, Arc::clone(event)));
                    continue;
                }
                State::Lost => LOST_MAP,
                State::Mapped | State::Issuing => "are mapped, or about to be; unmap them first",
            };
            return Err(Obstacle::Refused(Refusal { held: map.range.clone(), why }));
        }
        if settled || unmapping.is_empty() { Ok(()) } else { Err(Obstacle::Unmapping(unmapping)) }
    }

    /// Enters something that has been enqueued.
    pub fn enter_running(&mut self, range: Range<usize>, event: Arc<E>) -> Result<(), Refusal> {
        let mapped =
            |map: &&Use<E>| matches!(map.state, State::Mapped) && overlap(&map.range, &range);
        if let Some(map) = self.maps.iter().find(mapped) {
            let why = "are mapped; unmap them first";
            return Err(Refusal { held: map.range.clone(), why });
        }
        let id = self.new_id();
        self.commands.push(Use::command(id, range, Access::Write, State::Running(event)));
        Ok(())
    }
}

#[cfg(all(test, not(loom)))]
mod tests;
