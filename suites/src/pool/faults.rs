//! A pool whose allocator fails. The allocator fails on demand.

use std::panic::{AssertUnwindSafe, catch_unwind};

use super::*;

/// Sizes that are those of their blocks.
const SMALL: usize = 127;
const MIDDLE: usize = 1023;
const LARGE: usize = 8191;

const OUT_OF_MEMORY: Answer = Answer::Code(-4);

/// The steps of a pool, in their order.
type Story = Arc<Mutex<Vec<String>>>;

/// A pool of an allocator, and what can be reached from inside.
fn pool_with(
    allocator: impl Allocator<Memory = Buffer> + 'static,
    options: PoolOptions,
    inside: &Inside,
) -> Result<MemoryPool> {
    let pool = MemoryPool::with_options(allocator, options)?;
    Ok(inside.get_or_init(|| pool).clone())
}

/// Has the pool hold a block of each size.
fn hold<M: Memory>(pool: &Pool<M>, sizes: &[usize]) -> Result<()> {
    sizes.iter().map(|size| pool.allocate(*size)).collect::<Result<Vec<_>>>().map(drop)
}

/// Adds a hook that is given the number of its earlier calls, which the result counts.
fn with_hook(
    options: PoolOptions,
    hook: impl Fn(usize) + Send + Sync + 'static,
) -> (PoolOptions, Arc<AtomicUsize>) {
    let calls = Arc::new(AtomicUsize::new(0));
    let counter = Arc::clone(&calls);
    (options.on_out_of_memory(move || hook(counter.fetch_add(1, Ordering::SeqCst))), calls)
}

/// The error where memory has run out.
#[track_caller]
fn out_of_memory<T>(result: Result<T>) -> Error {
    let error = result.err().expect("there was memory");
    assert_eq!(error.class(), Class::OutOfMemory, "{error}");
    assert!(error.detail().contains("bytes were requested"), "not the pool's: {error}");
    error
}

#[clmatrix_harness::test]
fn out_of_memory_calls_the_hook_then_searches_the_bin(on_device: OnDevice) -> Result<()> {
    let allocator = buffers_but(&on_device, 2.., OUT_OF_MEMORY)?;
    let kept: Arc<Mutex<Option<PooledBuffer>>> = Arc::default();
    let in_hook = Arc::clone(&kept);
    let (options, hooks) =
        with_hook(PoolOptions::new(), move |_| drop(in_hook.lock().unwrap().take()));
    let pool = MemoryPool::with_options(Arc::clone(&allocator), options)?;
    hold(&pool, &[LARGE])?;
    let block = pool.allocate(MIDDLE)?;
    let raw = block.as_raw();
    *kept.lock().unwrap() = Some(block);

    let reused = pool.allocate(MIDDLE - 1)?;
    assert_eq!(reused.as_raw(), raw, "the block that the hook dropped");
    assert_eq!(hooks.load(Ordering::SeqCst), 1);
    assert_eq!(allocator.calls(), [LARGE, MIDDLE, MIDDLE], "it is not asked again");
    assert_eq!(pool.held_blocks(), 1, "what is held is not freed");
    assert_eq!(pool.managed_bytes(), LARGE + MIDDLE);
    Ok(())
}

#[rstest]
#[clmatrix_harness::test]
fn out_of_memory_frees_held_blocks_largest_first_with_a_retry_after_each(
    on_device: OnDevice,
    #[values(false, true)] has_hook: bool,
) -> Result<()> {
    let (story, inside) = (Story::default(), Inside::default());
    let (told, within) = (Arc::clone(&story), Arc::downgrade(&inside));
    let retries = if has_hook { 4 } else { 3 };
    let allocator = buffers(&on_device, move |nth, size| {
        // Looks at the pool from within, where none of its locks may be held.
        if let Some(pool) = reached(&within).filter(|_| nth >= 3) {
            let (held, _, managed, _) = counts(&pool);
            told.lock().unwrap().push(format!("{size}: {held} held, {managed} managed"));
        }
        if (3..2 + retries).contains(&nth) { OUT_OF_MEMORY } else { Answer::Inner }
    })?;
    let mut options = PoolOptions::new();
    if has_hook {
        let told = Arc::clone(&story);
        options = options.on_out_of_memory(move || told.lock().unwrap().push("hook".to_owned()));
    }
    let pool = pool_with(allocator, options, &inside)?;
    hold(&pool, &[MIDDLE, LARGE, SMALL])?;

    let block = pool.allocate(31)?;
    let all = format!("31: 3 held, {} managed", SMALL + MIDDLE + LARGE);
    let mut expected = vec![all.clone()];
    if has_hook {
        expected.extend(["hook".to_owned(), all]);
    }
    expected.push(format!("31: 2 held, {} managed", SMALL + MIDDLE));
    expected.push(format!("31: 1 held, {SMALL} managed"));
    assert_eq!(*story.lock().unwrap(), expected);
    assert_eq!((pool.held_blocks(), pool.active_blocks()), (1, 1));
    drop(block);
    let small = pool.allocate(SMALL)?;
    assert_eq!(pool.managed_bytes(), SMALL + 31, "the smallest is still there");
    drop(small);
    Ok(())
}

#[rstest]
#[clmatrix_harness::test]
fn out_of_memory_without_held_blocks_is_one_error(
    on_device: OnDevice,
    #[values(-4, -5, -6)] code: i32,
) -> Result<()> {
    let allocator = buffers_but(&on_device, 3..7, Answer::Code(code))?;
    let pool = MemoryPool::new(Arc::clone(&allocator))?;
    let active = pool.allocate(LARGE - 1)?;
    hold(&pool, &[SMALL, MIDDLE])?;

    let result = out_of_memory(pool.allocate(2000));
    assert_eq!(result.code(), code);
    let block = pool.alloc_size(pool.bin_number(2000)).expect("a bin");
    let found: Vec<&str> = result.detail().split([' ', ';', ',', '.']).collect();
    let freed = SMALL + MIDDLE;
    for number in [2000, block, 2, freed, 0, 1, LARGE - 1, LARGE] {
        let text = number.to_string();
        assert!(found.contains(&&*text), "{number} is not in it: {result}");
    }
    assert!(result.detail().contains(&error(code).to_string()), "{result}");
    assert_eq!(allocator.calls()[3..], [block; 3]);
    assert_eq!((pool.held_blocks(), pool.active_blocks()), (0, 1));
    assert_eq!((pool.managed_bytes(), pool.active_bytes()), (LARGE, LARGE - 1));

    // With nothing to free it is asked once, and when there is memory again, all is well.
    out_of_memory(pool.allocate(2000));
    assert_eq!(allocator.calls().len(), 7);
    let again = pool.allocate(2000)?;
    assert!(again.as_raw() != active.as_raw() && again.block_size() == block);
    works(&on_device, again)
}

/// A kernel can write to a block.
fn works(on_device: &OnDevice, block: PooledBuffer) -> Result<()> {
    const COUNT: &str = "kernel void k(global uint *x) { x[get_global_id(0)] = get_global_id(0); }";
    let words = block.size() / 4;
    on_device.run(COUNT, &[&block], words)?;
    assert_eq!(contents(on_device, &block)?, counting(words as u32));
    Ok(())
}

#[rstest]
#[clmatrix_harness::test]
fn other_errors_of_the_allocator_are_returned(
    on_device: OnDevice,
    #[values(-61, -30, -34, -12, -9999)] code: i32,
) -> Result<()> {
    let allocator = buffers_but(&on_device, 1..2, Answer::Code(code))?;
    let options = PoolOptions::new().on_out_of_memory(|| panic!("memory has not run out"));
    let pool = MemoryPool::with_options(Arc::clone(&allocator), options)?;
    hold(&pool, &[LARGE])?;
    let before = pool.statistics();
    let result = pool.allocate(MIDDLE).expect_err("it fails");
    assert_eq!(result.to_string(), error(code).to_string());
    assert_eq!(allocator.calls(), [LARGE, MIDDLE], "it is not asked again");
    assert_eq!(pool.statistics(), before);
    works(&on_device, pool.allocate(MIDDLE - 3)?)
}

#[clmatrix_harness::test]
fn sizes_above_the_maximum_allocation_do_not_reach_the_allocator(
    on_device: OnDevice,
) -> Result<()> {
    let allocator = buffers_but(&on_device, 1.., Answer::Code(-30))?;
    let options = PoolOptions::new().on_out_of_memory(|| panic!("memory has not run out"));
    let pool = MemoryPool::with_options(Arc::clone(&allocator), options)?;
    hold(&pool, &[LARGE])?;
    let most = allocator.max_size().expect("the devices say it");
    for size in [most + 1, usize::MAX] {
        assert_eq!(refusal(pool.allocate(size)), "CL_INVALID_BUFFER_SIZE", "{size} bytes");
    }
    assert_eq!(allocator.calls(), [LARGE]);
    assert_eq!(pool.held_blocks(), 1);
    // Up to there it does, also where the bin is for larger ones, too.
    for size in [most, most - 1] {
        assert_eq!(pool.allocate(size).expect_err("it fails").code(), -30);
    }
    let asked = allocator.calls();
    assert_eq!(asked.len(), 3);
    assert!(asked[1] == most && (most - 1..=most).contains(&asked[2]), "{asked:?} of {most}");
    Ok(())
}

/// With all that the hook does there: the pool is used, memory runs out again, blocks are dropped.
#[clmatrix_harness::test]
fn the_hook_may_use_the_pool(on_device: OnDevice) -> Result<()> {
    let inside = Inside::default();
    let allocator =
        buffers(&on_device, |_, size| if size == LARGE { OUT_OF_MEMORY } else { Answer::Inner })?;
    let within = Arc::downgrade(&inside);
    let (options, hooks) = with_hook(PoolOptions::new(), move |earlier| {
        assert_eq!(earlier, 0, "a hook in a hook");
        let pool = reached(&within).expect("the pool");
        out_of_memory(pool.allocate(LARGE));
        assert_eq!(pool.held_blocks(), 0, "it frees, also in a hook");
        drop((pool.allocate(SMALL).unwrap(), pool.allocate(MIDDLE).unwrap()));
        pool.trim_to(SMALL);
    });
    let pool = pool_with(Arc::clone(&allocator), options, &inside)?;
    hold(&pool, &[MIDDLE])?;
    let result = out_of_memory(pool.allocate(LARGE));
    assert!(result.detail().contains(&format!(" {SMALL} bytes")), "what the hook left: {result}");
    assert_eq!(allocator.calls(), [MIDDLE, LARGE, LARGE, LARGE, SMALL, MIDDLE, LARGE, LARGE]);
    assert_eq!(hooks.load(Ordering::SeqCst), 1);
    // The next time, it is called again.
    hooks.store(0, Ordering::SeqCst);
    out_of_memory(pool.allocate(LARGE));
    assert_eq!(hooks.load(Ordering::SeqCst), 1);
    works(&on_device, pool.allocate(MIDDLE)?)
}

#[clmatrix_harness::test]
fn a_panic_in_the_hook_leaves_the_pool_usable(on_device: OnDevice) -> Result<()> {
    let allocator = buffers_but(&on_device, 2..4, OUT_OF_MEMORY)?;
    let (options, panics) =
        with_hook(PoolOptions::new().limit(LARGE + MIDDLE + SMALL), |earlier| {
            assert_ne!(earlier, 0, "the hook panics");
        });
    let pool = MemoryPool::with_options(allocator, options)?;
    let active = pool.allocate(MIDDLE)?;
    hold(&pool, &[SMALL])?;
    let before = pool.statistics();
    let panicked = catch_unwind(AssertUnwindSafe(|| pool.allocate(LARGE)));
    panicked.expect_err("the hook panics");
    assert_eq!(pool.statistics(), before);
    // It is called the next time, too, and the limit has room for all three still.
    let block = pool.allocate(LARGE)?;
    assert_eq!(panics.load(Ordering::SeqCst), 2);
    assert_eq!((pool.held_blocks(), pool.managed_bytes()), (1, LARGE + MIDDLE + SMALL));
    drop(active);
    works(&on_device, block)
}

#[clmatrix_harness::test]
fn a_panic_in_the_allocator_leaves_the_pool_usable(on_device: OnDevice) -> Result<()> {
    let allocator = buffers(&on_device, |nth, _| match nth {
        1 | 4 => Answer::Panic,
        2 => OUT_OF_MEMORY,
        _ => Answer::Inner,
    })?;
    let options = PoolOptions::new().limit(LARGE + SMALL);
    let pool = MemoryPool::with_options(Arc::clone(&allocator), options)?;
    hold(&pool, &[SMALL])?;
    let before = pool.statistics();
    let panics = |size| {
        catch_unwind(AssertUnwindSafe(|| pool.allocate(size))).expect_err("it panics");
    };
    panics(LARGE);
    assert_eq!(pool.statistics(), before);
    // The retry after the held block was freed succeeds: calls 2 and 3.
    drop(pool.allocate(LARGE)?);
    assert_eq!((pool.held_blocks(), pool.managed_bytes()), (1, LARGE));
    panics(SMALL);
    assert_eq!((pool.held_blocks(), pool.managed_bytes()), (1, LARGE));
    // The limit has room for both still.
    let (small, large) = (pool.allocate(SMALL)?, pool.allocate(LARGE)?);
    assert_eq!((pool.active_blocks(), pool.active_bytes()), (2, LARGE + SMALL));
    assert_eq!(allocator.calls(), [SMALL, LARGE, LARGE, LARGE, SMALL, SMALL]);
    works(&on_device, small)?;
    works(&on_device, large)
}

#[rstest]
#[case::less(Answer::Less)]
#[case::nothing(Answer::Nothing)]
#[clmatrix_harness::test]
fn an_allocation_that_is_too_small_is_refused(
    on_device: OnDevice,
    #[case] answer: Answer,
) -> Result<()> {
    let options = PoolOptions::new().limit(MIDDLE).on_out_of_memory(|| panic!("there is memory"));
    let pool = MemoryPool::with_options(buffers_but(&on_device, 0..1, answer)?, options)?;
    let result = pool.allocate(MIDDLE);
    assert!(result.as_ref().is_err_and(|error| error.detail().contains("1023")), "{result:?}");
    assert_eq!(refusal(result), "CL_INVALID_BUFFER_SIZE");
    assert_eq!((pool.managed_bytes(), pool.active_blocks()), (0, 0));
    works(&on_device, pool.allocate(MIDDLE)?)
}

#[clmatrix_harness::test]
fn an_allocation_may_be_larger_than_requested(on_device: OnDevice) -> Result<()> {
    let pool = MemoryPool::new(buffers(&on_device, |_, _| Answer::More)?)?;
    let block = pool.allocate(MIDDLE)?;
    assert_eq!((block.size(), block.block_size()), (MIDDLE, MIDDLE));
    assert_eq!(pool.managed_bytes(), MIDDLE);
    works(&on_device, block)
}

#[clmatrix_harness::test]
fn managed_bytes_never_exceed_the_limit(on_device: OnDevice) -> Result<()> {
    let allocator = buffers(&on_device, |_, _| Answer::Inner)?;
    let (options, hooks) = with_hook(PoolOptions::new().limit(2 * MIDDLE), |_| ());
    let pool = MemoryPool::with_options(Arc::clone(&allocator), options)?;
    let (one, other) = (pool.allocate(MIDDLE)?, pool.allocate(MIDDLE)?);
    let result = out_of_memory(pool.allocate(1));
    assert!(result.detail().contains(&format!("limit is {} bytes", 2 * MIDDLE)), "{result}");
    assert_eq!(allocator.calls().len(), 2, "beyond the limit it is not asked");
    assert_eq!(hooks.load(Ordering::SeqCst), 1);
    // Held blocks are freed for it.
    drop(other);
    let small = pool.allocate(SMALL)?;
    assert_eq!((pool.held_blocks(), pool.managed_bytes()), (0, MIDDLE + SMALL));
    // A request beyond the limit frees nothing, and the hook is not called.
    drop((one, small));
    let before = (pool.statistics(), hooks.load(Ordering::SeqCst));
    assert_eq!(before.0.held_blocks, 2);
    out_of_memory(pool.allocate(2 * MIDDLE + 2));
    assert_eq!((pool.statistics(), hooks.load(Ordering::SeqCst)), before);
    assert_eq!(pool.statistics().peak_managed_bytes, 2 * MIDDLE);
    works(&on_device, pool.allocate(MIDDLE)?)
}

/// A thread allocates while the allocator is still about to fail for another thread.
#[clmatrix_harness::test]
fn failed_allocations_are_not_in_the_peak(on_device: OnDevice) -> Result<()> {
    let inside = Inside::default();
    let within = Arc::downgrade(&inside);
    let allocator = buffers(&on_device, move |_, size| {
        if size == SMALL {
            return Answer::Inner;
        }
        let pool = reached(&within).expect("the pool");
        assert_eq!(pool.managed_bytes(), 0, "it is not managed yet");
        drop(pool.allocate(SMALL).unwrap());
        pool.free_held();
        Answer::Code(-30)
    })?;
    let pool = pool_with(allocator, PoolOptions::new().limit(2 * LARGE), &inside)?;
    assert_eq!(pool.allocate(LARGE).expect_err("it fails").code(), -30);
    let found = pool.statistics();
    assert_eq!((found.peak_managed_bytes, found.peak_active_bytes), (SMALL, SMALL));
    Ok(())
}

#[clmatrix_harness::test]
fn a_pool_works_with_little_memory(on_device: OnDevice) -> Result<()> {
    let most = 16 * LARGE;
    let inside = Inside::default();
    let allocator = Capped::new(&on_device, most, &inside)?;
    let pool = pool_with(Arc::clone(&allocator), PoolOptions::new(), &inside)?;
    for size in [LARGE, SMALL, 3 * LARGE, MIDDLE, 2 * LARGE] {
        let mut active = Vec::new();
        let result = loop {
            match pool.allocate(size) {
                Ok(block) => active.push(block),
                Err(error) => break error,
            }
            let managed = pool.managed_bytes();
            assert_eq!(allocator.alive(managed), managed);
        };
        out_of_memory::<()>(Err(result));
        // However much was held of other sizes, all that there is can be had.
        let block = pool.alloc_size(pool.bin_number(size)).expect("a bin");
        assert_eq!(active.len(), most / block, "blocks of {size} bytes");
        assert_eq!((pool.active_blocks(), pool.held_blocks()), (active.len(), 0));
        assert_eq!(pool.managed_bytes(), active.len() * block);
    }
    pool.free_held();
    assert_eq!((pool.managed_bytes(), allocator.alive(0)), (0, 0));
    Ok(())
}

#[clmatrix_harness::test]
fn trim_to_frees_the_largest_blocks_first(on_device: OnDevice) -> Result<()> {
    let allocator = Capped::new(&on_device, usize::MAX, &Inside::default())?;
    let pool = MemoryPool::new(Arc::clone(&allocator))?;
    let active = pool.allocate(LARGE)?;
    hold(&pool, &[SMALL, LARGE, MIDDLE])?;
    let all = 2 * LARGE + MIDDLE + SMALL;
    for (bytes, held, managed) in [
        (all, 3, all),
        (all - 1, 2, LARGE + MIDDLE + SMALL),
        (LARGE + SMALL, 1, LARGE + SMALL),
        (0, 0, LARGE),
    ] {
        pool.trim_to(bytes);
        assert_eq!((pool.held_blocks(), pool.managed_bytes()), (held, managed), "to {bytes}");
        assert_eq!(allocator.alive(managed), managed, "to {bytes}");
    }
    assert_eq!(pool.active_blocks(), 1);
    works(&on_device, active)
}

#[clmatrix_harness::test]
fn blocks_held_longer_than_max_idle_are_freed(on_device: OnDevice) -> Result<()> {
    let allocator = Capped::new(&on_device, usize::MAX, &Inside::default())?;
    let options = PoolOptions::new().max_idle(Duration::ZERO);
    let pool = MemoryPool::with_options(Arc::clone(&allocator), options)?;
    hold(&pool, &[SMALL, MIDDLE])?;
    assert_eq!(pool.held_blocks(), 2, "nothing is freed where no memory is asked for");
    drop(pool.allocate(MIDDLE)?);
    let all = SMALL + MIDDLE;
    assert_eq!((pool.held_blocks(), allocator.alive(all)), (2, all), "it is used again");
    let active = pool.allocate(LARGE)?;
    assert_eq!((pool.held_blocks(), allocator.alive(LARGE)), (0, LARGE));
    drop(active);
    pool.trim_idle();
    assert_eq!((pool.managed_bytes(), allocator.alive(0)), (0, 0));

    let patient = PoolOptions::new().max_idle(Duration::from_secs(24 * 3600));
    for options in [patient, PoolOptions::new()] {
        let pool = MemoryPool::with_options(Arc::clone(&allocator), options)?;
        hold(&pool, &[SMALL, MIDDLE])?;
        pool.trim_idle();
        let active = pool.allocate(LARGE)?;
        assert_eq!((pool.held_blocks(), pool.managed_bytes()), (2, SMALL + MIDDLE + LARGE));
        drop(active);
    }
    Ok(())
}

/// Tells of the gate at each call whether it was closed, and has an answer of its own for one call.
fn told_of(
    gate: &Arc<UserEvent>,
    call: usize,
    answer: Answer,
) -> (Arc<Mutex<Vec<bool>>>, impl Fn(usize, usize) -> Answer + Send + Sync + 'static) {
    let (gate, closed) = (Arc::clone(gate), Arc::<Mutex<Vec<bool>>>::default());
    let told = Arc::clone(&closed);
    let answers = move |nth: usize, _: usize| {
        let status = gate.status().expect("the gate's status");
        told.lock().unwrap().push(!status.has_ended());
        if nth == call { answer } else { Answer::Inner }
    };
    (closed, answers)
}

/// As long as a command may use a buffer, the driver keeps it: only then is it of use to ask again.
#[clmatrix_harness::test]
fn a_retry_waits_for_the_commands_on_freed_blocks(on_device: OnDevice) -> Result<()> {
    let gate = Arc::new(gate(&on_device.context));
    let (closed, answer) = told_of(&gate, 1, OUT_OF_MEMORY);
    let pool = MemoryPool::new(buffers(&on_device, answer)?)?;
    let block = pool.allocate(LARGE)?;
    enqueue_fill(on_device.queue.after(&*gate), &*block, &7_u32, ..4)?;
    drop(block);
    drop(meanwhile(&gate, open, || pool.allocate(SMALL))?);
    assert_eq!(*closed.lock().unwrap(), [true, true, false]);
    on_device.queue.finish()
}

/// Shared virtual memory that is freed when it is a queue's turn is there no sooner.
#[rstest]
#[clmatrix_harness::test(requires(svm))]
fn a_retry_waits_for_frees_on_a_queue(
    on_device: OnDevice,
    #[values(false, true)] is_used: bool,
) -> Result<()> {
    let on = &on_device;
    let gate = Arc::new(gate(&on.context));
    let (closed, answer) = told_of(&gate, 2, Answer::Code(-5));
    let inner = SvmAllocator::new(&on.context, 0, SvmFlags::READ_WRITE, Some(&on.queue))?;
    let pool = SvmPool::new(Faulty::new(inner, answer))?;
    let (block, other) = (pool.allocate(LARGE)?, pool.allocate(LARGE)?);
    let used = if is_used { &*block } else { &*other };
    enqueue_fill(on.queue.after(&*gate), used, &7_u32, ..4)?;
    drop(block);
    drop(meanwhile(&gate, open, || pool.allocate(SMALL))?);
    assert_eq!(*closed.lock().unwrap(), [true, true, true, false]);
    assert_eq!((pool.held_blocks(), pool.active_blocks()), (1, 1));
    on.queue.finish()
}

#[rstest]
#[clmatrix_harness::test(requires(svm))]
fn an_svm_pool_frees_held_blocks_and_retries(
    on_device: OnDevice,
    #[values(false, true)] has_queue: bool,
) -> Result<()> {
    let on = &on_device;
    let queue = has_queue.then_some(&on.queue);
    let inner = SvmAllocator::new(&on.context, 0, SvmFlags::READ_WRITE, queue)?;
    let most = inner.max_size().expect("the devices say it");
    let allocator = Faulty::new(inner, |nth, _| match nth {
        2 | 3 | 5.. => Answer::Code(-5),
        _ => Answer::Inner,
    });
    let pool = SvmPool::new(Arc::clone(&allocator))?;
    hold(&pool, &[SMALL, LARGE])?;
    let block = pool.allocate(MIDDLE)?;
    assert_eq!(allocator.calls(), [SMALL, LARGE, MIDDLE, MIDDLE, MIDDLE]);
    assert_eq!((pool.held_blocks(), pool.managed_bytes()), (0, MIDDLE));
    out_of_memory(pool.allocate(SMALL));
    assert_eq!(refusal(pool.allocate(most + 1)), "CL_INVALID_BUFFER_SIZE");
    assert_eq!(allocator.calls().len(), 6);
    drop(block);
    drop(pool.allocate(MIDDLE)?);
    assert_eq!((pool.held_blocks(), pool.managed_bytes()), (1, MIDDLE));
    Ok(())
}

/// Each thread has one block at a time, and there is memory for that; all else is held, by whomever.
#[clmatrix_harness::test]
fn threads_share_little_memory(on_device: OnDevice) -> Result<()> {
    const THREADS: usize = 4;
    let inside = Inside::default();
    let allocator = Capped::new(&on_device, THREADS * LARGE, &inside)?;
    let pool = pool_with(Arc::clone(&allocator), PoolOptions::new(), &inside)?;
    let failed = AtomicUsize::new(0);
    thread::scope(|scope| {
        for thread in 0..THREADS {
            let (pool, failed) = (&pool, &failed);
            scope.spawn(move || {
                for round in 0..2000 {
                    let size = LARGE - 256 * ((7 * round + 3 * thread) % 11);
                    match pool.allocate(size) {
                        Ok(block) => assert_eq!(block.block_size(), size),
                        Err(error) => {
                            assert_eq!(error.class(), Class::OutOfMemory, "{error}");
                            failed.fetch_add(1, Ordering::Relaxed);
                        }
                    }
                }
            });
        }
    });
    assert_eq!(failed.into_inner(), 0);
    assert_eq!((pool.active_blocks(), pool.active_bytes()), (0, 0));
    let managed = pool.managed_bytes();
    assert_eq!(allocator.alive(managed), managed);
    pool.free_held();
    assert_eq!((pool.held_blocks(), pool.managed_bytes(), allocator.alive(0)), (0, 0, 0));
    Ok(())
}
