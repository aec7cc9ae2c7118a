//! The cost of a pool and the time that it saves: properties of the report, without assertions.

use std::hint::black_box;
use std::time::Instant;

use clmatrix_harness::record_property;

use super::*;

const SIZE: usize = 1 << 20;

/// Returns the median of several rounds, in ns for each call.
fn cost<T>(times: u32, work: impl Fn() -> Result<T>) -> Result<f64> {
    work()?;
    let mut rounds = [0.0; 5];
    for round in &mut rounds {
        let started = Instant::now();
        for _ in 0..times {
            black_box(work()?);
        }
        *round = started.elapsed().as_nanos() as f64 / f64::from(times);
    }
    rounds.sort_by(f64::total_cmp);
    Ok(rounds[rounds.len() / 2])
}

/// Measures the allocation and the release of 1 MiB: from the pool, by `clCreateBuffer`, and by an
/// immediate allocation.
#[clmatrix_harness::test(alone)]
fn a_block_costs_less_than_a_new_buffer(on_device: OnDevice) -> Result<()> {
    let OnDevice { context, queue } = &on_device;
    let pool = pool_on(queue, PoolOptions::new())?;
    let pair = cost(20_000, || pool.allocate(SIZE))?;
    let deferred = DeferredAllocator::new(context, MemFlags::READ_WRITE)?;
    let immediate = ImmediateAllocator::new(queue, MemFlags::READ_WRITE)?;
    let create = cost(50, || deferred.allocate(SIZE))?;
    let touch = cost(50, || immediate.allocate(SIZE))?;
    let build = if cfg!(debug_assertions) { "debug" } else { "release" };
    record_property("pool.build", build);
    record_property("pool.pair-ns", format!("{pair:.1}"));
    record_property("pool.pair-over-create", format!("{:.5}", pair / create));
    record_property("pool.pair-over-immediate", format!("{:.5}", pair / touch));
    let (held, active, ..) = counts(&pool);
    assert_eq!((held, active), (1, 0), "one block served all");
    Ok(())
}
