//! How shared virtual memory is made (OpenCL 3.0, 5.6.1; `clSVMAlloc`).

use std::collections::HashSet;

use super::*;

#[rstest]
#[clmatrix_harness::test(requires(svm))]
fn svm_has_the_requested_alignment(
    on_device: OnDevice,
    #[values(0, 1, 2, 4, 8, 16, 32, 64, 128)] alignment: usize,
    #[values(1, 3, 1000)] size: usize,
) -> Result<()> {
    // More than one, since one may be where it should by chance.
    let all: Vec<_> = (0..8)
        .map(|_| SvmAllocation::new(&on_device.context, size, alignment, COARSE))
        .collect::<Result<_>>()?;
    // The default suits all types.
    let multiple = if alignment == 0 { 128 } else { alignment };
    for svm in &all {
        assert!(!svm.svm_ptr().is_null());
        assert_eq!(svm.svm_ptr().addr() % multiple, 0, "{svm:?}");
        assert_eq!(svm.size(), size);
    }
    Ok(())
}

#[rstest]
#[case::coarse(SvmFlags::empty(), COARSE)]
#[case::read_only(SvmFlags::READ_ONLY, SvmFlags::READ_ONLY)]
#[case::write_only(SvmFlags::WRITE_ONLY, SvmFlags::WRITE_ONLY)]
#[clmatrix_harness::test(requires(svm))]
fn svm_has_the_requested_flags(
    on_device: OnDevice,
    #[case] flags: SvmFlags,
    #[case] found: SvmFlags,
) -> Result<()> {
    let svm = SvmAllocation::new(&on_device.context, 64, 0, flags)?;
    assert_eq!(svm.svm_flags(), found);
    Ok(())
}

#[rstest]
#[clmatrix_harness::test(requires(svm = "fine"))]
fn svm_is_shared_with_kernels(
    on_device: OnDevice,
    #[values(COARSE, FINE)] flags: SvmFlags,
) -> Result<()> {
    let svm = svm_of(&on_device, flags, &counting(1000))?;
    assert_on_device(&on_device, &svm, &counting(1000));
    double(&on_device, &svm)?;
    let doubled: Vec<u32> = (0..1000).map(|x| 2 * x).collect();
    assert_on_device(&on_device, &svm, &doubled);
    Ok(())
}

#[clmatrix_harness::test(requires(svm = "atomics"))]
fn svm_may_have_atomics(on_device: OnDevice) -> Result<()> {
    let svm = svm_of(&on_device, FINE | SvmFlags::ATOMICS, &[0])?;
    let source = "kernel void k(global uint *x) { atomic_inc(x); }";
    // SAFETY: the kernel takes memory of which it uses one element.
    unsafe {
        on_device.kernel(source, "")?.launch().arg(&svm).global(100).enqueue(&on_device.queue)?
    };
    assert_on_device(&on_device, &svm, &[100]);
    Ok(())
}

#[rstest]
#[case::two_accesses(SvmFlags::READ_ONLY.union(SvmFlags::WRITE_ONLY))]
#[case::atomics_that_are_coarse(SvmFlags::ATOMICS)]
#[case::unknown(SvmFlags::from_bits_retain(1 << 40))]
#[clmatrix_harness::test(requires(svm))]
fn conflicting_flags_are_refused(on_device: OnDevice, #[case] flags: SvmFlags) {
    assert_eq!(refusal(SvmAllocation::new(&on_device.context, 64, 0, flags)), "CL_INVALID_VALUE");
}

#[rstest]
#[clmatrix_harness::test(requires(svm))]
fn invalid_alignments_are_refused(
    on_device: OnDevice,
    #[values(3, 24, 256, 4096, usize::MAX)] alignment: usize,
) {
    let result = SvmAllocation::new(&on_device.context, 64, alignment, COARSE);
    assert_eq!(refusal(result), "CL_INVALID_VALUE");
}

#[clmatrix_harness::test(requires(svm))]
fn more_than_the_maximum_allocation_is_refused(on_device: OnDevice, device: Device) -> Result<()> {
    let largest =
        usize::try_from(device.opencl3().max_mem_alloc_size().map_err(unanswered)?).unwrap();
    for size in [largest + 1, usize::MAX] {
        let result = SvmAllocation::new(&on_device.context, size, 0, COARSE);
        assert_eq!(refusal(result), "CL_INVALID_BUFFER_SIZE", "{size} bytes");
    }
    Ok(())
}

#[clmatrix_harness::test(requires(svm))]
fn svm_of_zero_bytes_has_no_memory(on_device: OnDevice) -> Result<()> {
    let queue = &on_device.queue;
    let nothing = || SvmAllocation::new(&on_device.context, 0, 0, COARSE);
    let svm = nothing()?;
    assert!(svm.svm_ptr().is_null());
    assert_eq!(svm.size(), 0);
    assert_eq!(refusal(svm.map_read_write::<u8>(queue, ..)), "CL_INVALID_VALUE");
    assert_eq!(refusal(enqueue_fill(queue, &svm, &0_u8, ..)), "CL_INVALID_VALUE");
    assert_eq!(refusal(enqueue_copy(queue, &svm, &[0_u8], ..)), "CL_INVALID_VALUE");
    assert_eq!(refusal(svm.as_buffer(MemFlags::READ_WRITE, ..)), "CL_INVALID_BUFFER_SIZE");
    // Both ways to give it up.
    drop(svm);
    nothing()?.enqueue_release(queue)?.wait()?;
    Ok(())
}

#[clmatrix_harness::test(requires(svm))]
fn svm_of_zero_bytes_is_null_in_kernels(on_device: OnDevice) -> Result<()> {
    let nothing = SvmAllocation::new(&on_device.context, 0, 0, COARSE)?;
    let out = Buffer::from_slice(&on_device.context, MemFlags::READ_WRITE, &[0_u32])?;
    let source = "kernel void k(global uint *x, global uint *out) { out[0] = x ? 1 : 2; }";
    let mut is_null = on_device.kernel(source, "")?;
    // SAFETY: the kernel takes two pieces of memory, and uses one element of the second.
    unsafe { is_null.launch().arg(&nothing).arg(&out).global(1).enqueue(&on_device.queue)? };
    let mut found = [0_u32];
    out.read(&on_device.queue, &mut found)?;
    assert_eq!(found, [2]);
    Ok(())
}

#[clmatrix_harness::test(requires(svm))]
fn clones_share_the_memory_and_are_equal(on_device: OnDevice) -> Result<()> {
    let (one, other) = (svm_of(&on_device, COARSE, &[1])?, svm_of(&on_device, COARSE, &[1])?);
    let clone = one.clone();
    double(&on_device, &clone)?;
    assert_on_device(&on_device, &one, &[2]);
    assert_on_device(&on_device, &other, &[1]);
    assert_eq!(one, clone);
    assert_ne!(one, other);
    #[expect(clippy::mutable_key_type, reason = "equality and hash are those of the handle")]
    let all: HashSet<SvmAllocation> = [one, clone.clone(), other].into();
    assert_eq!(all.len(), 2);
    drop(all);
    // The last of its handles.
    clone.map_read_write::<u32>(&on_device.queue, ..)?[0] = 7;
    assert_on_device(&on_device, &clone, &[7]);
    Ok(())
}
