//! The capabilities of devices with shared virtual memory (CL_DEVICE_SVM_CAPABILITIES).

use cl3::device as cl;
use cl3::error_codes::CL_INVALID_OPERATION;
use cl3::types::cl_device_id;

use super::flags::SvmFlags;
use crate::error::{Error, Result};
use crate::memory::context::MemContext;

/// A kind of shared virtual memory, by what a device must be able to do.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Needs {
    bits: u64,
    what: &'static str,
    instead: &'static str,
}

impl Needs {
    const COARSE: Self = Self {
        bits: cl::CL_DEVICE_SVM_COARSE_GRAIN_BUFFER,
        what: "shared virtual memory",
        instead: "use a Buffer",
    };
    const FINE: Self = Self {
        bits: cl::CL_DEVICE_SVM_FINE_GRAIN_BUFFER,
        what: "fine-grain shared virtual memory",
        instead: "leave out FINE_GRAIN_BUFFER and map the memory",
    };
    const ATOMICS: Self = Self {
        bits: cl::CL_DEVICE_SVM_ATOMICS,
        what: "atomics across host and device",
        instead: "leave out ATOMICS",
    };
    pub(super) const SYSTEM: Self = Self {
        bits: cl::CL_DEVICE_SVM_FINE_GRAIN_SYSTEM,
        what: "fine-grain system memory: it cannot use the host's pointers",
        instead: "use an SvmAllocation, or a Buffer",
    };

    fn has(self, capabilities: u64) -> bool {
        capabilities & self.bits == self.bits
    }
}

/// Refuses flags that no device of the context can do.
pub(super) fn check_flags(call: &'static str, context: &MemContext, flags: SvmFlags) -> Result<()> {
    let needs = [
        Some(Needs::COARSE),
        flags.contains(SvmFlags::FINE_GRAIN_BUFFER).then_some(Needs::FINE),
        flags.contains(SvmFlags::ATOMICS).then_some(Needs::ATOMICS),
    ];
    needs.into_iter().flatten().try_for_each(|needs| check(call, context, needs))
}

/// Refuses what no device of the context can do.
fn check(call: &'static str, context: &MemContext, needs: Needs) -> Result<()> {
    if context.devices().iter().any(|&device| needs.has(capabilities(device))) {
        return Ok(());
    }
    Err(lacking(call, context.devices(), needs))
}

/// Refuses what not all devices of the context can do.
pub(super) fn check_all(call: &'static str, context: &MemContext, needs: Needs) -> Result<()> {
    let lacks = |device: &&cl_device_id| !needs.has(capabilities(**device));
    match context.devices().iter().find(lacks) {
        Some(&device) => Err(lacking(call, &[device], needs)),
        None => Ok(()),
    }
}

fn lacking(call: &'static str, devices: &[cl_device_id], needs: Needs) -> Error {
    let names: Vec<String> = devices.iter().map(|&device| format!("'{}'", name(device))).collect();
    let Needs { what, instead, .. } = needs;
    let why = format!("the device {} has no {what}; {instead}", names.join(", "));
    Error::unsupported(call, CL_INVALID_OPERATION, why)
}

/// None before OpenCL 2.0.
fn capabilities(device: cl_device_id) -> u64 {
    cl::get_device_info(device, cl::CL_DEVICE_SVM_CAPABILITIES).map_or(0, u64::from)
}

fn name(device: cl_device_id) -> String {
    cl::get_device_info(device, cl::CL_DEVICE_NAME).map_or_else(|_| "?".to_owned(), String::from)
}
