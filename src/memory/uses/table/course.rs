//! What comes of uses that have been entered.

use std::ops::Range;
use std::sync::Arc;

use super::entry::{State, Use};
use super::{Queue, Running, Table};
use crate::memory::uses::Access;

/// How many uses are kept without looking whether they have ended.
pub(super) const SLACK: usize = 16;

impl<Q: Queue, E> Table<Q, E> {
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

    /// Returns whether the queue on which a map ends runs its commands in order.
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

    /// Records that the use `id` has failed. After a failed unmap the bytes stay closed, because the
    /// driver may still treat them as mapped.
    // quirk: DRIVER-10
    pub fn fail(&mut self, id: u64) {
        if self.is_map(id) { self.set_lost(id) } else { self.remove(id) }
    }

    /// Returns whether the use of that id is a map.
    pub fn is_map(&self, id: u64) -> bool {
        self.maps.iter().any(|map| map.id == id)
    }

    /// Returns whether something is mapped.
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
        self.tidy_at = (2 * len).max(SLACK);
    }
}
