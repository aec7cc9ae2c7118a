//! The identity of a device, from queries that only its vendor's drivers answer.

use super::facts::Facts;
use clmatrix::select::Version;

/// The answers of NVIDIA's drivers (`cl_nv_device_attribute_query`).
///
/// ```
/// use clmatrix::Device;
/// use clmatrix_characterize::Facts;
///
/// # fn main() -> clmatrix::Result<()> {
/// let context = clmatrix::create_some_context()?;
/// let facts = Facts::query(context.default_device())?;
/// if let Some(gpu) = facts.nvidia() {
///     println!("{} multiprocessors of {}", gpu.sm_count, gpu.compute_capability);
/// }
/// # Ok(())
/// # }
/// ```
#[derive(Clone, Debug, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
#[non_exhaustive]
pub struct Nvidia {
    /// The compute capability.
    pub compute_capability: Version,
    /// `domain:bus:device.function`.
    pub pci_address: Option<String>,
    /// The number of multiprocessors, which are the compute units.
    pub sm_count: u32,
    /// The number of work items of a warp.
    pub warp_size: Option<u32>,
}

/// The answers of AMD's drivers (`cl_amd_device_attribute_query`).
///
/// ```
/// use clmatrix::Device;
/// use clmatrix_characterize::Facts;
///
/// # fn main() -> clmatrix::Result<()> {
/// let context = clmatrix::create_some_context()?;
/// let facts = Facts::query(context.default_device())?;
/// if let Some(gpu) = facts.amd() {
///     println!("{} at {}", gpu.board_name, gpu.topology.unwrap_or_default());
/// }
/// # Ok(())
/// # }
/// ```
#[derive(Clone, Debug, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
#[non_exhaustive]
pub struct Amd {
    /// CL_DEVICE_BOARD_NAME_AMD.
    pub board_name: String,
    /// The number of work items of a wavefront.
    pub wavefront_width: Option<u32>,
    /// CL_DEVICE_TOPOLOGY_AMD: `domain:bus:device.function`.
    pub topology: Option<String>,
}

impl Facts {
    /// Returns the compute capability; `None` unless the driver is NVIDIA's, or answers as NVIDIA's does
    /// (PyOpenCL's `nv_compute_capability`).
    pub fn nv_compute_capability(&self) -> Option<Version> {
        self.nv_compute_capability
    }

    /// Returns the identity of the device, if it has a compute capability.
    pub fn nvidia(&self) -> Option<Nvidia> {
        Some(Nvidia {
            compute_capability: self.nv_compute_capability?,
            pci_address: self.pci_address.clone(),
            sm_count: self.max_compute_units,
            warp_size: self.nv_warp_size,
        })
    }

    /// Returns the identity of the device, if it has a board name.
    pub fn amd(&self) -> Option<Amd> {
        Some(Amd {
            board_name: self.amd_board_name.clone()?,
            wavefront_width: self.amd_wavefront_width,
            topology: self.pci_address.clone(),
        })
    }
}
