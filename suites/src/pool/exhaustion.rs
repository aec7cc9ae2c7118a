//! A pool whose memory really runs out: the address space of the process, or a card's memory.
//!
//! Some drivers end the process then. This costs no other test: each comes after it in a process of its
//! own.

use clmatrix::cl3::device::{CL_DEVICE_TYPE_CPU, CL_DEVICE_TYPE_GPU};
use clmatrix::launch::KernelArg;
use clmatrix_runner::os::AddressSpaceEnd;

use super::*;
use crate::buffer::buffer_of;
use crate::support::excuse::Excuse;

const MIB: usize = 1 << 20;
const GIB: usize = 1 << 30;

/// The address space of this process ends `bytes` beyond what there is now, until the result is dropped.
fn end_after(bytes: usize, on_device: &OnDevice) -> Result<AddressSpaceEnd> {
    if has_memory_of_its_own(on_device)? {
        skip!("the device's memory is not in the address space of the process");
    }
    Ok(AddressSpaceEnd::after(bytes as u64).unwrap_or_else(|| Excuse::NoAddressSpaceEnd.skip()))
}

/// True if buffers lie outside the address space of the process. Oclgrind reports all device types.
// quirk: OCLGRIND-5
fn has_memory_of_its_own(on_device: &OnDevice) -> Result<bool> {
    let device = on_device.context.default_device().opencl3();
    let kind = device.dev_type().map_err(unanswered)? & (CL_DEVICE_TYPE_GPU | CL_DEVICE_TYPE_CPU);
    Ok(kind == CL_DEVICE_TYPE_GPU && !device.host_unified_memory().map_err(unanswered)?)
}

/// Has the pool hold blocks of about half of `size` bytes, `held` of them, and then allocates blocks of
/// `size` bytes until memory runs out, before there are `most` of them. The pool has given back what it
/// held by then, and says itself what is wrong.
#[track_caller]
fn fill<M: Memory>(
    pool: &Pool<M>,
    size: usize,
    held: usize,
    most: usize,
) -> Result<Vec<Pooled<M>>> {
    drop((0..held).map(|_| pool.allocate(size / 2)).collect::<Result<Vec<_>>>()?);
    assert_eq!((pool.held_blocks(), pool.active_blocks()), (held, 0));
    let mut blocks = Vec::new();
    let error = loop {
        match pool.allocate(size) {
            Ok(block) => blocks.push(block),
            Err(error) => break error,
        }
        assert!(blocks.len() <= most, "memory does not run out: {pool:?}");
    };
    eprintln!("{} blocks of {size} bytes, then {error}", blocks.len());
    assert_eq!(error.class(), Class::OutOfMemory, "{error}");
    let ours = format!("{size} bytes were requested");
    assert!(error.detail().contains(&ours), "not the pool's error: {error}");
    assert_eq!((pool.held_blocks(), pool.active_blocks()), (0, blocks.len()));
    assert_eq!(pool.managed_bytes(), pool.active_bytes(), "the size is a block's");
    assert_eq!(pool.active_bytes(), blocks.len() * size);
    Ok(blocks)
}

/// The address space that is left when the held blocks have been freed. It is more than all other memory
/// of the process.
const ROOM: usize = 512 * MIB;
const BLOCK: usize = 64 * MIB - 1;
const HELD: usize = 8;
/// Beyond this, memory does not run out at all. Before, a block may fit into address space that the driver
/// still has from earlier ones.
const MOST: usize = 4 * (ROOM / BLOCK);

/// Checks a pool on a driver that survives, within [`ROOM`]. Returns the number of blocks that there was room
/// for.
fn survive<M: Memory>(on_device: &OnDevice, pool: &Pool<M>) -> Result<Vec<Pooled<M>>> {
    // The driver's own memory for its first allocation does not count.
    drop(pool.allocate(BLOCK)?);
    free_held(on_device, pool)?;
    let _end = end_after(ROOM, on_device)?;
    let mut blocks = fill(pool, BLOCK, HELD, MOST)?;
    assert!(blocks.len() > HELD / 2, "the address space has not been given back");
    // Freed blocks make room for blocks of the same size, and of other sizes. Half of them: a driver's
    // thread that allocates for the first time may take as much as a block.
    let count = blocks.len();
    blocks.truncate(count / 2);
    while blocks.len() < count {
        blocks.push(pool.allocate(BLOCK)?);
    }
    assert_eq!((pool.held_blocks(), pool.active_blocks()), (0, count));
    blocks.truncate(count / 2);
    drop(pool.allocate(BLOCK / 4)?);
    free_held(on_device, pool)?;
    blocks.push(pool.allocate(BLOCK)?);
    Ok(blocks)
}

/// Frees what is held, also what is freed when it is the queue's turn.
fn free_held<M: Memory>(on_device: &OnDevice, pool: &Pool<M>) -> Result<()> {
    pool.free_held();
    on_device.queue.finish()
}

#[clmatrix_harness::test]
fn a_pool_of_buffers_survives_a_full_address_space(on_device: OnDevice) -> Result<()> {
    assert_apart(&on_device, &survive::<Buffer>(&on_device, &pool_of(&on_device)?)?)
}

/// Has the device write numbers of its own to each block, and compare them when all are written.
fn assert_apart<M: Memory + Sized>(on_device: &OnDevice, blocks: &[Pooled<M>]) -> Result<()>
where
    for<'a> &'a M: KernelArg<'a>,
{
    const WRITE: &str = "kernel void k(global uint *x, ulong last, uint n) { x[0] = x[last] = n; }";
    const COMPARE: &str = "kernel void k(global uint *x, ulong last, uint n, global uint *right) {
        if (x[0] == n && x[last] == n) right[n] = 1;
    }";
    let right = buffer_of(on_device, &vec![0; blocks.len()])?;
    for source in [WRITE, COMPARE] {
        let mut kernel = on_device.kernel(source, "")?;
        for (block, n) in blocks.iter().zip(0_u32..) {
            let mut launch = kernel.launch();
            launch.arg(&**block).arg(block.block_size() as u64 / 4 - 1).arg(n).global(1);
            if source == COMPARE {
                launch.arg(&right);
            }
            // SAFETY: the block has a number there, and `right` has one for each block.
            unsafe { launch.enqueue(&on_device.queue)? };
        }
    }
    assert_eq!(contents(on_device, &right)?, vec![1; blocks.len()]);
    Ok(())
}

#[rstest]
#[clmatrix_harness::test(requires(svm))]
fn a_pool_of_shared_virtual_memory_survives_a_full_address_space(
    on_device: OnDevice,
    #[values(false, true)] has_queue: bool,
) -> Result<()> {
    let on = &on_device;
    let pool: SvmPool = pool(on, has_queue.then_some(&on.queue), PoolOptions::new())?;
    assert_apart(on, &survive(on, &pool)?)
}

/// The driver refuses a block when it has to exist, not when it is created.
#[clmatrix_harness::test(requires(global_mem = "16 GiB", max_alloc = "4 GiB"), alone)]
fn a_pool_survives_a_full_card(on_device: OnDevice, device: Device) -> Result<()> {
    const BLOCK: usize = 4 * GIB - 1;
    const HELD: usize = 3;
    if !has_memory_of_its_own(&on_device)? {
        skip!("the device has no memory of its own, which a test may fill");
    }
    let on = &on_device;
    let pool: MemoryPool = pool_of(on)?;
    let most = device.opencl3().global_mem_size().map_err(unanswered)? as usize / BLOCK;
    let mut blocks = fill(&pool, BLOCK, HELD, most)?;
    assert!(blocks.len() > HELD, "only {} blocks", blocks.len());
    assert_apart(on, &blocks)?;
    // A block that goes makes room for another of its own size, and for smaller ones.
    let count = blocks.len();
    drop(blocks.pop());
    blocks.push(pool.allocate(BLOCK)?);
    assert_eq!((pool.held_blocks(), pool.active_blocks()), (0, count));
    drop(blocks.pop());
    blocks.push(pool.allocate(GIB)?);
    assert_apart(on, &blocks)?;
    drop(blocks.pop());
    blocks.push(pool.allocate(BLOCK)?);
    assert_eq!(pool.active_bytes(), count * BLOCK);
    assert_apart(on, &blocks)?;
    // All that is held is freed, and the card is empty again.
    drop(blocks);
    pool.free_held();
    assert_eq!(pool.managed_bytes(), 0);
    let refilled = fill(&pool, BLOCK, HELD, most)?.len();
    // The driver may have taken some for itself meanwhile.
    assert!(refilled + 1 >= count, "{refilled} blocks instead of {count}");
    Ok(())
}
