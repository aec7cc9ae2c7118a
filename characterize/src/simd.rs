//! The number of work items that a device executes in lockstep.

use cl3::error_codes::CL_INVALID_DEVICE_TYPE;

use super::facts::Facts;
use super::trial_build::TrialBuild;
use clmatrix::select::DeviceType;
use clmatrix::{Error, Result};

impl Facts {
    /// Returns the number of work items that a device executes in lockstep, the implicit kind of SIMD: NVIDIA's warp,
    /// AMD's wavefront (PyOpenCL's `get_simd_group_size`). `None` if it is unknown.
    ///
    /// `type_size`, the size of an element in bytes, makes no difference yet, as in PyOpenCL.
    ///
    /// It is 1 for a CPU. Vendors are recognised by parts of their names, among them `ati`, which is in
    /// `Corporation`: a GPU or an accelerator of Intel counts as one of AMD, as in PyOpenCL.
    ///
    /// # Errors
    /// CL_INVALID_DEVICE_TYPE for a device of AMD that is neither GPU nor CPU, and, where a kernel
    /// is built, the driver's errors.
    pub fn simd_group_size(
        &self,
        type_size: usize,
        builds: impl TrialBuild,
    ) -> Result<Option<usize>> {
        let _ = type_size;
        if let Some(warp) = self.nv_warp_size {
            return Ok(Some(warp as usize));
        }
        if self.vendors_contain("nvidia") {
            return Ok(Some(32));
        }
        if self.vendors_contain("advanced micro") || self.vendors_contain("ati") {
            return self.amd_simd_group_size(builds).map(Some);
        }
        Ok(self.device_type.contains(DeviceType::CPU).then_some(1))
    }

    fn amd_simd_group_size(&self, builds: impl TrialBuild) -> Result<usize> {
        if self.device_type.contains(DeviceType::GPU) {
            // Boards differ in the width of their wavefronts, and the driver knows it.
            self.reasonable_work_group_size_multiple(builds)
        } else if self.device_type.contains(DeviceType::CPU) {
            Ok(1)
        } else {
            let reason =
                format!("no SIMD width is known for AMD devices of type {}", self.device_type);
            Err(Error::unsupported("clGetDeviceInfo", CL_INVALID_DEVICE_TYPE, reason))
        }
    }

    /// Returns the factor of good work group sizes (PyOpenCL's `reasonable_work_group_size_multiple`): the
    /// size of a warp, or the driver's preference for a small kernel.
    ///
    /// # Errors
    /// Where a kernel is built, the driver's errors.
    pub fn reasonable_work_group_size_multiple(&self, builds: impl TrialBuild) -> Result<usize> {
        match self.nv_warp_size {
            Some(warp) => Ok(warp as usize),
            None => builds.preferred_work_group_size_multiple(),
        }
    }

    /// Returns whether the platform's vendor or the device's has `part` in its name, in any case.
    fn vendors_contain(&self, part: &str) -> bool {
        [&self.platform_vendor, &self.vendor]
            .into_iter()
            .any(|vendor| vendor.to_lowercase().contains(part))
    }
}
