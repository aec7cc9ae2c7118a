//! The kinds of shared memory that kernels may use atomically.

use clmatrix::memory::SystemSvm;

use super::*;
use crate::svm::{COARSE, contents, svm_of};

/// Each work item adds 1.
const COUNT: &str = "kernel void k(volatile global atomic_uint *x) {
    atomic_fetch_add_explicit(x, 1u, memory_order_relaxed, SCOPE);
}";

#[rstest]
#[case::fine_grain(SvmFlags::READ_WRITE.union(SvmFlags::FINE_GRAIN_BUFFER))]
#[case::with_atomics(ATOMICS)]
#[clmatrix_harness::test(requires(svm = "atomics"))]
fn kernels_count_in_fine_grain_memory(on_device: OnDevice, #[case] flags: SvmFlags) -> Result<()> {
    let words = Words::new(&on_device, flags, &[7])?;
    assert_eq!(words.0.svm_flags(), flags);
    let mut count = kernel(&on_device, COUNT, Scope::Device)?;
    // SAFETY: the kernel takes a word.
    unsafe { count.launch().arg(&words.0).global(1000).enqueue(&on_device.queue)? };
    on_device.queue.finish()?;
    assert_eq!(words.values(), [1007]);
    Ok(())
}

/// Within a device, no kind of memory needs a flag.
#[clmatrix_harness::test(requires(svm = "atomics"))]
fn kernels_count_in_coarse_grain_memory(on_device: OnDevice) -> Result<()> {
    let svm = svm_of(&on_device, COARSE, &[7])?;
    let mut count = kernel(&on_device, COUNT, Scope::Device)?;
    // SAFETY: the kernel takes a word.
    unsafe { count.launch().arg(&svm).global(1000).enqueue(&on_device.queue)? };
    assert_eq!(contents(&on_device, &svm)?, [1007]);
    Ok(())
}

#[clmatrix_harness::test(requires(svm = "system"))]
fn host_and_kernel_count_in_the_memory_of_the_host(on_device: OnDevice) -> Result<()> {
    if on_device.context.default_device().opencl3().svm_mem_capability() & SVM_ATOMICS == 0 {
        skip!("the device has no atomic operations across host and device");
    }
    let memory = SystemSvm::new(&on_device.context, vec![7_u32])?;
    let mut count = kernel(&on_device, COUNT, Scope::AllSvmDevices)?;
    // SAFETY: the kernel takes a word.
    unsafe { count.launch().arg(&memory).global(1000).enqueue(&on_device.queue)? };
    on_device.queue.flush()?;
    // SAFETY: the word lives as long as `memory`, and is only used atomically.
    let word = unsafe { AtomicU32::from_ptr(memory.svm_ptr().cast()) };
    for _ in 0..1000 {
        word.fetch_add(1, Ordering::Relaxed);
    }
    assert_eq!(memory.into_inner()?, [2007]);
    Ok(())
}
