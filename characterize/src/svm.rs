//! Shared virtual memory, by the answers of platform and device.

use cl3::error_codes::CL_INVALID_VALUE;

use super::facts::Facts;
use clmatrix::select::{SvmCapabilities, Version};
use clmatrix::{Error, Result};

const CALL: &str = "clGetDeviceInfo";

impl Facts {
    /// Returns whether there is coarse-grain shared virtual memory (PyOpenCL's
    /// `has_coarse_grain_buffer_svm`).
    ///
    /// # Errors
    /// An error of class [`Unsupported`](clmatrix::Class::Unsupported) where the platform's version cannot be read,
    /// or the driver does not support CL_DEVICE_SVM_CAPABILITIES although its version has it.
    pub fn has_coarse_grain_buffer_svm(&self) -> Result<bool> {
        Ok(self.svm()?.contains(SvmCapabilities::COARSE_GRAIN_BUFFER))
    }

    /// Returns whether there is fine-grain shared virtual memory (PyOpenCL's `has_fine_grain_buffer_svm`).
    ///
    /// # Errors
    /// The errors of [`has_coarse_grain_buffer_svm`](Self::has_coarse_grain_buffer_svm).
    pub fn has_fine_grain_buffer_svm(&self) -> Result<bool> {
        Ok(self.svm()?.contains(SvmCapabilities::FINE_GRAIN_BUFFER))
    }

    /// Returns whether kernels can use any memory of the host (PyOpenCL's `has_fine_grain_system_svm`).
    ///
    /// # Errors
    /// The errors of [`has_coarse_grain_buffer_svm`](Self::has_coarse_grain_buffer_svm).
    pub fn has_fine_grain_system_svm(&self) -> Result<bool> {
        Ok(self.svm()?.contains(SvmCapabilities::FINE_GRAIN_SYSTEM))
    }

    /// Returns whether host and device can use atomics on fine-grain shared virtual memory (PyOpenCL's
    /// `has_fine_grain_buffer_svm_atomics`).
    ///
    /// # Errors
    /// The errors of [`has_coarse_grain_buffer_svm`](Self::has_coarse_grain_buffer_svm).
    pub fn has_fine_grain_buffer_svm_atomics(&self) -> Result<bool> {
        let svm = self.svm()?;
        Ok(svm.contains(SvmCapabilities::FINE_GRAIN_BUFFER | SvmCapabilities::ATOMICS))
    }

    /// Returns whether host and device can use atomics on any memory of the host (PyOpenCL's
    /// `has_fine_grain_system_svm_atomics`).
    ///
    /// # Errors
    /// The errors of [`has_coarse_grain_buffer_svm`](Self::has_coarse_grain_buffer_svm).
    pub fn has_fine_grain_system_svm_atomics(&self) -> Result<bool> {
        let svm = self.svm()?;
        Ok(svm.contains(SvmCapabilities::FINE_GRAIN_SYSTEM | SvmCapabilities::ATOMICS))
    }

    /// Returns the capabilities; none if the version has none, whatever the driver says.
    fn svm(&self) -> Result<SvmCapabilities> {
        if !self.may_have_svm()? {
            return Ok(SvmCapabilities::default());
        }
        self.svm_capabilities.ok_or_else(|| {
            let reason = "the driver does not report CL_DEVICE_SVM_CAPABILITIES; do not use shared \
                       virtual memory";
            Error::unsupported(CALL, CL_INVALID_VALUE, reason)
        })
    }

    /// Returns true for OpenCL 2.0, and for PoCL from 1.0 on with any version of OpenCL.
    fn may_have_svm(&self) -> Result<bool> {
        if self.is_pocl() {
            let version = self.pocl_version(None).value.ok_or_else(|| self.unknown_version())?;
            return Ok(version >= Version { major: 1, minor: 0 });
        }
        let opencl = Version::parse(&self.platform_version);
        Ok(opencl.ok_or_else(|| self.unknown_version())?.major >= 2)
    }

    fn unknown_version(&self) -> Error {
        let reason = format!("the platform's version {:?} is invalid", self.platform_version);
        Error::unsupported("clGetPlatformInfo", CL_INVALID_VALUE, reason)
    }
}
