//! What all that points to shared virtual memory has in common (`pyopencl.SVMPointer`).

use std::ffi::c_void;
use std::fmt;
use std::ops::RangeBounds;

use crate::queue::CommandQueue;
use bytemuck::Pod;

use super::access::{self, SvmAccess};
use super::buffer;
use super::flags::SvmFlags;
use crate::error::Result;
use crate::memory::buffer::Buffer;
use crate::memory::flags::MemFlags;
use crate::memory::map::{self, MapMode, MapRead, MapReadWrite, PendingMap, SvmMap};
use crate::wait_list::WaitList;

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
pub trait SvmPointer: sealed::Svm + fmt::Debug + Send + Sync {
    /// Where it is, for the host and for devices (PyOpenCL's `svm_ptr`); null for 0 bytes. Valid as
    /// long as `self` lives.
    fn svm_ptr(&self) -> *mut c_void {
        self.memory().at(self.window().start)
    }

    /// Its size in bytes.
    fn size(&self) -> usize {
        self.window().len()
    }

    /// Maps the bytes `range` as elements of `T`, and returns when they can be used
    /// (`clEnqueueSVMMap`; PyOpenCL's `map`). `..` maps all of it.
    ///
    /// Waits for what this crate has enqueued on these bytes, on any queue, where it or the map
    /// writes. Fine-grain memory can be mapped, too; [`access`](Self::access) needs no queue.
    ///
    /// ```no_run
    /// # use clmatrix::memory::*;
    /// # fn f(queue: &clmatrix::CommandQueue, svm: &SvmAllocation) -> clmatrix::Result<()> {
    /// let mut map = svm.map::<f32, _>(queue, MapReadWrite, ..64, [])?;
    /// map.fill(1.0);
    /// map.unmap([])?;
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    /// CL_INVALID_CONTEXT, CL_INVALID_VALUE for bytes that are not there, for none, and for no whole
    /// number of elements; CL_INVALID_OPERATION where the bytes are mapped and either map writes;
    /// CL_EXEC_STATUS_ERROR_FOR_EVENTS_IN_WAIT_LIST where a command that it waited for failed;
    /// CL_MAP_FAILURE where the bytes are not where a `T` may be, and the driver's errors.
    fn map<'a, T: Pod, M: MapMode>(
        &self,
        queue: &CommandQueue,
        _mode: M,
        range: impl RangeBounds<usize>,
        wait_for: impl Into<WaitList<'a>>,
    ) -> Result<SvmMap<T, M>>
    where
        Self: Sized,
    {
        map::svm::map(queue, self, range, &wait_for.into())
    }

    /// Has the bytes `range` mapped as [`map`](Self::map) does, and returns at once: they can be
    /// used when the result has been waited for (PyOpenCL's `is_blocking=False`).
    ///
    /// # Errors
    /// Those of [`map`](Self::map); what fails later on, [`PendingMap::wait`] reports.
    fn map_nonblocking<'a, T: Pod, M: MapMode>(
        &self,
        queue: &CommandQueue,
        _mode: M,
        range: impl RangeBounds<usize>,
        wait_for: impl Into<WaitList<'a>>,
    ) -> Result<PendingMap<SvmMap<T, M>>>
    where
        Self: Sized,
    {
        map::svm::map_nonblocking(queue, self, range, &wait_for.into())
    }

    /// Maps all of it for reading (PyOpenCL's `map_ro`).
    ///
    /// # Errors
    /// Those of [`map`](Self::map).
    fn map_ro<'a, T: Pod>(
        &self,
        queue: &CommandQueue,
        wait_for: impl Into<WaitList<'a>>,
    ) -> Result<SvmMap<T, MapRead>>
    where
        Self: Sized,
    {
        self.map(queue, MapRead, .., wait_for)
    }

    /// Maps all of it for reading and writing (PyOpenCL's `map_rw`).
    ///
    /// # Errors
    /// Those of [`map`](Self::map).
    fn map_rw<'a, T: Pod>(
        &self,
        queue: &CommandQueue,
        wait_for: impl Into<WaitList<'a>>,
    ) -> Result<SvmMap<T, MapReadWrite>>
    where
        Self: Sized,
    {
        self.map(queue, MapReadWrite, .., wait_for)
    }

    /// The bytes `range` of fine-grain memory as elements of `T`, without a map.
    ///
    /// Waits for what this crate has enqueued on these bytes, on any queue, where it or the access
    /// writes, and keeps away what comes until it is dropped. Host and kernels that use memory at the
    /// same time, with atomics, do that through [`svm_ptr`](Self::svm_ptr), in `unsafe` code.
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
    /// CL_INVALID_OPERATION for coarse-grain memory, and where the bytes are mapped and either use
    /// writes; CL_INVALID_VALUE for bytes that are not there, for none, for no whole number of
    /// elements, and where no `T` may be; and the driver's errors.
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

    /// The bytes `range` as a buffer, which shares them (`clCreateBuffer` with
    /// CL_MEM_USE_HOST_PTR). It keeps the memory, and what is mapped of one is mapped of the other.
    /// Where nothing else stands for the memory any more, dropping its last handle waits as dropping
    /// the memory does.
    ///
    /// The driver may read the bytes at once, so this waits for what this crate has enqueued that
    /// writes them, on any queue.
    ///
    /// ```no_run
    /// # use clmatrix::memory::*;
    /// # fn f(queue: &clmatrix::CommandQueue, svm: &SvmAllocation) -> clmatrix::Result<()> {
    /// let buffer = svm.as_buffer(MemFlags::READ_WRITE, ..64)?;
    /// enqueue_fill(queue, &buffer, &7_u32, .., [])?;
    /// assert!(buffer.uses_svm_pointer()?);
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    /// CL_INVALID_VALUE for flags that exclude each other and for bytes that are not there,
    /// CL_INVALID_BUFFER_SIZE for none and for more than CL_DEVICE_MAX_MEM_ALLOC_SIZE of every
    /// device, CL_INVALID_OPERATION where they are mapped for writing, and the driver's errors.
    fn as_buffer(&self, flags: MemFlags, range: impl RangeBounds<usize>) -> Result<Buffer>
    where
        Self: Sized,
    {
        buffer::as_buffer(self, flags, range)
    }

    /// What it was made with. The host's own memory is [`SvmFlags::FINE_GRAIN_BUFFER`], too.
    fn svm_flags(&self) -> SvmFlags {
        self.memory().flags()
    }
}

pub(crate) mod sealed {
    use std::ops::{Range, RangeBounds};
    use std::sync::Arc;

    use crate::error::Result;
    use crate::memory::command::AccessedRange;
    use crate::memory::range::checked_range;
    use crate::memory::svm::memory::SvmMemory;
    use crate::memory::track::Access;

    /// Where shared virtual memory is.
    pub trait Svm {
        /// What handles share.
        fn memory(&self) -> &Arc<SvmMemory>;

        /// Which bytes of it this is.
        fn window(&self) -> Range<usize> {
            0..self.memory().size()
        }
    }

    /// `range` of `svm` with its ends filled in, checked, and counted as its uses do.
    pub(crate) fn bytes(
        call: &'static str,
        svm: &(impl Svm + ?Sized),
        range: impl RangeBounds<usize>,
    ) -> Result<Range<usize>> {
        let window = svm.window();
        let range = checked_range(call, "shared allocation", window.len(), range)?;
        // Neither overflows: it lies within the window.
        Ok(window.start + range.start..window.start + range.end)
    }

    /// All of `svm` for a command.
    pub(crate) fn operand<'a>(svm: &'a (impl Svm + ?Sized), access: Access) -> AccessedRange<'a> {
        svm.memory().operand(svm.window(), access)
    }
}
