//! Maps of shared virtual memory (OpenCL 3.0, 5.6.1; `pyopencl.SVMMap`).

use std::ffi::c_void;
use std::ops::RangeBounds;
use std::sync::Arc;

use bytemuck::Pod;
use cl3::command_queue as cl;
use cl3::types::{CL_NON_BLOCKING, cl_mem};

use super::memory::{Svm, SvmMemory, elements};
use crate::error::Result;
use crate::memory::mapping::{Mappable, Mapping, access};
use crate::memory::track::AccessTracker;
use crate::memory::{MapMode, Order, SliceMap};
use crate::queue::Arguments;

impl Mappable for Arc<SvmMemory> {
    const MAP: &'static str = "clEnqueueSVMMap";
    const UNMAP: &'static str = "clEnqueueSVMUnmap";

    fn tracker(&self) -> &Arc<AccessTracker> {
        SvmMemory::tracker(self)
    }

    fn mem_object(&self) -> Option<cl_mem> {
        None
    }
}

/// Elements of shared virtual memory as a slice on the host; `&mut` only if `M` writes
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
pub type SvmMap<T, M> = SliceMap<Mapping<Arc<SvmMemory>>, T, M>;

/// Maps elements of shared virtual memory.
///
/// # Safety
/// Without `is_blocking`, nothing reaches the elements before the event of the guard has completed.
pub(super) unsafe fn enqueue<T: Pod, M: MapMode>(
    svm: &impl Svm,
    order: &Order<'_>,
    range: impl RangeBounds<usize>,
    is_blocking: bool,
) -> Result<SvmMap<T, M>> {
    let bytes = elements::<T>(Arc::<SvmMemory>::MAP, svm, range)?;
    let (memory, size) = (svm.memory(), bytes.len());
    let submit = |(queue, count, events): Arguments, pointer: &mut *mut c_void| {
        *pointer = memory.at(bytes.start);
        // SAFETY: the handles are alive and of one context, and the bytes are within memory of that.
        unsafe {
            cl::enqueue_svm_map(queue, CL_NON_BLOCKING, M::FLAGS, *pointer, size, count, events)
        }
    };
    let accessed = memory.accessed(bytes.clone(), access::<M>());
    let mapping = Mapping::new(order, memory, &accessed, is_blocking, submit)?;
    // SAFETY: as the caller promises.
    unsafe { SliceMap::mapped(mapping, size) }
}
