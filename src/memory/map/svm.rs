//! Maps of shared virtual memory (OpenCL 3.0, 5.6.1; `pyopencl.SVMMap`).

use std::ffi::c_void;
use std::ops::{Range, RangeBounds};
use std::sync::Arc;

use crate::queue::{Arguments, CommandQueue};
use bytemuck::Pod;
use cl3::command_queue as cl;
use cl3::types::{cl_context, cl_event};

use super::mapping::{MapArguments, Mappable, Mapping};
use super::slice::{SliceMap, elements};
use super::{MapMode, PendingMap, access};
use crate::error::Result;
use crate::memory::range::check_not_empty;
use crate::memory::svm::memory::SvmMemory;
use crate::memory::svm::{SvmPointer, sealed};
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

    unsafe fn submit_unmap(
        &self,
        pointer: *mut c_void,
        (queue, count, events): Arguments,
    ) -> std::result::Result<cl_event, i32> {
        // SAFETY: as the caller promises.
        unsafe { cl::enqueue_svm_unmap(queue, pointer, count, events) }
    }
}

/// Bytes of shared virtual memory as a slice of the host's; `&mut` only if `M` writes
/// (`pyopencl.SVMMap`).
///
/// Unmapped by [`unmap`](SliceMap::unmap), or when dropped; what goes wrong then is logged. If it is
/// forgotten, its bytes stay mapped for good, and the memory is never freed.
///
/// ```compile_fail,E0596
/// # use clmatrix::memory::*;
/// fn read_only_is_read_only(mut map: SvmMap<f32, MapRead>) {
///     map[0] = 1.0;
/// }
/// ```
pub type SvmMap<T, M> = SliceMap<Mapping<Arc<SvmMemory>>, T, M>;

/// [`SvmPointer::map`].
pub(crate) fn map<T: Pod, M: MapMode>(
    queue: &CommandQueue,
    svm: &impl SvmPointer,
    range: impl RangeBounds<usize>,
    wait_for: &WaitList<'_>,
) -> Result<SvmMap<T, M>> {
    let (memory, range, len) = checked::<T>(svm, range)?;
    let mapping = Mapping::blocking(
        queue,
        &memory,
        range.clone(),
        access::<M>(),
        wait_for,
        |arguments, pointer| ask::<M>(&memory, &range, arguments, pointer),
    )?;
    SliceMap::mapped(mapping, len)
}

/// [`SvmPointer::map_nonblocking`].
pub(crate) fn map_nonblocking<T: Pod, M: MapMode>(
    queue: &CommandQueue,
    svm: &impl SvmPointer,
    range: impl RangeBounds<usize>,
    wait_for: &WaitList<'_>,
) -> Result<PendingMap<SvmMap<T, M>>> {
    let (memory, range, len) = checked::<T>(svm, range)?;
    let mapping = Mapping::non_blocking(
        queue,
        &memory,
        range.clone(),
        access::<M>(),
        wait_for,
        |arguments, pointer| ask::<M>(&memory, &range, arguments, pointer),
    )?;
    SliceMap::pending(mapping, len)
}

/// The memory, which bytes of it, and how many elements they are.
fn checked<T>(
    svm: &impl SvmPointer,
    range: impl RangeBounds<usize>,
) -> Result<(Arc<SvmMemory>, Range<usize>, usize)> {
    const CALL: &str = Arc::<SvmMemory>::MAP;
    let range = sealed::bytes(CALL, svm, range)?;
    check_not_empty(CALL, &range)?;
    let len = elements::<T>(CALL, range.len())?;
    Ok((Arc::clone(svm.memory()), range, len))
}

fn ask<M: MapMode>(
    memory: &SvmMemory,
    range: &Range<usize>,
    (queue, blocking, count, events): MapArguments,
    pointer: &mut *mut c_void,
) -> std::result::Result<cl_event, i32> {
    *pointer = memory.at(range.start);
    // SAFETY: the handles are alive and of one context, and the range is within memory of that.
    unsafe { cl::enqueue_svm_map(queue, blocking, M::FLAGS, *pointer, range.len(), count, events) }
}
