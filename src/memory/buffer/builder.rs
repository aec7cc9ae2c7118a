//! The creation of buffers (OpenCL 3.0, 5.2.1).

use std::ptr;
use std::sync::Arc;

use crate::context::Context;
use crate::create::create;
use bytemuck::Pod;
use cl3::error_codes::CL_INVALID_BUFFER_SIZE;

use super::Buffer;
use crate::error::{Error, Result};
use crate::mem_context::MemContext;
use crate::memory::MemFlags;
use crate::memory::object::{MemObject, ObjectDesc};

const CALL: &str = "clCreateBuffer";

impl Buffer {
    /// Creates a buffer of `size` bytes of undefined content (`clCreateBuffer`). Without flags for the access of
    /// kernels and flags of vendors, [`MemFlags::READ_WRITE`] is added.
    ///
    /// # Errors
    /// CL_INVALID_VALUE for flags that exclude each other, CL_INVALID_HOST_PTR for flags that ask for host data,
    /// CL_INVALID_BUFFER_SIZE for 0 bytes and for more than CL_DEVICE_MAX_MEM_ALLOC_SIZE of every device; and
    /// the driver's errors, of class [`OutOfMemory`](crate::Class::OutOfMemory) where memory ran out. Many
    /// drivers allocate memory at first use only.
    pub fn new(context: &Context, flags: MemFlags, size: usize) -> Result<Self> {
        Self::with_data(context, flags, size, None)
    }

    /// Creates a buffer that begins as a copy of `data` and has its size (`clCreateBuffer` with
    /// CL_MEM_COPY_HOST_PTR).
    ///
    /// # Errors
    /// The errors of [`new`](Self::new), and CL_INVALID_VALUE for flags of vendors.
    pub fn from_slice<T: Pod>(context: &Context, flags: MemFlags, data: &[T]) -> Result<Self> {
        let data = bytemuck::cast_slice(data);
        Self::with_data(context, flags, data.len(), Some(data))
    }

    fn with_data(
        context: &Context,
        flags: MemFlags,
        size: usize,
        data: Option<&[u8]>,
    ) -> Result<Self> {
        let context = context.retained()?;
        let flags = flags.for_copy_of_data(CALL, data.is_some())?;
        let reason = "a buffer needs a size of at least 1 byte";
        Error::refuse_if(size == 0, CALL, CL_INVALID_BUFFER_SIZE, || reason)?;
        context.check_size(CALL, size)?;
        let data = data.map_or(ptr::null(), <[u8]>::as_ptr).cast_mut();
        // SAFETY: `data` is null, or COPY_HOST_PTR is set and `size` bytes can be read from it
        // during the call; the driver does not write through it.
        unsafe { create(context, ObjectDesc { flags, size }, data) }.map(Self::whole)
    }

    /// Creates a buffer of undefined content in `context`, with flags that have been checked.
    pub(crate) fn in_context(
        context: &Arc<MemContext>,
        flags: MemFlags,
        size: usize,
    ) -> Result<Self> {
        context.check_size(CALL, size)?;
        // SAFETY: there is no host data.
        unsafe { create(Arc::clone(context), ObjectDesc { flags, size }, ptr::null_mut()) }
            .map(Self::whole)
    }
}

/// Creates the driver's buffer, of properties that have been checked.
///
/// # Safety
/// `data` is null, or `size` bytes that can be read: during the call with COPY_HOST_PTR, and as long as the
/// driver has the buffer with USE_HOST_PTR, which also writes them.
pub(super) unsafe fn create(
    context: Arc<MemContext>,
    desc: ObjectDesc,
    data: *mut u8,
) -> Result<MemObject> {
    let ObjectDesc { flags, size } = desc;
    // SAFETY: the context is alive; the caller vouches for `data`.
    let raw =
        unsafe { create!(MemRef, clCreateBuffer(context.raw(), flags.bits(), size, data.cast())) }?;
    Ok(MemObject::new(raw, context, desc))
}
