//! Pointers in shared virtual memory: they mean the same to the host and to kernels.

use std::ffi::c_void;

use clmatrix::cl3::kernel::{CL_KERNEL_EXEC_INFO_SVM_PTRS, set_kernel_exec_info};

use super::*;

/// Made by the host, with what the kernels say of it.
#[repr(C)]
#[derive(Clone, Copy)]
struct Node {
    /// An address, or 0.
    next: u64,
    value: u64,
}

// SAFETY: all of it 0 is a list that ends.
unsafe impl bytemuck::Zeroable for Node {}
// SAFETY: two numbers without anything between them.
unsafe impl bytemuck::Pod for Node {}

/// Adds up a list and makes every value ten times as large.
const FOLLOW: &str = "struct node { global struct node *next; ulong value; };
    kernel void k(global struct node *node, global uint *sum) {
        for (; node; node = node->next) {
            *sum += (uint)node->value;
            node->value *= 10;
        }
    }";

/// A list whose nodes are allocated one by one, written by the host and followed by the device.
#[rstest]
#[clmatrix_harness::test(requires(svm = "fine"))]
fn a_kernel_follows_a_linked_list_of_the_host(
    on_device: OnDevice,
    #[values(COARSE, FINE)] flags: SvmFlags,
) -> Result<()> {
    const NODES: u64 = 20;
    let queue = &on_device.queue;
    let sum = svm_of(&on_device, COARSE, &[0])?;
    let nodes: Vec<SvmAllocation> = (0..NODES)
        .map(|_| SvmAllocation::new(&on_device.context, size_of::<Node>(), 0, flags))
        .collect::<Result<_>>()?;
    let addresses: Vec<u64> = nodes.iter().map(|node| node.svm_ptr().addr() as u64).collect();
    for (index, node) in nodes.iter().enumerate() {
        let next = addresses.get(index + 1).copied().unwrap_or(0);
        let value = index as u64 + 1;
        node.map_read_write(queue, ..)?[0] = Node { next, value };
    }
    let mut follow = on_device.kernel(FOLLOW, "")?;
    let others: Vec<*mut c_void> = nodes[1..].iter().map(|node| node.svm_ptr()).collect();
    // SAFETY: the kernel is alive, and these are as many pointers as their size says, to memory that
    // outlives the launch.
    unsafe {
        let (name, size) = (CL_KERNEL_EXEC_INFO_SVM_PTRS, size_of_val(&others[..]));
        let kernel = follow.as_raw();
        set_kernel_exec_info(kernel, name, size, others.as_ptr().cast()).expect("the pointers");
    }
    // SAFETY: the kernel takes a list that ends and an element. Nothing is mapped.
    unsafe { follow.launch().arg(&nodes[0]).arg(&sum).global(1).enqueue(queue)?.wait()? };
    assert_eq!(contents(&on_device, &sum)?, [(NODES * (NODES + 1) / 2) as u32]);
    for (index, node) in nodes.iter().enumerate() {
        assert_eq!(node.map_read::<Node>(queue, ..)?[0].value, 10 * (index as u64 + 1));
    }
    Ok(())
}

/// A list in one allocation, made by the device and followed by the host.
#[clmatrix_harness::test(requires(svm))]
fn the_host_follows_a_linked_list_of_a_kernel(on_device: OnDevice) -> Result<()> {
    const NODES: usize = 100;
    let source = "struct node { global struct node *next; ulong value; };
        kernel void k(global struct node *nodes) {
            size_t i = get_global_id(0), n = get_global_size(0);
            nodes[i].next = i + 1 < n ? &nodes[i + 1] : 0;
            nodes[i].value = 3 * i;
        }";
    let list = SvmAllocation::new(&on_device.context, NODES * size_of::<Node>(), 0, COARSE)?;
    let mut link = on_device.kernel(source, "")?;
    // SAFETY: the kernel takes memory, and has as many work items as nodes.
    unsafe { link.launch().arg(&list).global(NODES).enqueue(&on_device.queue)? };
    let map = list.map_read::<Node>(&on_device.queue, ..)?;
    let start = list.svm_ptr().addr() as u64;
    for (index, node) in map.iter().enumerate() {
        let next = start + ((index + 1) * size_of::<Node>()) as u64;
        let next = if index + 1 < NODES { next } else { 0 };
        assert_eq!((node.next, node.value), (next, 3 * index as u64));
    }
    Ok(())
}
