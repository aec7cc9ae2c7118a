//! The queues that a table knows, with the bytes that each has touched.

use std::ops::Range;

use super::entry::{State, Use};
use super::{Queue, Table};
use crate::memory::uses::issuing::{self, Issuing, Slot};
use crate::memory::uses::{Access, overlap};

/// Bytes that commands have touched, and how.
#[derive(Clone, Debug)]
pub(super) struct Touched {
    pub read: Range<usize>,
    pub written: Range<usize>,
}

impl Default for Touched {
    fn default() -> Self {
        Self { read: Self::NONE, written: Self::NONE }
    }
}

impl Touched {
    /// The empty range: identity of `add`.
    const NONE: Range<usize> = Range { start: usize::MAX, end: 0 };

    #[inline]
    pub(super) fn add(&mut self, range: &Range<usize>, access: Access) {
        let touched = match access {
            Access::Read => &mut self.read,
            Access::Write => &mut self.written,
        };
        *touched = touched.start.min(range.start)..touched.end.max(range.end);
    }

    #[inline]
    pub(super) fn conflicts_with(&self, range: &Range<usize>, access: Access) -> bool {
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
pub(super) struct Known<Q> {
    pub key: usize,
    pub queue: Q,
    /// By commands that were enqueued; unused for a queue without order.
    pub touched: Touched,
    /// Counts the commands that the driver is being asked for.
    pub slot: Slot,
    /// Maps that end on this queue.
    pub maps: u32,
    /// Counts the commands, to tell whether there was one meanwhile: begins where the counts of all
    /// queues that made room have ended, as one of them may have come back.
    pub commands: u64,
}

impl<Q> Known<Q> {
    /// Returns whether nothing is being issued on it, and no map ends there.
    fn is_idle(&self, issuing: &Issuing) -> bool {
        !issuing.is_busy(self.slot) && self.maps == 0
    }

    /// Enters a command of this queue, which runs them in order.
    #[inline]
    pub(super) fn enter(
        &mut self,
        issuing: &Issuing,
        range: &Range<usize>,
        access: Access,
    ) -> Slot {
        self.touched.add(range, access);
        self.commands += 1;
        issuing.begin(self.slot);
        self.slot
    }
}

/// How many queues are kept: each is one that the driver cannot free.
pub(super) const QUEUES: usize = issuing::QUEUES;

/// A queue that has been forgotten, with the ids under which what it has touched is being issued from
/// now on: it takes the last of its commands to say when that ends.
#[derive(Debug)]
pub(in crate::memory::uses) struct Retired<Q> {
    pub queue: Q,
    pub ids: Vec<u64>,
}

impl<Q: Queue, E> Table<Q, E> {
    #[inline]
    pub(super) fn known(&mut self, key: usize) -> Option<&mut Known<Q>> {
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
        let out = (self.queues.len() >= QUEUES)
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

    /// All that the queue `key` had been given when `commands` were counted has ended.
    pub fn queue_was_idle(&mut self, key: usize, commands: u64) {
        if let Some(known) = self.known(key).filter(|known| known.commands == commands) {
            known.touched = Touched::default();
        }
    }

    /// The queue on which a map ends, if it runs its commands in order.
    #[inline]
    pub(super) fn known_to_end(&mut self, queue: Option<usize>) -> Option<&mut Known<Q>> {
        self.known(queue?).filter(|known| known.queue.is_in_order())
    }

    /// No map ends on this queue any more that did.
    pub(super) fn let_go_of(&mut self, queue: Option<usize>) {
        if let Some(known) = queue.and_then(|key| self.known(key)) {
            known.maps -= 1;
        }
    }
}
