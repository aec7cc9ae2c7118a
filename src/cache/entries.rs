//! The entries of one cache, by object and arguments, behind one lock. Nothing is computed, kept or
//! dropped while it is held.

use std::borrow::Borrow;
use std::collections::HashMap;
use std::hash::Hash;
use std::mem;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;

use parking_lot::Mutex;

use super::claim::Claim;
use super::first_arg::{Identity, Kept};

pub struct Entries<K, V>(Mutex<HashMap<Identity, OfObject<K, V>>>);

/// All entries for one object. Values go before the object that they may need.
struct OfObject<K, V> {
    entries: HashMap<K, Entry<V>>,
    /// Keeps the object, so that no other gets its handle while there are values. Who computes has it
    /// anyway.
    kept: Option<Kept>,
}

impl<K, V> Default for OfObject<K, V> {
    fn default() -> Self {
        Self { entries: HashMap::new(), kept: None }
    }
}

pub enum Entry<V> {
    Ready(Arc<V>),
    /// Somebody computes it.
    Claimed(Arc<Claim>),
}

impl<V> Entry<V> {
    fn another(&self) -> Self {
        match self {
            Self::Ready(value) => Self::Ready(Arc::clone(value)),
            Self::Claimed(claim) => Self::Claimed(Arc::clone(claim)),
        }
    }

    fn is(&self, claim: &Arc<Claim>) -> bool {
        matches!(self, Self::Claimed(other) if Arc::ptr_eq(other, claim))
    }
}

impl<K: Eq + Hash, V> Entries<K, V> {
    pub fn new() -> Self {
        Self(Mutex::new(HashMap::new()))
    }

    pub fn find<Q>(&self, object: Identity, args: &Q) -> Option<Entry<V>>
    where
        K: Borrow<Q>,
        Q: ?Sized + Eq + Hash,
    {
        Some(self.0.lock().get(&object)?.entries.get(args)?.another())
    }

    /// Claims an entry for this thread, unless there is one already, which is the error.
    pub fn claim(&self, object: Identity, args: K) -> Result<Arc<Claim>, Entry<V>> {
        let claim = Claim::by_this_thread();
        let mut objects = self.0.lock();
        let entries = &mut objects.entry(object).or_default().entries;
        if let Some(entry) = entries.get(&args) {
            let found = entry.another();
            // Before the arguments are dropped.
            drop(objects);
            return Err(found);
        }
        entries.insert(args, Entry::Claimed(Arc::clone(&claim)));
        Ok(claim)
    }

    /// Puts `value` where `claim` is; nowhere, if that has been cleared. `kept` is the object.
    pub fn fulfil<Q>(
        &self,
        object: Identity,
        args: &Q,
        claim: &Arc<Claim>,
        value: &Arc<V>,
        kept: Kept,
    ) where
        K: Borrow<Q>,
        Q: ?Sized + Eq + Hash,
    {
        // What is not needed is dropped after the lock is released.
        let mut kept = Some(kept);
        let mut objects = self.0.lock();
        let Some(of_object) = objects.get_mut(&object) else { return };
        if let Some(entry) = of_object.entries.get_mut(args)
            && entry.is(claim)
        {
            *entry = Entry::Ready(Arc::clone(value));
            if of_object.kept.is_none() {
                of_object.kept = kept.take();
            }
        }
    }

    /// Takes `claim` away if it is still there, and forgets an object without other entries.
    pub fn give_up<Q>(&self, object: Identity, args: &Q, claim: &Arc<Claim>)
    where
        K: Borrow<Q>,
        Q: ?Sized + Eq + Hash,
    {
        let mut objects = self.0.lock();
        let Some(of_object) = objects.get_mut(&object) else { return };
        if !of_object.entries.get(args).is_some_and(|entry| entry.is(claim)) {
            return;
        }
        let entry = of_object.entries.remove_entry(args);
        let is_empty = of_object.entries.is_empty();
        let of_object = if is_empty { objects.remove(&object) } else { None };
        drop(objects);
        drop((entry, of_object));
    }

    /// Takes all entries out, and drops them then.
    pub fn clear(&self) {
        let objects = mem::take(&mut *self.0.lock());
        for OfObject { entries, kept } in objects.into_values() {
            entries.into_iter().for_each(drop_whatever_happens);
            drop_whatever_happens(kept);
        }
    }
}

/// Drops what may panic meanwhile, as opencl3's objects do when the driver refuses their release:
/// the others are to go nevertheless.
fn drop_whatever_happens<T>(entry: T) {
    if catch_unwind(AssertUnwindSafe(|| drop(entry))).is_err() {
        log::error!("a cached value panicked when it was dropped");
    }
}
