//! How long entries and their contexts live.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::mpsc::channel;
use std::sync::{Arc, OnceLock};
use std::thread;

use clmatrix::cache::{FirstArgCache, clear_first_arg_caches};
use clmatrix::memory::{Buffer, MemFlags};
use clmatrix::{CommandQueue, Context, Device, Result};
use clmatrix_harness::CtxFactory;

use crate::support::on_device::{OnDevice, soon};

fn references(context: &Context) -> Result<u32> {
    context.reference_count()
}

#[clmatrix_harness::test]
fn clearing_caches_releases_contexts(on_device: OnDevice) -> Result<()> {
    static BUFFERS: FirstArgCache<usize, Buffer> = FirstArgCache::new();
    let OnDevice { context, queue } = &on_device;
    let before = references(context)?;
    let buffer = |content: u32| {
        BUFFERS.get_or_try_compute(context, &1, || {
            Buffer::from_slice(context, MemFlags::READ_WRITE, &[content])
        })
    };
    for (content, expected) in [(1, 1), (2, 1)] {
        let mut found = [0_u32];
        (*buffer(content)?).read(queue, &mut found)?;
        assert_eq!(found, [expected]);
    }
    assert!(references(context)? > before);
    clear_first_arg_caches();
    assert!(soon(|| Ok(references(context)? == before))?, "{}", references(context)?);
    let mut found = [0_u32];
    (*buffer(3)?).read(queue, &mut found)?;
    assert_eq!(found, [3]);
    clear_first_arg_caches();
    Ok(())
}

#[clmatrix_harness::test]
fn a_dropped_cache_releases_contexts(on_device: OnDevice) -> Result<()> {
    let context = &on_device.context;
    let before = references(context)?;
    let cache = FirstArgCache::<(), u32>::new();
    cache.get_or_compute(context, &(), || 1)?;
    assert_eq!(references(context)?, before + 1);
    drop(cache);
    assert!(soon(|| Ok(references(context)? == before))?, "{}", references(context)?);
    Ok(())
}

/// The caches are empty when the next test begins.
#[clmatrix_harness::test]
fn the_context_factory_clears_caches(ctx_factory: CtxFactory) -> Result<()> {
    static CACHE: FirstArgCache<(), u32> = FirstArgCache::new();
    let context = ctx_factory()?;
    let before = references(&context)?;
    assert_eq!(*CACHE.get_or_compute(&context, &(), || 1)?, 1);
    assert_eq!(references(&context)?, before + 1);
    let _other = ctx_factory()?;
    assert!(soon(|| Ok(references(&context)? == before))?, "{}", references(&context)?);
    assert_eq!(*CACHE.get_or_compute(&context, &(), || 2)?, 2);
    clear_first_arg_caches();
    Ok(())
}

/// Drivers give a new context an old one's handle as soon as that is free.
#[clmatrix_harness::test]
fn a_new_context_does_not_get_the_value_of_a_released_one(device: Device) -> Result<()> {
    static CACHE: FirstArgCache<(), u32> = FirstArgCache::new();
    // A context takes 0.1 s on a GPU, and more where several processes make some.
    for round in 0..2 {
        let context = Context::new([&device])?;
        assert_eq!(*CACHE.get_or_compute(&context, &(), || 2 * round)?, 2 * round);
        // The value is there still, and so is its context.
        drop(context);
        let context = Context::new([&device])?;
        assert_eq!(*CACHE.get_or_compute(&context, &(), || 2 * round + 1)?, 2 * round + 1);
        drop(context);
        clear_first_arg_caches();
    }
    Ok(())
}

#[clmatrix_harness::test]
fn a_new_queue_does_not_get_the_value_of_a_released_one(on_device: OnDevice) -> Result<()> {
    static CACHE: FirstArgCache<(), u32> = FirstArgCache::new();
    for round in 0..20 {
        let queue = CommandQueue::new(&on_device.context)?;
        assert_eq!(*CACHE.get_or_compute(&queue, &(), || round)?, round);
        drop(queue);
        if round % 5 == 4 {
            clear_first_arg_caches();
        }
    }
    clear_first_arg_caches();
    Ok(())
}

#[clmatrix_harness::test]
fn a_panic_leaves_no_value_in_the_cache(on_device: OnDevice) -> Result<()> {
    let (context, cache) = (&on_device.context, FirstArgCache::<(), u32>::new());
    let before = references(context)?;
    let panics = || cache.get_or_compute(context, &(), || panic!("as planned"));
    assert!(catch_unwind(AssertUnwindSafe(panics)).is_err());
    assert!(soon(|| Ok(references(context)? == before))?, "{}", references(context)?);
    assert_eq!(*cache.get_or_compute(context, &(), || 1)?, 1);
    Ok(())
}

#[clmatrix_harness::test]
fn a_value_computed_during_a_clear_is_not_cached(on_device: OnDevice) -> Result<()> {
    static CACHE: FirstArgCache<(), u32> = FirstArgCache::new();
    let context = &on_device.context;
    let before = references(context)?;
    let ((begun, has_begun), (go_on, may_end)) = (channel(), channel());
    let computed = thread::scope(|scope| {
        let computing = scope.spawn(move || {
            CACHE.get_or_compute(context, &(), || {
                begun.send(()).expect("the test waits");
                may_end.recv().expect("the test sends");
                1
            })
        });
        has_begun.recv().expect("it begins");
        clear_first_arg_caches();
        go_on.send(()).expect("it waits");
        computing.join().expect("it does not panic")
    })?;
    assert_eq!(*computed, 1);
    assert!(soon(|| Ok(references(context)? == before))?, "{}", references(context)?);
    assert_eq!(*CACHE.get_or_compute(context, &(), || 2)?, 2);
    clear_first_arg_caches();
    Ok(())
}

/// Asks the cache that it is in for another value when it is dropped, and clears all caches.
struct Asks {
    context: Arc<Context>,
    found: Arc<OnceLock<u32>>,
}

static ASKING: FirstArgCache<u32, Asks> = FirstArgCache::new();
static ASKED: FirstArgCache<u32, u32> = FirstArgCache::new();

impl Drop for Asks {
    fn drop(&mut self) {
        ASKING.clear();
        let found = ASKED.get_or_compute(&*self.context, &0, || 42).expect("a value");
        self.found.set(*found).expect("it is dropped once");
        clear_first_arg_caches();
    }
}

#[clmatrix_harness::test]
fn the_destructor_of_a_value_may_use_caches(on_device: OnDevice) -> Result<()> {
    let context = Arc::new(on_device.context);
    let found = Arc::new(OnceLock::new());
    let make = || Asks { context: Arc::clone(&context), found: Arc::clone(&found) };
    ASKING.get_or_compute(&*context, &0, make)?;
    assert_eq!(found.get(), None);
    clear_first_arg_caches();
    assert_eq!(found.get(), Some(&42));
    assert_eq!(Arc::strong_count(&context), 1);
    Ok(())
}
