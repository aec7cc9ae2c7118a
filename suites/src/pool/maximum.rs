//! Blocks of the largest size that there is are smaller than others of their bin would be.

use super::*;

#[rstest]
#[case::of_its_bin(0)]
#[case::or_larger(25)]
#[clmatrix_harness::test]
fn a_held_block_is_not_reused_for_a_larger_size(
    on_device: OnDevice,
    #[case] larger: u32,
) -> Result<()> {
    let allocator = buffers(&on_device, |_, _| Answer::Inner)?;
    allocator.most.store(1000, Ordering::SeqCst);
    let options = PoolOptions::new().max_oversize_percent(larger);
    let pool = MemoryPool::with_options(Arc::clone(&allocator), options)?;
    // It is in the bin of 992 to 1023.
    assert_eq!(pool.allocate(995)?.block_size(), 1000);
    assert_eq!(counts(&pool), (1, 0, 1000, 0));
    for size in [1001, 1023] {
        assert_eq!(refusal(pool.allocate(size)), "CL_INVALID_BUFFER_SIZE", "{size} bytes");
    }
    assert_eq!(counts(&pool), (1, 0, 1000, 0));
    let raw = pool.allocate(1000)?.as_raw();
    // An allocator's answer may change: the block stays as it is.
    allocator.most.store(5000, Ordering::SeqCst);
    let larger = pool.allocate(1001)?;
    assert_eq!((larger.size(), larger.block_size()), (1001, 1023));
    assert_ne!(larger.as_raw(), raw);
    on_device
        .run("kernel void k(global uchar *x) { x[get_global_id(0)] = 1; }", &[&larger], 1001)?
        .wait()?;
    assert_eq!(counts(&pool), (1, 1, 2023, 1001));
    Ok(())
}
