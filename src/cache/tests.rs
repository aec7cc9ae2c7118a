//! Caches of objects without a driver.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::mpsc::{Receiver, channel};
use std::sync::{Arc, Barrier};
use std::thread;

use super::first_arg::{Identity, Kept, Kind, sealed};
use super::*;

/// An object that counts its references.
#[derive(Clone, Default)]
struct Object(Arc<()>);

impl Object {
    fn references(&self) -> usize {
        Arc::strong_count(&self.0)
    }
}

impl sealed::Object for Object {
    fn identity(&self) -> Identity {
        (Kind::Test, Arc::as_ptr(&self.0).addr())
    }

    fn keep(&self) -> Result<Kept, Error> {
        Ok(Box::new(self.clone()))
    }
}

type Cache<V> = FirstArgCache<String, V>;

/// A computation that the test does not expect.
fn unneeded<V>() -> V {
    panic!("it is computed again")
}

fn failure() -> Error {
    Error::refused("clTest", -30, "as planned")
}

#[test]
fn threads_compute_a_value_once() {
    let (cache, object) = (Cache::new(), Object::default());
    let (computed, barrier) = (AtomicU32::new(0), Barrier::new(8));
    thread::scope(|scope| {
        for _ in 0..8 {
            scope.spawn(|| {
                barrier.wait();
                let value = cache.get_or_compute(&object, "a", || {
                    thread::yield_now();
                    computed.fetch_add(1, Ordering::SeqCst)
                });
                assert_eq!(*value.unwrap(), 0);
            });
        }
    });
    assert_eq!(computed.into_inner(), 1);
}

#[test]
fn objects_and_arguments_are_told_apart() -> Result<(), Error> {
    let (cache, objects) = (Cache::new(), [Object::default(), Object::default()]);
    for (number, object) in objects.iter().enumerate() {
        for args in ["a", "b"] {
            cache.get_or_compute(object, args, || format!("{number}{args}"))?;
        }
    }
    assert_eq!(*cache.get_or_compute(&objects[0], "b", unneeded)?, "0b");
    assert_eq!(*cache.get_or_compute(&objects[1], "a", unneeded)?, "1a");
    Ok(())
}

/// Begins to compute `a` in another thread, and does `meanwhile` before it ends.
fn during_a_computation<V: Clone + Send + Sync + 'static>(
    cache: &Cache<V>,
    object: &Object,
    end: impl FnOnce() -> Result<V, Error> + Send,
    meanwhile: impl FnOnce(),
) -> thread::Result<Result<Arc<V>, Error>> {
    let (begun, has_begun) = channel();
    let (go_on, may_end): (_, Receiver<()>) = channel();
    thread::scope(|scope| {
        let computing = scope.spawn(move || {
            cache.get_or_try_compute(object, "a", || {
                begun.send(()).unwrap();
                // Ends by an error when the sender is dropped.
                _ = may_end.recv();
                end()
            })
        });
        has_begun.recv().unwrap();
        meanwhile();
        drop(go_on);
        computing.join()
    })
}

#[test]
fn a_computation_does_not_block_others() {
    let (cache, objects) = (Cache::new(), [Object::default(), Object::default()]);
    let computed = during_a_computation(
        &cache,
        &objects[0],
        || Ok(1),
        || {
            assert_eq!(*cache.get_or_compute(&objects[0], "b", || 2).unwrap(), 2);
            assert_eq!(*cache.get_or_compute(&objects[1], "a", || 3).unwrap(), 3);
        },
    );
    assert_eq!(*computed.unwrap().unwrap(), 1);
}

/// Requests `a` in a second thread while the first computes it, and then does `end` in the first.
#[track_caller]
fn the_second_tries(end: impl FnOnce() -> Result<u32, Error> + Send) {
    let (cache, object) = (Cache::new(), Object::default());
    thread::scope(|scope| {
        let first = during_a_computation(&cache, &object, end, || {
            scope.spawn(|| assert_eq!(*cache.get_or_compute(&object, "a", || 2).unwrap(), 2));
        });
        assert!(!matches!(first, Ok(Ok(_))));
    });
    assert_eq!(*cache.get_or_compute(&object, "a", unneeded).unwrap(), 2);
}

#[test]
fn a_thread_that_waits_for_a_failure_computes_next() {
    the_second_tries(|| Err(failure()));
}

#[test]
fn a_thread_that_waits_for_a_panic_computes_next() {
    the_second_tries(|| panic!("as planned"));
}

#[test]
fn a_failure_or_a_panic_keeps_nothing() {
    let (cache, object) = (Cache::<u32>::new(), Object::default());
    let failed = cache.get_or_try_compute(&object, "a", || Err(failure()));
    assert_eq!(failed.unwrap_err().code(), -30);
    assert_eq!(object.references(), 1);
    let panics = || cache.get_or_compute(&object, "a", unneeded);
    assert!(catch_unwind(AssertUnwindSafe(panics)).is_err());
    assert_eq!(object.references(), 1);
    cache.get_or_compute(&object, "b", || 1).unwrap();
    assert!(cache.get_or_try_compute(&object, "a", || Err(failure())).is_err());
    assert_eq!(object.references(), 2);
}

#[test]
fn computations_may_use_other_entries() -> Result<(), Error> {
    let (cache, object) = (Cache::new(), Object::default());
    let value = cache.get_or_try_compute(&object, "a", || {
        Ok::<_, Error>(*cache.get_or_compute(&object, "b", || 20)? + 1)
    })?;
    assert_eq!((*value, *cache.get_or_compute(&object, "b", unneeded)?), (21, 20));
    Ok(())
}

#[test]
fn a_value_computed_during_a_clear_is_not_kept() {
    let (cache, object) = (Cache::new(), Object::default());
    let clear = || {
        cache.clear();
        assert_eq!(object.references(), 1);
    };
    let computed = during_a_computation(&cache, &object, || Ok(1), clear);
    assert_eq!(*computed.unwrap().unwrap(), 1);
    assert_eq!(object.references(), 1);
    assert_eq!(*cache.get_or_compute(&object, "a", || 2).unwrap(), 2);
}

#[test]
fn a_newer_value_is_not_replaced() {
    let (cache, object) = (Cache::new(), Object::default());
    let clear = || {
        cache.clear();
        cache.get_or_compute(&object, "a", || 2).unwrap();
    };
    for end in [Ok(1), Err(failure())] {
        _ = during_a_computation(&cache, &object, || end, clear);
        assert_eq!(*cache.get_or_compute(&object, "a", unneeded).unwrap(), 2);
        cache.clear();
    }
}

#[test]
fn clear_and_drop_release_the_values() -> Result<(), Error> {
    let (cache, object) = (Cache::new(), Object::default());
    let value = cache.get_or_compute(&object, "a", || 1)?;
    cache.get_or_compute(&object, "b", || 2)?;
    assert_eq!((object.references(), Arc::strong_count(&value)), (3, 2));
    cache.clear();
    assert_eq!((object.references(), Arc::strong_count(&value)), (1, 1));
    let value = cache.get_or_compute(&object, "a", || 3)?;
    assert_eq!((object.references(), *value), (2, 3));
    drop(cache);
    assert_eq!((object.references(), Arc::strong_count(&value)), (1, 1));
    Ok(())
}

/// Does something when it is dropped.
struct AtLast(Box<dyn Fn() + Send + Sync>);

impl Drop for AtLast {
    fn drop(&mut self) {
        (self.0)();
    }
}

#[test]
fn destructors_of_values_may_use_the_cache() -> Result<(), Error> {
    let (cache, object) = (Arc::new(Cache::new()), Object::default());
    let seen = Arc::new(AtomicU32::new(0));
    let at_last = || {
        let (cache, object, seen) = (Arc::downgrade(&cache), object.clone(), Arc::clone(&seen));
        AtLast(Box::new(move || {
            let cache = cache.upgrade().unwrap();
            let other = cache.get_or_compute(&object, "b", || AtLast(Box::new(|| ())));
            seen.fetch_add(u32::from(other.is_ok()), Ordering::SeqCst);
        }))
    };
    cache.get_or_compute(&object, "a", at_last)?;
    cache.clear();
    assert_eq!(seen.load(Ordering::SeqCst), 1);
    Ok(())
}

#[test]
fn destructors_that_panic_keep_nothing_else() -> Result<(), Error> {
    let (cache, object) = (Cache::new(), Object::default());
    for args in ["a", "b"] {
        cache.get_or_compute(&object, args, || AtLast(Box::new(|| panic!("as planned"))))?;
    }
    let other = cache.get_or_compute(&object, "c", || AtLast(Box::new(|| ())))?;
    drop(cache);
    assert_eq!((object.references(), Arc::strong_count(&other)), (1, 1));
    Ok(())
}

#[test]
fn functions_are_memoized() -> Result<(), Error> {
    let (object, computed) = (Object::default(), AtomicU32::new(0));
    let square = first_arg_dependent_memoize(|_: &Object, number: &u32| {
        computed.fetch_add(1, Ordering::SeqCst);
        Ok::<_, Error>(number * number)
    });
    assert_eq!((*square(&object, &7)?, *square(&object, &7)?, *square(&object, &8)?), (49, 49, 64));
    assert_eq!(object.references(), 3);
    drop(square);
    assert_eq!((object.references(), computed.into_inner()), (1, 2));
    Ok(())
}
