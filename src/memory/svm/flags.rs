//! `cl_svm_mem_flags`, and which of them go together.

use cl3::error_codes::CL_INVALID_VALUE;
use cl3::memory as cl;

use crate::error::{Error, Result};

bitflags::bitflags! {
    /// How kernels use shared virtual memory, and how closely host and device share it
    /// (`cl_svm_mem_flags`; `pyopencl.svm_mem_flags`).
    ///
    /// Without [`FINE_GRAIN_BUFFER`](Self::FINE_GRAIN_BUFFER) it is coarse-grain: the host has to
    /// map it.
    #[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
    pub struct SvmFlags: u64 {
        /// Kernels read and write it: the default.
        const READ_WRITE = cl::CL_MEM_READ_WRITE;
        /// Kernels only write it.
        const WRITE_ONLY = cl::CL_MEM_WRITE_ONLY;
        /// Kernels only read it.
        const READ_ONLY = cl::CL_MEM_READ_ONLY;
        /// The host may use it without mapping it.
        const FINE_GRAIN_BUFFER = cl::CL_MEM_SVM_FINE_GRAIN_BUFFER;
        /// Atomic operations of host and devices see each other; needs
        /// [`FINE_GRAIN_BUFFER`](Self::FINE_GRAIN_BUFFER).
        const ATOMICS = cl::CL_MEM_SVM_ATOMICS;
    }
}

impl SvmFlags {
    const KERNEL_ACCESS: Self = Self::READ_WRITE.union(Self::WRITE_ONLY).union(Self::READ_ONLY);

    /// These, checked, with the default made explicit.
    pub(super) fn checked(self, call: &'static str) -> Result<Self> {
        let refused = |why: String| Err(Error::refused(call, CL_INVALID_VALUE, why));
        let odd = self.difference(Self::all());
        if !odd.is_empty() {
            return refused(format!("the flags {:#x} are not for this memory", odd.bits()));
        }
        let access = self & Self::KERNEL_ACCESS;
        if access.bits().count_ones() > 1 {
            return refused(format!("{access:?} exclude each other: leave one"));
        }
        if self.contains(Self::ATOMICS) && !self.contains(Self::FINE_GRAIN_BUFFER) {
            return refused("ATOMICS needs FINE_GRAIN_BUFFER: add it".to_owned());
        }
        Ok(if access.is_empty() { self | Self::READ_WRITE } else { self })
    }
}

#[cfg(test)]
mod tests {
    use super::SvmFlags as F;

    #[test]
    fn flags_are_checked() {
        let fine = F::FINE_GRAIN_BUFFER;
        for (flags, expected) in [
            (F::empty(), Ok(F::READ_WRITE)),
            (F::READ_ONLY, Ok(F::READ_ONLY)),
            (fine, Ok(F::READ_WRITE | fine)),
            (F::WRITE_ONLY | fine | F::ATOMICS, Ok(F::WRITE_ONLY | fine | F::ATOMICS)),
            (F::ATOMICS, Err(-30)),
            (F::READ_WRITE | F::READ_ONLY, Err(-30)),
            (F::READ_ONLY | F::WRITE_ONLY, Err(-30)),
            (F::from_bits_retain(1 << 3), Err(-30)),
        ] {
            let result = flags.checked("clSVMAlloc").map_err(|error| error.code());
            assert_eq!(result, expected, "{flags:?}");
        }
    }
}
