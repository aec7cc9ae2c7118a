//! The sanitizers of a process.

use std::ffi::c_void;

/// Returns whether LeakSanitizer finds memory that nothing points to; `None` where this process is
/// built without it. The report goes to standard error.
///
/// Its own check runs when a process exits, which a worker never does: it is killed, or ends with
/// [`exit_now`](crate::os::exit_now). The function is looked up by name, since only an instrumented build has it (one
/// whose executable exports it: `-Wl,--export-dynamic-symbol=__lsan_do_recoverable_leak_check`).
pub fn finds_leaks() -> Option<bool> {
    let check = leak_check();
    if check.is_null() {
        return None;
    }
    // SAFETY: by lsan_interface.h the function of this name takes no arguments and returns an int.
    let check: extern "C" fn() -> libc::c_int = unsafe { std::mem::transmute(check) };
    Some(check() != 0)
}

fn leak_check() -> *mut c_void {
    // SAFETY: the name is a C string, and looking it up runs no code.
    unsafe { libc::dlsym(libc::RTLD_DEFAULT, c"__lsan_do_recoverable_leak_check".as_ptr()) }
}

/// Returns whether this process is built with a sanitizer that handles crashes.
pub fn is_sanitized() -> bool {
    !leak_check().is_null()
}
