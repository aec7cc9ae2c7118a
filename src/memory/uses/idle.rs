//! When bytes are not in use any more: asked by pools, and before memory ends.

use std::ops::Range;
use std::sync::Arc;

use super::pending::{Pending, last_commands};
use super::table::{Before, Refusal};
use super::{Access, KnownQueue, Uses, in_use, lost_map};
use crate::error::Result;
use crate::handle::EventRef;

/// The bytes of the object, however many there are.
const ALL: Range<usize> = 0..usize::MAX;

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
        events.extend(last_commands(queues)?);
        Ok(Some(events))
    }

    /// Waits until all commands on these bytes that this crate knows of have ended, and refuses
    /// where they are mapped. Nobody may be able to enter new ones.
    pub(crate) fn wait_until_idle(&self, call: &'static str) -> Result<()> {
        // No queue has this number.
        let well = self.wait_for(self.before_end(call, 0)?)?;
        if well { Ok(()) } else { Err(lost_map(call, &ALL)) }
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
        self.events_of(call, &ALL, self.before_end(call, key)?)
    }

    /// The uses that must finish before the memory may be freed on queue `key`.
    fn before_end(
        &self,
        call: &'static str,
        key: usize,
    ) -> Result<Before<Arc<KnownQueue>, Pending>> {
        let refused = |refusal: Refusal| in_use(call, &ALL, &refusal);
        if self.lock().has_maps() {
            let why = "are mapped; unmap them first";
            return Err(refused(Refusal { held: ALL, why }));
        }
        // No map has this number.
        self.shared.before_map(0, key, &ALL, Access::Write).map_err(refused)
    }
}
