//! Kernels launched with checked arguments (OpenCL 3.0, 5.8 and 5.9; PyOpenCL's `Kernel`).
//!
//! The output of a kernel shows its arguments.

mod args;
mod recorded;
mod refused;
mod reuse;
mod sizes;

use clmatrix::{Kernel, Result};

use crate::support::on_device::OnDevice;

/// With this option, every driver tells what the arguments are.
const ARG_INFO: &str = "-cl-kernel-arg-info";

/// The kernel `k` of `source`, whose arguments are known.
fn known(on_device: &OnDevice, source: &str) -> Result<Kernel> {
    on_device.kernel(source, ARG_INFO)
}
