//! One kernel launched many times, and kernels in threads.

use std::thread;

use clmatrix::{Kernel, Launcher, Program, Result};
use rstest::rstest;

use super::known;
use crate::buffer::{DOUBLE, buffer_of, contents, counting};
use crate::on_device::{OnDevice, on_device};

const ADD: &str = "kernel void k(global uint *x, uint n) { x[get_global_id(0)] += n; }";

#[rstest]
#[clmatrix_harness::test]
fn a_kernel_is_launched_many_times(on_device: OnDevice) -> Result<()> {
    let mut add = known(&on_device, ADD)?;
    let (a, b) = (buffer_of(&on_device, &counting(4))?, buffer_of(&on_device, &[0; 4])?);
    for n in 0..100_u32 {
        let buffer = if n % 2 == 0 { &a } else { &b };
        // SAFETY: the arguments are what the kernel declares, with an element for each work item.
        unsafe { add.launch().arg(buffer).arg(n).global(4).enqueue(&on_device.queue)? };
    }
    assert_eq!(contents(&on_device, &a)?, [2450, 2451, 2452, 2453]);
    assert_eq!(contents(&on_device, &b)?, [2500; 4]);
    Ok(())
}

#[rstest]
#[clmatrix_harness::test]
fn a_launch_is_enqueued_again(on_device: OnDevice) -> Result<()> {
    let mut add = known(&on_device, ADD)?;
    let buffer = buffer_of(&on_device, &[0; 4])?;
    let mut launch = add.launch();
    launch.arg(&buffer).arg(3_u32).global(4);
    for _ in 0..5 {
        // SAFETY: the arguments are what the kernel declares, with an element for each work item.
        unsafe { launch.enqueue(&on_device.queue)? };
    }
    launch.global(2);
    // SAFETY: as above.
    unsafe { launch.enqueue(&on_device.queue)? };
    assert_eq!(contents(&on_device, &buffer)?, [18, 18, 15, 15]);
    Ok(())
}

#[rstest]
#[clmatrix_harness::test]
fn memory_may_go_when_its_kernel_is_enqueued(on_device: OnDevice) -> Result<()> {
    let source = "kernel void k(global const uint *x, global uint *y) {
        y[get_global_id(0)] += x[get_global_id(0)];
    }";
    let mut kernel = known(&on_device, source)?;
    let sum = buffer_of(&on_device, &[0; 4])?;
    for n in 0..50 {
        let buffer = buffer_of(&on_device, &[n; 4])?;
        let mut launch = kernel.launch();
        launch.arg_read(&buffer).arg(&sum).global(4);
        // SAFETY: the arguments are what the kernel declares, with an element for each work item.
        unsafe { launch.enqueue(&on_device.queue)? };
    }
    assert_eq!(contents(&on_device, &sum)?, [1225; 4]);
    Ok(())
}

/// Each thread has its kernel and queue.
#[rstest]
#[clmatrix_harness::test]
fn threads_have_kernels_of_their_own(on_device: OnDevice) -> Result<()> {
    let kernels: Vec<Launcher> = (0..4).map(|_| known(&on_device, ADD)).collect::<Result<_>>()?;
    let sums: Vec<Result<Vec<u32>>> = thread::scope(|scope| {
        let work = |(n, mut add): (u32, Launcher)| {
            let on_device = &on_device;
            scope.spawn(move || -> Result<Vec<u32>> {
                let queue = on_device.another_queue();
                let buffer = buffer_of(on_device, &[0; 4])?;
                for i in 0..100 {
                    // SAFETY: the arguments are what the kernel declares, with an element for each
                    // work item.
                    unsafe { add.launch().arg(&buffer).arg(n * i).global(4).enqueue(&queue)? };
                }
                queue.finish()?;
                contents(on_device, &buffer)
            })
        };
        let threads: Vec<_> = (0..).zip(kernels).map(work).collect();
        threads.into_iter().map(|thread| thread.join().unwrap()).collect()
    });
    for (n, sum) in (0..).zip(sums) {
        assert_eq!(sum?, [4950 * n; 4]);
    }
    Ok(())
}

#[rstest]
#[clmatrix_harness::test]
fn a_kernel_is_taken_over_and_given_back(on_device: OnDevice) -> Result<()> {
    let program =
        Program::create_and_build_from_source(&on_device.context, DOUBLE, "").expect("it compiles");
    let kernel = Kernel::create(&program, "k")?;
    let raw = kernel.get();
    let mut double = Launcher::new(kernel)?;
    drop(program);
    let buffer = buffer_of(&on_device, &counting(4))?;
    // SAFETY: the argument is what the kernel declares, with an element for each work item.
    unsafe { double.launch().arg(&buffer).global(4).enqueue(&on_device.queue)? };
    assert_eq!(contents(&on_device, &buffer)?, [0, 2, 4, 6]);
    assert_eq!(double.kernel().get(), raw);
    assert_eq!(double.into_kernel().get(), raw);
    Ok(())
}
