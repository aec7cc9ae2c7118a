//! One reference to a driver's memory object, shared by all handles to it.

use std::sync::Arc;

use cl3::info_type::InfoType;
use cl3::memory as cl;
use cl3::types::{cl_context, cl_device_id, cl_mem};

use super::flags::MemFlags;
use super::uses::Uses;
use crate::error::{Error, Result, in_call};
use crate::handle::ContextRef;

/// A memory object. Its reference is released when the last handle is dropped.
#[derive(Debug)]
pub(crate) struct MemObject {
    raw: cl_mem,
    about: About,
    /// Of this object and its regions; unused in a region.
    uses: Uses,
    /// The object that this is a region of; it has no parent itself.
    parent: Option<Arc<MemObject>>,
    /// Last, for the events in `uses` need it.
    context: Arc<ContextRef>,
}

/// What never changes about a memory object. Sizes are in bytes.
#[derive(Clone, Copy, Debug)]
pub(super) struct About {
    pub flags: MemFlags,
    pub size: usize,
    /// Where it begins in its parent.
    pub offset: usize,
}

// SAFETY: OpenCL's objects other than kernels may be used from any thread at once
// (OpenCL 3.0, appendix A.2); all else is Send.
unsafe impl Send for MemObject {}
// SAFETY: as above; all else is Sync.
unsafe impl Sync for MemObject {}

impl MemObject {
    /// Takes over one reference to `raw`.
    ///
    /// # Safety
    /// `raw` is a valid memory object of `context` of which the caller owns a reference, `about` is
    /// true of it, and it is a region of `parent` if there is one.
    pub(super) unsafe fn adopt(
        raw: cl_mem,
        context: Arc<ContextRef>,
        about: About,
        parent: Option<Arc<MemObject>>,
    ) -> Self {
        Self { raw, about, uses: Uses::default(), parent, context }
    }

    pub(super) fn about(&self) -> About {
        self.about
    }

    pub(super) fn raw(&self) -> cl_mem {
        self.raw
    }

    pub(super) fn context(&self) -> &Arc<ContextRef> {
        &self.context
    }

    pub(super) fn parent(&self) -> Option<&Arc<MemObject>> {
        self.parent.as_ref()
    }

    /// The uses of the bytes that this object shares with its parent and other regions.
    pub(super) fn uses(&self) -> &Uses {
        match &self.parent {
            Some(parent) => &parent.uses,
            None => &self.uses,
        }
    }

    /// The devices of the context.
    pub(super) fn devices(&self) -> Result<Vec<cl_device_id>> {
        devices_of(self.context.get())
    }
}

/// `clGetMemObjectInfo` of an object that is alive.
pub(super) fn info(raw: cl_mem, name: u32) -> Result<InfoType> {
    cl::get_mem_object_info(raw, name).map_err(in_call("clGetMemObjectInfo"))
}

/// The devices of a context that is alive.
pub(super) fn devices_of(context: cl_context) -> Result<Vec<cl_device_id>> {
    let devices = cl3::context::get_context_info(context, cl3::context::CL_CONTEXT_DEVICES)
        .map_err(in_call("clGetContextInfo"))?;
    let devices: Vec<isize> = devices.into();
    Ok(devices.into_iter().map(|device| device as cl_device_id).collect())
}

impl Drop for MemObject {
    fn drop(&mut self) {
        // SAFETY: the reference is ours, and given up once.
        if let Err(code) = unsafe { cl::release_mem_object(self.raw) } {
            log::error!("{}", Error::from_call("clReleaseMemObject", code));
        }
    }
}
