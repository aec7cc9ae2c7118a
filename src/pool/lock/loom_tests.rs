//! All interleavings of two threads at the lock of a shard: `cargo xtask loom`.

use loom::sync::Arc;
use loom::thread;

use super::*;

#[test]
fn threads_exclude_each_other() {
    loom::model(|| {
        let lock = Arc::new(Lock::new(0));
        let other = Arc::clone(&lock);
        let adds = thread::spawn(move || other.with(|value| *value += 1));
        lock.with(|value| *value += 1);
        adds.join().expect("no panic");
        assert_eq!(lock.with(|value| *value), 2);
    });
}

/// A lock that counts the threads which have used it. The last of two frees the lock.
#[derive(Clone, Copy)]
struct PoolCore(*mut Lock<usize>);

// SAFETY: the lock is `Sync`, and one thread frees it.
unsafe impl Send for PoolCore {}

impl PoolCore {
    fn use_and_free(self) {
        // SAFETY: the lock is alive until two threads have used it.
        let lock = unsafe { &*self.0 };
        let users = lock.with(|users| {
            *users += 1;
            *users
        });
        if users == 2 {
            // SAFETY: the other thread has released the lock, and does not touch it any more.
            drop(unsafe { Box::from_raw(self.0) });
        }
    }
}

#[test]
fn the_last_thread_may_free_the_lock_after_its_release() {
    loom::model(|| {
        let core = PoolCore(Box::into_raw(Box::new(Lock::new(0))));
        let other = thread::spawn(move || core.use_and_free());
        core.use_and_free();
        other.join().expect("no panic");
    });
}
