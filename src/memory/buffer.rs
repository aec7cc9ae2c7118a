//! Buffers and their regions (OpenCL 3.0, 5.2; `pyopencl.Buffer`).

use std::fmt;
use std::hash::{Hash, Hasher};
use std::ops::{Bound, Range, RangeBounds};
use std::ptr;
use std::sync::Arc;

use bytemuck::Pod;
use cl3::device::{CL_DEVICE_MAX_MEM_ALLOC_SIZE, CL_DEVICE_MEM_BASE_ADDR_ALIGN, get_device_info};
use cl3::error_codes::{
    CL_INVALID_BUFFER_SIZE, CL_INVALID_HOST_PTR, CL_INVALID_MEM_OBJECT, CL_INVALID_VALUE,
    CL_MISALIGNED_SUB_BUFFER_OFFSET,
};
use cl3::memory as cl;
use cl3::types::{cl_buffer_region, cl_context, cl_device_id, cl_mem};
use opencl3::context::Context;

use super::flags::MemFlags;
use super::object::{About, MemObject, devices_of, info};
use super::uses::{Access, Claim};
use crate::error::{Error, Result, in_call};
use crate::handle::ContextRef;

/// A buffer of bytes, or a region of one (`pyopencl.Buffer`).
///
/// Handles are compared by the driver's handle. Clones share one reference of the driver's, so
/// cloning cannot fail; it is released when the last clone and the last map of it are dropped.
#[derive(Clone)]
pub struct Buffer {
    object: Arc<MemObject>,
}

impl Buffer {
    /// A builder of buffers in `context`.
    pub fn builder(context: &Context) -> BufferBuilder<'_> {
        BufferBuilder { context, flags: MemFlags::empty(), size: 0, data: None }
    }

    /// A buffer of `size` bytes of undefined content (`clCreateBuffer`).
    ///
    /// # Errors
    /// Those of [`BufferBuilder::build`].
    pub fn new(context: &Context, flags: MemFlags, size: usize) -> Result<Self> {
        Self::builder(context).flags(flags).size(size).build()
    }

    /// A buffer that begins as a copy of `data` and has its size (`clCreateBuffer` with
    /// CL_MEM_COPY_HOST_PTR).
    ///
    /// # Errors
    /// Those of [`BufferBuilder::build`].
    pub fn from_slice<T: Pod>(context: &Context, flags: MemFlags, data: &[T]) -> Result<Self> {
        Self::builder(context).flags(flags).copy_from(data).build()
    }

    /// The buffer behind a driver's handle. With `retain`, a reference is added for it; without,
    /// the caller's is taken over, unless this fails.
    ///
    /// # Errors
    /// CL_INVALID_MEM_OBJECT for anything but a buffer, and what the driver answers.
    ///
    /// # Safety
    /// `raw` is a valid memory object, and without `retain` the caller owns a reference to it.
    ///
    /// As long as the result or anything made from it lives (clones, [`parent`](Self::parent),
    /// regions of either):
    /// - no other handle to the object, its parent or their regions maps its bytes, or issues
    ///   commands on bytes that are mapped through the result. That includes other handles of this
    ///   crate: those that were not made from the result do not know of its maps;
    /// - what is mapped or under way on its bytes from before has ended;
    /// - memory that it uses (CL_MEM_USE_HOST_PTR) outlives it, and is accessed in no other way
    ///   while it is mapped.
    pub unsafe fn from_raw(raw: cl_mem, retain: bool) -> Result<Self> {
        let kind: u32 = info(raw, cl::CL_MEM_TYPE)?.into();
        if kind != cl::CL_MEM_OBJECT_BUFFER {
            let why = format!("the handle is a memory object of type {kind:#x}, not a buffer");
            return Err(Error::refused("clGetMemObjectInfo", CL_INVALID_MEM_OBJECT, why));
        }
        let flags: u64 = info(raw, cl::CL_MEM_FLAGS)?.into();
        let size = info(raw, cl::CL_MEM_SIZE)?.into();
        let offset = info(raw, cl::CL_MEM_OFFSET)?.into();
        let context = isize::from(info(raw, cl::CL_MEM_CONTEXT)?) as cl_context;
        // SAFETY: the driver says that it is the context of a valid object.
        let context = Arc::new(unsafe { ContextRef::retain(context) }?);
        let parent = isize::from(info(raw, cl::CL_MEM_ASSOCIATED_MEMOBJECT)?) as cl_mem;
        let parent = if parent.is_null() {
            None
        } else {
            // SAFETY: the driver says that it is the parent of a valid object.
            Some(unsafe { Self::from_raw(parent, true) }?.object)
        };
        if retain {
            // SAFETY: the caller vouches for the handle.
            unsafe { cl::retain_mem_object(raw) }.map_err(in_call("clRetainMemObject"))?;
        }
        let about = About { flags: MemFlags::from_bits_retain(flags), size, offset };
        // SAFETY: the caller vouches for the handle, and the reference is now ours.
        Ok(Self::of(unsafe { MemObject::adopt(raw, context, about, parent) }))
    }

    /// The driver's handle, valid as long as `self` lives.
    pub fn as_raw(&self) -> cl_mem {
        self.object.raw()
    }

    /// CL_MEM_SIZE: bytes.
    pub fn size(&self) -> usize {
        self.object.about().size
    }

    /// CL_MEM_FLAGS, with the default access made explicit and, for a region, with what it
    /// inherits.
    pub fn flags(&self) -> MemFlags {
        self.object.about().flags
    }

    /// CL_MEM_OFFSET: the byte of the [`parent`](Self::parent) at which a region begins; 0 for a
    /// whole buffer.
    pub fn offset(&self) -> usize {
        self.object.about().offset
    }

    /// CL_MEM_ASSOCIATED_MEMOBJECT: the whole buffer that this is a region of.
    pub fn parent(&self) -> Option<Self> {
        self.object.parent().map(|parent| Self { object: Arc::clone(parent) })
    }

    /// CL_MEM_CONTEXT: the driver's handle of the context, valid as long as `self` lives.
    pub fn context_raw(&self) -> cl_context {
        self.object.context().get()
    }

    /// CL_MEM_REFERENCE_COUNT. All clones together hold one; regions and commands hold others.
    ///
    /// # Errors
    /// What the driver answers.
    pub fn reference_count(&self) -> Result<u32> {
        Ok(info(self.as_raw(), cl::CL_MEM_REFERENCE_COUNT)?.into())
    }

    /// CL_MEM_MAP_COUNT.
    ///
    /// # Errors
    /// What the driver answers.
    pub fn map_count(&self) -> Result<u32> {
        Ok(info(self.as_raw(), cl::CL_MEM_MAP_COUNT)?.into())
    }

    /// The bytes `range` of this buffer as a buffer with the same flags
    /// (`pyopencl.Buffer.get_sub_region`, and `buffer[start:stop]`).
    ///
    /// # Errors
    /// Those of [`sub_buffer`](Self::sub_buffer).
    pub fn sub_region(&self, range: impl RangeBounds<usize>) -> Result<Self> {
        let range = self.bytes("clCreateSubBuffer", range)?;
        self.sub_buffer(range.start, range.len(), MemFlags::empty())
    }

    /// The `size` bytes of this buffer from `origin` on as a buffer (`clCreateSubBuffer`).
    ///
    /// Flags that are not given are inherited. OpenCL knows no region of a region: the result is
    /// one of the same whole buffer, within this one.
    ///
    /// # Errors
    /// CL_INVALID_VALUE for bytes that are not there and for flags that the parent's rule out,
    /// CL_INVALID_BUFFER_SIZE for 0 bytes, CL_MISALIGNED_SUB_BUFFER_OFFSET where the region begins
    /// at no multiple of CL_DEVICE_MEM_BASE_ADDR_ALIGN of any device, and what the driver answers.
    pub fn sub_buffer(&self, origin: usize, size: usize, flags: MemFlags) -> Result<Self> {
        const CALL: &str = "clCreateSubBuffer";
        let range = self.span(CALL, origin, size)?;
        if range.is_empty() {
            return Err(Error::refused(CALL, CL_INVALID_BUFFER_SIZE, "the region has 0 bytes"));
        }
        let flags = flags.for_region_of(CALL, self.flags())?;
        let offset = self.in_root(&range).start;
        check_alignment(CALL, offset, &self.object.devices()?)?;
        let root = self.object.parent().unwrap_or(&self.object);
        let region = cl_buffer_region { origin: offset, size };
        // SAFETY: the root is alive, and the region has the type that its kind asks for.
        let raw = unsafe {
            cl::create_sub_buffer(
                root.raw(),
                flags.difference(MemFlags::HOST_MEMORY).bits(),
                cl::CL_BUFFER_CREATE_TYPE_REGION,
                ptr::from_ref(&region).cast(),
            )
        }
        .map_err(in_call(CALL))?;
        // SAFETY: the driver has just made it of the root, with one reference.
        let object = unsafe {
            let about = About { flags, size, offset };
            let context = Arc::clone(self.object.context());
            MemObject::adopt(raw, context, about, Some(Arc::clone(root)))
        };
        Ok(Self::of(object))
    }

    fn of(object: MemObject) -> Self {
        Self { object: Arc::new(object) }
    }

    /// `range` with its ends filled in, checked against the size.
    pub(super) fn bytes(
        &self,
        call: &'static str,
        range: impl RangeBounds<usize>,
    ) -> Result<Range<usize>> {
        bytes_of(self.size(), &range).ok_or_else(|| {
            let range = (range.start_bound(), range.end_bound());
            let why = format!("bytes {range:?} are not all in a buffer of {} bytes", self.size());
            Error::refused(call, CL_INVALID_VALUE, why)
        })
    }

    /// The `size` bytes from `offset` on, checked against the size.
    pub(super) fn span(
        &self,
        call: &'static str,
        offset: usize,
        size: usize,
    ) -> Result<Range<usize>> {
        span_of(self.size(), offset, size).ok_or_else(|| {
            let why = format!(
                "{size} bytes from byte {offset} on are not all in a buffer of {} bytes",
                self.size()
            );
            Error::refused(call, CL_INVALID_VALUE, why)
        })
    }

    /// A range of this buffer, counted from the start of the whole buffer.
    pub(super) fn in_root(&self, range: &Range<usize>) -> Range<usize> {
        // Neither overflows: the region lies within the root.
        self.offset() + range.start..self.offset() + range.end
    }

    /// Whether both are, or are regions of, the same whole buffer.
    pub(super) fn shares_root_with(&self, other: &Self) -> bool {
        let root = |buffer: &Self| buffer.object.parent().unwrap_or(&buffer.object).raw();
        root(self) == root(other)
    }

    /// Enters a command of `call` on bytes of this buffer.
    pub(crate) fn claim(
        &self,
        call: &'static str,
        range: &Range<usize>,
        access: Access,
    ) -> Result<Claim> {
        Claim::command(&self.object, call, self.in_root(range), access)
    }

    /// Enters a map of bytes of this buffer, and waits for what has to end first.
    pub(super) fn claim_map(
        &self,
        call: &'static str,
        range: &Range<usize>,
        access: Access,
    ) -> Result<Claim> {
        Claim::map(&self.object, call, self.in_root(range), access)
    }
}

impl fmt::Debug for Buffer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Buffer")
            .field("raw", &self.as_raw())
            .field("size", &self.size())
            .field("offset", &self.offset())
            .field("flags", &self.flags())
            .finish()
    }
}

impl PartialEq for Buffer {
    fn eq(&self, other: &Self) -> bool {
        self.as_raw() == other.as_raw()
    }
}

impl Eq for Buffer {}

impl Hash for Buffer {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.as_raw().hash(state);
    }
}

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
    /// Kernel access, host access and place; [`MemFlags::READ_WRITE`] where no access is given.
    pub fn flags(mut self, flags: MemFlags) -> Self {
        self.flags = flags;
        self
    }

    /// The size in bytes; 0 stands for the size of the host data.
    pub fn size(mut self, bytes: usize) -> Self {
        self.size = bytes;
        self
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
    /// CL_INVALID_VALUE for flags that exclude each other, CL_INVALID_HOST_PTR for flags that ask
    /// for host data where there is none, CL_INVALID_BUFFER_SIZE for 0 bytes, for more bytes than
    /// the host data has, and for more than CL_DEVICE_MAX_MEM_ALLOC_SIZE of every device; and what
    /// the driver answers, of class [`OutOfMemory`](crate::Class::OutOfMemory) where memory ran
    /// out. Many drivers take memory at first use only.
    pub fn build(self) -> Result<Buffer> {
        const CALL: &str = "clCreateBuffer";
        let flags = self.checked_flags(CALL)?;
        let size = self.checked_size(CALL)?;
        let data = self.data.map_or(ptr::null(), <[u8]>::as_ptr);
        // SAFETY: the context is alive while it is borrowed.
        let context = Arc::new(unsafe { ContextRef::retain(self.context.get()) }?);
        // SAFETY: the context is alive; `data` is null, or COPY_HOST_PTR is set and `size` bytes
        // can be read from it during the call. The driver does not write through it.
        let raw =
            unsafe { cl::create_buffer(context.get(), flags.bits(), size, data.cast_mut().cast()) }
                .map_err(in_call(CALL))?;
        // SAFETY: the driver has just made it in this context, with one reference.
        let object =
            unsafe { MemObject::adopt(raw, context, About { flags, size, offset: 0 }, None) };
        Ok(Buffer::of(object))
    }

    fn checked_flags(&self, call: &'static str) -> Result<MemFlags> {
        if self.data.is_none() && self.flags.contains(MemFlags::COPY_HOST_PTR) {
            let why = "COPY_HOST_PTR is set and there is no host data: give some to copy_from";
            return Err(Error::refused(call, CL_INVALID_HOST_PTR, why));
        }
        let copy = if self.data.is_some() { MemFlags::COPY_HOST_PTR } else { MemFlags::empty() };
        (self.flags | copy).for_new_object(call)
    }

    fn checked_size(&self, call: &'static str) -> Result<usize> {
        let available = self.data.map(<[u8]>::len);
        let size = if self.size == 0 { available.unwrap_or(0) } else { self.size };
        let refused = |why: String| Err(Error::refused(call, CL_INVALID_BUFFER_SIZE, why));
        if size == 0 {
            return refused("a buffer needs a size of at least 1 byte, or host data".to_owned());
        }
        if let Some(available) = available.filter(|available| *available < size) {
            return refused(format!("the size is {size} bytes, the host data has {available}"));
        }
        match largest_allocation(&devices_of(self.context.get())?) {
            Some(largest) if size as u64 > largest => refused(format!(
                "the size is {size} bytes, the context's devices allocate at most {largest} at once"
            )),
            _ => Ok(size),
        }
    }
}

/// `range` of `size` bytes with its ends filled in; `None` where not all of it is there.
fn bytes_of(size: usize, range: &impl RangeBounds<usize>) -> Option<Range<usize>> {
    let start = match range.start_bound() {
        Bound::Included(start) => *start,
        Bound::Excluded(before) => before.checked_add(1)?,
        Bound::Unbounded => 0,
    };
    let end = match range.end_bound() {
        Bound::Included(last) => last.checked_add(1)?,
        Bound::Excluded(end) => *end,
        Bound::Unbounded => size,
    };
    (start <= end && end <= size).then_some(start..end)
}

/// `len` of `size` bytes from `offset` on; `None` where not all of them are there.
fn span_of(size: usize, offset: usize, len: usize) -> Option<Range<usize>> {
    let end = offset.checked_add(len)?;
    (end <= size).then_some(offset..end)
}

/// The largest CL_DEVICE_MAX_MEM_ALLOC_SIZE in bytes; `None` where a device does not tell.
fn largest_allocation(devices: &[cl_device_id]) -> Option<u64> {
    let largest = |&device: &cl_device_id| {
        get_device_info(device, CL_DEVICE_MAX_MEM_ALLOC_SIZE).ok().map(u64::from)
    };
    devices.iter().map(largest).collect::<Option<Vec<u64>>>()?.into_iter().max()
}

/// Drivers differ in whether they notice a region that begins where none may.
fn check_alignment(call: &'static str, offset: usize, devices: &[cl_device_id]) -> Result<()> {
    let alignments: Vec<usize> = devices.iter().map(|&device| base_alignment(device)).collect();
    if alignments.iter().any(|alignment| offset.is_multiple_of(*alignment)) {
        return Ok(());
    }
    let why = format!(
        "the region begins at byte {offset} of the whole buffer; the context's devices need a \
         multiple of {alignments:?} bytes"
    );
    Err(Error::refused(call, CL_MISALIGNED_SUB_BUFFER_OFFSET, why))
}

/// CL_DEVICE_MEM_BASE_ADDR_ALIGN, which is in bits, in bytes.
fn base_alignment(device: cl_device_id) -> usize {
    let bits = get_device_info(device, CL_DEVICE_MEM_BASE_ADDR_ALIGN).map_or(8, u32::from);
    (bits as usize / 8).max(1)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ranges_are_filled_in_and_checked() {
        use Bound::{Excluded, Included, Unbounded};
        for (range, expected) in [
            ((Unbounded, Unbounded), Some(0..8)),
            ((Included(2), Unbounded), Some(2..8)),
            ((Unbounded, Excluded(8)), Some(0..8)),
            ((Unbounded, Excluded(9)), None),
            ((Unbounded, Included(7)), Some(0..8)),
            ((Unbounded, Included(8)), None),
            ((Included(3), Included(3)), Some(3..4)),
            ((Excluded(3), Excluded(5)), Some(4..5)),
            ((Excluded(7), Unbounded), Some(8..8)),
            ((Excluded(8), Unbounded), None),
            ((Included(8), Unbounded), Some(8..8)),
            ((Included(9), Unbounded), None),
            ((Included(5), Excluded(5)), Some(5..5)),
            ((Included(5), Excluded(4)), None),
            ((Unbounded, Included(usize::MAX)), None),
            ((Excluded(usize::MAX), Unbounded), None),
        ] {
            assert_eq!(bytes_of(8, &range), expected, "{range:?}");
        }
    }

    #[test]
    fn spans_are_checked() {
        for (offset, len, expected) in [
            (0, 8, Some(0..8)),
            (0, 9, None),
            (7, 1, Some(7..8)),
            (7, 2, None),
            (8, 0, Some(8..8)),
            (8, 1, None),
            (9, 0, None),
            (1, usize::MAX, None),
            (usize::MAX, 1, None),
        ] {
            assert_eq!(span_of(8, offset, len), expected, "{len} from {offset}");
        }
    }
}
