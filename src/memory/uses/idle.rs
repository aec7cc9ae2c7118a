//! When bytes are not in use any more: asked by pools, and before memory ends.

use std::ops::Range;
use std::sync::Arc;

use super::pending::{Pending, last_commands};
use super::table::{Before, Refusal};
use super::{Access, KnownQueue, Uses, in_use, lost_map};
use crate::error::Result;
use crate::handle::EventRef;

impl Uses {
    /// Whether all uses were on this queue, which runs them in order, or there were none. Nobody may be
    /// about to enter one of the bytes that this is asked for.
    #[inline]
    pub(crate) fn are_all_on(&self, key: usize) -> bool {
        self.only_queue.is(key)
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
        self.only_queue.set(table.only_queue());
        drop(table);
        let running = running.iter().map(|(_, pending)| pending.event.try_clone());
        let mut events = running.collect::<Result<Vec<_>>>()?;
        for queue in queues {
            events.extend(queue.last_commands()?);
        }
        Ok(Some(events))
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
}
