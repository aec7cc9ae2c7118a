//! Caches of values that are made once per context, queue or device, such as programs and kernels
//! (`pyopencl.tools`: `first_arg_dependent_memoize` and `clear_first_arg_caches`).

mod entries;
mod first_arg;
#[cfg(test)]
mod tests;

use std::borrow::Borrow;
use std::fmt;
use std::hash::Hash;
use std::sync::{Arc, OnceLock};

pub use entries::clear_first_arg_caches;
pub use first_arg::FirstArg;

use crate::error::Error;
use entries::{Entries, Entry};

/// Values by an OpenCL object and arguments `K`, each computed once and shared by all threads
/// (`pyopencl.tools.first_arg_dependent_memoize`). Usually a `static`.
///
/// Each value keeps its object alive until [`clear_first_arg_caches`], [`clear`](Self::clear) or the
/// drop of the cache, so the cache returns no value for another object that has the handle of a released
/// one.
///
/// The first thread that requests a value computes it. Threads that request the same value wait
/// meanwhile; threads that request another one do not. If the computation fails or panics, one of the
/// waiting threads computes the value. The cache then has the arguments, but keeps neither a value nor
/// the object.
///
/// A computation may use this cache with other arguments or objects. A computation that requests its
/// own value never returns, and neither do computations in two threads that request each other's value:
/// deadlocks are not detected.
///
/// No lock is held while a value is computed or dropped, so destructors of values may use the cache.
/// `Eq`, `Hash` and `ToOwned` of arguments must not.
///
/// A value that two threads must not use at once goes into a `Mutex`, such as a
/// [`Kernel`](crate::Kernel).
///
/// ```
/// use clmatrix::cache::FirstArgCache;
/// use clmatrix::{Context, Program};
/// use std::sync::Arc;
///
/// /// The program of `source`, built once for each context.
/// fn program(context: &Context, source: &str) -> clmatrix::Result<Arc<Program>> {
///     static PROGRAMS: FirstArgCache<String, Program> = FirstArgCache::new();
///     PROGRAMS.get_or_try_compute(context, source, || {
///         Program::build(context, source)
///     })
/// }
///
/// # fn main() -> clmatrix::Result<()> {
/// let context = clmatrix::create_some_context()?;
/// let source = "kernel void k(global int *a) { a[get_global_id(0)] += 1; }";
/// assert!(Arc::ptr_eq(&program(&context, source)?, &program(&context, source)?));
/// program(&context, source)?.kernel("k")?;
/// # clmatrix::cache::clear_first_arg_caches();
/// # Ok(())
/// # }
/// ```
pub struct FirstArgCache<K, V> {
    /// Created and registered by the first use.
    entries: OnceLock<Arc<Entries<K, V>>>,
}

impl<K, V> FirstArgCache<K, V> {
    /// An empty cache.
    pub const fn new() -> Self {
        Self { entries: OnceLock::new() }
    }

    /// Empties this cache, as [`clear_first_arg_caches`] does with all.
    pub fn clear(&self) {
        if let Some(entries) = self.entries.get() {
            entries.clear();
        }
    }
}

impl<K: Eq + Hash + Send + 'static, V: Send + Sync + 'static> FirstArgCache<K, V> {
    /// Returns the value for `object` and `args`; computes it if there is none.
    ///
    /// Arguments may be borrowed: a `FirstArgCache<String, V>` takes a `&str`.
    ///
    /// # Errors
    /// The driver's errors when the object is retained.
    pub fn get_or_compute<Q>(
        &self,
        object: &impl FirstArg,
        args: &Q,
        compute: impl FnOnce() -> V,
    ) -> Result<Arc<V>, Error>
    where
        K: Borrow<Q>,
        Q: ?Sized + Eq + Hash + ToOwned<Owned = K>,
    {
        self.get_or_try_compute(object, args, || Ok(compute()))
    }

    /// Returns the value for `object` and `args`; computes it if there is none.
    ///
    /// # Errors
    /// The error of `compute`, which is not kept, and the driver's errors when the object is retained.
    pub fn get_or_try_compute<Q, E>(
        &self,
        object: &impl FirstArg,
        args: &Q,
        compute: impl FnOnce() -> Result<V, E>,
    ) -> Result<Arc<V>, E>
    where
        K: Borrow<Q>,
        Q: ?Sized + Eq + Hash + ToOwned<Owned = K>,
        E: From<Error>,
    {
        let cell = self.entries.get_or_init(Entries::registered).cell(object.identity(), args);
        let entry = cell.get_or_try_init(|| {
            let value = Arc::new(compute()?);
            Ok::<_, E>(Entry { value, _object: object.keep()? })
        })?;
        Ok(Arc::clone(&entry.value))
    }
}

impl<K, V> Default for FirstArgCache<K, V> {
    fn default() -> Self {
        Self::new()
    }
}

impl<K, V> fmt::Debug for FirstArgCache<K, V> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("FirstArgCache").finish_non_exhaustive()
    }
}

/// Returns a function that calls `compute` once for each object and arguments, and keeps the results
/// in a [`FirstArgCache`] of its own (`pyopencl.tools.first_arg_dependent_memoize`).
///
/// ```
/// use clmatrix::cache::first_arg_dependent_memoize;
/// use clmatrix::{CommandQueue, Context, Result};
///
/// # fn main() -> Result<()> {
/// let queue = first_arg_dependent_memoize(|context: &Context, _number: &u32| -> Result<_> {
///     Ok(CommandQueue::new(context)?)
/// });
/// let context = clmatrix::create_some_context()?;
/// assert_eq!(queue(&context, &0)?.as_raw(), queue(&context, &0)?.as_raw());
/// assert_ne!(queue(&context, &0)?.as_raw(), queue(&context, &1)?.as_raw());
/// # Ok(())
/// # }
/// ```
pub fn first_arg_dependent_memoize<O, K, V, E>(
    compute: impl Fn(&O, &K) -> Result<V, E>,
) -> impl Fn(&O, &K) -> Result<Arc<V>, E>
where
    O: FirstArg,
    K: Clone + Eq + Hash + Send + 'static,
    V: Send + Sync + 'static,
    E: From<Error>,
{
    let cache = FirstArgCache::new();
    move |object, args| cache.get_or_try_compute(object, args, || compute(object, args))
}
