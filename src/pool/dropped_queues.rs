//! The release of queues that only ended commands on the memory of pools still need.

use std::sync::{Arc, Weak};
use std::thread;

use parking_lot::Mutex;

use crate::event::Event;
use crate::memory::track::{ALL, AccessTracker};
use crate::queue::AFTER_LAST_HANDLE;
use crate::queue_state::QueueState;

/// The trackers of blocks and slabs, of which some are gone.
static TRACKERS: Mutex<Vec<Weak<AccessTracker>>> = Mutex::new(Vec::new());

/// Makes this tracker forget the commands of a queue without handles when they have ended.
#[cold]
pub(super) fn release_from(tracker: &Arc<AccessTracker>) {
    AFTER_LAST_HANDLE.get_or_init(|| follow);
    let mut trackers = TRACKERS.lock();
    if trackers.len() == trackers.capacity() {
        trackers.retain(|tracker| tracker.strong_count() > 0);
        trackers.sort_unstable_by_key(Weak::as_ptr);
        trackers.dedup_by_key(|tracker| tracker.as_ptr());
        let len = trackers.len();
        trackers.reserve(len + 1);
    }
    trackers.push(Arc::downgrade(tracker));
}

/// Forgets the commands of a queue until all have ended. The thread that drops a queue does not ask the driver:
/// callbacks of commands that have failed would run there.
fn follow(queue: &Arc<QueueState>) {
    let pending: Vec<Event> =
        trackers().iter().flat_map(|tracker| tracker.pending_of(queue)).collect();
    // If blocks are in the order of their commands, or in the reverse order, half of them end before this one.
    let Some(event) = pending.get(pending.len() / 2) else { return };
    let queue = Arc::downgrade(queue);
    let go_on = move || {
        trackers().iter().for_each(|tracker| tracker.ask(&ALL));
        queue.upgrade().iter().for_each(follow);
    };
    // A callback must not release a queue.
    if let Err(error) = event.on_complete(|_| drop(thread::spawn(go_on))) {
        log::debug!("{error}: a queue may be released late");
    }
}

fn trackers() -> Vec<Arc<AccessTracker>> {
    TRACKERS.lock().iter().filter_map(Weak::upgrade).collect()
}
