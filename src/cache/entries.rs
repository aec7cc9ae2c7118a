//! The entries of a cache, and the list of all caches.

use std::borrow::Borrow;
use std::collections::HashMap;
use std::hash::Hash;
use std::mem;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::{Arc, Weak};

use once_cell::sync::OnceCell;
use parking_lot::Mutex;

use super::first_arg::{Identity, Kept};

/// The caches that [`clear_first_arg_caches`] empties.
static CACHES: Mutex<Vec<Weak<dyn Clear>>> = Mutex::new(Vec::new());

/// A cache of any type.
trait Clear: Send + Sync {
    fn clear(&self);
}

/// A cell for each object and arguments.
pub struct Entries<K, V>(Mutex<HashMap<Identity, Cells<K, V>>>);

type Cells<K, V> = HashMap<K, Arc<OnceCell<Entry<V>>>>;

/// A value and the object that it was computed for. The value is dropped first, since it may need the
/// object.
pub struct Entry<V> {
    pub value: Arc<V>,
    pub _object: Kept,
}

impl<K: Eq + Hash + Send + 'static, V: Send + Sync + 'static> Entries<K, V> {
    /// New entries, which [`clear_first_arg_caches`] clears. Removes dropped caches from its list.
    pub fn registered() -> Arc<Self> {
        let entries = Arc::new(Self(Mutex::default()));
        let cache: Weak<dyn Clear> = Arc::downgrade(&(Arc::clone(&entries) as Arc<dyn Clear>));
        let mut caches = CACHES.lock();
        caches.retain(|other| other.strong_count() > 0);
        caches.push(cache);
        entries
    }
}

impl<K, V> Entries<K, V> {
    /// Removes all entries, and drops them without the lock, since destructors may use the cache.
    pub fn clear(&self) {
        let objects = mem::take(&mut *self.0.lock());
        for entry in objects.into_values().flatten() {
            // opencl3's objects panic if the driver refuses their release. The other entries are
            // dropped nevertheless.
            if catch_unwind(AssertUnwindSafe(|| drop(entry))).is_err() {
                log::error!("a cached value panicked when it was dropped");
            }
        }
    }
}

impl<K: Eq + Hash, V> Entries<K, V> {
    /// The cell for `object` and `args`, which is empty if it is new.
    pub fn cell<Q>(&self, object: Identity, args: &Q) -> Arc<OnceCell<Entry<V>>>
    where
        K: Borrow<Q>,
        Q: ?Sized + Eq + Hash + ToOwned<Owned = K>,
    {
        let mut objects = self.0.lock();
        let cells = objects.entry(object).or_default();
        if let Some(cell) = cells.get(args) {
            return Arc::clone(cell);
        }
        let cell = Arc::default();
        cells.insert(args.to_owned(), Arc::clone(&cell));
        cell
    }
}

impl<K: Send, V: Send + Sync> Clear for Entries<K, V> {
    fn clear(&self) {
        Self::clear(self);
    }
}

impl<K, V> Drop for Entries<K, V> {
    fn drop(&mut self) {
        self.clear();
    }
}

/// Empties all caches of the process, and releases the contexts, queues and other objects that they
/// hold (`pyopencl.tools.clear_first_arg_caches`). A value that is still in use is dropped by its last
/// user. A value that is being computed is returned to its callers, but does not stay in the cache.
///
/// PyOpenCL also clears its caches when the process ends. Rust drops no statics, so a program that
/// must release its objects before the driver is unloaded calls this function.
///
/// ```
/// use clmatrix::cache::{FirstArgCache, clear_first_arg_caches};
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
    // Destructors of values may use any cache, so the list is not locked while they run.
    let caches: Vec<_> = CACHES.lock().iter().filter_map(Weak::upgrade).collect();
    caches.iter().for_each(|cache| cache.clear());
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_dropped_cache_leaves_the_list() {
        let is_listed = |cache: &Weak<Entries<u32, u32>>| {
            CACHES.lock().iter().any(|other| std::ptr::addr_eq(other.as_ptr(), cache.as_ptr()))
        };
        let entries = Entries::registered();
        // Keeps the address from being used again.
        let old = Arc::downgrade(&entries);
        assert!(is_listed(&old));
        drop(entries);
        let new = Entries::registered();
        assert!(is_listed(&Arc::downgrade(&new)));
        assert!(!is_listed(&old));
    }
}
