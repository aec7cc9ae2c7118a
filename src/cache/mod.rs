//! Caches of what is made once per context, queue or device, such as programs and kernels
//! (`pyopencl.tools`: `first_arg_dependent_memoize` and `clear_first_arg_caches`).

mod caches;
mod claim;
mod entries;
mod first_arg;
#[cfg(all(test, not(loom)))]
mod tests;

use std::borrow::Borrow;
use std::fmt;
use std::hash::Hash;
use std::sync::{Arc, OnceLock};

use cl3::error_codes::CL_INVALID_OPERATION;

pub use caches::clear_first_arg_caches;
pub use first_arg::FirstArg;

use crate::error::Error;
use claim::{Claim, Deadlock};
use entries::{Entries, Entry};
use first_arg::Identity;

/// Values by an OpenCL object and arguments `K`, each computed once and shared by all threads
/// (`pyopencl.tools.first_arg_dependent_memoize`). Usually a `static`.
///
/// An object is kept alive as long as there are values for it: until [`clear_first_arg_caches`],
/// [`clear`](Self::clear), or the cache is dropped. So no value is found for another object that has
/// got an old one's handle.
///
/// The first thread that asks for a value computes it; others that ask for the same one wait, and
/// those that ask for another one do not. A computation that fails or panics leaves nothing behind,
/// and one of those that waited tries next. It may use this cache with other arguments or objects.
/// Values and arguments are dropped while no lock is held, so their destructors may use the cache,
/// too; `Eq` and `Hash` of arguments may not.
///
/// What cannot be used by two threads at once goes into a `Mutex`, such as a
/// [`Launcher`](crate::Launcher).
///
/// ```
/// use clmatrix::{Context, FirstArgCache, Launcher, Program};
/// use std::sync::Arc;
///
/// /// The program of `source`, built once for each context.
/// fn program(context: &Context, source: &str) -> clmatrix::Result<Arc<Program>> {
///     static PROGRAMS: FirstArgCache<String, Program> = FirstArgCache::new();
///     PROGRAMS.get_or_try_compute(context, source, || {
///         let mut program = Program::create_from_source(context, source)?;
///         program.build(context.devices(), "")?;
///         Ok(program)
///     })
/// }
///
/// # fn main() -> clmatrix::Result<()> {
/// let context = clmatrix::create_some_context()?;
/// let source = "kernel void k(global int *a) { a[get_global_id(0)] += 1; }";
/// assert!(Arc::ptr_eq(&program(&context, source)?, &program(&context, source)?));
/// Launcher::create(&*program(&context, source)?, "k")?;
/// # clmatrix::clear_first_arg_caches();
/// # Ok(())
/// # }
/// ```
pub struct FirstArgCache<K, V>
where
    K: Eq + Hash + Send + 'static,
    V: Send + Sync + 'static,
{
    /// Made and registered by the first use.
    entries: OnceLock<Arc<Entries<K, V>>>,
}

impl<K, V> FirstArgCache<K, V>
where
    K: Eq + Hash + Send + 'static,
    V: Send + Sync + 'static,
{
    /// An empty cache.
    pub const fn new() -> Self {
        Self { entries: OnceLock::new() }
    }

    /// The value for `object` and `args`; if there is none yet, that of `compute`.
    ///
    /// Arguments may be borrowed: a `FirstArgCache<String, V>` is asked with a `&str`.
    ///
    /// # Errors
    /// CL_INVALID_OPERATION where `compute` asks for the value that it computes, in this thread or
    /// by waiting for another thread that waits for this one (a thread that it merely joins is not
    /// seen, and waits forever); and the driver's errors when the object is to be kept.
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

    /// The value for `object` and `args`; if there is none yet, that of `compute`, unless it fails.
    ///
    /// # Errors
    /// That of `compute`, which is not kept, and those of [`get_or_compute`](Self::get_or_compute).
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
        let (entries, identity) = (self.entries(), object.identity());
        loop {
            let claimed = match entries.find(identity, args) {
                Some(found) => Err(found),
                None => entries.claim(identity, args.to_owned()),
            };
            match claimed {
                Ok(claim) => {
                    let computation = Computation { entries, identity, args, claim };
                    return computation.run(object, compute);
                }
                Err(Entry::Ready(value)) => return Ok(value),
                Err(Entry::Claimed(other)) => other.wait().map_err(|Deadlock| needs_itself())?,
            }
        }
    }

    /// Empties this cache, as [`clear_first_arg_caches`] does with all.
    pub fn clear(&self) {
        if let Some(entries) = self.entries.get() {
            entries.clear();
        }
    }

    fn entries(&self) -> &Entries<K, V> {
        self.entries.get_or_init(|| {
            let entries = Arc::new(Entries::new());
            caches::register(&entries);
            entries
        })
    }
}

impl<K, V> Drop for FirstArgCache<K, V>
where
    K: Eq + Hash + Send + 'static,
    V: Send + Sync + 'static,
{
    fn drop(&mut self) {
        if let Some(entries) = self.entries.get() {
            caches::forget(entries);
            entries.clear();
        }
    }
}

impl<K, V> Default for FirstArgCache<K, V>
where
    K: Eq + Hash + Send + 'static,
    V: Send + Sync + 'static,
{
    fn default() -> Self {
        Self::new()
    }
}

impl<K, V> fmt::Debug for FirstArgCache<K, V>
where
    K: Eq + Hash + Send + 'static,
    V: Send + Sync + 'static,
{
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("FirstArgCache").finish_non_exhaustive()
    }
}

/// `compute` with a memory: a function that computes once for each object and arguments
/// (`pyopencl.tools.first_arg_dependent_memoize`). Its cache is a [`FirstArgCache`] that goes with it.
///
/// ```
/// use clmatrix::cache::first_arg_dependent_memoize;
/// use clmatrix::{CommandQueue, Context, Result};
///
/// # fn main() -> Result<()> {
/// let queue = first_arg_dependent_memoize(|context: &Context, _number: &u32| -> Result<_> {
///     Ok(CommandQueue::create_default(context, 0)?)
/// });
/// let context = clmatrix::create_some_context()?;
/// assert_eq!(queue(&context, &0)?.get(), queue(&context, &0)?.get());
/// assert_ne!(queue(&context, &0)?.get(), queue(&context, &1)?.get());
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

/// A computation that this thread has claimed. However it ends, others go on.
struct Computation<'a, K: Eq + Hash + Borrow<Q>, V, Q: ?Sized + Eq + Hash> {
    entries: &'a Entries<K, V>,
    identity: Identity,
    args: &'a Q,
    claim: Arc<Claim>,
}

impl<K: Eq + Hash + Borrow<Q>, V, Q: ?Sized + Eq + Hash> Computation<'_, K, V, Q> {
    fn run<E: From<Error>>(
        self,
        object: &impl FirstArg,
        compute: impl FnOnce() -> Result<V, E>,
    ) -> Result<Arc<V>, E> {
        let value = Arc::new(compute()?);
        let kept = object.keep()?;
        self.entries.fulfil(self.identity, self.args, &self.claim, &value, kept);
        Ok(value)
    }
}

impl<K: Eq + Hash + Borrow<Q>, V, Q: ?Sized + Eq + Hash> Drop for Computation<'_, K, V, Q> {
    fn drop(&mut self) {
        // Takes nothing away where the value is entered.
        self.entries.give_up(self.identity, self.args, &self.claim);
        self.claim.end();
    }
}

#[cold]
fn needs_itself() -> Error {
    let why = "the computation of a cached value requests the same value, or waits for a thread that \
               does; compute it from other entries only";
    Error::refused("first_arg_dependent_memoize", CL_INVALID_OPERATION, why)
}
