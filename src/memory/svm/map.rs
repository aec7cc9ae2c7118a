//! Maps of shared virtual memory (OpenCL 3.0, 5.6.1; `pyopencl.SVMMap`).

use std::ffi::c_void;
use std::ops::RangeBounds;
use std::sync::Arc;

use bytemuck::Pod;
use cl3::command_queue as cl;
use cl3::types::{CL_NON_BLOCKING, cl_context, cl_mem};

use super::memory::{SvmMemory, elements};
use super::pointer::SvmPointer;
use crate::error::Result;
use crate::memory::mapping::map::Map;
use crate::memory::mapping::mode::{MapMode, access};
use crate::memory::mapping::slice::SliceMap;
use crate::memory::mapping::{Mappable, Mapping};
use crate::memory::order::Order;
use crate::memory::track::AccessTracker;
use crate::queue::Arguments;

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
pub type SvmMap<T, M> = SliceMap<Mapping<Arc<SvmMemory>>, T, M>;

impl<S: SvmPointer, R: RangeBounds<usize>> Map<R> for S {
    type Guard<T: Pod, M: MapMode> = SvmMap<T, M>;

    unsafe fn enqueue_map<T: Pod, M: MapMode>(
        &self,
        order: Order<'_>,
        range: R,
        is_blocking: bool,
    ) -> Result<SvmMap<T, M>> {
        let bytes = elements::<T>(Arc::<SvmMemory>::MAP, self, range)?;
        let (memory, size, access) = (self.memory(), bytes.len(), access::<M>());
        let submit = |(queue, count, events): Arguments, pointer: &mut *mut c_void| {
            *pointer = memory.at(bytes.start);
            // SAFETY: the handles are alive and of one context, and the bytes are within memory of that.
            unsafe {
                cl::enqueue_svm_map(queue, CL_NON_BLOCKING, M::FLAGS, *pointer, size, count, events)
            }
        };
        let mapping = Mapping::new(order, memory, &bytes, access, is_blocking, submit)?;
        // SAFETY: as the caller promises.
        unsafe { SliceMap::mapped(mapping, size) }
    }
}
