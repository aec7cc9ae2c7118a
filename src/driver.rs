//! Behaviour of drivers that the library has to know, selected by the name of the platform.
//!
//! A platform that is not listed gets every workaround: each of them is right on a driver without
//! the fault, and costs nothing as long as no command fails.

use cl3::device::{CL_DEVICE_PLATFORM, get_device_info};
use cl3::platform::{CL_PLATFORM_NAME, get_platform_info};
use cl3::types::{cl_device_id, cl_platform_id};

/// The behaviour of one driver.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Driver {
    /// An in-order queue is unusable after one of its commands has failed: later commands fail or
    /// overtake earlier ones (NVIDIA 580).
    // quirk: NVIDIA-1
    pub poisons_queues: bool,
    /// The driver may still use the event of a failed command after it has reported the failure
    /// (PoCL 3.1).
    // quirk: POCL-3
    pub uses_failed_events: bool,
    /// A command hangs if a command that it depends on fails while it is enqueued (PoCL 3.1).
    // quirk: POCL-14
    pub misses_failures: bool,
    /// A failed map counts as a map and has to be unmapped.
    // quirk: DRIVER-8, NVIDIA-2
    pub unmaps_failed_maps: bool,
    /// `clFlush` returns when the commands of the queue have ended (Oclgrind 21.10).
    // quirk: OCLGRIND-2
    pub flush_blocks: bool,
    /// An argument of a kernel that was set to a pointer cannot be set to a memory object (NVIDIA 580).
    // quirk: NVIDIA-7
    pub keeps_pointers: bool,
    /// Maps of sub-buffers that overlap corrupt the driver, even one after the other (NVIDIA 580).
    // quirk: NVIDIA-11
    pub confuses_mapped_regions: bool,
}

impl Driver {
    /// The driver of a platform that is not listed.
    pub const UNKNOWN: Self = Self {
        poisons_queues: true,
        uses_failed_events: true,
        misses_failures: true,
        unmaps_failed_maps: true,
        flush_blocks: false,
        keeps_pointers: true,
        confuses_mapped_regions: true,
    };

    /// A driver that keeps the order of its commands after a failure.
    const ORDERLY: Self = Self {
        poisons_queues: false,
        uses_failed_events: false,
        misses_failures: false,
        keeps_pointers: false,
        confuses_mapped_regions: false,
        ..Self::UNKNOWN
    };

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
                poisons_queues: false,
                keeps_pointers: false,
                confuses_mapped_regions: false,
                ..Self::UNKNOWN
            },
            "Oclgrind" => Self { flush_blocks: true, ..Self::ORDERLY },
            "NVIDIA CUDA" => Self {
                poisons_queues: true,
                unmaps_failed_maps: false,
                keeps_pointers: true,
                confuses_mapped_regions: true,
                ..Self::ORDERLY
            },
            "rusticl" => Self::ORDERLY,
            name if name.starts_with("Intel(R) OpenCL") => Self::ORDERLY,
            _ => Self::UNKNOWN,
        }
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;

    #[test]
    fn an_unknown_platform_gets_every_workaround() {
        let Driver {
            poisons_queues,
            uses_failed_events,
            misses_failures,
            unmaps_failed_maps,
            keeps_pointers,
            confuses_mapped_regions,
            ..
        } = Driver::of_platform("Another Platform");
        assert!(poisons_queues && uses_failed_events && misses_failures && unmaps_failed_maps);
        assert!(keeps_pointers && confuses_mapped_regions);
        assert_eq!(Driver::of_platform(""), Driver::UNKNOWN);
    }

    #[test]
    fn known_platforms_get_their_own_workarounds() {
        assert!(!Driver::of_platform("Portable Computing Language").poisons_queues);
        assert!(Driver::of_platform("Portable Computing Language").uses_failed_events);
        assert!(Driver::of_platform("NVIDIA CUDA").poisons_queues);
        assert!(!Driver::of_platform("NVIDIA CUDA").unmaps_failed_maps);
        assert_eq!(Driver::of_platform("Intel(R) OpenCL"), Driver::ORDERLY);
        assert_eq!(Driver::of_platform("Intel(R) OpenCL Graphics"), Driver::ORDERLY);
        assert_eq!(Driver::of_platform("rusticl"), Driver::ORDERLY);
    }
}
