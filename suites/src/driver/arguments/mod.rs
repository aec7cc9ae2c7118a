//! Arguments of kernels (5.9.2, 5.9.3) and their launches (5.10).

mod native;
mod probe;
mod ranges;
mod values;

use super::prelude::*;

/// The options of programs. With these a driver keeps what it knows of arguments, and may use it.
const OPTIONS: &str = "-cl-kernel-arg-info";

/// One work item.
const ONE: Range<'static> = [&[], &[1], &[]];

/// Calls clSetKernelArg, and returns its code.
///
/// # Safety
///
/// The value is null or has as many bytes, and is as the argument wants it or must be refused.
unsafe fn try_set(kernel: &Object, index: u32, size: usize, value: *const c_void) -> cl_int {
    // SAFETY: the kernel is valid; the caller answers for the value.
    unsafe { cl!(clSetKernelArg(kernel.raw(), index, size, value)) }
}
