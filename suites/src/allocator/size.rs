//! Sizes that allocators treat in a way of their own: none, and too much.

use super::*;

/// The allocator says what its largest size is, refuses more, and can be used all the same.
fn check<M>(on_device: &OnDevice, allocator: &dyn Allocator<Memory = M>) -> Result<()> {
    let device = on_device.context.default_device().opencl3();
    let largest =
        usize::try_from(device.max_mem_alloc_size().map_err(unanswered)?).expect("a size");
    assert_eq!(allocator.max_size(), Some(largest));
    for size in [largest + 1, largest + (largest >> 4), usize::MAX] {
        let result = allocator.allocate(size).map(|_| ());
        let class = result.as_ref().map_err(|error| error.class());
        assert_eq!(class, Err(Class::InvalidArgument), "freeing something does not help");
        assert_eq!(refusal(result), "CL_INVALID_BUFFER_SIZE");
    }
    assert!(allocator.allocate(0)?.is_none(), "nothing for 0 bytes");
    assert!(allocator.allocate(1)?.is_some());
    Ok(())
}

#[rstest]
#[clmatrix_harness::test]
fn zero_bytes_are_no_buffer_and_too_many_are_refused(
    on_device: OnDevice,
    #[values(Deferred, Immediate)] kind: Kind,
) -> Result<()> {
    check(&on_device, &kind.allocator(&on_device)?)
}

#[clmatrix_harness::test(requires(svm))]
fn zero_bytes_are_no_svm_and_too_many_are_refused(on_device: OnDevice) -> Result<()> {
    check(&on_device, &svm_allocator(&on_device.context, None)?)
}
