//! Work sizes, groups and offsets, as the kernel finds them.

use super::*;

/// Each work item writes its id, and those of its group, to a place of its own.
const WHO: &str = "
    kernel void k(global uint *out) {
        size_t i = (get_global_id(2) - get_global_offset(2)) * get_global_size(1)
            + get_global_id(1) - get_global_offset(1);
        i = i * get_global_size(0) + get_global_id(0) - get_global_offset(0);
        out[2 * i] = get_global_id(0) + 100 * get_global_id(1) + 10000 * get_global_id(2);
        out[2 * i + 1] = get_group_id(0) + 100 * get_group_id(1) + 10000 * get_group_id(2)
            + 1000000 * get_work_dim();
    }";

/// The ids of the work items and their groups, the first dimension running fastest.
fn expected(dims: u32, n: [usize; 3], group: [usize; 3], from: [usize; 3]) -> Vec<u32> {
    let mut ids = Vec::new();
    let number = |x, y, z| (x + 100 * y + 10000 * z) as u32;
    for z in 0..n[2] {
        for y in 0..n[1] {
            for x in 0..n[0] {
                ids.push(number(x + from[0], y + from[1], z + from[2]));
                let of = number(x / group[0], y / group[1], z / group[2]);
                ids.push(of + 1_000_000 * dims);
            }
        }
    }
    ids
}

/// A work item for each byte, with offsets in both buffers.
#[rstest]
#[clmatrix_harness::test]
fn each_work_item_writes_its_byte(
    on_device: OnDevice,
    #[values(1, 77, 4097, (64 << 10) + 1)] size: usize,
) -> Result<()> {
    let copy = "kernel void k(global const uchar *from, uint src, global uchar *to, uint dst) {
        to[dst + get_global_id(0)] = from[src + get_global_id(0)];
    }";
    let (from, to) = (source(size + 40), before(size + 20));
    let (src, dst) = (buffer_with(&on_device, &from)?, buffer_with(&on_device, &to)?);
    let mut copy = known(&on_device, copy)?;
    let mut launch = copy.launch();
    launch.arg_read(&src).arg(23_u32).arg(&dst).arg(5_u32).global(size);
    // SAFETY: the arguments are those that the kernel declares, with a byte for each work item.
    unsafe { launch.enqueue(&on_device.queue)? };
    assert_moved(&bytes_in(&on_device, &dst)?, &to, 5, &from[23..23 + size]);
    assert_same(&bytes_in(&on_device, &src)?, &from, "the source");
    Ok(())
}

#[rstest]
#[case::one(1, 12.into(), 4.into(), 3.into(), ([12, 1, 1], [4, 1, 1], [3, 0, 0]))]
#[case::two(2, [6, 4].into(), [3, 2].into(), [5, 7].into(), ([6, 4, 1], [3, 2, 1], [5, 7, 0]))]
#[case::three(
    3, (4, 2, 6).into(), (2, 1, 3).into(), (1, 2, 3).into(), ([4, 2, 6], [2, 1, 3], [1, 2, 3])
)]
#[case::of_slices(
    2, (&[6, 4][..]).into(), (&[3, 2][..]).into(), (&[5, 7][..]).into(), ([6, 4, 1], [3, 2, 1], [5, 7, 0])
)]
#[clmatrix_harness::test]
fn work_items_have_their_global_and_local_ids(
    on_device: OnDevice,
    #[case] dims: u32,
    #[case] global: WorkSize,
    #[case] local: WorkSize,
    #[case] offset: WorkSize,
    #[case] sizes: ([usize; 3], [usize; 3], [usize; 3]),
) -> Result<()> {
    let mut kernel = known(&on_device, WHO)?;
    let (n, group, from) = sizes;
    on_device.needs_work_group(&kernel, group.iter().product())?;
    let out =
        Buffer::new(&on_device.context, MemFlags::READ_WRITE, n.iter().product::<usize>() * 8)?;
    let mut launch = kernel.launch();
    launch.arg(&out).global(global).local(local).offset(offset);
    // SAFETY: the argument is what the kernel declares, with two elements for each work item.
    unsafe { launch.enqueue(&on_device.queue)? };
    assert_eq!(contents(&on_device, &out)?, expected(dims, n, group, from));
    Ok(())
}

/// The error has the length.
#[rstest]
#[clmatrix_harness::test]
fn slices_of_other_lengths_than_one_to_three_are_refused(
    on_device: OnDevice,
    #[values(0, 4, 7)] len: usize,
) -> Result<()> {
    // An empty kernel does not build on NVIDIA.
    let mut kernel = known(&on_device, "kernel void k(global uint *x) { x[0] = 1; }")?;
    let (out, sizes) = (buffer_of(&on_device, &[0; 1])?, vec![1; len]);
    let mut launch = kernel.launch();
    launch.arg(&out).global(&sizes[..]);
    // SAFETY: the argument is what the kernel declares, with the element that it writes.
    let launched = unsafe { launch.enqueue(&on_device.queue) };
    let error = launched.expect_err("no launch has so many dimensions");
    assert_eq!(error.code_name(), "CL_INVALID_WORK_DIMENSION");
    assert!(error.detail().contains(&format!("{len} dimensions")), "{error}");
    Ok(())
}

#[clmatrix_harness::test]
fn the_driver_chooses_the_work_group_size(on_device: OnDevice) -> Result<()> {
    let source = "kernel void k(global uint *x) { x[get_global_id(0)] = get_global_id(0); }";
    let mut kernel = known(&on_device, source)?;
    let out = buffer_of(&on_device, &[0; 37])?;
    // SAFETY: the argument is what the kernel declares, with an element for each work item.
    unsafe { kernel.launch().arg(&out).global(37).enqueue(&on_device.queue)? };
    assert_eq!(contents(&on_device, &out)?, counting(37));
    Ok(())
}

/// OpenCL C 2.0 allows it, if the device does: otherwise the driver says no.
#[clmatrix_harness::test(requires(opencl = "2.0"))]
fn non_uniform_work_groups_are_allowed_by_opencl_c_2(on_device: OnDevice) -> Result<()> {
    let source = "kernel void k(global uint *x) { x[get_global_id(0)] = get_local_size(0); }";
    let mut kernel = on_device.kernel(source, on_device.opencl_c_2()?)?;
    on_device.needs_work_group(&kernel, 4)?;
    let out = buffer_of(&on_device, &[0; 10])?;
    // SAFETY: the argument is what the kernel declares, with an element for each work item.
    let launched =
        unsafe { kernel.launch().arg(&out).global(10).local(4).enqueue(&on_device.queue) };
    match launched {
        Ok(_) => assert_eq!(contents(&on_device, &out)?, [4, 4, 4, 4, 4, 4, 4, 4, 2, 2]),
        Err(error) => {
            assert_eq!(error.code_name(), "CL_INVALID_WORK_GROUP_SIZE");
            assert!(error.detail().is_empty(), "it is the driver's to say: {error}");
        }
    }
    Ok(())
}

/// The driver decides whether a device has room for it.
#[clmatrix_harness::test]
fn too_large_work_groups_are_refused_by_the_driver(on_device: OnDevice) -> Result<()> {
    let mut kernel = known(&on_device, NOTHING)?;
    let huge = 1 << 30;
    // SAFETY: the kernel does nothing.
    let launched = unsafe { kernel.launch().global(huge).local(huge).enqueue(&on_device.queue) };
    let error = launched.map(drop).unwrap_err();
    let codes = ["CL_INVALID_WORK_GROUP_SIZE", "CL_INVALID_WORK_ITEM_SIZE"];
    assert!(codes.contains(&Error::code_name(&error)), "{error}");
    Ok(())
}
