//! The part of a context that memory objects need.

use std::mem;
use std::sync::Arc;

use cl3::context::{CL_CONTEXT_DEVICES, get_context_info};
use cl3::device::{CL_DEVICE_MAX_MEM_ALLOC_SIZE, CL_DEVICE_MEM_BASE_ADDR_ALIGN, get_device_info};
use cl3::error_codes::{CL_INVALID_BUFFER_SIZE, CL_INVALID_CONTEXT};
use cl3::info_type::InfoType;
use cl3::types::{cl_context, cl_device_id};

use crate::device::{Device, OLDEST, check_versions};
use crate::dropped_queues::DroppedQueues;
use crate::error::{Error, Result, in_call};
use crate::handle::ContextRef;

/// A reference to a context, and its devices. Sub-devices live as long as this: drivers do not keep them.
// quirk: DRIVER-17
#[derive(Debug)]
pub struct MemContext {
    /// The first field: the devices must outlive the context.
    context: ContextRef,
    devices: Arc<[Device]>,
    /// Shared by all objects that were created through one `Context`; [`ContextWatch`] counts them by it.
    ///
    /// [`ContextWatch`]: crate::ContextWatch
    pub(crate) dropped_queues: Arc<DroppedQueues>,
}

impl MemContext {
    /// Takes over a context of `devices`, at least one.
    pub(crate) fn new(context: ContextRef, devices: Arc<[Device]>) -> Self {
        Self { context, devices, dropped_queues: Arc::default() }
    }

    /// Takes over a reference to a context, unless this fails.
    ///
    /// # Safety
    /// `context` is a valid context, and the caller owns a reference to it.
    pub(crate) unsafe fn from_raw(context: cl_context) -> Result<Arc<Self>> {
        const CALL: &str = "clGetContextInfo";
        let devices: Vec<isize> =
            get_context_info(context, CL_CONTEXT_DEVICES).map_err(in_call(CALL))?.into();
        let reason = "the driver lists no device of the context";
        Error::refuse_if(devices.is_empty(), CALL, CL_INVALID_CONTEXT, || reason)?;
        // SAFETY: the driver says that they are the devices of a valid context.
        let device = |raw| unsafe { Device::retain_raw(raw as cl_device_id) };
        let devices = devices.into_iter().map(device).collect::<Result<Arc<[_]>>>()?;
        check_versions(CALL, &devices, OLDEST)?;
        // SAFETY: as the caller promises.
        let context = unsafe { ContextRef::owned(context) };
        Ok(Arc::new(Self::new(context, devices)))
    }

    /// Adds a reference to the context of an object.
    ///
    /// # Safety
    /// `answer` is the driver's, to a query for the context of a valid object.
    pub(crate) unsafe fn retain_answer(answer: InfoType) -> Result<Arc<Self>> {
        let context = isize::from(answer) as cl_context;
        // SAFETY: the context of a valid object is valid.
        let reference = unsafe { ContextRef::retain(context) }?;
        // SAFETY: there is a reference to take over.
        let context = unsafe { Self::from_raw(context) }?;
        mem::forget(reference);
        Ok(context)
    }

    /// Adds a reference to this context, for an object in it.
    pub(crate) fn retained(&self) -> Result<Arc<Self>> {
        // SAFETY: the context is alive.
        let context = unsafe { ContextRef::retain(self.raw()) }?;
        let (devices, dropped_queues) = (self.devices.clone(), self.dropped_queues.clone());
        Ok(Arc::new(Self { context, devices, dropped_queues }))
    }

    #[inline]
    pub(crate) fn raw(&self) -> cl_context {
        self.context.get()
    }

    /// CL_CONTEXT_DEVICES.
    pub(crate) fn devices(&self) -> &[Device] {
        &self.devices
    }

    /// CL_DEVICE_MEM_BASE_ADDR_ALIGN of each device, in bytes.
    pub(crate) fn base_alignments(&self) -> impl Iterator<Item = usize> {
        self.devices().iter().map(|device| {
            let bits = get_device_info(device.as_raw(), CL_DEVICE_MEM_BASE_ADDR_ALIGN);
            (bits.map_or(8, u32::from) as usize / 8).max(1)
        })
    }

    /// The largest CL_DEVICE_MAX_MEM_ALLOC_SIZE in bytes; `None` where a device does not report it.
    pub(crate) fn largest_allocation(&self) -> Option<usize> {
        let sizes: Option<Vec<_>> = self.devices().iter().map(largest_allocation).collect();
        sizes?.into_iter().max()
    }

    /// Refuses a size in bytes that is more than any device can allocate at once. Oclgrind accepts it.
    // quirk: OCLGRIND-6
    pub(crate) fn check_size(&self, call: &'static str, size: usize) -> Result<()> {
        let largest = self.largest_allocation().unwrap_or(usize::MAX);
        Error::refuse_if(size > largest, call, CL_INVALID_BUFFER_SIZE, || {
            format!(
                "the size is {size} bytes, the context's devices allocate at most {largest} at once"
            )
        })
    }
}

/// CL_DEVICE_MAX_MEM_ALLOC_SIZE in bytes, if the device reports it.
pub(crate) fn largest_allocation(device: &Device) -> Option<usize> {
    let bytes = get_device_info(device.as_raw(), CL_DEVICE_MAX_MEM_ALLOC_SIZE).ok()?;
    Some(usize::try_from(u64::from(bytes)).unwrap_or(usize::MAX))
}
