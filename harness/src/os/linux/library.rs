//! The shared libraries of this process.

use std::ffi::{CStr, CString, OsStr, c_void};
use std::os::unix::ffi::OsStrExt;
use std::path::PathBuf;

/// A shared library in this process; it stays loaded.
pub struct Library(*mut c_void);

impl Library {
    /// Loads a library in the way of ocl-icd; the error is the dynamic linker's message.
    ///
    /// The library's initialisers run, which may end or hang this process.
    pub fn load(name: &str) -> Result<Self, String> {
        let name = CString::new(name).map_err(|error| error.to_string())?;
        // SAFETY: the name is a C string. Initialisers are foreign code, as in any driver.
        let handle = unsafe { libc::dlopen(name.as_ptr(), libc::RTLD_LAZY | libc::RTLD_LOCAL) };
        if !handle.is_null() {
            return Ok(Self(handle));
        }
        // SAFETY: after a failure, dlerror gives this thread a C string that lives until its next call.
        let message = unsafe { CStr::from_ptr(libc::dlerror()) };
        Err(message.to_string_lossy().into_owned())
    }

    /// Returns whether the library has a function or variable of this name.
    pub fn has(&self, name: &CStr) -> bool {
        // SAFETY: the handle is open, and the name is a C string.
        !unsafe { libc::dlsym(self.0, name.as_ptr()) }.is_null()
    }
}

/// The library that a platform's code lies in.
///
/// The platform is one that an ICD loader gave out: its first field points to the table of the
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

/// The executable or library that is loaded at `address`.
pub(super) fn library_at(address: *const c_void) -> Option<libc::Dl_info> {
    // SAFETY: all zeros is a valid Dl_info, and dladdr only looks `address` up.
    unsafe {
        let mut found: libc::Dl_info = std::mem::zeroed();
        (libc::dladdr(address, &mut found) != 0).then_some(found)
    }
}
