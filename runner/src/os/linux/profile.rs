//! The coverage profile of a worker that is built with `-C instrument-coverage`.
//!
//! LLVM's runtime writes it when a process exits, which a worker never does. Its functions are local symbols of the
//! executable, so `dlsym` does not find them: these references are weak, and null in other builds.

use std::mem;

use libc::c_int;

/// Returns the address of a symbol of the executable, 0 if it has none.
#[cfg(any(target_arch = "x86_64", target_arch = "aarch64"))]
macro_rules! address_if_linked {
    ($symbol:literal) => {{
        let address: usize;
        #[cfg(target_arch = "x86_64")]
        // SAFETY: the instruction reads an entry of the global offset table, which the loader has written.
        unsafe {
            std::arch::asm!(
                concat!(".weak ", $symbol),
                concat!("mov {}, qword ptr [rip + ", $symbol, "@GOTPCREL]"),
                out(reg) address,
                options(pure, readonly, nostack, preserves_flags)
            );
        }
        #[cfg(target_arch = "aarch64")]
        // SAFETY: as above.
        unsafe {
            std::arch::asm!(
                concat!(".weak ", $symbol),
                concat!("adrp {0}, :got:", $symbol),
                concat!("ldr {0}, [{0}, :got_lo12:", $symbol, "]"),
                out(reg) address,
                options(pure, readonly, nostack, preserves_flags)
            );
        }
        address
    }};
}

/// Other processors have no references.
#[cfg(not(any(target_arch = "x86_64", target_arch = "aarch64")))]
macro_rules! address_if_linked {
    ($symbol:literal) => {
        0
    };
}

/// Writes the profile of this process, if it has one.
pub fn write_profile() {
    if let Some(write) = write_function() {
        write();
    }
}

/// Returns the function that writes the profile of this process, if it has one.
pub(super) fn write_function() -> Option<extern "C" fn() -> c_int> {
    let address = address_if_linked!("__llvm_profile_write_file");
    // SAFETY: in LLVM's runtime, the function of this name takes nothing and returns an int. An address of 0 is `None`.
    unsafe { mem::transmute::<usize, Option<extern "C" fn() -> c_int>>(address) }
}

/// Keeps this process from writing the profile when it exits.
pub(super) fn leave_profile() {
    let address = address_if_linked!("__llvm_profile_set_dumped");
    // SAFETY: in LLVM's runtime, the function of this name takes and returns nothing. An address of 0 is `None`.
    let set_written = unsafe { mem::transmute::<usize, Option<extern "C" fn()>>(address) };
    if let Some(set_written) = set_written {
        set_written();
    }
}
