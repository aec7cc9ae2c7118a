//! The common trait of handles to shared virtual memory (`pyopencl.SVMPointer`).

use std::ffi::c_void;
use std::fmt;
use std::ops::RangeBounds;

use bytemuck::Pod;

use super::access::{self, SvmAccess};
use super::as_buffer;
use super::flags::SvmFlags;
use super::map::{self, SvmMap};
use super::memory::{Svm, all_bytes, elements};
use crate::error::Result;
use crate::event::Event;
use crate::memory::mapping::map_methods;
use crate::memory::track::Access;
use crate::memory::transfer::{AllOf, HostCopy, device_copy, host_transfers};
use crate::memory::{
    Buffer, CopyTo, FillTarget, Host, HostMemory, HostSource, HostTarget, IntoMemory, MapMode,
    MapRead, MapReadWrite, MapWrite, MapWriteInvalidate, MemFlags, Order, Pattern, PendingMap,
    Transfer,
};

/// Shared virtual memory, or a part of it (`pyopencl.SVMPointer`).
///
/// ```
/// use clmatrix::Class;
/// use clmatrix::memory::{SvmAllocation, SvmFlags, SvmPointer};
///
/// # fn main() -> clmatrix::Result<()> {
/// # let context = clmatrix::create_some_context()?;
/// let memory = match SvmAllocation::new(&context, 1024, 0, SvmFlags::READ_WRITE) {
///     Err(error) if error.class() == Class::Unsupported => return Ok(()),
///     memory => memory?,
/// };
/// assert_eq!(SvmPointer::size(&memory), 1024);
/// # Ok(())
/// # }
/// ```
pub trait SvmPointer: Svm + fmt::Debug + Send + Sync {
    /// Returns its address, for the host and for devices (PyOpenCL's `svm_ptr`); null for 0 bytes. Valid
    /// as long as `self` lives.
    fn svm_ptr(&self) -> *mut c_void {
        self.memory().pointer()
    }

    /// Returns its size in bytes.
    fn size(&self) -> usize {
        self.usable_size()
    }

    map_methods! {
        "the memory, elements of `T`,", , RangeBounds<usize>, SvmMap, map::enqueue
    }

    host_transfers!(, |this| this as &dyn SvmPointer);
    device_copy!(, <'s> &'s dyn SvmPointer, |this| this as &dyn SvmPointer);

    /// Returns all elements of the memory, and blocks.
    ///
    /// # Errors
    /// The errors of [`read`](Self::read), and CL_INVALID_VALUE for memory that is not a whole number of elements.
    fn to_vec<'q, T: Pod>(&self, order: impl Into<Order<'q>>) -> Result<Vec<T>>
    where
        Self: Sized,
    {
        let bytes = elements::<T>("clEnqueueSVMMemcpy", self, ..)?;
        let mut host = vec![T::zeroed(); bytes.len() / size_of::<T>()];
        self.read(order, &mut host)?;
        Ok(host)
    }

    /// Repeats `pattern` over the whole memory (`clEnqueueSVMMemFill`). Does not block.
    ///
    /// # Errors
    /// The errors of [`enqueue_fill`](crate::memory::enqueue_fill#errors).
    #[doc(alias = "enqueue_svm_memfill")]
    fn fill<'q, P: Pattern + ?Sized>(
        &self,
        order: impl Into<Order<'q>>,
        pattern: &P,
    ) -> Result<Event>
    where
        Self: Sized,
    {
        let memory: &dyn SvmPointer = self;
        memory.enqueue_fill(&order.into(), pattern, ..)
    }

    /// Returns the elements `range` of fine-grain memory, without a map. The range is in elements of
    /// `T`, as that of [`map`](Self::map).
    ///
    /// Waits for the commands that this crate has enqueued on these bytes, on any queue, where the
    /// command or the access writes. Commands and maps that conflict with the access are refused until
    /// it is dropped. For simultaneous use by host and kernels, with atomics, `unsafe` code uses
    /// [`svm_ptr`](Self::svm_ptr).
    ///
    /// ```no_run
    /// # use clmatrix::memory::*;
    /// # fn f(context: &clmatrix::Context) -> clmatrix::Result<()> {
    /// let svm = SvmAllocation::new(context, 64, 0, SvmFlags::FINE_GRAIN_BUFFER)?;
    /// svm.access::<u32, _>(MapReadWrite, ..)?.fill(7);
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    /// CL_INVALID_OPERATION for coarse-grain memory, and where the bytes are mapped and either the map or
    /// the access writes; CL_INVALID_VALUE for ranges that [`map`](Self::map) refuses, and for an address
    /// that does not suit `T`; and the driver's errors.
    fn access<T: Pod, M: MapMode>(
        &self,
        _mode: M,
        range: impl RangeBounds<usize>,
    ) -> Result<SvmAccess<T, M>>
    where
        Self: Sized,
    {
        access::access(self, range)
    }

    /// Returns the bytes `range` as a buffer, which shares them (`clCreateBuffer` with
    /// CL_MEM_USE_HOST_PTR). The buffer keeps the memory alive, and a map of either is a map of both. If
    /// the memory has no other handles, a drop of the buffer's last handle waits as a drop of the
    /// memory's last handle does; a thread waits instead if the driver destroys the buffer later.
    ///
    /// The driver may read the bytes at once, so this waits for the commands that this crate has
    /// enqueued, on any queue, and that write them.
    ///
    /// ```no_run
    /// # use clmatrix::memory::*;
    /// # fn f(queue: &clmatrix::CommandQueue, svm: &SvmAllocation) -> clmatrix::Result<()> {
    /// let buffer = svm.as_buffer(MemFlags::READ_WRITE, ..64)?;
    /// buffer.fill(queue, &7_u32)?;
    /// assert!(buffer.uses_svm_pointer()?);
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    /// CL_INVALID_VALUE for flags that exclude each other and for bytes that exceed the memory,
    /// CL_INVALID_BUFFER_SIZE for 0 bytes and for more than CL_DEVICE_MAX_MEM_ALLOC_SIZE of every
    /// device, CL_INVALID_OPERATION where they are mapped for writing, and the driver's errors.
    fn as_buffer(&self, flags: MemFlags, range: impl RangeBounds<usize>) -> Result<Buffer>
    where
        Self: Sized,
    {
        as_buffer::as_buffer(self, flags, range)
    }

    /// Records a use of the memory by a command that the library did not enqueue, as
    /// [`MemoryObject::record_use`](crate::memory::MemoryObject::record_use) does.
    ///
    /// # Errors
    /// CL_INVALID_CONTEXT for an event of another context, CL_INVALID_OPERATION where the memory is mapped,
    /// and the driver's errors.
    fn record_use(&self, event: &Event) -> Result<()> {
        all_bytes(self, Access::Write).record(event)
    }

    /// Returns the flags of its creation. The host's own memory is [`SvmFlags::FINE_GRAIN_BUFFER`], too.
    fn svm_flags(&self) -> SvmFlags {
        self.memory().flags()
    }
}
