//! Which queues the uses know: one is introduced when it is used first, and makes room for others.

use std::sync::Arc;

use cl3::types::{cl_command_queue, cl_context};
use opencl3::command_queue::CommandQueue;

use super::pending::Pending;
use super::table::Retired;
use super::{KnownQueue, Uses};
use crate::error::Result;

impl Uses {
    /// What is known of a queue. Refuses one of another context than `context`, the object's.
    pub(crate) fn check_queue(
        &self,
        call: &'static str,
        queue: &CommandQueue,
        context: cl_context,
    ) -> Result<Arc<KnownQueue>> {
        if let Some(known) = self.queue(queue.get()) {
            return Ok(known);
        }
        let queue = KnownQueue::of(call, queue, context)?;
        // It may have to make room again at any time.
        self.introduce(Arc::clone(&queue));
        Ok(queue)
    }

    pub(super) fn queue(&self, queue: cl_command_queue) -> Option<Arc<KnownQueue>> {
        self.lock().queue(queue.addr()).cloned()
    }

    pub(super) fn introduce(&self, queue: Arc<KnownQueue>) {
        let retired = {
            let mut table = self.lock();
            let retired = table.introduce(&self.shared.issuing, queue);
            self.only_queue.set(table.only_queue());
            retired
        };
        if let Some(retired) = retired {
            self.follow(retired);
        }
    }

    /// From now on, an event tells when that ends which a queue has been given.
    pub(super) fn follow(&self, Retired { queue, ids }: Retired<Arc<KnownQueue>>) {
        if ids.is_empty() {
            return;
        }
        match queue.last_commands() {
            Ok(events) => {
                let pending = |event| Arc::new(Pending { event, after: Vec::new() });
                let events: Vec<_> = events.into_iter().map(pending).collect();
                self.shared
                    .tell(|table| ids.iter().for_each(|id| table.set_all_running(*id, &events)));
            }
            Err(error) => {
                log::error!("{error}: the bytes can no longer be mapped");
                self.shared.tell(|table| ids.iter().for_each(|id| table.set_lost(*id)));
            }
        }
    }
}
