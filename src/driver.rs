//! Behaviour of drivers that the library has to know, selected by the name of the platform.
//!
//! A platform that is not listed gets every workaround.

use cl3::device::{CL_DEVICE_PLATFORM, get_device_info};
use cl3::platform::{CL_PLATFORM_NAME, get_platform_info};
use cl3::types::{cl_device_id, cl_platform_id};

use crate::device::Device;

/// The behaviour of one driver.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Driver {
    /// A failed map counts as a map and has to be unmapped.
    // quirk: DRIVER-8, NVIDIA-2
    pub unmaps_failed_maps: bool,
    /// `clFlush` returns when the commands of the queue have ended (Oclgrind 21.10).
    // quirk: OCLGRIND-2
    pub flush_blocks: bool,
    /// Maps and migrations of sub-buffers that overlap corrupt the driver, even one after the other (NVIDIA 580).
    // quirk: NVIDIA-11
    pub confuses_regions: bool,
    /// An unmap may end another map that begins at the same address (PoCL 3.1), or be refused (Intel 2026.22).
    // quirk: POCL-13, INTEL-9
    pub finds_maps_by_address: bool,
    /// The status of a command that was cancelled, because an event of its wait list failed, is
    /// CL_COMPLETE; only `clWaitForEvents` tells (Intel 2026.22).
    // quirk: INTEL-1
    pub hides_cancellations: bool,
    /// `clEnqueueCopyImageToBuffer` takes the offset in the buffer for pixels (rusticl of Mesa 25.0).
    // quirk: RUSTICL-6
    pub misplaces_pixels: bool,
    /// Options of a build that are wrong are refused; other drivers crash (Intel on CPUs, NVIDIA).
    // quirk: DRIVER-18
    pub checks_options: bool,
    /// A quote ends a word of the options and begins the next (rusticl).
    // quirk: DRIVER-18
    pub splits_options_at_quotes: bool,
    /// A kernel keeps the arguments that were set last (rusticl of Mesa 22.3).
    // quirk: RUSTICL-11
    pub keeps_arguments: bool,
    /// The kinds of a kernel's arguments are known only with `-cl-kernel-arg-info` (PoCL).
    // quirk: POCL-18
    pub forgets_arguments: bool,
    /// The process aborts when a kernel with a name of 250 bytes or more is launched (PoCL).
    // quirk: POCL-19
    pub aborts_on_long_names: bool,
    /// A fill of a sub-buffer is refused unless the memory is aligned, also the host's (Intel 2026.22).
    // quirk: INTEL-8
    pub refuses_fills_of_regions: bool,
    /// The driver may use a sub-device after the end of its last command (PoCL 3.1).
    // quirk: POCL-22
    pub uses_parts_late: bool,
}

impl Driver {
    /// The driver of a platform that is not listed.
    pub const UNKNOWN: Self = Self {
        unmaps_failed_maps: true,
        flush_blocks: false,
        confuses_regions: true,
        finds_maps_by_address: true,
        hides_cancellations: true,
        misplaces_pixels: true,
        checks_options: false,
        splits_options_at_quotes: true,
        keeps_arguments: true,
        forgets_arguments: false,
        aborts_on_long_names: true,
        // Elsewhere a region may begin at a byte where no fill of the whole buffer may.
        refuses_fills_of_regions: false,
        uses_parts_late: true,
    };

    /// A driver without these faults, but that of failed maps.
    const ORDERLY: Self = Self {
        confuses_regions: false,
        finds_maps_by_address: false,
        hides_cancellations: false,
        misplaces_pixels: false,
        splits_options_at_quotes: false,
        keeps_arguments: false,
        aborts_on_long_names: false,
        uses_parts_late: false,
        ..Self::UNKNOWN
    };

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
        match name {
            "Portable Computing Language" => Self {
                finds_maps_by_address: true,
                forgets_arguments: true,
                aborts_on_long_names: true,
                uses_parts_late: true,
                ..Self::ORDERLY
            },
            "Oclgrind" => Self { flush_blocks: true, ..Self::ORDERLY },
            "NVIDIA CUDA" => {
                let orderly = Self { checks_options: true, ..Self::ORDERLY };
                Self { unmaps_failed_maps: false, confuses_regions: true, ..orderly }
            }
            "rusticl" => Self {
                misplaces_pixels: true,
                splits_options_at_quotes: true,
                keeps_arguments: true,
                ..Self::ORDERLY
            },
            name if name.starts_with("Intel(R) OpenCL") => Self {
                finds_maps_by_address: true,
                hides_cancellations: true,
                checks_options: name == "Intel(R) OpenCL",
                refuses_fills_of_regions: true,
                ..Self::ORDERLY
            },
            _ => Self::UNKNOWN,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_unknown_platform_gets_every_workaround() {
        let Driver {
            unmaps_failed_maps,
            flush_blocks: _,
            confuses_regions,
            finds_maps_by_address,
            hides_cancellations,
            misplaces_pixels,
            checks_options,
            splits_options_at_quotes,
            keeps_arguments,
            forgets_arguments: _,
            aborts_on_long_names,
            refuses_fills_of_regions: _,
            uses_parts_late,
        } = Driver::of_platform("Another Platform");
        assert!(unmaps_failed_maps && misplaces_pixels && uses_parts_late);
        assert!(
            !checks_options && splits_options_at_quotes && keeps_arguments && aborts_on_long_names
        );
        assert!(confuses_regions && finds_maps_by_address && hides_cancellations);
        assert_eq!(Driver::of_platform(""), Driver::UNKNOWN);
    }

    #[test]
    fn known_platforms_get_their_own_workarounds() {
        assert!(Driver::of_platform("Portable Computing Language").finds_maps_by_address);
        assert!(!Driver::of_platform("NVIDIA CUDA").unmaps_failed_maps);
        assert!(Driver::of_platform("Intel(R) OpenCL").hides_cancellations);
        assert!(Driver::of_platform("Intel(R) OpenCL Graphics").hides_cancellations);
        assert!(Driver::of_platform("rusticl").misplaces_pixels);
    }
}
