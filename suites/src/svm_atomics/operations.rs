//! Each operation in each order and scope, by many work items at once.

use super::*;

/// Enough for several work groups on each compute unit.
const WORK_ITEMS: usize = 4096;

/// Launches the kernel `k` on two words, waits for it, and returns the words.
fn run(on_device: &OnDevice, body: &str, scope: Scope, words: [u32; 2]) -> Result<Vec<u32>> {
    let source = format!(
        "kernel void k(volatile global atomic_uint *x) {{
            uint i = get_global_id(0);
            {body}
        }}",
    );
    let mut kernel = kernel(on_device, &source, scope)?;
    let words = Words::new(on_device, ATOMICS, &words)?;
    let mut launch = kernel.launch();
    launch.arg(&words.0).global(WORK_ITEMS);
    // SAFETY: the kernel takes two words.
    unsafe { launch.enqueue(&on_device.queue)? };
    on_device.queue.finish()?;
    Ok(words.values())
}

#[rstest]
#[clmatrix_harness::test(requires(svm = "atomics"))]
fn atomic_additions_are_exact(
    on_device: OnDevice,
    #[values("relaxed", "acquire", "release", "acq_rel", "seq_cst")] order: &str,
    #[values(Scope::Device, Scope::AllSvmDevices)] scope: Scope,
) -> Result<()> {
    let body = format!("atomic_fetch_add_explicit(x, i, memory_order_{order}, SCOPE);");
    let sum = (0..WORK_ITEMS as u32).sum::<u32>();
    assert_eq!(run(&on_device, &body, scope, [1, 2])?, [1 + sum, 2]);
    Ok(())
}

/// Each work item takes a value and leaves its own. All values are taken once but the one that is
/// left.
#[rstest]
#[clmatrix_harness::test(requires(svm = "atomics"))]
fn atomic_exchanges_are_exact(
    on_device: OnDevice,
    #[values("relaxed", "acquire", "release", "acq_rel", "seq_cst")] order: &str,
    #[values(Scope::Device, Scope::AllSvmDevices)] scope: Scope,
) -> Result<()> {
    let body = format!(
        "uint taken = atomic_exchange_explicit(x, i, memory_order_{order}, SCOPE);
        atomic_fetch_add_explicit(x + 1, taken, memory_order_relaxed, SCOPE);",
    );
    let found = run(&on_device, &body, scope, [10_000, 0])?;
    let all = (0..WORK_ITEMS as u32).sum::<u32>() + 10_000;
    assert_eq!(found.iter().sum::<u32>(), all);
    assert!((found[0] as usize) < WORK_ITEMS, "the last value is {}", found[0]);
    Ok(())
}

#[rstest]
#[clmatrix_harness::test(requires(svm = "atomics"))]
fn additions_by_compare_and_exchange_are_exact(
    on_device: OnDevice,
    #[values("relaxed", "acquire", "release", "acq_rel", "seq_cst")] order: &str,
    #[values("strong", "weak")] strength: &str,
    #[values(Scope::Device, Scope::AllSvmDevices)] scope: Scope,
) -> Result<()> {
    let body = format!(
        "uint old = atomic_load_explicit(x, memory_order_relaxed, SCOPE);
        while (!atomic_compare_exchange_{strength}_explicit(
            x, &old, old + i, memory_order_{order}, memory_order_relaxed, SCOPE));",
    );
    let sum = (0..WORK_ITEMS as u32).sum::<u32>();
    assert_eq!(run(&on_device, &body, scope, [1, 2])?, [1 + sum, 2]);
    Ok(())
}

/// A work item reads a value that a work item has written.
#[rstest]
#[clmatrix_harness::test(requires(svm = "atomics"))]
fn atomic_loads_and_stores_are_whole(
    on_device: OnDevice,
    #[values(("relaxed", "relaxed"), ("acquire", "release"), ("seq_cst", "seq_cst"))] orders: (
        &str,
        &str,
    ),
    #[values(Scope::Device, Scope::AllSvmDevices)] scope: Scope,
) -> Result<()> {
    let (load, store) = orders;
    let body = format!(
        "atomic_store_explicit(x, i * 0x10001u, memory_order_{store}, SCOPE);
        uint found = atomic_load_explicit(x, memory_order_{load}, SCOPE);
        if (found >> 16 != (found & 0xffffu)) atomic_fetch_add_explicit(
            x + 1, 1u, memory_order_relaxed, SCOPE);",
    );
    let found = run(&on_device, &body, scope, [0, 0])?;
    assert_eq!(found[1], 0, "values that no work item has written");
    assert_eq!(found[0] >> 16, found[0] & 0xffff);
    Ok(())
}
