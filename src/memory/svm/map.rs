//! Maps of shared virtual memory (OpenCL 3.0, 5.6.1; `pyopencl.SVMMap`).

use std::ffi::c_void;
use std::ops::{Range, RangeBounds};
use std::sync::Arc;

use crate::queue::CommandQueue;
use bytemuck::Pod;
use cl3::command_queue as cl;
use cl3::types::{cl_context, cl_event, cl_mem};

use super::memory::{Svm, SvmMemory, elements};
use crate::error::Result;
use crate::memory::mapping::mode::{MapMode, access};
use crate::memory::mapping::pending::PendingMap;
use crate::memory::mapping::slice::{self, MapKind, MappedKind, SliceMap};
use crate::memory::mapping::{MapArguments, Mappable, Mapping};
use crate::memory::track::AccessTracker;
use crate::wait_list::WaitList;

impl Mappable for Arc<SvmMemory> {
    const MAP: &'static str = "clEnqueueSVMMap";
    const UNMAP: &'static str = "clEnqueueSVMUnmap";

    fn context_raw(&self) -> cl_context {
        SvmMemory::context(self).raw()
    }

    fn tracker(&self) -> &Arc<AccessTracker> {
        SvmMemory::tracker(self)
    }

    fn mem_object(&self) -> Option<cl_mem> {
        None
    }
}

/// Elements of shared virtual memory as a slice of the host's; `&mut` only if `M` writes
/// (`pyopencl.SVMMap`).
///
/// Unmapped by [`unmap`](SliceMap::unmap), or by a drop, which logs errors. If it is forgotten, its
/// bytes stay mapped for good, and the memory is never freed.
///
/// ```compile_fail,E0596
/// # use clmatrix::memory::*;
/// fn read_only_is_read_only(mut map: SvmMap<f32, MapRead>) {
///     map[0] = 1.0;
/// }
/// ```
pub type SvmMap<T, M> = SliceMap<SvmMapKind, T, M>;

/// Shared virtual memory that is mapped: see [`SvmMap`].
pub enum SvmMapKind {}

impl MapKind for SvmMapKind {}
impl MappedKind for SvmMapKind {}

impl slice::sealed::Kind for SvmMapKind {
    type Guard = Mapping<Arc<SvmMemory>>;
}

impl slice::sealed::MappedKind for SvmMapKind {
    type Memory = Arc<SvmMemory>;
}

/// Implements [`SvmPointer::map`](super::pointer::SvmPointer::map).
pub(crate) fn map<T: Pod, M: MapMode>(
    queue: &CommandQueue,
    svm: &impl Svm,
    range: impl RangeBounds<usize>,
    wait_for: &WaitList<'_>,
) -> Result<SvmMap<T, M>> {
    let (memory, bytes) = checked::<T>(svm, range)?;
    let mapping = Mapping::blocking(
        queue,
        memory,
        bytes.clone(),
        access::<M>(),
        wait_for,
        |arguments, pointer| submit::<M>(memory, &bytes, arguments, pointer),
    )?;
    SliceMap::mapped(mapping, bytes.len())
}

/// Implements [`SvmPointer::map_nonblocking`](super::pointer::SvmPointer::map_nonblocking).
pub(crate) fn map_nonblocking<T: Pod, M: MapMode>(
    queue: &CommandQueue,
    svm: &impl Svm,
    range: impl RangeBounds<usize>,
    wait_for: &WaitList<'_>,
) -> Result<PendingMap<SvmMap<T, M>>> {
    let (memory, bytes) = checked::<T>(svm, range)?;
    let mapping = Mapping::non_blocking(
        queue,
        memory,
        bytes.clone(),
        access::<M>(),
        wait_for,
        |arguments, pointer| submit::<M>(memory, &bytes, arguments, pointer),
    )?;
    SliceMap::pending(mapping, bytes.len())
}

/// Returns the memory, and the bytes of the elements `range` in it.
fn checked<T>(
    svm: &impl Svm,
    range: impl RangeBounds<usize>,
) -> Result<(&Arc<SvmMemory>, Range<usize>)> {
    let bytes = elements::<T>(Arc::<SvmMemory>::MAP, svm, range)?;
    Ok((svm.memory(), bytes))
}

fn submit<M: MapMode>(
    memory: &SvmMemory,
    bytes: &Range<usize>,
    (queue, blocking, count, events): MapArguments,
    pointer: &mut *mut c_void,
) -> std::result::Result<cl_event, i32> {
    *pointer = memory.at(bytes.start);
    // SAFETY: the handles are alive and of one context, and the bytes are within memory of that.
    unsafe { cl::enqueue_svm_map(queue, blocking, M::FLAGS, *pointer, bytes.len(), count, events) }
}
