//! Behaviour of drivers that the library has to know, selected by the name of the platform.
//!
//! A platform that is not listed gets the workarounds of `Driver::UNKNOWN`.

use bitflags::bitflags;
use cl3::device::{CL_DEVICE_PLATFORM, get_device_info};
use cl3::platform::{CL_PLATFORM_NAME, get_platform_info};
use cl3::types::{cl_device_id, cl_platform_id};

use crate::device::Device;

bitflags! {
    /// The behaviour of one driver.
    #[derive(Clone, Copy, Debug, PartialEq, Eq)]
    pub(crate) struct Driver: u16 {
        /// A failed map counts as a map and has to be unmapped.
        // quirk: DRIVER-8, NVIDIA-2
        const UNMAPS_FAILED_MAPS = 1 << 0;
        /// `clFlush` returns when the commands of the queue have ended (Oclgrind 21.10).
        // quirk: OCLGRIND-2
        const FLUSH_BLOCKS = 1 << 1;
        /// Maps and migrations of sub-buffers that overlap corrupt the driver, even one after the other (NVIDIA 580).
        // quirk: NVIDIA-11
        const CONFUSES_REGIONS = 1 << 2;
        /// An unmap may end another map that begins at the same address (PoCL 3.1), or be refused (Intel 2026.22).
        // quirk: POCL-13, INTEL-9
        const FINDS_MAPS_BY_ADDRESS = 1 << 3;
        /// The status of a command that was cancelled, because an event of its wait list failed, is
        /// CL_COMPLETE; only `clWaitForEvents` reports it (Intel 2026.22).
        // quirk: INTEL-1
        const HIDES_CANCELLATIONS = 1 << 4;
        /// `clEnqueueCopyImageToBuffer` takes the offset in the buffer for pixels (rusticl of Mesa 25.0).
        // quirk: RUSTICL-6
        const MISPLACES_PIXELS = 1 << 5;
        /// The compiler crashes on a word of the options that is not one (not Intel on CPUs, NVIDIA).
        // quirk: DRIVER-18
        const CRASHES_ON_OPTIONS = 1 << 6;
        /// A quote ends a word of the options and begins the next (rusticl).
        // quirk: DRIVER-18
        const SPLITS_OPTIONS_AT_QUOTES = 1 << 7;
        /// A kernel keeps the arguments that were set last (rusticl of Mesa 22.3).
        // quirk: RUSTICL-11
        const KEEPS_ARGUMENTS = 1 << 8;
        /// The kinds of a kernel's arguments are known only with `-cl-kernel-arg-info` (PoCL).
        // quirk: POCL-18
        const FORGETS_ARGUMENTS = 1 << 9;
        /// The process aborts when a kernel with a name of 250 bytes or more is launched (PoCL).
        // quirk: POCL-19
        const ABORTS_ON_LONG_NAMES = 1 << 10;
        /// A fill of a sub-buffer is refused unless the memory is aligned, also the host's (Intel 2026.22).
        // quirk: INTEL-8
        const REFUSES_FILLS_OF_REGIONS = 1 << 11;
        /// The driver may use a sub-device after the end of its last command (PoCL 3.1).
        // quirk: POCL-22
        const USES_PARTS_LATE = 1 << 12;
        /// The array of a migration is read when the command runs (NVIDIA 580).
        // quirk: NVIDIA-12
        const READS_ARRAYS_LATE = 1 << 13;
    }
}

impl Driver {
    /// The driver of a platform that is not listed. Off Intel, a sub-buffer may begin at a byte where no fill
    /// of the whole buffer may.
    pub const UNKNOWN: Self = Self::all()
        .difference(Self::FLUSH_BLOCKS)
        .difference(Self::FORGETS_ARGUMENTS)
        .difference(Self::REFUSES_FILLS_OF_REGIONS);

    /// Returns the driver of devices of one platform, such as those of a context.
    pub fn of_devices(devices: &[Device]) -> Self {
        devices.first().map_or(Self::UNKNOWN, |device| Self::for_device(device.as_raw()))
    }

    /// Returns the driver of a valid device.
    pub fn for_device(device: cl_device_id) -> Self {
        let platform = get_device_info(device, CL_DEVICE_PLATFORM).map(isize::from);
        let name = platform.and_then(|platform| {
            get_platform_info(platform as cl_platform_id, CL_PLATFORM_NAME).map(String::from)
        });
        Self::of_platform(&name.unwrap_or_default())
    }

    fn of_platform(name: &str) -> Self {
        let orderly = Self::UNMAPS_FAILED_MAPS | Self::CRASHES_ON_OPTIONS;
        match name {
            "Portable Computing Language" => {
                let of_kernels = Self::FORGETS_ARGUMENTS | Self::ABORTS_ON_LONG_NAMES;
                orderly | of_kernels | Self::FINDS_MAPS_BY_ADDRESS | Self::USES_PARTS_LATE
            }
            "Oclgrind" => orderly | Self::FLUSH_BLOCKS,
            "NVIDIA CUDA" => Self::CONFUSES_REGIONS | Self::READS_ARRAYS_LATE,
            "rusticl" => {
                let of_options = Self::SPLITS_OPTIONS_AT_QUOTES;
                orderly | of_options | Self::MISPLACES_PIXELS | Self::KEEPS_ARGUMENTS
            }
            // The emulator of FPGAs is the runtime for CPUs of 2024.
            _ if name.starts_with("Intel(R) OpenCL") || name.starts_with("Intel(R) FPGA Emul") => {
                let of_commands = Self::HIDES_CANCELLATIONS | Self::REFUSES_FILLS_OF_REGIONS;
                let all = orderly | of_commands | Self::FINDS_MAPS_BY_ADDRESS;
                if name == "Intel(R) OpenCL" { all - Self::CRASHES_ON_OPTIONS } else { all }
            }
            _ => Self::UNKNOWN,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn platforms_get_their_own_workarounds() {
        let of = Driver::of_platform;
        assert_eq!(of("Another Platform"), Driver::UNKNOWN);
        assert_eq!(of("Oclgrind") - of("Another Platform"), Driver::FLUSH_BLOCKS);
        assert!(of("Portable Computing Language").contains(Driver::FINDS_MAPS_BY_ADDRESS));
        assert!(!of("NVIDIA CUDA").contains(Driver::UNMAPS_FAILED_MAPS));
        assert!(of("rusticl").contains(Driver::MISPLACES_PIXELS));
        let intel = ["Intel(R) OpenCL Graphics", "Intel(R) OpenCL"].map(of);
        assert_eq!(intel[0] - intel[1], Driver::CRASHES_ON_OPTIONS);
        assert!(intel[1].contains(Driver::HIDES_CANCELLATIONS));
    }
}
