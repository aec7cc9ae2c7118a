//! The creation of buffers (OpenCL 3.0, 5.2.1).

use std::ptr;
use std::sync::Arc;

use bytemuck::Pod;
use cl3::error_codes::CL_INVALID_BUFFER_SIZE;
use cl3::memory as cl;
use opencl3::context::Context;

use super::Buffer;
use crate::error::{Error, Result, in_call};
use crate::handle::MemRef;
use crate::memory::context::MemContext;
use crate::memory::flags::MemFlags;
use crate::memory::object::{MemObject, ObjectDesc};

const CALL: &str = "clCreateBuffer";

/// Says what a buffer is to be like; [`build`](Self::build) makes it.
#[derive(Debug)]
#[must_use]
pub struct BufferBuilder<'a> {
    context: &'a Context,
    flags: MemFlags,
    size: usize,
    data: Option<&'a [u8]>,
}

impl<'a> BufferBuilder<'a> {
    setters! {
        /// Kernel access, host access, place and flags of vendors. Without a kernel access and flags of
        /// vendors, [`MemFlags::READ_WRITE`] is added.
        flags |flags: MemFlags| flags;

        /// The size in bytes; 0 stands for the size of the host data.
        size |bytes: usize| bytes;
    }

    /// Host data that the buffer begins with; adds [`MemFlags::COPY_HOST_PTR`]. With a smaller
    /// [`size`](Self::size), only so much of it.
    pub fn copy_from<T: Pod>(mut self, data: &'a [T]) -> Self {
        self.data = Some(bytemuck::cast_slice(data));
        self
    }

    /// Makes the buffer (`clCreateBuffer`).
    ///
    /// # Errors
    /// CL_INVALID_VALUE for flags that exclude each other and for flags of vendors together with host
    /// data, CL_INVALID_HOST_PTR for flags that ask
    /// for host data where there is none, CL_INVALID_BUFFER_SIZE for 0 bytes, for more bytes than
    /// the host data has, and for more than CL_DEVICE_MAX_MEM_ALLOC_SIZE of every device; and the
    /// driver's errors, of class [`OutOfMemory`](crate::Class::OutOfMemory) where memory ran
    /// out. Many drivers take memory at first use only.
    pub fn build(self) -> Result<Buffer> {
        // SAFETY: the context is alive while it is borrowed.
        let context = unsafe { MemContext::from_raw(self.context.get()) }?;
        let flags = self.flags.for_copy_of_data(CALL, self.data.is_some())?;
        let size = self.checked_size(CALL, &context)?;
        let data = self.data.map_or(ptr::null(), <[u8]>::as_ptr).cast_mut();
        // SAFETY: `data` is null, or COPY_HOST_PTR is set and `size` bytes can be read from it
        // during the call; the driver does not write through it.
        unsafe { create(context, ObjectDesc { flags, size }, data) }.map(Buffer::whole)
    }

    fn checked_size(&self, call: &'static str, context: &MemContext) -> Result<usize> {
        let available = self.data.map(<[u8]>::len);
        let size = if self.size == 0 { available.unwrap_or(0) } else { self.size };
        let refused = |reason: String| Err(Error::refused(call, CL_INVALID_BUFFER_SIZE, reason));
        if size == 0 {
            return refused("a buffer needs a size of at least 1 byte, or host data".to_owned());
        }
        if let Some(available) = available.filter(|available| *available < size) {
            return refused(format!("the size is {size} bytes, the host data has {available}"));
        }
        context.check_size(call, size)?;
        Ok(size)
    }
}

impl Buffer {
    /// A builder of buffers in `context`.
    pub fn builder(context: &Context) -> BufferBuilder<'_> {
        BufferBuilder { context, flags: MemFlags::empty(), size: 0, data: None }
    }

    /// A buffer of `size` bytes of undefined content (`clCreateBuffer`).
    ///
    /// # Errors
    /// The errors of [`BufferBuilder::build`].
    pub fn new(context: &Context, flags: MemFlags, size: usize) -> Result<Self> {
        Self::builder(context).flags(flags).size(size).build()
    }

    /// A buffer that begins as a copy of `data` and has its size (`clCreateBuffer` with
    /// CL_MEM_COPY_HOST_PTR).
    ///
    /// # Errors
    /// The errors of [`BufferBuilder::build`].
    pub fn from_slice<T: Pod>(context: &Context, flags: MemFlags, data: &[T]) -> Result<Self> {
        Self::builder(context).flags(flags).copy_from(data).build()
    }

    /// A buffer of undefined content in `context`, with flags that have been checked.
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
    let raw = unsafe { cl::create_buffer(context.raw(), flags.bits(), size, data.cast()) }
        .map_err(in_call(CALL))?;
    // SAFETY: the driver has just made it, with one reference.
    Ok(MemObject::new(unsafe { MemRef::owned(raw) }, context, desc))
}
