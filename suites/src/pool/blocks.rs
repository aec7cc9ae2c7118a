//! Which blocks there are: bins, what is held, and what is counted.

use super::*;

#[rstest]
#[clmatrix_harness::test]
#[case::of_buffers(BUFFERS)]
#[clmatrix_harness::test(requires(svm))]
#[case::of_svm(SVM)]
fn counts_are_those_of_pyopencl<K: Kind>(
    on_device: OnDevice,
    #[values(true, false)] has_queue: bool,
    #[case] _kind: PhantomData<K>,
) -> Result<()> {
    let queue = has_queue.then_some(&on_device.queue);
    let pool: Pool<K> = pool(&on_device, queue, PoolOptions::new())?;
    assert_eq!(counts(&pool), (0, 0, 0, 0));
    let first = pool.allocate(1000)?;
    assert_eq!(first.block_size(), 1023);
    assert_eq!(counts(&pool), (0, 1, 1023, 1000));
    let nothing = pool.allocate(0)?;
    assert_eq!(counts(&pool), (0, 2, 1024, 1000));
    assert_eq!(nothing.block_size(), 1);
    let id = first.id();
    drop(first);
    assert_eq!(counts(&pool), (1, 1, 1024, 0));
    let again = pool.allocate(993)?;
    assert_eq!(again.id(), id);
    assert_eq!(counts(&pool), (0, 2, 1024, 993));
    drop((nothing, again));
    assert_eq!(counts(&pool), (2, 0, 1024, 0));
    pool.free_held();
    assert_eq!(counts(&pool), (0, 0, 0, 0));
    Ok(())
}

/// 1000 bytes and 1023 share the bin of 992 to 1023; 1024 do not.
#[clmatrix_harness::test]
fn a_block_is_reused_for_sizes_of_its_bin(on_device: OnDevice) -> Result<()> {
    let pool = pool_on(&on_device.queue, PoolOptions::new())?;
    let raw = pool.allocate(1000)?.as_raw();
    for (size, is_same) in [(1023, true), (992, true), (991, false), (1024, false)] {
        let buffer = pool.allocate(size)?;
        assert_eq!(buffer.as_raw() == raw, is_same, "{size} bytes");
        assert_eq!(buffer.size(), size);
    }
    Ok(())
}

#[clmatrix_harness::test]
fn a_block_is_a_buffer_of_the_requested_size_for_kernels(on_device: OnDevice) -> Result<()> {
    let pool = pool_on(&on_device.queue, PoolOptions::new())?;
    for round in 0..3_u32 {
        let buffer = pool.allocate(4 * 250)?;
        enqueue_fill(&on_device.queue, &*buffer, &round, ..)?;
        let add = "kernel void k(global uint *x) { x[get_global_id(0)] += get_global_id(0); }";
        on_device.run(add, &[&buffer], 250)?;
        let mut found = [0_u32; 250];
        enqueue_copy(&on_device.queue, &mut found, &*buffer, ..)?;
        assert!(found.iter().zip(0..).all(|(found, place)| *found == round + place));
    }
    assert_eq!(counts(&pool), (1, 0, 1023, 0));
    Ok(())
}

#[clmatrix_harness::test]
fn the_last_returned_block_is_reused_first(on_device: OnDevice) -> Result<()> {
    let pool = pool_on(&on_device.queue, PoolOptions::new())?;
    let three = || -> Result<_> {
        let blocks = [pool.allocate(100)?, pool.allocate(100)?, pool.allocate(100)?];
        Ok(blocks.map(|block| block.as_raw()))
    };
    let [first, second, third] = three()?;
    assert_eq!(three()?, [third, second, first]);
    Ok(())
}

#[clmatrix_harness::test]
fn a_clone_or_a_region_keeps_a_block(on_device: OnDevice) -> Result<()> {
    let pool = pool_on(&on_device.queue, PoolOptions::new())?;
    let first = pool.allocate(4096)?;
    let raw = first.as_raw();
    let (clone, region) = (Buffer::clone(&first), first.sub_buffer(..16)?);
    drop(first);
    assert_ne!(pool.allocate(4096)?.as_raw(), raw);
    drop(clone);
    assert_ne!(pool.allocate(4096)?.as_raw(), raw);
    drop(region);
    let both = [pool.allocate(4096)?, pool.allocate(4096)?];
    assert!(both.iter().any(|block| block.as_raw() == raw));
    Ok(())
}

of_each_kind!(a_pool_that_does_not_hold_frees_at_once);

fn a_pool_that_does_not_hold_frees_at_once<K: Kind>(on_device: OnDevice) -> Result<()> {
    let context = &on_device.context;
    let before = context.reference_count()?;
    let pool: Pool<K> = pool(&on_device, None, PoolOptions::new())?;
    let (first, second) = (pool.allocate(100)?, pool.allocate(100)?);
    drop(first);
    pool.stop_holding();
    assert_eq!(counts(&pool), (0, 1, 103, 100));
    drop(second);
    assert_eq!(counts(&pool), (0, 0, 0, 0));
    drop(pool.allocate(100)?);
    assert_eq!(counts(&pool), (0, 0, 0, 0));
    drop(pool);
    assert_released(context, before)
}

/// Checks that a context has as many references as before the blocks were allocated, soon after they were released.
fn assert_released(context: &Context, before: u32) -> Result<()> {
    let is_released = soon(|| Ok(context.reference_count()? == before))?;
    assert!(is_released, "references: {}, before: {before}", context.reference_count()?);
    Ok(())
}

#[clmatrix_harness::test]
fn free_held_frees_held_blocks_only(ctx_factory: CtxFactory) -> Result<()> {
    let context = ctx_factory()?;
    let queue = CommandQueue::new(&context)?;
    let pool = pool_in(&context, PoolOptions::new())?;
    let active = pool.allocate(100)?;
    enqueue_fill(&queue, &*active, &7_u32, ..)?;
    queue.finish()?;
    let before = context.reference_count()?;
    drop([pool.allocate(100)?, pool.allocate(200)?]);
    assert_eq!(counts(&pool), (2, 1, 103 + 103 + 207, 100));
    pool.free_held();
    assert_eq!(counts(&pool), (0, 1, 103, 100));
    assert_released(&context, before)?;
    let mut found = [0_u32; 25];
    enqueue_copy(&queue, &mut found, &*active, ..)?;
    assert_eq!(found, [7; 25], "{FILLED}");
    drop(active);
    assert_eq!(counts(&pool), (1, 0, 103, 0), "the pool goes on holding");
    Ok(())
}

of_each_kind!(a_block_outlives_its_pool_and_is_freed);

fn a_block_outlives_its_pool_and_is_freed<K: Kind>(on_device: OnDevice) -> Result<()> {
    let context = &on_device.context;
    let before = context.reference_count()?;
    let pool: Pool<K> = pool(&on_device, None, PoolOptions::new())?;
    let other = pool.clone();
    let (held, block) = (pool.allocate(100)?, pool.allocate(200)?);
    drop((pool, held));
    assert_eq!(other.held_blocks(), 1);
    drop(other);
    assert_eq!(block.block_size(), 207);
    drop(block);
    assert_released(context, before)
}

/// Does `work` in eight threads, with the number of each. Returns how many blocks are held then, the only ones, and
/// their bytes; and frees them, after which there is nothing left.
fn held_after_threads(pool: &MemoryPool, work: impl Fn(usize) + Sync) -> (usize, usize) {
    thread::scope(|scope| {
        for thread in 0..8 {
            let work = &work;
            scope.spawn(move || work(thread));
        }
    });
    let (held, active, managed, requested) = counts(pool);
    assert_eq!((active, requested), (0, 0));
    pool.free_held();
    assert_eq!(counts(pool), (0, 0, 0, 0));
    (held, managed)
}

#[clmatrix_harness::test]
fn counts_are_exact_with_many_threads(on_device: OnDevice) -> Result<()> {
    let pool = pool_in(&on_device.context, PoolOptions::new())?;
    let (held, managed) = held_after_threads(&pool, |thread| {
        let mut kept: Vec<PooledBuffer> = Vec::new();
        for step in 0..500 {
            let size = 64 << ((thread + step) % 6);
            kept.push(pool.allocate(size + step % 60).expect("a block"));
            if kept.len() > 5 {
                drop(kept.swap_remove(step % kept.len()));
            }
            if step % 200 == 0 {
                pool.free_held();
            }
        }
    });
    assert!(held > 0 && managed >= 64 * held);
    Ok(())
}

/// A quarter of a million steps of mixed sizes in each of eight threads.
#[clmatrix_harness::test]
fn counts_are_exact_after_millions_of_allocations(on_device: OnDevice) -> Result<()> {
    const STEPS: usize = 250_000;
    let pool = pool_in(&on_device.context, PoolOptions::new())?;
    let (held, managed) = held_after_threads(&pool, |thread| {
        let mut kept: [Option<PooledBuffer>; 8] = [const { None }; 8];
        for step in 0..STEPS {
            let random = (step + thread).wrapping_mul(0x9E37_79B9) >> 7;
            let size = (64 << (random % 5)) + random % 16;
            kept[random / 5 % 8] = Some(pool.allocate(size).expect("a block"));
        }
    });
    assert!(held <= 8 * 9 * 5 && managed >= 64 * held, "{held} blocks of {managed} bytes");
    Ok(())
}

#[clmatrix_harness::test]
fn a_deferred_allocator_logs_a_warning(on_device: OnDevice) -> Result<()> {
    let allocator = DeferredAllocator::new(&on_device.context, MemFlags::READ_WRITE)?;
    let said = panics_as_it_logs(|| drop(MemoryPool::new(allocator)));
    assert!(said.contains("deferred allocator"), "{said}");
    Ok(())
}

#[clmatrix_harness::test]
fn a_larger_block_is_reused_if_allowed(on_device: OnDevice) -> Result<()> {
    let larger = |percent| -> Result<bool> {
        let pool = pool_on(&on_device.queue, PoolOptions::new().max_oversize_percent(percent))?;
        let large = pool.allocate(1200)?;
        let (raw, size) = (large.as_raw(), large.block_size());
        assert_eq!(size, 1215);
        drop(large);
        let buffer = pool.allocate(1000)?;
        assert_eq!(buffer.size(), 1000);
        Ok(buffer.as_raw() == raw)
    };
    // A new block has 1023 bytes: 1215 are 18.8 % more.
    assert_eq!((larger(0)?, larger(18)?, larger(19)?, larger(25)?), (false, false, true, true));
    Ok(())
}

#[clmatrix_harness::test]
fn the_smallest_sufficient_block_is_reused(on_device: OnDevice) -> Result<()> {
    let pool = pool_on(&on_device.queue, PoolOptions::new().max_oversize_percent(100))?;
    let [large, small] = [pool.allocate(1500)?, pool.allocate(1200)?];
    let raw = small.as_raw();
    drop((small, large));
    assert_eq!(pool.allocate(1000)?.as_raw(), raw);
    Ok(())
}

#[rstest]
#[case::as_pyopencl(4)]
#[case::powers_of_two(0)]
#[case::fine(20)]
#[clmatrix_harness::test]
fn leading_bits_determine_the_bins(on_device: OnDevice, #[case] bits: u32) -> Result<()> {
    let pool = pool_on(&on_device.queue, PoolOptions::new().leading_bits(bits))?;
    for size in [0, 1, 31, 33, 1000, 100_000] {
        let bin = pool.bin_number(size);
        let of_bin = pool.alloc_size(bin).expect("a bin");
        let buffer = pool.allocate(size)?;
        assert_eq!(buffer.block_size(), of_bin, "{size} bytes");
        assert_eq!(pool.bin_number(of_bin), bin);
        let raw = buffer.as_raw();
        drop(buffer);
        assert_eq!(pool.allocate(of_bin)?.as_raw(), raw, "{size} bytes");
    }
    Ok(())
}

#[clmatrix_harness::test]
fn too_many_leading_bits_are_refused(on_device: OnDevice) -> Result<()> {
    assert!(pool_on(&on_device.queue, PoolOptions::new().leading_bits(26)).is_ok());
    let error = pool_on(&on_device.queue, PoolOptions::new().leading_bits(27)).unwrap_err();
    assert_eq!((error.code_name(), error.class()), ("CL_INVALID_VALUE", Class::InvalidArgument));
    assert!(error.detail().contains("27"), "{error}");
    Ok(())
}

of_each_kind!(blocks_are_at_most_the_maximum_allocation);

/// A bin may end beyond the maximum, its blocks do not.
fn blocks_are_at_most_the_maximum_allocation<K: Kind>(on_device: OnDevice) -> Result<()> {
    let pool: Pool<K> = pool(&on_device, None, PoolOptions::new())?;
    let most = pool.max_size().expect("the device tells");
    let error = pool.allocate(most + 1).unwrap_err();
    let expected = ("CL_INVALID_BUFFER_SIZE", Class::InvalidArgument);
    assert_eq!((error.code_name(), error.class()), expected);
    assert!(error.detail().contains(&most.to_string()), "{error}");
    assert_eq!(counts(&pool), (0, 0, 0, 0));
    Ok(())
}

#[clmatrix_harness::test]
fn trim_to_frees_the_largest_blocks_first(on_device: OnDevice) -> Result<()> {
    let pool = pool_on(&on_device.queue, PoolOptions::new())?;
    let active = pool.allocate(1)?;
    drop([pool.allocate(64)?, pool.allocate(256)?, pool.allocate(128)?]);
    assert_eq!(counts(&pool), (3, 1, 67 + 271 + 135 + 1, 1));
    pool.trim_to(67 + 135 + 1);
    assert_eq!(counts(&pool), (2, 1, 67 + 135 + 1, 1));
    pool.trim_to(67 + 135);
    assert_eq!(counts(&pool), (1, 1, 67 + 1, 1));
    pool.trim_to(0);
    assert_eq!(counts(&pool), (0, 1, 1, 1));
    drop(active);
    Ok(())
}

#[clmatrix_harness::test]
fn statistics_have_the_peaks(on_device: OnDevice) -> Result<()> {
    let pool = pool_on(&on_device.queue, PoolOptions::new())?;
    drop([pool.allocate(64)?, pool.allocate(256)?]);
    pool.free_held();
    drop(pool.allocate(100)?);
    let statistics = pool.statistics();
    assert_eq!(statistics.peak_managed_bytes, 67 + 271);
    assert_eq!(statistics.peak_active_bytes, 64 + 256);
    Ok(())
}

#[clmatrix_harness::test]
fn idle_blocks_are_freed(on_device: OnDevice) -> Result<()> {
    let pool = pool_on(&on_device.queue, PoolOptions::new().max_idle(Duration::ZERO))?;
    drop(pool.allocate(64)?);
    assert_eq!(pool.held_blocks(), 1);
    // An allocation by the driver looks for them first.
    let other = pool.allocate(128)?;
    assert_eq!(counts(&pool), (0, 1, 135, 128));
    drop(other);
    pool.trim_idle();
    assert_eq!(counts(&pool), (0, 0, 0, 0));
    let patient = pool_on(&on_device.queue, PoolOptions::new().max_idle(Duration::MAX))?;
    drop(patient.allocate(64)?);
    patient.trim_idle();
    assert_eq!(patient.held_blocks(), 1);
    Ok(())
}

#[clmatrix_harness::test]
fn blocks_have_the_flags_of_the_allocator(on_device: OnDevice) -> Result<()> {
    let allocator = ImmediateAllocator::new(&on_device.queue, MemFlags::READ_ONLY)?;
    let buffer = MemoryPool::new(allocator)?.allocate(64)?;
    assert!(buffer.flags().contains(MemFlags::READ_ONLY));
    Ok(())
}
