//! The events of a pool, and the list of its live blocks.

use std::hint::black_box;
use std::mem;

use clmatrix::pool::PoolEventKind::{Allocated, Freed, OutOfMemory, Returned, Reused};

use super::*;
use crate::support::has_symbols;

/// The kind of an event, the bytes, and the name of the block.
type Told = (PoolEventKind, usize, Option<String>);

/// All that a pool has told.
#[derive(Clone, Default)]
struct Trace(Arc<Mutex<Vec<Told>>>);

impl Trace {
    fn hook(&self) -> impl Fn(&PoolEvent<'_>) + Send + Sync + 'static {
        let told = Arc::clone(&self.0);
        move |event| {
            let name = event.name.map(str::to_owned);
            told.lock().unwrap().push((event.kind, event.size, name));
        }
    }

    /// Takes the events since the last call.
    fn take(&self) -> Vec<Told> {
        mem::take(&mut *self.0.lock().unwrap())
    }
}

fn told(kind: PoolEventKind, size: usize) -> Told {
    (kind, size, None)
}

#[rstest]
#[clmatrix_harness::test]
#[case::of_buffers(BUFFERS)]
#[clmatrix_harness::test(requires(svm))]
#[case::of_svm(SVM)]
fn events_report_every_action<K: Kind>(
    on_device: OnDevice,
    #[values(true, false)] has_queue: bool,
    #[case] _kind: PhantomData<K>,
) -> Result<()> {
    let trace = Trace::default();
    let options = PoolOptions::new().limit(2000).on_event(trace.hook());
    let pool: Pool<K> = pool(&on_device, has_queue.then_some(&on_device.queue), options)?;
    let block = pool.allocate(1000)?;
    assert_eq!(trace.take(), [told(Allocated, 1000)]);
    drop(block.named("weights"));
    assert_eq!(trace.take(), [(Returned, 1000, Some("weights".to_owned()))]);
    let other = on_device.another_queue();
    let block = pool.allocate_on(&other, 993)?;
    assert_eq!(trace.take(), [told(Reused, 993)]);
    assert!(pool.allocate(1500).is_err());
    assert_eq!(trace.take(), [told(OutOfMemory, 1500)]);
    drop(block);
    assert_eq!(trace.take(), [told(Returned, 993)]);
    pool.free_held();
    assert_eq!(trace.take(), [told(Freed, 1023)]);
    // A freed block is not the next block.
    let block = pool.allocate(1000)?;
    drop(pool);
    assert_eq!(trace.take(), [told(Allocated, 1000)]);
    drop(block);
    assert_eq!(trace.take(), [told(Returned, 1000), told(Freed, 1023)]);
    Ok(())
}

/// Every part is what the allocator has just made; the slabs have events of their own in a pool below.
#[clmatrix_harness::test]
fn events_report_parts_and_slabs(on_device: OnDevice) -> Result<()> {
    const SLAB: usize = 65535;
    let (below, above) = (Trace::default(), Trace::default());
    let slabs = pool_on(&on_device.queue, PoolOptions::new().on_event(below.hook()))?;
    let (pool, slabs) = slabs_of(slabs, SLAB, PoolOptions::new().on_event(above.hook()))?;
    let [first, second] = [pool.allocate(1000)?, pool.allocate(2000)?];
    assert_eq!(above.take(), [told(Allocated, 1000), told(Allocated, 2000)]);
    assert_eq!(below.take(), [told(Allocated, SLAB)]);
    drop((first, second));
    let [first, second] = [1000, 2000].map(|size| [told(Returned, size), told(Freed, size)]);
    assert_eq!(above.take(), [first, second].concat());
    assert_eq!(below.take(), []);
    slabs.free_unused();
    assert_eq!(below.take(), [told(Returned, SLAB)]);
    drop((pool, slabs));
    assert_eq!(below.take(), [told(Freed, SLAB)]);
    Ok(())
}

#[clmatrix_harness::test]
fn an_event_is_displayed_as_a_line_with_its_bin(on_device: OnDevice) -> Result<()> {
    let lines = Arc::new(Mutex::new(Vec::new()));
    let told = Arc::clone(&lines);
    let hook = move |event: &PoolEvent<'_>| {
        told.lock().unwrap().push((event.bin, event.time.as_nanos(), event.to_string()));
    };
    let pool = pool_on(&on_device.queue, PoolOptions::new().on_event(hook))?;
    drop(pool.allocate(1000)?.named("weights"));
    let bin = pool.bin_number(1000);
    let lines = lines.lock().unwrap();
    let [(_, allocating, allocated), (_, away, returned)] = &lines[..] else { panic!("{lines:?}") };
    assert!(lines.iter().all(|line| line.0 == bin));
    assert_eq!(*allocated, format!("Allocated: 1000 bytes of bin {bin}, {allocating} ns"));
    assert_eq!(*returned, format!("Returned: 1000 bytes of bin {bin}, {away} ns, \"weights\""));
    Ok(())
}

/// The hook may use the pool.
#[clmatrix_harness::test]
fn the_event_hook_may_use_the_pool(on_device: OnDevice) -> Result<()> {
    let (inside, seen) = (Inside::default(), Trace::default());
    // A pool keeps its hook: were it the other way round, too, neither would ever go.
    let (within, told) = (Arc::downgrade(&inside), Arc::clone(&seen.0));
    let hook = move |event: &PoolEvent<'_>| {
        let Some(pool) = reached(&within) else { return };
        // Its own allocations are told, too.
        if event.size == 1000 {
            drop(pool.allocate(10).expect("a block"));
            pool.free_held();
        }
        told.lock().unwrap().push((event.kind, pool.statistics().active_bytes, None));
    };
    let pool = pool_on(&on_device.queue, PoolOptions::new().on_event(hook))?;
    drop(inside.get_or_init(|| pool).allocate(1000)?);
    let kinds: Vec<_> = seen.take().into_iter().map(|told| (told.0, told.1)).collect();
    let both = [(Allocated, 1010), (Returned, 1010), (Freed, 1000)];
    assert_eq!(kinds, [&both[..], &[(Allocated, 1000)], &both, &[(Returned, 1000)]].concat());
    Ok(())
}

#[clmatrix_harness::test]
fn a_panic_in_the_event_hook_is_logged(on_device: OnDevice) -> Result<()> {
    let hook = |_: &PoolEvent<'_>| panic!("as asked");
    let pool = pool_on(&on_device.queue, PoolOptions::new().on_event(hook))?;
    let block = pool.allocate(1000)?;
    assert_eq!(counts(&pool), (0, 1, 1023, 1000));
    // Also where the logger panics, which is told of it.
    let logged = panics_as_it_logs(move || drop(block));
    assert!(logged.contains("Returned: 1000 bytes"), "{logged}");
    assert_eq!(counts(&pool), (1, 0, 1023, 0));
    let logged = panics_as_it_logs(|| drop(pool.allocate(1000)));
    assert!(logged.contains("Reused: 1000 bytes"), "{logged}");
    assert_eq!(counts(&pool), (1, 0, 1023, 0));
    Ok(())
}

/// `black_box` keeps its frame: without it, the optimizer makes a jump of the call.
#[inline(never)]
fn allocated_here<K: Kind>(pool: &Pool<K>, size: usize) -> Result<Pooled<K>> {
    black_box(pool.allocate(size))
}

of_each_kind!(leaks_are_reported_with_backtraces);

fn leaks_are_reported_with_backtraces<K: Kind>(on_device: OnDevice) -> Result<()> {
    let options = PoolOptions::new().report_leaks();
    let pool: Pool<K> = pool(&on_device, Some(&on_device.queue), options)?;
    let other_handle = pool.clone();
    let small = pool.allocate(100)?;
    let large = allocated_here(&pool, 1000)?.named("weights");
    drop(pool.allocate(500)?.named("temporary"));
    drop(pool);
    let report = panics_as_it_logs(move || drop(other_handle));
    assert!(report.starts_with("memory pool: dropped while 2 blocks with 1100 bytes are in use"));
    assert!(report.contains("\n1000 bytes, \"weights\", allocated at\n"), "{report}");
    assert!(report.contains("\n100 bytes, without a name, allocated at\n"), "{report}");
    assert!(report.contains("allocated_here") || !has_symbols(), "{report}");
    assert!(!report.contains("temporary"), "{report}");
    drop((small, large));
    Ok(())
}

/// A pool without leaks logs nothing, nor does one without `report_leaks`: a line would panic here.
#[clmatrix_harness::test]
fn released_blocks_are_not_reported_as_leaks(on_device: OnDevice) -> Result<()> {
    let clean = pool_on(&on_device.queue, PoolOptions::new().report_leaks())?;
    drop(clean.allocate(100)?);
    let silent = pool_on(&on_device.queue, PoolOptions::new())?;
    let block = silent.allocate(100)?.named("of no interest");
    let logged = panics_as_it_logs(move || {
        drop((clean, silent));
        log::warn!("nothing before this");
    });
    assert_eq!(logged, "nothing before this");
    drop(block);
    Ok(())
}

/// Also between the times that the pool goes to its allocator.
#[clmatrix_harness::test]
fn the_peak_of_active_bytes_is_exact(on_device: OnDevice) -> Result<()> {
    let peak = |options| -> Result<usize> {
        let pool = pool_on(&on_device.queue, options)?;
        drop([pool.allocate(992)?, pool.allocate(992)?]);
        drop([pool.allocate(1000)?, pool.allocate(1001)?]);
        Ok(pool.statistics().peak_active_bytes)
    };
    assert_eq!(peak(PoolOptions::new().on_event(|_| ()))?, 2001);
    assert_eq!(peak(PoolOptions::new().report_leaks())?, 2001);
    assert_eq!(peak(PoolOptions::new())?, 1984);
    Ok(())
}
