//! `clSVMAlloc` and `clSVMFree`, one call at a time.

use std::ffi::c_void;

use cl3::memory as cl;
use cl3::types::{cl_context, cl_uint};
use parking_lot::Mutex;

use super::flags::SvmFlags;

/// Held during both calls: NVIDIA's `clSVMAlloc` returns null while another thread is in either.
// quirk: NVIDIA-6
static LOCK: Mutex<()> = Mutex::new(());

/// Allocates `size` bytes.
///
/// # Safety
/// `context` is valid.
pub(super) unsafe fn alloc(
    context: cl_context,
    flags: SvmFlags,
    size: usize,
    alignment: cl_uint,
) -> Result<*mut c_void, i32> {
    let _guard = LOCK.lock();
    // SAFETY: as the caller promises.
    unsafe { cl::svm_alloc(context, flags.bits(), size, alignment) }
}

/// Frees memory.
///
/// # Safety
/// `pointer` comes from [`alloc`] in `context`, and nothing uses the memory any more.
pub(super) unsafe fn free(context: cl_context, pointer: *mut c_void) -> Result<(), i32> {
    let _guard = LOCK.lock();
    // SAFETY: as the caller promises.
    unsafe { cl::svm_free(context, pointer) }
}
