//! The release of queues that only ended commands on the memory of pools still need.
//!
//! While there are such queues, a thread looks at the memory of all pools. A callback of each command would not do:
//! PoCL and rusticl call none of commands that fail, Oclgrind none of commands that have ended.

use std::collections::HashSet;
use std::mem;
use std::sync::{Arc, Weak};
use std::thread;
use std::time::Duration;

use parking_lot::Mutex;

use crate::memory::track::AccessTracker;
use crate::queue::AFTER_LAST_HANDLE;
use crate::queue_state::QueueState;

/// The trackers of blocks and slabs, of which some are gone.
static TRACKERS: Mutex<Vec<Weak<AccessTracker>>> = Mutex::new(Vec::new());

static FOLLOWED: Mutex<Followed> = Mutex::new(Followed { queues: Vec::new(), has_thread: false });

struct Followed {
    /// Queues that had no handles, some of them several times.
    queues: Vec<Weak<QueueState>>,
    has_thread: bool,
}

/// The first pause of the thread, and that after a look that has released a queue. Each other one is twice as long.
const SHORTEST: Duration = Duration::from_millis(5);

/// The longest pause of the thread.
const LONGEST: Duration = Duration::from_secs(1);

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

/// Hands a queue to the thread, unless all commands are known to have ended. The caller does not ask the driver:
/// callbacks of commands that have failed would run there.
fn follow(queue: &Arc<QueueState>) {
    if used_trackers().is_empty() {
        return;
    }
    // The release of a queue runs its commands, which no thread may do beside another one.
    // quirk: OCLGRIND-2, OCLGRIND-10
    if queue.driver().flush_blocks {
        needed();
        return;
    }
    let mut followed = FOLLOWED.lock();
    followed.queues.push(Arc::downgrade(queue));
    if !followed.has_thread {
        let spawned = thread::Builder::new().name("dropped queues".to_owned()).spawn(release);
        followed.has_thread = spawned.is_ok();
    }
}

/// Looks until no tracker has commands of the queues.
fn release() {
    let mut pause = SHORTEST;
    loop {
        thread::sleep(pause);
        let mut queues = mem::take(&mut FOLLOWED.lock().queues);
        queues.sort_unstable_by_key(Weak::as_ptr);
        queues.dedup_by_key(|queue| queue.as_ptr());
        let before = queues.len();
        let needed = needed();
        queues.retain(|queue| needed.contains(&queue.as_ptr()));
        pause = if queues.len() < before { SHORTEST } else { LONGEST.min(2 * pause) };
        let mut followed = FOLLOWED.lock();
        followed.queues.append(&mut queues);
        if followed.queues.is_empty() {
            followed.has_thread = false;
            return;
        }
    }
}

/// Makes all trackers forget the commands that have ended, and returns the queues of the others.
fn needed() -> HashSet<*const QueueState> {
    let trackers = used_trackers();
    let events = trackers.iter().flat_map(|tracker| tracker.reap_all());
    events.filter_map(|event| event.queue_state().map(Arc::as_ptr)).collect()
}

/// The trackers of commands that are not known to have ended.
fn used_trackers() -> Vec<Arc<AccessTracker>> {
    let mut trackers: Vec<_> = TRACKERS.lock().iter().filter_map(Weak::upgrade).collect();
    trackers.retain(|tracker| tracker.reap_known());
    trackers
}
