//! A context, as far as memory objects need it.

use std::sync::Arc;

use cl3::context::{CL_CONTEXT_DEVICES, get_context_info};
use cl3::device::{
    CL_DEVICE_EXTENSIONS, CL_DEVICE_MAX_MEM_ALLOC_SIZE, CL_DEVICE_MEM_BASE_ADDR_ALIGN,
    CL_DEVICE_VERSION, get_device_info,
};
use cl3::error_codes::CL_INVALID_BUFFER_SIZE;
use cl3::types::{cl_context, cl_device_id};

use crate::device::Device;
use crate::error::{Error, Result};
use crate::handle::ContextRef;
use crate::select::Version;

/// The devices of a context. Sub-devices live as long as this: drivers do not keep them.
// quirk: DRIVER-17
#[derive(Debug)]
pub struct Devices {
    all: Vec<Device>,
    raw: Vec<cl_device_id>,
}

// SAFETY: device handles may be used from any thread, and `all` keeps them valid.
unsafe impl Send for Devices {}
// SAFETY: as above.
unsafe impl Sync for Devices {}

impl Devices {
    pub(crate) fn new(all: Vec<Device>) -> Self {
        Self { raw: all.iter().map(Device::as_raw).collect(), all }
    }

    /// Returns CL_CONTEXT_DEVICES; none where the driver cannot tell.
    ///
    /// # Safety
    /// `context` is a valid context.
    pub(crate) unsafe fn of_context(context: cl_context) -> Result<Self> {
        let raw = get_context_info(context, CL_CONTEXT_DEVICES).map(Vec::<isize>::from);
        // SAFETY: the driver says that they are the devices of a valid context.
        let device = |raw| unsafe { Device::from_raw(raw as cl_device_id) };
        let all: Result<_> = raw.unwrap_or_default().into_iter().map(device).collect();
        all.map(Self::new)
    }

    pub(crate) fn raw(&self) -> &[cl_device_id] {
        &self.raw
    }
}

/// A reference to a context, and its devices.
#[derive(Debug)]
pub struct MemContext {
    /// The first field: the devices must outlive the context.
    context: ContextRef,
    devices: Arc<Devices>,
}

impl MemContext {
    pub(crate) fn new(context: ContextRef, devices: Arc<Devices>) -> Self {
        Self { context, devices }
    }

    /// Adds a reference to a context.
    ///
    /// # Safety
    /// `context` is a valid context.
    pub(crate) unsafe fn from_raw(context: cl_context) -> Result<Arc<Self>> {
        // SAFETY: as the caller promises.
        let devices = Arc::new(unsafe { Devices::of_context(context) }?);
        // SAFETY: the caller vouches for the handle.
        let context = unsafe { ContextRef::retain(context) }?;
        Ok(Arc::new(Self::new(context, devices)))
    }

    /// Adds a reference to this context, for an object in it.
    pub(crate) fn retained(&self) -> Result<Arc<Self>> {
        // SAFETY: the context is alive.
        let context = unsafe { ContextRef::retain(self.raw()) }?;
        Ok(Arc::new(Self::new(context, Arc::clone(&self.devices))))
    }

    #[inline]
    pub(crate) fn raw(&self) -> cl_context {
        self.context.get()
    }

    /// CL_CONTEXT_DEVICES; none where the driver cannot tell.
    pub(crate) fn devices(&self) -> &[cl_device_id] {
        self.devices.raw()
    }

    /// The same, with references to sub-devices.
    pub(crate) fn all_devices(&self) -> &[Device] {
        &self.devices.all
    }

    /// CL_DEVICE_MEM_BASE_ADDR_ALIGN of each device, in bytes.
    pub(crate) fn base_alignments(&self) -> impl Iterator<Item = usize> {
        self.devices().iter().map(|device| base_alignment(*device))
    }

    /// The largest CL_DEVICE_MAX_MEM_ALLOC_SIZE in bytes; `None` where a device does not tell.
    pub(crate) fn largest_allocation(&self) -> Option<u64> {
        let sizes: Option<Vec<u64>> =
            self.devices().iter().map(|device| largest_allocation(*device)).collect();
        sizes?.into_iter().max()
    }

    /// Refuses a size in bytes that is more than any device can allocate at once. Oclgrind accepts it.
    // quirk: OCLGRIND-6
    pub(crate) fn check_size(&self, call: &'static str, size: usize) -> Result<()> {
        match self.largest_allocation() {
            Some(largest) if size as u64 > largest => {
                let reason = format!(
                    "the size is {size} bytes, the context's devices allocate at most {largest} at once"
                );
                Err(Error::refused(call, CL_INVALID_BUFFER_SIZE, reason))
            }
            _ => Ok(()),
        }
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

/// Returns the version of OpenCL that a device has, 0.0 if it does not tell.
pub(crate) fn version(device: cl_device_id) -> Version {
    let text = get_device_info(device, CL_DEVICE_VERSION).map_or(String::new(), String::from);
    Version::parse(&text).unwrap_or_default()
}

/// Returns whether a device has an extension.
pub(crate) fn has_extension(device: cl_device_id, extension: &str) -> bool {
    get_device_info(device, CL_DEVICE_EXTENSIONS).is_ok_and(|extensions| {
        String::from(extensions).split_whitespace().any(|name| name == extension)
    })
}
