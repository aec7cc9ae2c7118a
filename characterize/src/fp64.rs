//! Double precision, by the extensions that devices list.

use super::facts::Facts;

impl Facts {
    /// Returns whether the device lists `cl_khr_fp64` (PyOpenCL's `has_double_support`).
    ///
    /// From OpenCL 1.2 on, a device may have doubles without listing it: see `fp64` of
    /// [`DeviceInfo`](clmatrix::select::DeviceInfo).
    pub fn has_double_support(&self) -> bool {
        self.has_extension("cl_khr_fp64")
    }

    /// Returns whether the device lists `cl_amd_fp64`, with which old AMD boards have doubles in part
    /// (PyOpenCL's `has_amd_double_support`).
    pub fn has_amd_double_support(&self) -> bool {
        self.has_extension("cl_amd_fp64")
    }
}
