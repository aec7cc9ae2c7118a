//! The local memory and sub-groups that a test requires are there for its kernel.

use clmatrix::memory::{Buffer, MemFlags};

use super::*;

/// Work items of the only work group.
const ITEMS: usize = 64;

/// Each work item writes a part of 32 KiB of local memory and reads another's, and says the size of
/// its sub-group.
const SOURCE: &str = "
    kernel SIZE void k(global uint *sizes, global uint *read) {
        local uint shared[8192];
        uint item = get_local_id(0), items = get_local_size(0);
        for (uint at = item; at < 8192; at += items) shared[at] = at;
        barrier(CLK_LOCAL_MEM_FENCE);
        sizes[item] = SUB_GROUP_SIZE;
        read[item] = shared[8191 - item];
    }";

#[clmatrix_harness::test(requires(local_mem = "32 KiB", subgroup = 32))]
fn a_kernel_has_the_required_local_memory_and_sub_groups(on_device: OnDevice) -> Result<()> {
    let extensions = on_device.device().opencl3().extensions().map_err(unanswered)?;
    let by_attribute =
        extensions.split_whitespace().any(|name| name == "cl_intel_required_subgroup_size");
    // A warp or a wavefront has its size without being asked.
    let options = if by_attribute {
        "-D SIZE=__attribute__((intel_reqd_sub_group_size(32))) -D SUB_GROUP_SIZE=get_max_sub_group_size()"
    } else {
        "-D SIZE= -D SUB_GROUP_SIZE=0"
    };
    let mut kernel = on_device.kernel(SOURCE, options)?;
    on_device.needs_work_group(&kernel, ITEMS)?;
    let sizes = Buffer::from_slice(&on_device.context, MemFlags::READ_WRITE, &[0_u32; ITEMS])?;
    let read = Buffer::from_slice(&on_device.context, MemFlags::READ_WRITE, &[0_u32; ITEMS])?;
    let mut launch = kernel.launch();
    launch.arg(&sizes).arg(&read).global(ITEMS).local(ITEMS);
    // SAFETY: the kernel writes one number per work item to each buffer, which have as many.
    unsafe { launch.enqueue(&on_device.queue)? };
    let expected: [u32; ITEMS] = std::array::from_fn(|item| 8191 - item as u32);
    assert_eq!(read.to_vec::<u32>(&on_device.queue)?, expected);
    if by_attribute {
        assert_eq!(sizes.to_vec::<u32>(&on_device.queue)?, [32; ITEMS]);
    }
    Ok(())
}
