//! All caches of the process.

use std::hash::Hash;
use std::sync::{Arc, Weak};

use parking_lot::Mutex;

use super::entries::Entries;

/// A cache, whatever is in it.
pub trait Clear: Send + Sync {
    fn clear(&self);
}

impl<K: Eq + Hash + Send, V: Send + Sync> Clear for Entries<K, V> {
    fn clear(&self) {
        Self::clear(self);
    }
}

static CACHES: Mutex<Vec<Weak<dyn Clear>>> = Mutex::new(Vec::new());

/// From now on, `cache` is cleared with all others.
pub fn register(cache: &Arc<impl Clear + 'static>) {
    let cache: Weak<dyn Clear> = Arc::downgrade(&(Arc::clone(cache) as Arc<dyn Clear>));
    CACHES.lock().push(cache);
}

/// Forgets a cache that is about to go.
pub fn forget(cache: &Arc<impl Clear>) {
    CACHES.lock().retain(|other| !std::ptr::addr_eq(other.as_ptr(), Arc::as_ptr(cache)));
}

/// Empties all caches of the process, and releases the contexts, queues and other objects that they
/// held (`pyopencl.tools.clear_first_arg_caches`). Values that are still in use go with their last
/// user; what is being computed meanwhile reaches its callers, but is not put into the cache.
///
/// PyOpenCL does this when the process ends, too. Here whoever wants drivers to see their objects
/// released before does it: Rust drops no statics.
///
/// ```
/// use clmatrix::{FirstArgCache, clear_first_arg_caches};
///
/// # fn main() -> clmatrix::Result<()> {
/// static SQUARES: FirstArgCache<u32, u32> = FirstArgCache::new();
/// let context = clmatrix::create_some_context()?;
/// let before = context.reference_count()?;
/// assert_eq!(*SQUARES.get_or_compute(&context, &7, || 7 * 7)?, 49);
/// assert_eq!(context.reference_count()?, before + 1);
/// clear_first_arg_caches();
/// assert_eq!(context.reference_count()?, before);
/// # Ok(())
/// # }
/// ```
pub fn clear_first_arg_caches() {
    // What is dropped may use any cache, so the list is not locked then.
    let caches: Vec<_> = CACHES.lock().iter().filter_map(Weak::upgrade).collect();
    caches.iter().for_each(|cache| cache.clear());
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;

    fn is_registered(cache: *const Entries<u32, u32>) -> bool {
        CACHES.lock().iter().any(|other| std::ptr::addr_eq(other.as_ptr(), cache))
    }

    #[test]
    fn what_is_registered_is_forgotten_again() {
        let (cache, other) = (Arc::new(Entries::new()), Arc::new(Entries::new()));
        register(&cache);
        register(&other);
        assert!(is_registered(Arc::as_ptr(&cache)));
        forget(&cache);
        assert!(!is_registered(Arc::as_ptr(&cache)));
        assert!(is_registered(Arc::as_ptr(&other)));
        forget(&other);
    }
}
