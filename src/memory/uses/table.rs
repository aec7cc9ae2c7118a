//! The rules of who may use which bytes when, free of drivers and locks.
//!
//! Commands on an in-order queue are not followed one by one: what the queue was given last ends
//! last, so it is enough to know which bytes the queue has touched. All else is: maps, and commands
//! on queues that may reorder them.

use std::ops::Range;
use std::sync::Arc;

use super::issuing::{self, Issuing, Slot};
use super::{Access, overlap};

/// A command queue, as far as the rules go.
pub(crate) trait Queue: Clone {
    /// What tells it from others.
    fn key(&self) -> usize;

    /// Whether it runs its commands one after the other.
    fn is_in_order(&self) -> bool;

    /// Whether what it is given next ends after all that it has been given: one that runs its
    /// commands in order may not promise that once one has failed.
    fn orders_what_follows(&self) -> bool;

    /// Whether one of its commands may fail without a mark before it.
    fn fails_without_mark(&self) -> bool;
}

/// Bytes that commands have touched, and how.
#[derive(Clone, Debug)]
pub(super) struct Touched {
    read: Range<usize>,
    written: Range<usize>,
}

impl Default for Touched {
    fn default() -> Self {
        Self { read: Self::NONE, written: Self::NONE }
    }
}

impl Touched {
    /// What any range can be added to as to one with bytes.
    const NONE: Range<usize> = Range { start: usize::MAX, end: 0 };

    #[inline]
    fn add(&mut self, range: &Range<usize>, access: Access) {
        let touched = match access {
            Access::Read => &mut self.read,
            Access::Write => &mut self.written,
        };
        *touched = touched.start.min(range.start)..touched.end.max(range.end);
    }

    #[inline]
    fn conflicts_with(&self, range: &Range<usize>, access: Access) -> bool {
        overlap(&self.written, range) || (access == Access::Write && overlap(&self.read, range))
    }

    /// As uses of their own.
    fn uses(self) -> impl Iterator<Item = (Range<usize>, Access)> {
        [(self.read, Access::Read), (self.written, Access::Write)]
            .into_iter()
            .filter(|(range, _)| !range.is_empty())
    }
}

/// A queue that has been used with these bytes.
#[derive(Debug)]
struct Known<Q> {
    key: usize,
    queue: Q,
    /// By commands that were enqueued; unused for a queue without order.
    touched: Touched,
    /// Counts the commands that the driver is being asked for.
    slot: Slot,
    /// Maps that end on this queue.
    maps: u32,
    /// Counts the commands, to tell whether there was one meanwhile: begins where the counts of all
    /// queues that made room have ended, as one of them may have come back.
    commands: u64,
}

impl<Q> Known<Q> {
    /// Whether nothing is being issued on it, and no map ends there.
    fn is_idle(&self, issuing: &Issuing) -> bool {
        !issuing.is_busy(self.slot) && self.maps == 0
    }

    /// Enters a command of this queue, which runs them in order.
    #[inline]
    fn enter(&mut self, issuing: &Issuing, range: &Range<usize>, access: Access) -> Slot {
        self.touched.add(range, access);
        self.commands += 1;
        issuing.begin(self.slot);
        self.slot
    }
}

/// What happens to a use that is followed by itself.
#[derive(Clone, Debug)]
enum State<E> {
    /// A command that the driver is being asked for.
    Issuing,
    /// A map, from before the driver is asked for it until the driver is asked to end it.
    Mapped,
    /// A command, or the end of a map, that has been enqueued.
    Running(Arc<E>),
    /// Nobody can tell any more when it ends.
    Lost,
}

/// A use that is followed by itself.
#[derive(Debug)]
struct Use<E> {
    id: u64,
    range: Range<usize>,
    access: Access,
    state: State<E>,
    /// The queue on which a map ends.
    queue: Option<usize>,
}

impl<E> Use<E> {
    fn command(id: u64, range: Range<usize>, access: Access, state: State<E>) -> Self {
        Self { id, range, access, state, queue: None }
    }

    fn conflicts_with(&self, range: &Range<usize>, access: Access) -> bool {
        overlap(&self.range, range) && (self.access == Access::Write || access == Access::Write)
    }
}

/// Why bytes of a command cannot be mapped of which nobody can tell any more when it ends.
const LOST_COMMAND: &str = "are in a command of which the driver gave no event";

/// The same of a map whose end nobody can tell: no use of them is allowed.
pub(super) const LOST_MAP: &str = "stay closed: an unmap of them failed";

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

/// A queue that has been forgotten, with the ids under which what it has touched is being issued from
/// now on: it takes the last of its commands to say when that ends.
#[derive(Debug)]
pub(super) struct Retired<Q> {
    pub queue: Q,
    pub ids: Vec<u64>,
}

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
    /// Whether there may be something that it has to come after.
    pub must_wait: bool,
    /// Whether it may fail because something before it failed, even if there is no mark.
    pub may_fail: bool,
}

/// What a map has to come after.
#[derive(Debug)]
pub(super) struct Before<Q, E> {
    /// In-order queues, with how many commands they had been given.
    pub queues: Vec<(Q, u64)>,
    pub running: Vec<Running<E>>,
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
            tidy_at: Self::SLACK,
            waiting: 0,
        }
    }
}

impl<Q, E> Table<Q, E> {
    /// How many uses are kept without looking whether they have ended.
    const SLACK: usize = 16;
    /// How many queues are kept: each is one that the driver cannot free.
    const QUEUES: usize = issuing::QUEUES;
}

impl<Q: Queue, E> Table<Q, E> {
    fn new_id(&mut self) -> u64 {
        self.last_id += 1;
        self.last_id
    }

    #[inline]
    fn known(&mut self, key: usize) -> Option<&mut Known<Q>> {
        self.queues.iter_mut().find(|known| known.key == key)
    }

    /// A queue that has been introduced.
    pub fn queue(&self, key: usize) -> Option<&Q> {
        self.queues.iter().find(|known| known.key == key).map(|known| &known.queue)
    }

    /// Makes a queue known. Gives back one that must make room, if there is one.
    pub fn introduce(&mut self, issuing: &Issuing, queue: Q) -> Option<Retired<Q>> {
        if self.queue(queue.key()).is_some() {
            return None;
        }
        issuing.close();
        let out = (self.queues.len() >= Self::QUEUES)
            .then(|| self.queues.iter().position(|known| known.is_idle(issuing)))
            .flatten()
            .map(|position| self.queues.remove(position));
        let retired = out.map(|known| self.retire(known));
        let slot = Slot::beside(self.queues.iter().map(|known| known.slot));
        let (key, touched, commands) = (queue.key(), Touched::default(), self.counted);
        self.queues.push(Known { key, queue, touched, slot, maps: 0, commands });
        retired
    }

    /// Forgets all queues but `key`, as far as nothing is being issued or mapped there.
    pub fn retire_others(&mut self, issuing: &Issuing, key: usize) -> Vec<Retired<Q>> {
        issuing.close();
        let is_out = |known: &mut Known<Q>| known.key != key && known.is_idle(issuing);
        let out: Vec<_> = self.queues.extract_if(.., is_out).collect();
        out.into_iter().map(|known| self.retire(known)).collect()
    }

    fn retire(&mut self, out: Known<Q>) -> Retired<Q> {
        self.counted = self.counted.max(out.commands);
        let mut ids = Vec::new();
        for (range, access) in out.touched.uses() {
            let id = self.new_id();
            self.commands.push(Use::command(id, range, access, State::Issuing));
            ids.push(id);
        }
        Retired { queue: out.queue, ids }
    }

    /// The queues other than `key` that have touched these bytes.
    pub fn others_on(&self, key: usize, range: &Range<usize>) -> Vec<Q> {
        let others = self.queues.iter().filter(|known| known.key != key);
        others
            .filter(|known| known.touched.conflicts_with(range, Access::Write))
            .map(|known| known.queue.clone())
            .collect()
    }

    /// What has been enqueued on these bytes and is followed by itself; `None` where something else may
    /// go on there that no event tells the end of.
    pub fn running(&self, range: &Range<usize>) -> Option<Vec<Running<E>>> {
        let uses = self.commands.iter().chain(&self.maps);
        uses.filter(|entry| overlap(&entry.range, range))
            .map(|entry| match &entry.state {
                State::Running(event) => Some((entry.id, Arc::clone(event))),
                State::Issuing | State::Mapped | State::Lost => None,
            })
            .collect()
    }

    /// The only queue of which there is a use, if it runs its commands in order: 0 where there is no use,
    /// `None` where there are others.
    pub fn only_queue(&self) -> Option<usize> {
        match &self.queues[..] {
            _ if !(self.commands.is_empty() && self.maps.is_empty()) => None,
            [] => Some(0),
            [only] => only.queue.is_in_order().then_some(only.key),
            _ => None,
        }
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

    /// Whether a command on these bytes is just being issued. If so, who ends that will tell.
    pub fn is_being_issued(&self, issuing: &Issuing, range: &Range<usize>, access: Access) -> bool {
        issuing.close();
        let on_queue = |known: &Known<Q>| {
            known.touched.conflicts_with(range, access) && issuing.await_end(known.slot)
        };
        let alone = |command: &Use<E>| {
            matches!(command.state, State::Issuing) && command.conflicts_with(range, access)
        };
        self.queues.iter().any(on_queue) || self.commands.iter().any(alone)
    }

    /// What a map on the queue `key` has to come after, once nothing is being issued.
    pub fn before_map(
        &self,
        id: u64,
        key: usize,
        range: &Range<usize>,
        access: Access,
    ) -> Result<Before<Q, E>, Refusal> {
        let mut before = Before { queues: Vec::new(), running: Vec::new() };
        let commands = self.commands.iter().map(|command| (command, LOST_COMMAND));
        let maps = self.maps.iter().filter(|map| map.id != id).map(|map| (map, LOST_MAP));
        let uses = commands.chain(maps);
        for (entry, why) in uses.filter(|(entry, _)| entry.conflicts_with(range, access)) {
            match &entry.state {
                State::Running(event) => before.running.push((entry.id, Arc::clone(event))),
                State::Lost => return Err(Refusal { held: entry.range.clone(), why }),
                State::Issuing | State::Mapped => {}
            }
        }
        for known in &self.queues {
            // The map's own queue orders it, if it is one that does.
            let is_ordered = known.key == key && known.queue.orders_what_follows();
            if !is_ordered && known.touched.conflicts_with(range, access) {
                before.queues.push((known.queue.clone(), known.commands));
            }
        }
        Ok(before)
    }

    /// All that the queue `key` had been given when `commands` were counted has ended.
    pub fn queue_was_idle(&mut self, key: usize, commands: u64) {
        if let Some(known) = self.known(key).filter(|known| known.commands == commands) {
            known.touched = Touched::default();
        }
    }

    /// The driver has taken it; `event` says when it ends.
    pub fn set_running(&mut self, id: u64, event: Arc<E>) {
        self.set(id, State::Running(event));
    }

    /// The driver has taken it; it ends when all of these events have.
    pub fn set_all_running(&mut self, id: u64, events: &[Arc<E>]) {
        let Some((first, others)) = events.split_first() else { return };
        let command = self.commands.iter().find(|command| command.id == id);
        let Some((range, access)) = command.map(|use_| (use_.range.clone(), use_.access)) else {
            return;
        };
        self.set_running(id, Arc::clone(first));
        for event in others {
            let (id, state) = (self.new_id(), State::Running(Arc::clone(event)));
            self.commands.push(Use::command(id, range.clone(), access, state));
        }
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

    /// Nobody will be able to tell when it ends.
    pub fn set_lost(&mut self, id: u64) {
        self.set(id, State::Lost);
    }

    /// Nobody will be able to tell when these bytes are free again.
    pub fn lose(&mut self, range: Range<usize>, access: Access) {
        let id = self.new_id();
        self.commands.push(Use::command(id, range, access, State::Lost));
    }

    fn set(&mut self, id: u64, state: State<E>) {
        // The newest is the likeliest.
        if let Some(command) = self.commands.iter_mut().rev().find(|command| command.id == id) {
            command.state = state;
        } else if let Some(map) = self.maps.iter_mut().rev().find(|map| map.id == id) {
            map.state = state;
            let queue = map.queue.take();
            self.let_go_of(queue);
        }
    }

    /// The driver was asked for the end of a map on its queue. `false` where that does not run its
    /// commands in order, so that the end is to be followed by itself.
    #[inline]
    pub fn was_unmapped(&mut self, id: u64) -> bool {
        // The newest is the likeliest.
        let Some(position) = self.maps.iter().rposition(|map| map.id == id) else { return true };
        let Use { ref range, access, queue, .. } = self.maps[position];
        let range = range.clone();
        let Some(known) = self.known_to_end(queue) else { return false };
        known.maps -= 1;
        known.touched.add(&range, access);
        known.commands += 1;
        self.maps.swap_remove(position);
        true
    }

    /// The queue on which a map ends, if it runs its commands in order.
    #[inline]
    fn known_to_end(&mut self, queue: Option<usize>) -> Option<&mut Known<Q>> {
        self.known(queue?).filter(|known| known.queue.is_in_order())
    }

    /// No map ends on this queue any more that did.
    fn let_go_of(&mut self, queue: Option<usize>) {
        if let Some(known) = queue.and_then(|key| self.known(key)) {
            known.maps -= 1;
        }
    }

    /// Whether the queue on which a map ends runs its commands in order.
    pub fn ends_in_order(&mut self, id: u64) -> bool {
        let queue = self.maps.iter().find(|map| map.id == id).and_then(|map| map.queue);
        self.known_to_end(queue).is_some()
    }

    /// A use that is followed by itself has ended, or never began.
    pub fn remove(&mut self, id: u64) {
        if let Some(position) = self.commands.iter().rposition(|command| command.id == id) {
            self.commands.swap_remove(position);
        } else if let Some(position) = self.maps.iter().rposition(|map| map.id == id) {
            let queue = self.maps.swap_remove(position).queue;
            self.let_go_of(queue);
        }
    }

    /// A use has failed. The driver may take bytes for mapped whose unmap failed.
    pub fn fail(&mut self, id: u64) {
        if self.is_map(id) { self.set_lost(id) } else { self.remove(id) }
    }

    /// Whether the use of that id is a map.
    pub fn is_map(&self, id: u64) -> bool {
        self.maps.iter().any(|map| map.id == id)
    }

    /// Whether something is mapped.
    pub fn has_maps(&self) -> bool {
        self.maps.iter().any(|map| matches!(map.state, State::Mapped))
    }

    /// What has been enqueued, if there is so much that it is time to look what has ended.
    pub fn untidy(&mut self) -> Option<Vec<Running<E>>> {
        let len = self.commands.len() + self.maps.len();
        if len <= self.tidy_at {
            return None;
        }
        // Doubling keeps the cost of many commands linear.
        self.tidy_at = 2 * len;
        let running = |entry: &Use<E>| match &entry.state {
            State::Running(event) => Some((entry.id, Arc::clone(event))),
            _ => None,
        };
        Some(self.commands.iter().chain(&self.maps).filter_map(running).collect())
    }

    /// Uses have ended: there may be few now.
    pub fn was_tidied(&mut self) {
        let len = self.commands.len() + self.maps.len();
        self.tidy_at = (2 * len).max(Self::SLACK);
    }
}

#[cfg(all(test, not(loom)))]
mod tests;
