//! Resources that a memory object needs until the driver releases it. Commands in flight can keep it
//! longer than any handle.

use std::ffi::c_void;

use cl3::memory as cl;
use cl3::types::cl_mem;

use crate::error::{Error, Result, in_call};

/// Drops `what` when the driver has destroyed the object (`clSetMemObjectDestructorCallback`), in a
/// thread of the driver's. `what` must not call OpenCL functions that wait.
///
/// # Errors
/// The driver's errors, with `what`.
///
/// # Safety
/// `raw` is a valid memory object.
pub(super) unsafe fn keep_until_destroyed<T: Send + 'static>(
    raw: cl_mem,
    what: T,
) -> std::result::Result<(), (Error, T)> {
    let what = Box::into_raw(Box::new(what));
    // SAFETY: the caller vouches for the handle, and the function takes over its argument.
    let set: Result<()> =
        unsafe { cl::set_mem_object_destructor_callback(raw, destroyed::<T>, what.cast()) }
            .map_err(in_call("clSetMemObjectDestructorCallback"));
    set.map_err(|error| {
        // SAFETY: it comes from above, and the driver has not taken it.
        (error, *unsafe { Box::from_raw(what) })
    })
}

extern "C" fn destroyed<T>(_: cl_mem, what: *mut c_void) {
    // SAFETY: it comes from `keep_until_destroyed`, and the driver calls back once.
    drop(unsafe { Box::from_raw(what.cast::<T>()) });
}
