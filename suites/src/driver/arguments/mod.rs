//! Arguments of kernels (5.9.2, 5.9.3) and their launches (5.10).

mod probe;
mod ranges;
mod values;

use std::ffi::c_void;
use std::ptr;

use bytemuck::Pod;
use clmatrix::cl3::{device::*, error_codes::*, kernel::*, memory::*, types::*};
use rstest::rstest;

use super::api::{cl, code_name, created, named, ok, succeeds};
use super::bench::{Bench, bench};
use super::findings::Findings;
use super::object::{Class, Gate, Object, wait_list};
use super::query::Subject;

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

/// Creates a buffer that begins with `contents`.
fn buffer_of<T: Pod>(bench: &Bench, contents: &[T]) -> Object {
    let flags = CL_MEM_READ_WRITE | CL_MEM_COPY_HOST_PTR;
    let (size, from) = (size_of_val(contents), contents.as_ptr().cast_mut().cast());
    // SAFETY: the driver copies the contents; the call creates a reference.
    unsafe {
        let raw = created!(clCreateBuffer(bench.context, flags, size, from));
        Object::new(Class::Memory, raw)
    }
}

/// Reads the first elements of a buffer, after all commands of the bench's queue.
fn contents_of<T: Pod>(bench: &Bench, buffer: &Object, count: usize) -> Vec<T> {
    let mut contents = vec![T::zeroed(); count];
    let (size, to) = (size_of_val(&*contents), contents.as_mut_ptr().cast());
    let (queue, none) = (bench.queue, ptr::null_mut());
    // SAFETY: the buffer has as many elements, and the call blocks.
    unsafe { ok!(clEnqueueReadBuffer(queue, buffer.raw(), 1, 0, size, to, 0, ptr::null(), none)) };
    contents
}
