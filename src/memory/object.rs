//! The common part of all memory objects (OpenCL 3.0, 5.5; `pyopencl.MemoryObject`).

use std::any::Any;
use std::ffi::c_void;
use std::fmt;
use std::hash::Hash;
use std::ops::Range;
use std::sync::Arc;

use cl3::error_codes::{CL_INVALID_MEM_OBJECT, CL_INVALID_OPERATION};
use cl3::info_type::InfoType;
use cl3::memory as cl;
use cl3::types::cl_mem;

use super::command::AccessedRange;
use super::flags::MemFlags;
use super::image::shape::ImageType;
use super::track::{Access, AccessTracker};
use crate::context::Context;
use crate::error::{Error, Result, in_call};
use crate::event::Event;
use crate::handle::MemRef;
use crate::live::{Live, OBJECTS};
use crate::mem_context::MemContext;

/// The queries of every memory object (`clGetMemObjectInfo`; `pyopencl.MemoryObject`), also for generic code.
///
/// Handle, context, flags and size are also methods of the types themselves.
///
/// ```
/// use clmatrix::memory::{Buffer, MemFlags, MemoryObject, ObjectType};
///
/// # fn main() -> clmatrix::Result<()> {
/// # let context = clmatrix::create_some_context()?;
/// let buffer = Buffer::new(&context, MemFlags::READ_ONLY, 64)?;
/// assert_eq!(buffer.object_type()?, ObjectType::Buffer);
/// assert_eq!((buffer.size(), buffer.reference_count()?), (64, 1));
/// # Ok(())
/// # }
/// ```
pub trait MemoryObject: sealed::Handle + Clone + Eq + Hash + fmt::Debug + Send + Sync {
    /// Returns the driver's handle, valid as long as `self` lives (PyOpenCL's `int_ptr`).
    fn as_raw(&self) -> cl_mem {
        self.handle()
    }

    /// Returns the context (CL_MEM_CONTEXT).
    fn context(&self) -> Context {
        Context(Arc::clone(self.object().context()))
    }

    /// Returns the type (CL_MEM_TYPE).
    ///
    /// # Errors
    /// The driver's errors.
    fn object_type(&self) -> Result<ObjectType> {
        object_type(self.handle())
    }

    /// Returns the flags (CL_MEM_FLAGS), with the default access made explicit and, for a sub-buffer, with the flags
    /// that it inherits.
    fn flags(&self) -> MemFlags {
        self.desc().flags
    }

    /// Returns the size in bytes (CL_MEM_SIZE).
    fn size(&self) -> usize {
        self.desc().size
    }

    /// Returns the address of the host memory that the object uses (CL_MEM_HOST_PTR), null without CL_MEM_USE_HOST_PTR.
    /// The bytes there can be read while they are mapped.
    ///
    /// # Errors
    /// The driver's errors.
    fn host_ptr(&self) -> Result<*const c_void> {
        Ok(isize::from(info(self.handle(), cl::CL_MEM_HOST_PTR)?) as *const c_void)
    }

    /// Returns the number of maps (CL_MEM_MAP_COUNT), for debugging: some drivers never count.
    ///
    /// # Errors
    /// The driver's errors.
    fn map_count(&self) -> Result<u32> {
        Ok(info(self.handle(), cl::CL_MEM_MAP_COUNT)?.into())
    }

    /// Returns the number of references (CL_MEM_REFERENCE_COUNT), for debugging: handles of this crate may share one
    /// reference; sub-buffers and commands hold others.
    ///
    /// # Errors
    /// The driver's errors.
    fn reference_count(&self) -> Result<u32> {
        Ok(info(self.handle(), cl::CL_MEM_REFERENCE_COUNT)?.into())
    }

    /// Returns the driver's handle of the object of which this one is a part, such as the whole buffer of a sub-buffer
    /// (CL_MEM_ASSOCIATED_MEMOBJECT). It is valid as long as `self` lives.
    ///
    /// # Errors
    /// The driver's errors.
    fn associated_memory_object(&self) -> Result<Option<cl_mem>> {
        parent(self.handle())
    }

    /// Returns the byte of the whole buffer at which a sub-buffer begins (CL_MEM_OFFSET), 0 for all other objects.
    fn offset(&self) -> usize {
        self.first_byte()
    }

    /// Returns whether the object is in shared virtual memory (CL_MEM_USES_SVM_POINTER, OpenCL 2.0).
    ///
    /// # Errors
    /// The driver's errors.
    fn uses_svm_pointer(&self) -> Result<bool> {
        Ok(u32::from(info(self.handle(), cl::CL_MEM_USES_SVM_POINTER)?) != 0)
    }

    /// Returns the properties with which the object was created (CL_MEM_PROPERTIES, OpenCL 3.0).
    ///
    /// # Errors
    /// The driver's errors.
    fn properties(&self) -> Result<Vec<u64>> {
        Ok(info(self.handle(), cl::CL_MEM_PROPERTIES)?.into())
    }

    /// Records a use of the object by a command that the library did not enqueue, such as a kernel that was
    /// launched with the object's handle through opencl3.
    ///
    /// Maps, accesses of the host, frees of shared virtual memory and memory pools wait for its event from then on.
    /// Call this right after the command has been enqueued, before any of those can begin. The event of
    /// [`enqueue_marker(&queue)`](crate::enqueue_marker), without a wait list, covers all commands of the queue
    /// before it, if none of them fails. `docs/guide/soundness.md` says which code has to call this.
    ///
    /// ```
    /// use clmatrix::cl3::command_queue::enqueue_fill_buffer;
    /// use clmatrix::memory::{Buffer, MemFlags, MemoryObject};
    ///
    /// # fn main() -> clmatrix::Result<()> {
    /// # let context = clmatrix::create_some_context()?;
    /// # let queue = clmatrix::CommandQueue::new(&context)?;
    /// let buffer = Buffer::new(&context, MemFlags::READ_WRITE, 16)?;
    /// let (raw, pattern) = (queue.as_raw(), 7_u32);
    /// // SAFETY: the handles are valid and of one context; the event is recorded below.
    /// let filled = unsafe {
    ///     let (object, pattern) = (buffer.as_raw(), (&raw const pattern).cast());
    ///     let event = enqueue_fill_buffer(raw, object, pattern, 4, 0, 16, 0, std::ptr::null());
    ///     queue.event_from_raw(event.expect("the driver accepts the command"))?
    /// };
    /// buffer.record_use(&filled)?;
    /// assert_eq!(buffer.map_read::<u32>(&queue, ..)?[..], [7; 4]);
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    /// CL_INVALID_CONTEXT for an event of another context, CL_INVALID_OPERATION where the object is mapped,
    /// and the driver's errors.
    fn record_use(&self, event: &Event) -> Result<()> {
        all_bytes(self, Access::Write).record(event)
    }
}

/// Gives a type the queries of [`MemoryObject`] that most programs need, for calls without the trait.
macro_rules! object_queries {
    ($object:ty) => {
        impl $object {
            /// Returns the driver's handle, valid as long as `self` lives (PyOpenCL's `int_ptr`).
            #[inline]
            pub fn as_raw(&self) -> cl3::types::cl_mem {
                $crate::memory::MemoryObject::as_raw(self)
            }

            /// Returns the context (CL_MEM_CONTEXT).
            pub fn context(&self) -> $crate::Context {
                $crate::memory::MemoryObject::context(self)
            }

            /// Returns the flags (CL_MEM_FLAGS), with the default access made explicit and, for a sub-buffer, with
            /// the flags that it inherits.
            #[inline]
            pub fn flags(&self) -> $crate::memory::MemFlags {
                $crate::memory::MemoryObject::flags(self)
            }

            /// Returns the size in bytes (CL_MEM_SIZE).
            #[inline]
            pub fn size(&self) -> usize {
                $crate::memory::MemoryObject::size(self)
            }
        }
    };
}

pub(super) use object_queries;

pub(crate) mod sealed {
    use super::{MemObject, ObjectDesc, cl_mem};

    /// A handle of this crate to a memory object.
    pub trait Handle {
        /// Returns the part that all handles share.
        fn object(&self) -> &MemObject;

        /// Returns the driver's handle.
        fn handle(&self) -> cl_mem {
            self.object().raw()
        }

        /// Returns its constant properties.
        fn desc(&self) -> ObjectDesc {
            self.object().desc()
        }

        /// Returns its first byte in the part that all handles share.
        fn first_byte(&self) -> usize {
            0
        }
    }
}

/// Returns all bytes of `memory` for a command.
#[inline]
pub(crate) fn all_bytes(memory: &impl sealed::Handle, access: Access) -> AccessedRange<'_> {
    let first = memory.first_byte();
    // It does not overflow: the object is within what is counted.
    memory.object().accessed(&(first..first + memory.desc().size), access)
}

/// CL_MEM_TYPE (`cl_mem_object_type`; `pyopencl.mem_object_type`).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum ObjectType {
    /// A buffer, or a sub-buffer.
    Buffer,
    /// An image.
    Image(ImageType),
    /// A pipe.
    Pipe,
    /// A type of a vendor.
    Other(u32),
}

impl ObjectType {
    /// Returns the type with OpenCL's number `raw`.
    pub fn from_raw(raw: u32) -> Self {
        match raw {
            cl::CL_MEM_OBJECT_BUFFER => Self::Buffer,
            cl::CL_MEM_OBJECT_PIPE => Self::Pipe,
            raw => ImageType::from_raw(raw).map_or(Self::Other(raw), Self::Image),
        }
    }

    /// Returns OpenCL's number.
    pub fn as_raw(self) -> u32 {
        match self {
            Self::Buffer => cl::CL_MEM_OBJECT_BUFFER,
            Self::Image(image_type) => image_type.as_raw(),
            Self::Pipe => cl::CL_MEM_OBJECT_PIPE,
            Self::Other(raw) => raw,
        }
    }
}

/// One reference to a driver's memory object, shared by all handles to it, and released when the
/// last of them is dropped.
#[derive(Debug)]
pub struct MemObject {
    /// The first field: its context and its memory must outlive it.
    raw: MemRef,
    desc: ObjectDesc,
    context: Arc<MemContext>,
    tracker: Arc<AccessTracker>,
    /// Its first byte among those that `tracker` counts.
    first_byte: usize,
    /// The owner of its bytes, if it has none of its own.
    _memory: Option<Arc<dyn Any + Send + Sync>>,
    _live: Live,
}

/// The constant properties of a memory object.
#[derive(Clone, Copy, Debug)]
pub struct ObjectDesc {
    pub flags: MemFlags,
    /// In bytes.
    pub size: usize,
}

impl MemObject {
    /// Takes over `raw`, whose bytes are its own. `context` is its context, and `desc` describes it.
    pub(crate) fn new(raw: MemRef, context: Arc<MemContext>, desc: ObjectDesc) -> Self {
        Self::within(raw, context, desc, AccessTracker::new(), 0)
    }

    /// Takes over `raw` as [`new`](Self::new) does. The object lives in memory that others use, too, and
    /// that the driver's object keeps alive: it begins at byte `first_byte` of what `tracker` counts.
    pub(crate) fn within(
        raw: MemRef,
        context: Arc<MemContext>,
        desc: ObjectDesc,
        tracker: Arc<AccessTracker>,
        first_byte: usize,
    ) -> Self {
        Self { raw, desc, context, tracker, first_byte, _memory: None, _live: Live::new(&OBJECTS) }
    }

    /// Keeps `memory` until its reference is released. The driver's destructor callback, which must not wait, then
    /// drops the memory last only where a command still uses the object.
    pub(crate) fn keeping_alive(mut self, memory: Arc<dyn Any + Send + Sync>) -> Self {
        self._memory = Some(memory);
        self
    }

    #[inline]
    pub(crate) fn desc(&self) -> ObjectDesc {
        self.desc
    }

    pub(crate) fn raw(&self) -> cl_mem {
        self.raw.get()
    }

    pub(crate) fn context(&self) -> &Arc<MemContext> {
        &self.context
    }

    pub(crate) fn tracker(&self) -> &Arc<AccessTracker> {
        &self.tracker
    }

    /// Returns whether two objects may have bytes in common.
    pub(crate) fn may_share_bytes(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.tracker, &other.tracker) || self.raw() == other.raw()
    }

    /// Returns `range` of this object, as its tracker counts them.
    pub(crate) fn in_tracker(&self, range: &Range<usize>) -> Range<usize> {
        // Neither overflows: it lies within what is counted.
        self.first_byte + range.start..self.first_byte + range.end
    }

    /// Returns bytes of this object for a command.
    #[inline]
    pub(crate) fn accessed(&self, range: &Range<usize>, access: Access) -> AccessedRange<'_> {
        let range = self.in_tracker(range);
        AccessedRange { tracker: &self.tracker, context: self.context.raw(), range, access }
    }
}

impl Drop for MemObject {
    fn drop(&mut self) {
        // Events of the tracker, which the memory owns, may keep the driver's object, which keeps the
        // memory.
        if self._memory.is_some() {
            self.tracker.reap_when_ended();
        }
    }
}

/// `clGetMemObjectInfo` of an object that is alive.
pub(crate) fn info(raw: cl_mem, name: u32) -> Result<InfoType> {
    cl::get_mem_object_info(raw, name).map_err(in_call("clGetMemObjectInfo"))
}

/// Returns the context of an object that is alive.
pub(crate) fn context_of(raw: cl_mem) -> Result<Arc<MemContext>> {
    // SAFETY: the object is alive.
    unsafe { MemContext::retain_answer(info(raw, cl::CL_MEM_CONTEXT)?) }
}

/// Returns the object that a live object is made of.
pub(crate) fn parent(raw: cl_mem) -> Result<Option<cl_mem>> {
    let parent = isize::from(info(raw, cl::CL_MEM_ASSOCIATED_MEMOBJECT)?) as cl_mem;
    Ok((!parent.is_null()).then_some(parent))
}

/// Returns the type of a live object.
pub(crate) fn object_type(raw: cl_mem) -> Result<ObjectType> {
    Ok(ObjectType::from_raw(info(raw, cl::CL_MEM_TYPE)?.into()))
}

/// Refuses a handle to a memory object of another type.
pub(crate) fn check_type(raw: cl_mem, what: &str, expected: ObjectType) -> Result<()> {
    let found = object_type(raw)?;
    if found == expected { Ok(()) } else { Err(wrong_type(found, what)) }
}

pub(crate) fn wrong_type(found: ObjectType, what: &str) -> Error {
    let reason = format!("the handle is a memory object of type {found:?}, not {what}");
    Error::refused("clGetMemObjectInfo", CL_INVALID_MEM_OBJECT, reason)
}

/// Queries the properties of a live object.
pub(crate) fn desc(raw: cl_mem) -> Result<ObjectDesc> {
    let flags: u64 = info(raw, cl::CL_MEM_FLAGS)?.into();
    let size = info(raw, cl::CL_MEM_SIZE)?.into();
    Ok(ObjectDesc { flags: MemFlags::from_bits_retain(flags), size })
}

/// Refuses an access of the host that `flags` forbid.
#[inline]
pub(crate) fn check_host_access(call: &'static str, flags: MemFlags, access: Access) -> Result<()> {
    let allowed = match access {
        Access::Read => flags.host_reads(),
        Access::Write => flags.host_writes(),
    };
    if allowed { Ok(()) } else { Err(no_host_access(call, flags, access)) }
}

#[cold]
fn no_host_access(call: &'static str, flags: MemFlags, access: Access) -> Error {
    let what = match access {
        Access::Read => "read",
        Access::Write => "write",
    };
    let reason = format!("the host must not {what} memory that is {flags:?}");
    Error::refused(call, CL_INVALID_OPERATION, reason)
}
