//! Kernels of two queues at once, and the work groups of one kernel.

use super::*;

#[rstest]
#[clmatrix_harness::test(requires(svm = "atomics"))]
fn kernels_of_two_queues_add_at_once(
    on_device: OnDevice,
    #[values("relaxed", "acq_rel", "seq_cst")] order: &str,
    #[values(Scope::Device, Scope::AllSvmDevices)] scope: Scope,
) -> Result<()> {
    let source = format!(
        "kernel void k(volatile global atomic_uint *x, uint n) {{
            for (int i = 0; i < 100; i++)
                atomic_fetch_add_explicit(x, n, memory_order_{order}, SCOPE);
        }}",
    );
    let mut add = kernel(&on_device, &source, scope)?;
    let words = Words::new(&on_device, ATOMICS, &[5])?;
    let queues = [(); 2].map(|()| on_device.another_queue());
    for (queue, n) in queues.iter().zip([1_u32, 3]) {
        // SAFETY: the kernel takes a word, which both kernels change atomically.
        unsafe { add.launch().arg(&words.0).arg(n).global(1000).enqueue(queue)? };
        queue.flush()?;
    }
    for queue in &queues {
        queue.finish()?;
    }
    assert_eq!(words.values(), [5 + 100_000 + 300_000]);
    Ok(())
}

/// A work group that sees the flag of another sees the data that the other wrote before. Each work
/// group looks for the flag of the next one a few times, as they need not run at the same time.
#[rstest]
#[clmatrix_harness::test(requires(svm = "atomics"))]
fn work_groups_see_writes_before_a_flag(
    on_device: OnDevice,
    #[values(("release", "acquire"), ("seq_cst", "seq_cst"))] orders: (&str, &str),
    #[values(Scope::Device, Scope::AllSvmDevices)] scope: Scope,
) -> Result<()> {
    const GROUPS: usize = 256;
    let source = format!(
        "kernel void k(
            volatile global uint *data, volatile global atomic_uint *flags,
            volatile global atomic_uint *counts
        ) {{
            uint group = get_global_id(0), next = (group + 1) % get_global_size(0);
            for (uint i = 0; i < 16; i++) data[16 * group + i] = 16 * group + i + 1;
            atomic_store_explicit(flags + group, 1u, memory_order_{}, SCOPE);
            for (uint turn = 0; turn < 1000; turn++) {{
                if (atomic_load_explicit(flags + next, memory_order_{}, SCOPE)) {{
                    atomic_fetch_add_explicit(counts, 1u, memory_order_relaxed, SCOPE);
                    for (uint i = 0; i < 16; i++)
                        if (data[16 * next + i] != 16 * next + i + 1)
                            atomic_fetch_add_explicit(
                                counts + 1, 1u, memory_order_relaxed, SCOPE);
                    break;
                }}
            }}
        }}",
        orders.0, orders.1,
    );
    let mut pass = kernel(&on_device, &source, scope)?;
    let data = Words::new(&on_device, ATOMICS, &[0; 16 * GROUPS])?;
    let flags = Words::new(&on_device, ATOMICS, &[0; GROUPS])?;
    let counts = Words::new(&on_device, ATOMICS, &[0, 0])?;
    let mut launch = pass.launch();
    launch.arg(&data.0).arg(&flags.0).arg(&counts.0).global(GROUPS).local(1);
    // SAFETY: each work group has its elements and its flag.
    unsafe { launch.enqueue(&on_device.queue)? };
    on_device.queue.finish()?;
    let [seen, wrong] = counts.values()[..] else { unreachable!("there are two") };
    assert_eq!(wrong, 0, "elements that were read before they were written");
    assert_eq!(flags.values(), [1; GROUPS]);
    if seen == 0 {
        // The last store comes before the load that follows it, in an order of all of them only.
        assert_ne!(orders.1, "seq_cst", "no work group saw the flag of another");
        Excuse::GroupsInTurn.skip();
    }
    Ok(())
}
