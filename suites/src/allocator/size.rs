//! Sizes that allocators treat in a way of their own: none, and too much.

use clmatrix::memory::MemFlags;
use clmatrix::pool::Allocator;
use clmatrix::{Class, Device, Result};
use clmatrix_harness::device;
use rstest::rstest;

use super::Kind::{self, Deferred, Immediate};
use super::svm_allocator;
use crate::buffer::refusal;
use crate::support::on_device::{OnDevice, on_device};
use crate::support::unanswered;

/// The allocator says what its largest size is, refuses more, and can be used all the same.
fn check<M>(allocator: &dyn Allocator<Memory = M>, device: Device) -> Result<()> {
    let largest = usize::try_from(device.opencl3().max_mem_alloc_size().map_err(unanswered)?)
        .expect("a size");
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
    device: Device,
    #[values(Deferred, Immediate)] kind: Kind,
) -> Result<()> {
    let OnDevice { context, queue } = &on_device;
    check(&kind.allocator(context, queue, MemFlags::READ_WRITE)?, device)
}

#[clmatrix_harness::test(requires(svm))]
fn zero_bytes_are_no_svm_and_too_many_are_refused(
    on_device: OnDevice,
    device: Device,
) -> Result<()> {
    check(&svm_allocator(&on_device.context, None)?, device)
}
