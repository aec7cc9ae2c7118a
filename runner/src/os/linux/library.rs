//! The shared libraries of this process.

use std::ffi::{CStr, OsStr, c_void};
use std::os::unix::ffi::OsStrExt;
use std::path::PathBuf;

use super::filled;

/// Returns the library that contains a platform's code.
///
/// The platform comes from an ICD loader: its first field points to the table of the
/// driver's functions (cl_khr_icd).
pub fn library_of_platform(platform: *mut c_void) -> Option<PathBuf> {
    if platform.is_null() {
        return None;
    }
    // SAFETY: by cl_khr_icd a platform begins with a pointer to its dispatch table, whose first
    // entry is clGetPlatformIDs; both live as long as the driver is loaded, which is for good.
    let function = unsafe { **platform.cast::<*const *const c_void>() };
    let library = library_at(function).filter(|library| !library.dli_fname.is_null())?;
    // SAFETY: the name is a C string, and the library that it belongs to stays loaded.
    let name = unsafe { CStr::from_ptr(library.dli_fname) };
    std::fs::canonicalize(OsStr::from_bytes(name.to_bytes())).ok()
}

/// Returns the executable or library that is loaded at `address`.
pub(super) fn library_at(address: *const c_void) -> Option<libc::Dl_info> {
    // SAFETY: all zeros is a valid Dl_info, and dladdr only looks `address` up.
    unsafe { filled(|found| libc::dladdr(address, found) != 0) }
}
