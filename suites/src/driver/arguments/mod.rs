//! Arguments of kernels (5.9.2, 5.9.3) and their launches (5.10).

mod probe;
mod ranges;
mod values;

use clmatrix::cl3::{device::*, error_codes::*, kernel::*, memory::*, types::*};

use super::prelude::*;

/// The options of programs. With these a driver keeps what it knows of arguments, and may use it.
const OPTIONS: &str = "-cl-kernel-arg-info";

/// The offset, the number of work items and the size of a group, by dimension; empty for null.
type Range<'a> = [&'a [usize]; 3];

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

/// Sets an argument to a value that suits it.
#[track_caller]
fn set<T>(kernel: &Object, index: u32, value: T) {
    // SAFETY: the callers have values of the kernels' types.
    let code = unsafe { try_set(kernel, index, size_of::<T>(), (&raw const value).cast()) };
    succeeds(&format!("clSetKernelArg(argument {index})"), code);
}

/// Calls clEnqueueNDRangeKernel, and returns its code.
fn launch(kernel: &Object, queue: *mut c_void, range: Range<'_>, waits: &[cl_event]) -> cl_int {
    // Behind the last dimension lie sizes that a driver must not read.
    let padded = range.map(|sizes| [sizes, &[77; 3]].concat());
    let pointer = |n: usize| if range[n].is_empty() { ptr::null() } else { padded[n].as_ptr() };
    let (offset, size, local) = (pointer(0), padded[1].as_ptr(), pointer(2));
    let (raw, dims, (n, list)) = (kernel.raw(), range[1].len() as u32, wait_list(waits));
    let none = ptr::null_mut();
    // SAFETY: queue, kernel and events are valid; the callers have set arguments that suit, or the driver must refuse
    // the launch.
    unsafe { cl!(clEnqueueNDRangeKernel(queue, raw, dims, offset, size, local, n, list, none)) }
}
