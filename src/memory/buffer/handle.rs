//! The driver's objects behind a handle to a buffer.

use std::any::Any;
use std::sync::Arc;

use cl3::types::cl_mem;

use crate::handle::MemRef;
use crate::memory::object::MemObject;

/// The objects that a handle to a buffer, or a map of it, keeps alive: the whole buffer and, for a region,
/// the region.
///
/// Clones share one reference of the driver's.
#[derive(Clone, Debug)]
pub struct BufferRef {
    /// The handle of the region or of the whole buffer.
    raw: cl_mem,
    sub_buffer: Option<Arc<SubBufferToken>>,
    object: Arc<MemObject>,
}

/// A region of a buffer, shared by all handles to it and by regions that were made of one of them.
#[derive(Debug)]
struct SubBufferToken {
    /// The first field: the owner must outlive the region.
    _raw: MemRef,
    owner: Option<Owner>,
}

/// The owner of the bytes of a region, which is dropped after the region and its last handle, map and region.
pub(crate) type Owner = Arc<dyn Any + Send + Sync>;

// SAFETY: memory objects may be used from any thread at once (OpenCL 3.0, appendix A.2).
unsafe impl Send for BufferRef {}
// SAFETY: as above.
unsafe impl Sync for BufferRef {}

impl BufferRef {
    pub(super) fn whole(object: Arc<MemObject>) -> Self {
        Self { raw: object.raw(), sub_buffer: None, object }
    }

    /// Takes over `region`, which was made of this buffer or region.
    pub(super) fn sub_buffer_of_this(&self, region: MemRef, owner: Option<Owner>) -> Self {
        let (raw, object) = (region.get(), Arc::clone(&self.object));
        // Not the region itself: a chain of regions would be dropped by recursion.
        let owner = owner.or_else(|| self.sub_buffer.as_ref()?.owner.clone());
        let sub_buffer = SubBufferToken { _raw: region, owner };
        Self { raw, sub_buffer: Some(Arc::new(sub_buffer)), object }
    }

    /// Returns these objects with the handle of the whole buffer in place of the region's.
    pub(super) fn to_whole(&self) -> Self {
        Self { raw: self.object.raw(), ..self.clone() }
    }

    #[inline]
    pub(crate) fn raw(&self) -> cl_mem {
        self.raw
    }

    pub(super) fn is_sub_buffer(&self) -> bool {
        self.sub_buffer.is_some()
    }

    /// The whole buffer.
    #[inline]
    pub(crate) fn object(&self) -> &Arc<MemObject> {
        &self.object
    }
}
