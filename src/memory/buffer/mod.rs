//! Buffers and their regions (OpenCL 3.0, 5.2; `pyopencl.Buffer`).

pub(crate) mod builder;
pub(crate) mod copy;
pub(crate) mod copy_host;
pub(crate) mod copy_rect;
pub(crate) mod fill;
pub(crate) mod handle;
pub(crate) mod host_memory;
pub(crate) mod map;
pub(crate) mod released_memory;
pub(crate) mod slice;

use std::ops::{Range, RangeBounds};
use std::sync::Arc;

use cl3::error_codes::{CL_INVALID_BUFFER_SIZE, CL_MISALIGNED_SUB_BUFFER_OFFSET};
use cl3::memory as cl;
use cl3::types::{cl_buffer_region, cl_mem};

use handle::{BufferRef, Owner};
use released_memory::HostBuffer;

use super::command::AccessedRange;
use super::flags::MemFlags;
use super::into_memory::device_memory;
use super::object::sealed::Handle;
use super::object::{self, MemObject, MemoryObject, ObjectDesc, ObjectType, info};
use super::range::{checked_range, checked_span};
use super::track::Access;
use crate::create::create;
use crate::error::{Error, Result};
use crate::handle::{MemRef, by_handle, retain_raw};
use smallvec::SmallVec;

/// A buffer of bytes, or a region of one (`pyopencl.Buffer`).
///
/// Handles are compared by the driver's handle. Clones share one reference of the driver's, which is released
/// when the last clone, region and map are dropped.
#[derive(Clone)]
pub struct Buffer {
    reference: BufferRef,
    desc: ObjectDesc,
    /// The byte of the whole buffer at which it begins.
    offset: usize,
    /// The host memory that it lives in, if any.
    host: Option<Arc<HostBuffer>>,
}

impl Buffer {
    /// Wraps a driver's handle. The caller's reference is taken over, unless this fails.
    ///
    /// # Errors
    /// CL_INVALID_MEM_OBJECT for anything but a buffer, and the driver's errors.
    ///
    /// # Safety
    /// `raw` is a valid memory object, and the caller owns a reference to it.
    ///
    /// As long as the result or anything made from it lives (clones, [`parent`](Self::parent),
    /// regions of either):
    /// - no other handle to the object, its parent or their regions maps its bytes, or issues
    ///   commands on bytes that are mapped through the result. This includes other handles of this
    ///   crate: those that were not made from the result do not know of its maps;
    /// - earlier maps of its bytes and commands on them have ended;
    /// - memory that it uses (CL_MEM_USE_HOST_PTR) outlives it, and is accessed in no other way
    ///   while it is mapped.
    pub unsafe fn from_raw(raw: cl_mem) -> Result<Self> {
        object::check_type(raw, "a buffer", ObjectType::Buffer)?;
        let desc = object::desc(raw)?;
        let offset = info(raw, cl::CL_MEM_OFFSET)?.into();
        // SAFETY: the driver says that it is the parent of a valid object.
        let whole = object::parent(raw)?.map(|parent| unsafe { Self::retain_raw(parent) });
        let whole = whole.transpose()?;
        let context = object::context_of(raw)?;
        // SAFETY: as the caller promises.
        let raw = unsafe { MemRef::owned(raw) };
        Ok(match whole {
            Some(whole) => {
                let reference = whole.reference.sub_buffer_of_this(raw, None);
                Self { reference, desc, offset, host: None }
            }
            None => Self::whole(MemObject::new(raw, context, desc)),
        })
    }

    /// Returns the byte of the whole buffer at which a sub-buffer begins (CL_MEM_OFFSET), 0 for a whole buffer.
    #[inline]
    pub fn offset(&self) -> usize {
        self.offset
    }

    /// Returns the whole buffer that a sub-buffer is a part of (CL_MEM_ASSOCIATED_MEMOBJECT).
    pub fn parent(&self) -> Option<Self> {
        self.reference.is_sub_buffer().then(|| {
            let host = self.host.clone();
            Self { host, ..Self::whole_of(Arc::clone(self.reference.object())) }
        })
    }

    /// Returns the bytes `range` of this buffer as a buffer with the same flags (`clCreateSubBuffer`;
    /// `pyopencl.Buffer.get_sub_region`, and `buffer[start:stop]`).
    ///
    /// # Errors
    /// The errors of [`sub_buffer_with_flags`](Self::sub_buffer_with_flags).
    #[doc(alias = "get_sub_region")]
    pub fn sub_buffer(&self, range: impl RangeBounds<usize>) -> Result<Self> {
        self.sub_buffer_with_flags(range, MemFlags::empty())
    }

    /// Returns the bytes `range` of this buffer as a buffer with other flags.
    ///
    /// Flags that are not given are inherited. OpenCL knows no region of a region: the result is
    /// one of the same whole buffer, within this one.
    ///
    /// # Errors
    /// CL_INVALID_VALUE for bytes outside of the buffer and for flags that conflict with the parent's,
    /// CL_INVALID_BUFFER_SIZE for 0 bytes, CL_MISALIGNED_SUB_BUFFER_OFFSET where the region begins
    /// at no multiple of CL_DEVICE_MEM_BASE_ADDR_ALIGN of any device, and the driver's errors.
    pub fn sub_buffer_with_flags(
        &self,
        range: impl RangeBounds<usize>,
        flags: MemFlags,
    ) -> Result<Self> {
        self.sub_buffer_with_owner(range, flags, None)
    }

    /// Returns the region of [`sub_buffer_with_flags`](Self::sub_buffer_with_flags), with an owner of the bytes.
    pub(crate) fn sub_buffer_with_owner(
        &self,
        range: impl RangeBounds<usize>,
        flags: MemFlags,
        owner: Option<Owner>,
    ) -> Result<Self> {
        const CALL: &str = "clCreateSubBuffer";
        let range = self.bytes(CALL, range)?;
        let size = range.len();
        let reason = "the region has 0 bytes";
        Error::refuse_if(size == 0, CALL, CL_INVALID_BUFFER_SIZE, || reason)?;
        let flags = flags.for_region_of(CALL, self.flags())?;
        let offset = self.offset() + range.start;
        let alignments: SmallVec<[usize; 4]> = self.object().context().base_alignments().collect();
        check_alignment(CALL, offset, &alignments)?;
        let region = cl_buffer_region { origin: offset, size };
        let (whole, bits) = (self.object().raw(), flags.difference(MemFlags::HOST_MEMORY).bits());
        let (kind, place) = (cl::CL_BUFFER_CREATE_TYPE_REGION, (&raw const region).cast());
        // SAFETY: the whole buffer is alive, and the place has the type that its kind asks for.
        let region = unsafe { create!(MemRef, clCreateSubBuffer(whole, bits, kind, place)) }?;
        let reference = self.reference.sub_buffer_of_this(region, owner);
        Ok(Self { reference, desc: ObjectDesc { flags, size }, offset, host: self.host.clone() })
    }

    pub(super) fn whole(object: MemObject) -> Self {
        Self::whole_of(Arc::new(object))
    }

    fn whole_of(object: Arc<MemObject>) -> Self {
        Self { desc: object.desc(), reference: BufferRef::whole(object), offset: 0, host: None }
    }

    /// Restricts this handle to its first `size` bytes. The driver's object, which is at least as large, stays as it
    /// is.
    #[inline]
    pub(crate) fn set_size(&mut self, size: usize) {
        self.desc.size = size;
    }

    /// Returns the owner of its bytes.
    #[inline]
    pub(crate) fn reference(&self) -> &BufferRef {
        &self.reference
    }

    /// Returns `range` with its ends filled in, checked against the size.
    #[inline]
    pub(super) fn bytes(
        &self,
        call: &'static str,
        range: impl RangeBounds<usize>,
    ) -> Result<Range<usize>> {
        checked_range(call, "buffer", self.size(), range)
    }

    /// Returns the `size` bytes from `offset` on, checked against the size.
    #[inline]
    pub(super) fn span(
        &self,
        call: &'static str,
        offset: usize,
        size: usize,
    ) -> Result<Range<usize>> {
        checked_span(call, "buffer", self.size(), offset, size)
    }

    /// Returns a range of this buffer, counted from the start of the whole buffer.
    #[inline]
    pub(crate) fn in_whole(&self, range: &Range<usize>) -> Range<usize> {
        // Neither overflows: the region lies within the whole.
        self.offset() + range.start..self.offset() + range.end
    }

    /// Returns a range of this buffer, as its object's uses count them.
    #[inline]
    pub(crate) fn in_tracker(&self, range: &Range<usize>) -> Range<usize> {
        self.object().in_tracker(&self.in_whole(range))
    }

    /// The driver's handle of the whole buffer.
    pub(crate) fn whole_raw(&self) -> cl_mem {
        self.object().raw()
    }

    /// Bytes of this buffer for a command.
    #[inline]
    pub(crate) fn accessed(&self, range: &Range<usize>, access: Access) -> AccessedRange<'_> {
        self.object().accessed(&self.in_whole(range), access)
    }
}

/// Refuses a sub-buffer whose origin is not aligned for any device; `alignments` are those of the
/// devices, in bytes. Not all drivers check it.
// quirk: DRIVER-3
fn check_alignment(call: &'static str, offset: usize, alignments: &[usize]) -> Result<()> {
    let is_aligned = alignments.iter().any(|alignment| offset.is_multiple_of(*alignment));
    Error::refuse_if(!is_aligned, call, CL_MISALIGNED_SUB_BUFFER_OFFSET, || {
        format!(
            "the region begins at byte {offset} of the whole buffer; the context's devices need a \
             multiple of {alignments:?} bytes"
        )
    })
}

impl MemoryObject for Buffer {}

object::object_queries!(Buffer);

impl Handle for Buffer {
    #[inline]
    fn object(&self) -> &MemObject {
        self.reference.object()
    }

    #[inline]
    fn handle(&self) -> cl_mem {
        self.reference.raw()
    }

    #[inline]
    fn desc(&self) -> ObjectDesc {
        self.desc
    }

    #[inline]
    fn first_byte(&self) -> usize {
        self.offset
    }
}

by_handle!(Buffer, size, offset, flags);
retain_raw!(Buffer, cl_mem, MemRef, "clRetainMemObject");
device_memory!([] Buffer: Buffer);
