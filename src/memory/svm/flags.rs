//! `cl_svm_mem_flags`, and the devices that support them (CL_DEVICE_SVM_CAPABILITIES).

use cl3::device;
use cl3::error_codes::{CL_INVALID_OPERATION, CL_INVALID_VALUE};
use cl3::memory as cl;

use crate::device::Device;
use crate::error::{Error, Result};
use crate::mem_context::MemContext;

bitflags::bitflags! {
    /// The access of kernels to shared virtual memory, and the granularity at which host and device share it
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
        let odd = self.difference(Self::all());
        Error::refuse_if(!odd.is_empty(), call, CL_INVALID_VALUE, || {
            format!("the flags {:#x} are not for this memory", odd.bits())
        })?;
        let access = self & Self::KERNEL_ACCESS;
        Error::refuse_if(access.bits().count_ones() > 1, call, CL_INVALID_VALUE, || {
            format!("{access:?} exclude each other: leave one")
        })?;
        let lacks_fine = self & (Self::ATOMICS | Self::FINE_GRAIN_BUFFER) == Self::ATOMICS;
        let reason = "ATOMICS needs FINE_GRAIN_BUFFER: add it";
        Error::refuse_if(lacks_fine, call, CL_INVALID_VALUE, || reason)?;
        Ok(if access.is_empty() { self | Self::READ_WRITE } else { self })
    }
}

/// A kind of shared virtual memory: the bit of CL_DEVICE_SVM_CAPABILITIES, its name, and the alternative.
type Capability = (u64, &'static str, &'static str);

const COARSE: Capability =
    (device::CL_DEVICE_SVM_COARSE_GRAIN_BUFFER, "shared virtual memory", "use a Buffer");
const FINE: Capability = (
    device::CL_DEVICE_SVM_FINE_GRAIN_BUFFER,
    "fine-grain shared virtual memory",
    "leave out FINE_GRAIN_BUFFER and map the memory",
);
const ATOMICS: Capability =
    (device::CL_DEVICE_SVM_ATOMICS, "atomics across host and device", "leave out ATOMICS");
const SYSTEM: Capability = (
    device::CL_DEVICE_SVM_FINE_GRAIN_SYSTEM,
    "fine-grain system memory: it cannot use the host's pointers",
    "use an SvmAllocation, or a Buffer",
);

/// Refuses flags that no device of the context can do.
pub(super) fn check_flags(call: &'static str, context: &MemContext, flags: SvmFlags) -> Result<()> {
    let required = [
        (true, COARSE),
        (flags.contains(SvmFlags::FINE_GRAIN_BUFFER), FINE),
        (flags.contains(SvmFlags::ATOMICS), ATOMICS),
    ];
    let lacked = required.into_iter().find(|(is_required, capability)| {
        *is_required && !context.devices().iter().any(|device| has(device, *capability))
    });
    lacked.map_or(Ok(()), |(_, lacked)| Err(unsupported(call, context.devices(), lacked)))
}

/// Refuses the host's memory unless all devices of the context can use it.
pub(super) fn check_system(call: &'static str, context: &MemContext) -> Result<()> {
    match context.devices().iter().find(|device| !has(device, SYSTEM)) {
        Some(device) => Err(unsupported(call, std::slice::from_ref(device), SYSTEM)),
        None => Ok(()),
    }
}

fn unsupported(call: &'static str, devices: &[Device], (_, what, instead): Capability) -> Error {
    let names: Vec<String> = devices.iter().map(|device| format!("'{}'", device.name())).collect();
    let reason = format!("the device {} has no {what}; {instead}", names.join(", "));
    Error::unsupported(call, CL_INVALID_OPERATION, reason)
}

fn has(of: &Device, (bit, ..): Capability) -> bool {
    // None before OpenCL 2.0.
    let all = device::get_device_info(of.as_raw(), device::CL_DEVICE_SVM_CAPABILITIES);
    all.map_or(0, u64::from) & bit != 0
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
