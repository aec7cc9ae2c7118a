//! The events of a pool, and the list of its live blocks: as of a pool of buffers.

use std::hint::black_box;
use std::sync::{Arc, Mutex};

use clmatrix::Result;
use clmatrix::memory::SvmPointer;
use clmatrix::pool::PoolEventKind::{Allocated, Freed, OutOfMemory, Returned, Reused};
use clmatrix::pool::{PoolEvent, PoolOptions, PooledSvm, SvmPool};
use rstest::rstest;

use super::pool_with;
use crate::support::has_symbols;
use crate::support::logger::panics_as_it_logs;
use crate::support::on_device::{OnDevice, on_device};

#[rstest]
#[clmatrix_harness::test(requires(svm))]
fn events_report_every_action(
    on_device: OnDevice,
    #[values(true, false)] has_queue: bool,
) -> Result<()> {
    let trace = Arc::new(Mutex::new(Vec::new()));
    let hook = {
        let trace = Arc::clone(&trace);
        move |event: &PoolEvent<'_>| {
            let told = (event.kind, event.size, event.bin, event.name.map(str::to_owned));
            trace.lock().unwrap().push(told);
        }
    };
    let options = PoolOptions::new().limit(2000).on_event(hook);
    let pool = pool_with(&on_device, has_queue.then_some(&on_device.queue), options)?;
    let (bin, bin_of_more) = (pool.bin_number(1000), pool.bin_number(1500));
    drop(pool.allocate(1000)?.named("weights"));
    let block = pool.allocate_on(&on_device.another_queue(), 993)?;
    pool.allocate(1500).expect_err("more than the limit");
    drop(block);
    pool.free_held();
    let expected = [
        (Allocated, 1000, bin, None),
        (Returned, 1000, bin, Some("weights".to_owned())),
        (Reused, 993, bin, None),
        (OutOfMemory, 1500, bin_of_more, None),
        (Returned, 993, bin, None),
        (Freed, 1023, bin, None),
    ];
    assert_eq!(*trace.lock().unwrap(), expected);
    Ok(())
}

/// `black_box` keeps its frame: without it, the optimizer makes a jump of the call.
#[inline(never)]
fn allocated_here(pool: &SvmPool, size: usize) -> Result<PooledSvm> {
    black_box(pool.allocate(size))
}

#[rstest]
#[clmatrix_harness::test(requires(svm))]
fn leaks_are_reported_with_backtraces(on_device: OnDevice) -> Result<()> {
    let pool = pool_with(&on_device, None, PoolOptions::new().report_leaks())?;
    let small = pool.allocate(100)?;
    let large = allocated_here(&pool, 1000)?.named("weights");
    drop(pool.allocate(500)?.named("temporary"));
    let report = panics_as_it_logs(move || drop(pool));
    assert!(report.starts_with("memory pool: dropped while 2 blocks with 1100 bytes are in use"));
    assert!(report.contains("\n1000 bytes, \"weights\", allocated at\n"), "{report}");
    assert!(report.contains("\n100 bytes, without a name, allocated at\n"), "{report}");
    assert!(report.contains("allocated_here") || !has_symbols(), "{report}");
    assert!(!report.contains("temporary"), "{report}");
    assert_eq!((small.size(), large.size()), (100, 1000));
    Ok(())
}
