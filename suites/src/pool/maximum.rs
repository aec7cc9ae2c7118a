//! Blocks of the largest size that there is are smaller than others of their bin would be.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use clmatrix::memory::{Buffer, MemFlags};
use clmatrix::pool::{Allocator, DeferredAllocator, MemoryPool, PoolOptions};
use clmatrix::{Context, Result};
use rstest::rstest;

use super::counts;
use crate::buffer::refusal;
use crate::support::on_device::{OnDevice, on_device};

/// Allocates so many bytes at most, which may change.
#[derive(Debug)]
struct AtMost {
    inner: DeferredAllocator,
    most: Arc<AtomicUsize>,
}

impl Allocator for AtMost {
    type Memory = Buffer;

    fn allocate(&self, size: usize) -> Result<Option<Buffer>> {
        self.inner.allocate(size)
    }

    fn max_size(&self) -> Option<usize> {
        Some(self.most.load(Ordering::Relaxed))
    }

    fn context(&self) -> Context {
        self.inner.context()
    }
}

/// With a held block of 1000 bytes, in the bin of 992 to 1023.
fn pool_of(
    on_device: &OnDevice,
    most: &Arc<AtomicUsize>,
    options: PoolOptions,
) -> Result<MemoryPool> {
    let inner = DeferredAllocator::new(&on_device.context, MemFlags::READ_WRITE)?;
    let pool = MemoryPool::with_options(AtMost { inner, most: Arc::clone(most) }, options)?;
    assert_eq!(pool.allocate(995)?.block_size(), 1000);
    assert_eq!(counts(&pool), (1, 0, 1000, 0));
    Ok(pool)
}

#[rstest]
#[case::of_its_bin(0)]
#[case::or_larger(25)]
#[clmatrix_harness::test]
fn a_held_block_is_not_reused_for_a_larger_size(
    on_device: OnDevice,
    #[case] larger: u32,
) -> Result<()> {
    let most = Arc::new(AtomicUsize::new(1000));
    let pool = pool_of(&on_device, &most, PoolOptions::new().max_oversize_percent(larger))?;
    for size in [1001, 1023] {
        assert_eq!(refusal(pool.allocate(size)), "CL_INVALID_BUFFER_SIZE", "{size} bytes");
    }
    assert_eq!(counts(&pool), (1, 0, 1000, 0));
    let raw = pool.allocate(1000)?.as_raw();
    // An allocator's answer may change: the block stays as it is.
    most.store(5000, Ordering::Relaxed);
    let larger = pool.allocate(1001)?;
    assert_eq!((larger.size(), larger.block_size()), (1001, 1023));
    assert_ne!(larger.as_raw(), raw);
    on_device
        .run("kernel void k(global uchar *x) { x[get_global_id(0)] = 1; }", &[&larger], 1001)?
        .wait()?;
    assert_eq!(counts(&pool), (1, 1, 2023, 1001));
    Ok(())
}
