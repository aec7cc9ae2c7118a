//! A map's life, from before the driver is asked for it until it has been unmapped.

use std::ops::Range;
use std::sync::Arc;

use cl3::error_codes::CL_INVALID_COMMAND_QUEUE;
use cl3::types::{cl_command_queue, cl_context};
use opencl3::command_queue::CommandQueue;

use super::pending::Pending;
use super::table::{Before, EnteredMap, Obstacle};
use super::{Access, KnownQueue, Moment, Uses, in_use, lost_map, marks};
use crate::error::{Error, Result};
use crate::handle::{EventRef, Outcome};

/// Reserves a byte range for a map, from before the driver call until the unmap. The owner must end it
/// explicitly.
#[derive(Clone, Copy, Debug)]
pub(crate) struct MapUse {
    pub(super) id: u64,
    /// The queue on which the map ends; the uses keep it until then.
    pub(super) queue: cl_command_queue,
}

impl MapUse {
    pub(crate) fn queue(&self) -> cl_command_queue {
        self.queue
    }
}

/// True if a map may have failed, or overtaken something, because of a command that has failed.
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
    pub(super) fn wait_before_map(
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
        let ask = || KnownQueue::of(call, queue, context);
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

    /// The queue that the map will be unmapped on. It cannot be evicted while the map exists.
    #[cold]
    pub(crate) fn queue_of(&self, call: &'static str, entered: MapUse) -> Result<Arc<KnownQueue>> {
        let ended = || Error::refused(call, CL_INVALID_COMMAND_QUEUE, "the map has ended");
        self.queue(entered.queue).ok_or_else(ended)
    }

    /// Returns whether the queue on which the map ends runs its commands in order.
    pub(crate) fn ends_in_order(&self, entered: MapUse) -> bool {
        self.lock().ends_in_order(entered.id)
    }

    /// The driver did not map what has been entered.
    pub(crate) fn was_not_mapped(&self, entered: MapUse) {
        self.end(entered.id, Outcome::Complete);
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
        self.only_queue.set(None);
        match event.try_clone() {
            Ok(event) => self.issued(entered.id, Pending { event, after }),
            // It cannot be remembered, so it must be over before it is forgotten.
            Err(error) => match event.wait_until_ended() {
                Ok(Outcome::Complete) if after.is_empty() => {
                    log::warn!("{error}; waited instead");
                    self.end(entered.id, Outcome::Complete);
                }
                _ => {
                    log::error!("{error}: its bytes can no longer be used");
                    self.lose_map(entered);
                }
            },
        }
    }

    /// Nobody can tell whether the map has ended.
    pub(crate) fn lose_map(&self, entered: MapUse) {
        self.only_queue.set(None);
        self.shared.tell(|table| table.set_lost(entered.id));
    }
}
