//! What has to end before bytes can be used otherwise.

use std::ops::Range;
use std::sync::Arc;

use super::entry::{State, Use};
use super::known::Known;
use super::{LOST_COMMAND, LOST_MAP, Queue, Refusal, Running, Table};
use crate::memory::uses::issuing::Issuing;
use crate::memory::uses::{Access, overlap};

/// What a map has to come after.
#[derive(Debug)]
pub(in crate::memory::uses) struct Before<Q, E> {
    /// In-order queues, with how many commands they had been given.
    pub queues: Vec<(Q, u64)>,
    pub running: Vec<Running<E>>,
}

impl<Q: Queue, E> Table<Q, E> {
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

    /// Commands on these bytes that are tracked by their own event; `None` if some use has no event.
    pub fn running(&self, range: &Range<usize>) -> Option<Vec<Running<E>>> {
        let uses = self.commands.iter().chain(&self.maps);
        uses.filter(|entry| overlap(&entry.range, range))
            .map(|entry| match &entry.state {
                State::Running(event) => Some((entry.id, Arc::clone(event))),
                State::Issuing | State::Mapped | State::Lost => None,
            })
            .collect()
    }
}
