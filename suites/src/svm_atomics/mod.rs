//! Atomic operations on shared virtual memory (OpenCL 3.0 API, 5.6; OpenCL C 3.0, 6.15.12), between
//! host and device, between the kernels of two queues, and between the work groups of a kernel.
//!
//! No test relies on a device that runs while the host does. Where two sides do run at the same
//! time, the sums and the order of memory accesses must be right; a wait for the other side is
//! bounded.

mod devices;
mod flags;
mod host;
mod operations;

use std::slice;
use std::sync::atomic::{AtomicU32, Ordering};

use clmatrix::memory::{SvmAllocation, SvmFlags, SvmPointer};
use clmatrix::{Kernel, Result};
use clmatrix_harness::skip;
use rstest::rstest;

use crate::support::excuse::Excuse;
use crate::support::on_device::{OnDevice, on_device};
use crate::support::unanswered;

/// Memory whose atomic operations the host and all devices see.
const ATOMICS: SvmFlags =
    SvmFlags::READ_WRITE.union(SvmFlags::FINE_GRAIN_BUFFER).union(SvmFlags::ATOMICS);

/// CL_DEVICE_SVM_ATOMICS.
const SVM_ATOMICS: u64 = 1 << 3;

/// The scope of a kernel's atomic operations: the devices that see them.
#[derive(Clone, Copy, Debug)]
enum Scope {
    Device,
    AllSvmDevices,
}

impl Scope {
    fn name(self) -> &'static str {
        match self {
            Self::Device => "memory_scope_device",
            Self::AllSvmDevices => "memory_scope_all_svm_devices",
        }
    }

    /// CL_DEVICE_ATOMIC_SCOPE_DEVICE, CL_DEVICE_ATOMIC_SCOPE_ALL_DEVICES.
    fn capability(self) -> u64 {
        match self {
            Self::Device => 1 << 5,
            Self::AllSvmDevices => 1 << 6,
        }
    }
}

/// The orders that a device may lack, by a part of their names: CL_DEVICE_ATOMIC_ORDER_ACQ_REL,
/// CL_DEVICE_ATOMIC_ORDER_SEQ_CST.
const ORDERS: [(&str, u64); 3] =
    [("order_acq", 1 << 1), ("order_release", 1 << 1), ("order_seq", 1 << 2)];

/// The kernel `k` of `source`, in the newest OpenCL C of the device up to 3.0. `SCOPE` is the scope.
/// Skips the test where the device lacks the scope or an order.
fn kernel(on_device: &OnDevice, source: &str, scope: Scope) -> Result<Kernel> {
    let device = on_device.context.default_device().opencl3();
    let is_2 = device.version().map_err(unanswered)?.starts_with("OpenCL 2.");
    let orders = ORDERS.iter().filter(|(order, _)| source.contains(order));
    let needed = orders.fold(scope.capability(), |needed, (_, order)| needed | order);
    // OpenCL 2.x has all orders and scopes.
    if !is_2 && device.atomic_memory_capabilities().map_err(unanswered)? & needed != needed {
        skip!("the device has no atomic operations of this order and scope");
    }
    let version = if is_2 { "CL2.0" } else { "CL3.0" };
    on_device.kernel(source, &format!("-cl-std={version} -DSCOPE={}", scope.name()))
}

/// Words in shared memory.
struct Words(SvmAllocation);

impl Words {
    fn new(on_device: &OnDevice, flags: SvmFlags, values: &[u32]) -> Result<Self> {
        let words = Self(SvmAllocation::new(&on_device.context, size_of_val(values), 0, flags)?);
        for (word, value) in words.words().iter().zip(values) {
            word.store(*value, Ordering::SeqCst);
        }
        Ok(words)
    }

    /// The words, for the host, which may use fine-grain memory while kernels do.
    fn words(&self) -> &[AtomicU32] {
        // SAFETY: the memory is aligned for every type of OpenCL, lives as long as `self`, and
        // kernels change it by atomic operations only, or before the host looks.
        unsafe { slice::from_raw_parts(self.0.svm_ptr().cast(), self.0.size() / 4) }
    }

    /// All values.
    fn values(&self) -> Vec<u32> {
        self.words().iter().map(|word| word.load(Ordering::SeqCst)).collect()
    }
}
