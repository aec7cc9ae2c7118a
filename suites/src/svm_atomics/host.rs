//! Host and device. The host polls until a kernel has ended, and the time limit of the test applies to a
//! kernel that does not end.

use std::hint;

use super::*;

#[rstest]
#[clmatrix_harness::test(requires(svm = "atomics"))]
fn host_and_kernel_add_at_once(
    on_device: OnDevice,
    #[values("relaxed", "acq_rel", "seq_cst")] order: &str,
) -> Result<()> {
    let source = format!(
        "kernel void k(volatile global atomic_uint *x) {{
            for (int i = 0; i < 100; i++)
                atomic_fetch_add_explicit(x, 3u, memory_order_{order}, SCOPE);
        }}",
    );
    let mut add = kernel(&on_device, &source, Scope::AllSvmDevices)?;
    let words = Words::new(&on_device, ATOMICS, &[5])?;
    // SAFETY: the kernel takes a word.
    let added = unsafe { add.launch().arg(&words.0).global(1000).enqueue(&on_device.queue)? };
    on_device.queue.flush()?;
    let mut own = 0;
    while own < 100_000 || (!added.status()?.has_ended() && own < 100_000_000) {
        for _ in 0..1000 {
            words.words()[0].fetch_add(1, Ordering::SeqCst);
        }
        own += 1000;
    }
    on_device.queue.finish()?;
    assert_eq!(words.values(), [5 + 300_000 + own]);
    Ok(())
}

/// The host sees the data of a kernel as soon as it sees the flag that the kernel sets after them.
#[rstest]
#[clmatrix_harness::test(requires(svm = "atomics"))]
fn the_host_sees_writes_before_a_flag(
    on_device: OnDevice,
    #[values(("release", Ordering::Acquire), ("seq_cst", Ordering::SeqCst))] orders: (
        &str,
        Ordering,
    ),
) -> Result<()> {
    let source = format!(
        "kernel void k(global uint *data, volatile global atomic_uint *flags, uint n) {{
            uint item = get_global_id(0);
            for (uint i = 0; i < n; i++) data[item * n + i] = item * n + i + 1;
            atomic_store_explicit(flags + item, 1u, memory_order_{}, SCOPE);
        }}",
        orders.0,
    );
    const ITEMS: usize = 64;
    const EACH: usize = 256;
    let mut send = kernel(&on_device, &source, Scope::AllSvmDevices)?;
    let data = Words::new(&on_device, ATOMICS, &[0; ITEMS * EACH])?;
    let flags = Words::new(&on_device, ATOMICS, &[0; ITEMS])?;
    let mut launch = send.launch();
    launch.arg(&data.0).arg(&flags.0).arg(EACH as u32).global(ITEMS);
    // SAFETY: the kernel writes as many elements and flags as there are.
    let sent = unsafe { launch.enqueue(&on_device.queue)? };
    on_device.queue.flush()?;
    let mut waiting: Vec<usize> = (0..ITEMS).collect();
    while !waiting.is_empty() {
        let was_complete = sent.status()?.has_ended();
        if was_complete {
            // A status orders no accesses of memory.
            sent.wait()?;
        }
        waiting.retain(|item| {
            if flags.words()[*item].load(orders.1) == 0 {
                return true;
            }
            for i in item * EACH..(item + 1) * EACH {
                let found = data.words()[i].load(Ordering::Relaxed);
                assert_eq!(found, i as u32 + 1, "element {i}");
            }
            false
        });
        let is_lost = was_complete && !waiting.is_empty();
        assert!(!is_lost, "the kernel has ended, and flags are missing: {waiting:?}");
    }
    on_device.queue.finish()?;
    Ok(())
}

/// A kernel sees the data of the host as soon as it sees the flag that the host sets after them. It
/// looks for the flag for a limited time only: the device need not run while the host does.
#[rstest]
#[clmatrix_harness::test(requires(svm = "atomics"))]
fn a_kernel_sees_writes_before_a_flag(
    on_device: OnDevice,
    #[values(("acquire", Ordering::Release), ("seq_cst", Ordering::SeqCst))] orders: (
        &str,
        Ordering,
    ),
) -> Result<()> {
    const N: usize = 256;
    let source = format!(
        "kernel void k(
            global const uint *data, volatile global atomic_uint *flag, uint n, global uint *wrong
        ) {{
            uint seen = 0;
            atomic_store_explicit(flag + 1, 1u, memory_order_release, SCOPE);
            for (uint turn = 0; turn < 10000000 && !seen; turn++)
                seen = atomic_load_explicit(flag, memory_order_{}, SCOPE);
            wrong[1] = seen;
            for (uint i = 0; i < n; i++) if (data[i] != i + 1) wrong[0]++;
        }}",
        orders.0,
    );
    let mut receive = kernel(&on_device, &source, Scope::AllSvmDevices)?;
    let data = Words::new(&on_device, ATOMICS, &[0; N])?;
    let flag = Words::new(&on_device, ATOMICS, &[0, 0])?;
    let wrong = Words::new(&on_device, ATOMICS, &[0, 0])?;
    let mut launch = receive.launch();
    launch.arg(&data.0).arg(&flag.0).arg(N as u32).arg(&wrong.0).global(1);
    // SAFETY: the kernel reads as many elements as there are, and writes two words.
    let received = unsafe { launch.enqueue(&on_device.queue)? };
    on_device.queue.flush()?;
    while flag.words()[1].load(Ordering::Acquire) == 0 && !received.status()?.has_ended() {
        hint::spin_loop();
    }
    for (i, word) in data.words().iter().enumerate() {
        word.store(i as u32 + 1, Ordering::Relaxed);
    }
    flag.words()[0].store(1, orders.1);
    on_device.queue.finish()?;
    let [mistakes, seen] = wrong.values()[..] else { unreachable!("there are two") };
    if seen == 0 {
        Excuse::KernelBeforeHost.skip();
    }
    assert_eq!(mistakes, 0, "elements that the kernel read before the host's write");
    Ok(())
}

/// Host and device put nodes into the same lists, without locks.
#[rstest]
#[clmatrix_harness::test(requires(svm = "atomics"))]
fn host_and_kernel_build_linked_lists(
    on_device: OnDevice,
    #[values(1, 2, 29)] lists: u32,
) -> Result<()> {
    const EACH: u32 = 2048;
    let source = "
        kernel void k(
            volatile global atomic_uint *heads, volatile global atomic_uint *next,
            volatile global atomic_uint *used, uint lists
        ) {
            uint node = atomic_fetch_add_explicit(used, 1u, memory_order_relaxed, SCOPE);
            volatile global atomic_uint *head = heads + node % lists;
            uint first = atomic_load_explicit(head, memory_order_seq_cst, SCOPE);
            do {
                atomic_store_explicit(next + node, first, memory_order_seq_cst, SCOPE);
            } while (!atomic_compare_exchange_strong_explicit(
                head, &first, node + 1, memory_order_seq_cst, memory_order_relaxed, SCOPE));
        }";
    let mut insert = kernel(&on_device, source, Scope::AllSvmDevices)?;
    // A node is its number plus one; 0 ends a list.
    let heads = Words::new(&on_device, ATOMICS, &vec![0; lists as usize])?;
    let next = Words::new(&on_device, ATOMICS, &[0; 2 * EACH as usize])?;
    let used = Words::new(&on_device, ATOMICS, &[0])?;
    let mut launch = insert.launch();
    launch.arg(&heads.0).arg(&next.0).arg(&used.0).arg(lists).global(EACH as usize);
    // SAFETY: the kernel and the host together use as many nodes as there are.
    unsafe { launch.enqueue(&on_device.queue)? };
    on_device.queue.flush()?;
    for _ in 0..EACH {
        let node = used.words()[0].fetch_add(1, Ordering::Relaxed);
        let head = &heads.words()[(node % lists) as usize];
        let mut first = head.load(Ordering::SeqCst);
        let swap = |first| {
            next.words()[node as usize].store(first, Ordering::SeqCst);
            head.compare_exchange(first, node + 1, Ordering::SeqCst, Ordering::Relaxed)
        };
        while let Err(other) = swap(first) {
            first = other;
        }
    }
    on_device.queue.finish()?;
    let (heads, next) = (heads.values(), next.values());
    let mut found = vec![0; 2 * EACH as usize];
    for (list, head) in (0..).zip(heads) {
        let mut node = head;
        while node != 0 {
            let number = node - 1;
            assert_eq!(number % lists, list, "node {number} is in another list");
            found[number as usize] += 1;
            assert_eq!(found[number as usize], 1, "node {number} is there twice");
            node = next[number as usize];
        }
    }
    assert!(found.iter().all(|count| *count == 1), "nodes are missing");
    Ok(())
}
