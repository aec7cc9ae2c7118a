//! The environment variables that change the behaviour of a driver.

use crate::variable;
use std::ffi::OsString;

/// Prefixes of the variables that loaders and drivers read.
const PREFIXES: [&str; 16] = [
    "OCL_",
    "OPENCL_",
    "POCL_",
    "PYOPENCL_HOME",
    "RUSTICL_",
    "MESA_",
    "LP_",
    "CUDA_",
    "NVIDIA_",
    "GPU_",
    "ROCR_",
    "HIP_",
    "ZE_",
    "CL_",
    "OCLGRIND_",
    "LD_LIBRARY_PATH",
];

/// Returns the variables of this process that loaders and drivers read, with their values, sorted.
pub fn driver_variables() -> Vec<(OsString, OsString)> {
    let is_read = |name: &OsString| {
        name.to_str().is_some_and(|name| PREFIXES.iter().any(|prefix| name.starts_with(prefix)))
    };
    let mut variables: Vec<_> = variable::all().filter(|(name, _)| is_read(name)).collect();
    variables.sort();
    variables
}
