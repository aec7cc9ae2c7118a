//! What has been enqueued: it is followed until it has ended, and then forgotten.

use std::ops::Range;
use std::sync::Arc;

use super::table::{Before, Queue, Running};
use super::{KnownQueue, Uses, lost_map};
use crate::error::Result;
use crate::handle::{EventRef, Outcome};

/// Something that has been enqueued.
#[derive(Debug)]
pub(super) struct Pending {
    pub event: EventRef,
    /// Its wait list: the command has failed if one of these events has.
    // quirk: INTEL-1
    pub after: Vec<EventRef>,
}

impl Pending {
    /// `None` where it has not ended, or cannot tell.
    pub(super) fn outcome(&self) -> Option<Outcome> {
        self.event.outcome().map(|outcome| self.with_wait_list(outcome))
    }

    pub(super) fn wait_until_ended(&self) -> Result<Outcome> {
        Ok(self.with_wait_list(self.event.wait_until_ended()?))
    }

    fn with_wait_list(&self, outcome: Outcome) -> Outcome {
        let failed = |event: &EventRef| event.outcome() == Some(Outcome::Failed);
        if self.after.iter().any(failed) { Outcome::Failed } else { outcome }
    }
}

impl Uses {
    /// A command that was entered has been issued, and ends with `event`.
    pub(super) fn issued(&self, id: u64, pending: Pending) {
        if pending.outcome() == Some(Outcome::Complete) {
            self.end(id, Outcome::Complete);
        } else {
            self.shared.tell(|table| table.set_running(id, Arc::new(pending)));
            self.tidy();
        }
    }

    pub(super) fn end(&self, id: u64, outcome: Outcome) {
        self.shared.tell(|table| match outcome {
            Outcome::Complete => table.remove(id),
            Outcome::Failed => table.fail(id),
        });
    }

    /// Removes those that have ended.
    pub(super) fn settle(&self, running: Vec<Running<Pending>>) {
        for (id, event) in running {
            if let Some(outcome) = event.outcome() {
                self.end(id, outcome);
            }
        }
    }

    /// Forgets the uses that have ended, if there are many.
    pub(super) fn tidy(&self) {
        let untidy = self.lock().untidy();
        if let Some(running) = untidy {
            self.settle(running);
            self.lock().was_tidied();
        }
    }

    /// Waits for what a map has to come after. `false` where the end of another map failed.
    pub(super) fn wait_for(&self, before: Before<Arc<KnownQueue>, Pending>) -> Result<bool> {
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

    /// The events of what a map has to come after. Refuses where the end of another map failed.
    pub(super) fn events_of(
        &self,
        call: &'static str,
        range: &Range<usize>,
        before: Before<Arc<KnownQueue>, Pending>,
    ) -> Result<Vec<EventRef>> {
        let mut events = last_commands(before.queues.into_iter().map(|(queue, _)| queue))?;
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
}

/// Events after which all has ended that the queues were given up to now.
pub(super) fn last_commands(
    queues: impl IntoIterator<Item = Arc<KnownQueue>>,
) -> Result<Vec<EventRef>> {
    let mut events = Vec::new();
    for queue in queues {
        events.extend(queue.last_commands()?);
    }
    // Where something failed, a wait list with it would be refused.
    events.retain(|event| event.outcome().is_none());
    Ok(events)
}
