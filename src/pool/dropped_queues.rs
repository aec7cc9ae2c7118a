//! The release of queues that only ended commands on the memory of pools still need.

use std::sync::{Arc, Weak};

use parking_lot::Mutex;

use crate::memory::track::AccessTracker;
use crate::queue::AFTER_LAST_HANDLE;
use crate::queue_state::QueueState;

/// The trackers of blocks and slabs, of which some are gone.
static TRACKERS: Mutex<Vec<Weak<AccessTracker>>> = Mutex::new(Vec::new());

/// Makes this tracker forget the commands of a queue without handles when they have ended.
#[cold]
pub(super) fn release_from(tracker: &Arc<AccessTracker>) {
    AFTER_LAST_HANDLE.get_or_init(|| forget_ended);
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

/// Forgets the commands that have ended, now and until there is none of `queue` left.
fn forget_ended(queue: &Arc<QueueState>) {
    // The driver is called without the lock.
    let trackers: Vec<_> = TRACKERS.lock().iter().filter_map(Weak::upgrade).collect();
    let pending = trackers.iter().flat_map(|tracker| tracker.reap_all());
    let Some(last) = pending.filter(|event| event.is_of(queue.raw())).last() else { return };
    let queue = Arc::downgrade(queue);
    let forget = move || queue.upgrade().iter().for_each(forget_ended);
    if let Err(error) = last.after_end(forget) {
        log::warn!("{error}: a queue may be released late");
    }
}
