//! Computations under way: who waits for whom.

use std::sync::Arc;
use std::thread::{self, ThreadId};

use parking_lot::{Condvar, Mutex};

/// One thread's computation of one entry.
pub struct Claim {
    owner: ThreadId,
    has_ended: Mutex<bool>,
    ended: Condvar,
}

/// Threads that wait, each with what it waits for.
static WAITING: Mutex<Vec<(ThreadId, Arc<Claim>)>> = Mutex::new(Vec::new());

/// Waiting would never end: the owner waits, directly or through others, for this thread.
#[derive(Debug)]
pub struct Deadlock;

impl Claim {
    pub fn by_this_thread() -> Arc<Self> {
        let owner = thread::current().id();
        Arc::new(Self { owner, has_ended: Mutex::new(false), ended: Condvar::new() })
    }

    /// The computation is over, well or not.
    pub fn end(&self) {
        *self.has_ended.lock() = true;
        self.ended.notify_all();
    }

    /// Waits until the computation is over.
    pub fn wait(self: &Arc<Self>) -> Result<(), Deadlock> {
        let me = thread::current().id();
        {
            let mut waiting = WAITING.lock();
            if self.waits_for(me, &waiting) {
                return Err(Deadlock);
            }
            waiting.push((me, Arc::clone(self)));
        }
        let mut has_ended = self.has_ended.lock();
        self.ended.wait_while(&mut has_ended, |ended| !*ended);
        drop(has_ended);
        WAITING.lock().retain(|(thread, _)| *thread != me);
        Ok(())
    }

    /// Whether it cannot end before `thread` goes on. No two threads wait for each other already, so
    /// the search ends.
    fn waits_for(&self, thread: ThreadId, waiting: &[(ThreadId, Arc<Self>)]) -> bool {
        let mut claim = self;
        loop {
            // A thread whose wait is over may not have left the list yet.
            if *claim.has_ended.lock() {
                return false;
            }
            if claim.owner == thread {
                return true;
            }
            match waiting.iter().find(|(waiter, _)| *waiter == claim.owner) {
                Some((_, next)) => claim = next,
                None => return false,
            }
        }
    }
}
