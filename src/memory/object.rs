//! What all memory objects have in common (OpenCL 3.0, 5.5; `pyopencl.MemoryObject`).

use std::ops::Range;
use std::sync::Arc;

use cl3::error_codes::{CL_INVALID_MEM_OBJECT, CL_INVALID_OPERATION};
use cl3::info_type::InfoType;
use cl3::memory as cl;
use cl3::types::{cl_context, cl_mem};

use super::command::Operand;
use super::context::MemContext;
use super::flags::MemFlags;
use super::uses::{Access, Uses};
use crate::error::{Error, Result, in_call};

/// One reference to a driver's memory object, shared by all handles to it, and released when the
/// last of them is dropped.
#[derive(Debug)]
pub(crate) struct MemObject {
    raw: cl_mem,
    about: About,
    context: Arc<MemContext>,
    uses: Arc<Uses>,
    /// Where it begins in the bytes that `uses` counts.
    first_byte: usize,
}

/// What never changes about a memory object.
#[derive(Clone, Copy, Debug)]
pub(crate) struct About {
    pub flags: MemFlags,
    /// In bytes.
    pub size: usize,
}

// SAFETY: OpenCL's objects other than kernels may be used from any thread at once
// (OpenCL 3.0, appendix A.2); all else is Send.
unsafe impl Send for MemObject {}
// SAFETY: as above; all else is Sync.
unsafe impl Sync for MemObject {}

impl MemObject {
    /// Takes over one reference to `raw`, whose bytes are its own.
    ///
    /// # Safety
    /// `raw` is a valid memory object of `context` of which the caller owns a reference, and `about`
    /// is true of it.
    pub(crate) unsafe fn adopt(raw: cl_mem, context: Arc<MemContext>, about: About) -> Self {
        // SAFETY: as promised, and nobody else uses its bytes.
        unsafe { Self::adopt_sharing(raw, context, about, Uses::new(), 0) }
    }

    /// Takes over one reference to `raw`, which lives in memory that others use, too: it begins at
    /// byte `first_byte` of what `uses` counts.
    ///
    /// # Safety
    /// As for [`adopt`](Self::adopt), and the driver's object keeps that memory alive.
    pub(crate) unsafe fn adopt_sharing(
        raw: cl_mem,
        context: Arc<MemContext>,
        about: About,
        uses: Arc<Uses>,
        first_byte: usize,
    ) -> Self {
        Self { raw, about, context, uses, first_byte }
    }

    pub(crate) fn about(&self) -> About {
        self.about
    }

    pub(crate) fn raw(&self) -> cl_mem {
        self.raw
    }

    pub(crate) fn context(&self) -> &Arc<MemContext> {
        &self.context
    }

    pub(crate) fn uses(&self) -> &Arc<Uses> {
        &self.uses
    }

    /// `range` of this object, as [`uses`](Self::uses) counts them.
    pub(crate) fn in_uses(&self, range: &Range<usize>) -> Range<usize> {
        // Neither overflows: it lies within what is counted.
        self.first_byte + range.start..self.first_byte + range.end
    }

    /// Bytes of this object for a command.
    pub(crate) fn operand(&self, range: &Range<usize>, access: Access) -> Operand<'_> {
        let range = self.in_uses(range);
        Operand { uses: &self.uses, context: &self.context, range, access }
    }
}

impl Drop for MemObject {
    fn drop(&mut self) {
        // SAFETY: the reference is ours, and given up once.
        if let Err(code) = unsafe { cl::release_mem_object(self.raw) } {
            log::error!("{}", Error::from_call("clReleaseMemObject", code));
        }
    }
}

/// `clGetMemObjectInfo` of an object that is alive.
pub(crate) fn info(raw: cl_mem, name: u32) -> Result<InfoType> {
    cl::get_mem_object_info(raw, name).map_err(in_call("clGetMemObjectInfo"))
}

/// The context of an object that is alive.
pub(crate) fn context_of(raw: cl_mem) -> Result<Arc<MemContext>> {
    let context = isize::from(info(raw, cl::CL_MEM_CONTEXT)?) as cl_context;
    // SAFETY: the driver says that it is the context of a valid object.
    unsafe { MemContext::of(context) }
}

/// Refuses a handle to a memory object of another type (CL_MEM_TYPE).
pub(crate) fn check_type(raw: cl_mem, what: &str, types: &[u32]) -> Result<()> {
    let found: u32 = info(raw, cl::CL_MEM_TYPE)?.into();
    if types.contains(&found) {
        return Ok(());
    }
    let why = format!("the handle is a memory object of type {found:#x}, not {what}");
    Err(Error::refused("clGetMemObjectInfo", CL_INVALID_MEM_OBJECT, why))
}

/// What the driver says of an object that is alive.
pub(crate) fn about(raw: cl_mem) -> Result<About> {
    let flags: u64 = info(raw, cl::CL_MEM_FLAGS)?.into();
    let size = info(raw, cl::CL_MEM_SIZE)?.into();
    Ok(About { flags: MemFlags::from_bits_retain(flags), size })
}

/// Refuses what `flags` forbid the host to do.
pub(crate) fn check_host_access(call: &'static str, flags: MemFlags, access: Access) -> Result<()> {
    let (allowed, what) = match access {
        Access::Read => (flags.host_reads(), "read"),
        Access::Write => (flags.host_writes(), "write"),
    };
    if allowed {
        return Ok(());
    }
    let why = format!("the host must not {what} memory that is {flags:?}");
    Err(Error::refused(call, CL_INVALID_OPERATION, why))
}
