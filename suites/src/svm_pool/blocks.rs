//! Which blocks there are: as in a pool of buffers.

use clmatrix::memory::{SvmFlags, SvmPointer};
use clmatrix::pool::{Allocator, PoolOptions, SvmAllocator, SvmPool};
use clmatrix::{Class, CommandQueue, Device, Result};
use clmatrix_harness::{CtxFactory, ctx_factory, device, skip};
use rstest::rstest;

use super::{counts, pool};
use crate::support::on_device::{OnDevice, on_device};

#[rstest]
#[clmatrix_harness::test(requires(svm))]
fn counts_are_those_of_pyopencl(
    on_device: OnDevice,
    #[values(true, false)] has_queue: bool,
) -> Result<()> {
    let pool = pool(&on_device, has_queue.then_some(&on_device.queue))?;
    assert_eq!(counts(&pool), (0, 0, 0, 0));
    let first = pool.allocate(1000)?;
    assert_eq!((first.size(), first.block_size()), (1000, 1023));
    assert_eq!(counts(&pool), (0, 1, 1023, 1000));
    let nothing = pool.allocate(0)?;
    assert_eq!((nothing.size(), nothing.block_size()), (0, 1));
    assert_eq!(counts(&pool), (0, 2, 1024, 1000));
    let at = first.svm_ptr();
    drop(first);
    assert_eq!(counts(&pool), (1, 1, 1024, 0));
    let again = pool.allocate(993)?;
    assert_eq!((again.svm_ptr(), again.size()), (at, 993));
    assert_eq!(counts(&pool), (0, 2, 1024, 993));
    drop((again, nothing));
    assert_eq!(counts(&pool), (2, 0, 1024, 0));
    pool.free_held();
    assert_eq!(counts(&pool), (0, 0, 0, 0));
    Ok(())
}

#[rstest]
#[clmatrix_harness::test(requires(svm))]
fn a_pool_that_does_not_hold_frees_at_once(on_device: OnDevice) -> Result<()> {
    let pool = pool(&on_device, Some(&on_device.queue))?;
    let (first, second) = (pool.allocate(100)?, pool.allocate(100)?);
    drop(first);
    pool.stop_holding();
    assert_eq!(counts(&pool), (0, 1, 103, 100));
    drop(second);
    assert_eq!(counts(&pool), (0, 0, 0, 0));
    Ok(())
}

#[rstest]
#[clmatrix_harness::test(requires(svm))]
fn a_dropped_pool_frees_all_memory(ctx_factory: CtxFactory) -> Result<()> {
    let context = ctx_factory()?;
    let before = context.reference_count()?;
    let allocator = SvmAllocator::new(&context, 0, SvmFlags::READ_WRITE, None)?;
    let pool = SvmPool::new(allocator)?;
    let block = pool.allocate(200)?;
    drop(pool.allocate(100)?);
    drop(pool);
    assert_eq!(block.size(), 200);
    drop(block);
    assert_eq!(context.reference_count()?, before);
    Ok(())
}

#[rstest]
#[clmatrix_harness::test(requires(svm))]
fn more_than_the_maximum_allocation_is_refused(on_device: OnDevice) -> Result<()> {
    let pool = pool(&on_device, None)?;
    let most = pool.max_size().expect("the device tells");
    let error = pool.allocate(most + 1).unwrap_err();
    let expected = ("CL_INVALID_BUFFER_SIZE", Class::InvalidArgument);
    assert_eq!((error.code_name(), error.class()), expected);
    assert!(error.detail().contains(&most.to_string()), "{error}");
    assert_eq!(counts(&pool), (0, 0, 0, 0));
    Ok(())
}

#[rstest]
#[clmatrix_harness::test(requires(svm))]
fn the_limit_applies_to_svm(on_device: OnDevice) -> Result<()> {
    let allocator = SvmAllocator::new(&on_device.context, 0, SvmFlags::READ_WRITE, None)?;
    let pool = SvmPool::with_options(allocator, PoolOptions::new().limit(2048))?;
    let active = pool.allocate(1000)?;
    drop(pool.allocate(512)?);
    // The pool frees held blocks.
    let other = pool.allocate(1000)?;
    assert_eq!(counts(&pool), (0, 2, 2046, 2000));
    let error = pool.allocate(1000).unwrap_err();
    assert_eq!(error.class(), Class::OutOfMemory);
    drop((active, other));
    Ok(())
}

/// As an allocator, it has nothing for 0 bytes, and answers as its own allocator does.
#[rstest]
#[clmatrix_harness::test(requires(svm))]
fn an_svm_pool_is_an_allocator(
    on_device: OnDevice,
    #[values(true, false)] has_queue: bool,
) -> Result<()> {
    let queue = has_queue.then_some(&on_device.queue);
    let pool = pool(&on_device, queue)?;
    let raw = |queue: &CommandQueue| queue.as_raw();
    assert_eq!(Allocator::queue(&pool).map(raw), queue.map(raw));
    assert!(!pool.is_deferred());
    assert_eq!(Allocator::context_raw(&pool), on_device.context.as_raw());
    assert!(Allocator::allocate(&pool, 0)?.is_none());
    let block = Allocator::allocate(&pool, 1000)?.expect("more than 0 bytes");
    assert_eq!(block.size(), 1000);
    drop(block);
    assert_eq!(counts(&pool), (1, 0, 1023, 0));
    Ok(())
}

#[rstest]
#[clmatrix_harness::test]
fn an_svm_pool_is_refused_without_svm(on_device: OnDevice, device: Device) -> Result<()> {
    if device.opencl3().svm_mem_capability() != 0 {
        skip!("the device has such memory");
    }
    let error = pool(&on_device, None).unwrap_err();
    assert_eq!(error.class(), Class::Unsupported);
    assert!(error.detail().contains(&device.opencl3().name()?), "{error}");
    Ok(())
}
