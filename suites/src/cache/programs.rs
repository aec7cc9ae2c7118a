//! Programs and kernels: built once for each context and source, and run.

use std::error::Error;
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Arc, Barrier, Mutex};
use std::thread;

use clmatrix::cache::{FirstArgCache, clear_first_arg_caches};
use clmatrix::memory::{Buffer, MemFlags};
use clmatrix::{CommandQueue, Context, Kernel, Program, Result};
use clmatrix_harness::CtxFactory;

use crate::support::on_device::OnDevice;

/// Kernels that are launched by one thread at a time, by the number that they add.
type Kernels = FirstArgCache<u32, Mutex<Kernel>>;

fn source(number: u32) -> String {
    format!("kernel void k(global uint *a) {{ a[get_global_id(0)] += {number}; }}")
}

fn build(context: &Context, source: &str) -> std::result::Result<Mutex<Kernel>, Box<dyn Error>> {
    let program = Program::build(context, source)?;
    Ok(Mutex::new(program.kernel("k")?))
}

/// Returns the results of the cached kernel that adds `number` to 0, 1, 2 and 3.
fn run(on_device: &OnDevice, kernels: &Kernels, number: u32) -> Result<[u32; 4]> {
    let OnDevice { context, queue } = on_device;
    let kernel = kernels
        .get_or_try_compute(context, &number, || build(context, &source(number)))
        .expect("it is built");
    let buffer = Buffer::from_slice(context, MemFlags::READ_WRITE, &[0_u32, 1, 2, 3])?;
    let mut kernel = kernel.lock().expect("no thread panics with it");
    // SAFETY: each work item has an element of the buffer.
    unsafe { kernel.launch().arg(&buffer).global(4).enqueue(queue) }?;
    let mut found = [0; 4];
    buffer.read(queue, &mut found)?;
    Ok(found)
}

#[clmatrix_harness::test]
fn a_cached_kernel_runs_repeatedly(on_device: OnDevice) -> Result<()> {
    static KERNELS: Kernels = Kernels::new();
    for _ in 0..3 {
        assert_eq!(run(&on_device, &KERNELS, 5)?, [5, 6, 7, 8]);
    }
    let get = || KERNELS.get_or_try_compute(&on_device.context, &5, || Err(not_again()));
    assert!(Arc::ptr_eq(&get()?, &get()?));
    clear_first_arg_caches();
    assert_eq!(get().unwrap_err().code(), not_again().code());
    assert_eq!(run(&on_device, &KERNELS, 5)?, [5, 6, 7, 8]);
    Ok(())
}

/// Instead of a value that should be there.
fn not_again() -> clmatrix::Error {
    clmatrix::Error::from_call("", -9999)
}

#[clmatrix_harness::test]
fn programs_are_cached_per_context_and_arguments(ctx_factory: CtxFactory) -> Result<()> {
    let kernels = Kernels::new();
    // All contexts first: the factory clears caches.
    let on_devices = [ctx_factory()?, ctx_factory()?].map(|context| {
        let queue = CommandQueue::new(&context).expect("a queue");
        OnDevice { context, queue }
    });
    for _ in 0..2 {
        for on_device in &on_devices {
            assert_eq!(run(on_device, &kernels, 1)?, [1, 2, 3, 4]);
            assert_eq!(run(on_device, &kernels, 7)?, [7, 8, 9, 10]);
        }
    }
    let of = |number: usize, add| {
        kernels.get_or_try_compute(&on_devices[number].context, &add, || Err(not_again()))
    };
    assert!(!Arc::ptr_eq(&of(0, 1)?, &of(1, 1)?));
    assert!(!Arc::ptr_eq(&of(0, 1)?, &of(0, 7)?));
    Ok(())
}

#[clmatrix_harness::test]
fn eight_threads_build_a_program_once(on_device: OnDevice) -> Result<()> {
    let kernels = Kernels::new();
    let (built, barrier) = (AtomicU32::new(0), Barrier::new(8));
    let context = &on_device.context;
    thread::scope(|scope| {
        for _ in 0..8 {
            scope.spawn(|| {
                barrier.wait();
                let kernel = kernels.get_or_try_compute(context, &3, || {
                    built.fetch_add(1, Ordering::SeqCst);
                    build(context, &source(3))
                });
                kernel.map(|_| ()).expect("it is built");
            });
        }
    });
    assert_eq!(built.into_inner(), 1);
    assert_eq!(run(&on_device, &kernels, 3)?, [3, 4, 5, 6]);
    Ok(())
}

#[clmatrix_harness::test]
fn a_failed_build_is_not_cached(on_device: OnDevice) -> Result<()> {
    let (kernels, context) = (Kernels::new(), &on_device.context);
    for _ in 0..2 {
        let failed = kernels.get_or_try_compute(context, &3, || build(context, "kernel void k("));
        assert!(failed.is_err());
    }
    assert_eq!(run(&on_device, &kernels, 3)?, [3, 4, 5, 6]);
    Ok(())
}
