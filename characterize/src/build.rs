//! The build of programs, and the faults of drivers there.

use std::fmt;

use super::facts::Facts;
use super::trial_build::TrialBuild;
use super::warning::Characterized;
use clmatrix::Result;
use clmatrix::select::{DeviceType, Version};

/// The drivers that count the members of structures as arguments of a kernel.
///
/// ```
/// use clmatrix::Device;
/// use clmatrix_characterize::Facts;
///
/// # fn main() -> clmatrix::Result<()> {
/// let context = clmatrix::create_some_context()?;
/// let device = context.default_device().clone();
/// if let Some(bug) = Facts::query(&device)?.has_struct_arg_count_bug(device)?.value {
///     println!("pass no structures by value: the driver is that of {bug}");
/// }
/// # Ok(())
/// # }
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, serde::Serialize, serde::Deserialize)]
#[serde(rename_all = "lowercase")]
#[non_exhaustive]
pub enum StructArgCountBug {
    /// Apple's CPU devices.
    Apple,
    /// PoCL up to 0.13, and some builds of 0.14.
    Pocl,
}

/// PyOpenCL's names.
impl fmt::Display for StructArgCountBug {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Apple => "apple",
            Self::Pocl => "pocl",
        })
    }
}

impl Facts {
    /// Options for fast floating-point arithmetic that may be inaccurate (PyOpenCL's
    /// `get_fast_inaccurate_build_options`).
    pub fn fast_inaccurate_build_options(&self) -> &'static [&'static str] {
        const WITH_ALIASING: &[&str] = &[
            "-cl-mad-enable",
            "-cl-fast-relaxed-math",
            "-cl-no-signed-zeros",
            "-cl-strict-aliasing",
        ];
        let takes_aliasing =
            self.vendor.starts_with("Advanced Micro") || self.vendor.starts_with("NVIDIA");
        if takes_aliasing { WITH_ALIASING } else { &WITH_ALIASING[..3] }
    }

    /// Returns whether the driver keeps the programs that it has built from source; `None` where that is
    /// not known (PyOpenCL's `has_src_build_cache`).
    pub fn has_src_build_cache(&self) -> Option<bool> {
        if self.is_pocl() || self.nv_compute_capability.is_some() {
            return Some(true);
        }
        (self.platform_name == "AMD Accelerated Parallel Processing").then_some(false)
    }

    /// Returns the driver's bug, if the driver takes each member of a structure for an argument, so that a
    /// kernel with one structure has too many (PyOpenCL's `has_struct_arg_count_bug`, PoCL's issue 197).
    ///
    /// # Errors
    /// For PoCL 0.14, for which a kernel is built, the driver's errors.
    pub fn has_struct_arg_count_bug(
        &self,
        builds: impl TrialBuild,
    ) -> Result<Characterized<Option<StructArgCountBug>>> {
        const HAS_IT: Version = Version { major: 0, minor: 13 };
        const MAY_HAVE_IT: Version = Version { major: 0, minor: 14 };
        if self.platform_name == "Apple" && self.device_type.contains(DeviceType::CPU) {
            return Ok(Characterized::known(Some(StructArgCountBug::Apple)));
        }
        let pocl = self.pocl_version(Some(MAY_HAVE_IT));
        let has_it = match pocl.value {
            None => false,
            Some(version) if version > MAY_HAVE_IT => false,
            Some(version) => version <= HAS_IT || builds.struct_arg_count()? == 2,
        };
        Ok(pocl.map(|_| has_it.then_some(StructArgCountBug::Pocl)))
    }
}
