//! Kernels launched with checked arguments (OpenCL 3.0, 5.8 and 5.9; PyOpenCL's `Kernel`).
//!
//! The output of a kernel shows its arguments.

mod args;
mod recorded;
mod refused;
mod reuse;
mod sizes;

use clmatrix::launch::{Launch, NullBuffer, WorkSize};
use clmatrix::memory::*;
use clmatrix::{Device, Error, Event, Kernel, LocalMemory, Program, Result};
use rstest::rstest;

use crate::buffer::{
    DOUBLE, WAIT_LIST_FAILED, buffer_and_gate, buffer_of, buffer_with, bytes_in, contents,
    counting, refusal,
};
use crate::support::gate::*;
use crate::support::on_device::*;
use crate::support::pattern::*;

/// With this option, every driver tells what the arguments are.
const ARG_INFO: &str = "-cl-kernel-arg-info";

/// A kernel without arguments. An empty one does not build on NVIDIA.
const NOTHING: &str = "kernel void k(void) { barrier(CLK_LOCAL_MEM_FENCE); }";

/// The kernel `k` of `source`, whose arguments are known.
fn known(on_device: &OnDevice, source: &str) -> Result<Kernel> {
    on_device.kernel(source, ARG_INFO)
}
