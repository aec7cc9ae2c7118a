//! What memory objects need to know of their context, asked for once.

use std::sync::Arc;

use cl3::context::{CL_CONTEXT_DEVICES, get_context_info};
use cl3::device::{CL_DEVICE_MAX_MEM_ALLOC_SIZE, CL_DEVICE_MEM_BASE_ADDR_ALIGN, get_device_info};
use cl3::types::{cl_context, cl_device_id};

use crate::error::{Result, in_call};
use crate::handle::ContextRef;
use crate::memory::registry::Registry;

/// A context with what its devices allow. There is one per context as long as objects need it, so
/// two that are the same context are the same `Arc`.
#[derive(Debug)]
pub struct MemContext {
    context: ContextRef,
    devices: Vec<cl_device_id>,
    /// CL_DEVICE_MEM_BASE_ADDR_ALIGN of each device, in bytes.
    base_alignments: Vec<usize>,
    /// The largest CL_DEVICE_MAX_MEM_ALLOC_SIZE in bytes; `None` where a device does not tell.
    largest_allocation: Option<u64>,
}

// SAFETY: device handles may be used from any thread, and are valid as long as their context.
unsafe impl Send for MemContext {}
// SAFETY: as above.
unsafe impl Sync for MemContext {}

static KNOWN: Registry<MemContext> = Registry::new();

impl MemContext {
    /// # Safety
    /// `context` is a valid context.
    pub(crate) unsafe fn of(context: cl_context) -> Result<Arc<Self>> {
        // SAFETY: the caller vouches for the handle.
        KNOWN.find_or_ask(context.addr(), || Self::ask(unsafe { ContextRef::retain(context) }?))
    }

    fn ask(context: ContextRef) -> Result<Self> {
        let devices: Vec<isize> = get_context_info(context.get(), CL_CONTEXT_DEVICES)
            .map_err(in_call("clGetContextInfo"))?
            .into();
        let devices: Vec<_> = devices.into_iter().map(|device| device as cl_device_id).collect();
        let largest: Option<Vec<u64>> =
            devices.iter().map(|device| largest_allocation(*device)).collect();
        Ok(Self {
            base_alignments: devices.iter().map(|&device| base_alignment(device)).collect(),
            largest_allocation: largest.and_then(|sizes| sizes.into_iter().max()),
            context,
            devices,
        })
    }

    pub(crate) fn raw(&self) -> cl_context {
        self.context.get()
    }

    pub(crate) fn devices(&self) -> &[cl_device_id] {
        &self.devices
    }

    pub(crate) fn base_alignments(&self) -> &[usize] {
        &self.base_alignments
    }

    pub(crate) fn largest_allocation(&self) -> Option<u64> {
        self.largest_allocation
    }
}

/// CL_DEVICE_MAX_MEM_ALLOC_SIZE in bytes, if the device tells.
pub(crate) fn largest_allocation(device: cl_device_id) -> Option<u64> {
    get_device_info(device, CL_DEVICE_MAX_MEM_ALLOC_SIZE).ok().map(u64::from)
}

/// CL_DEVICE_MEM_BASE_ADDR_ALIGN, which is in bits, in bytes.
fn base_alignment(device: cl_device_id) -> usize {
    let bits = get_device_info(device, CL_DEVICE_MEM_BASE_ADDR_ALIGN).map_or(8, u32::from);
    (bits as usize / 8).max(1)
}
