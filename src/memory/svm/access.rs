//! What the host does to fine-grain memory without a map.

use std::ops::RangeBounds;
use std::ptr::NonNull;
use std::sync::Arc;

use bytemuck::Pod;
use cl3::error_codes::{CL_INVALID_OPERATION, CL_INVALID_VALUE};

use super::flags::SvmFlags;
use super::memory::SvmMemory;
use super::pointer::SvmPointer;
use super::sealed;
use crate::error::{Error, Result};
use crate::memory::map::slice::{SliceMap, elements};
use crate::memory::map::{self, MapMode};
use crate::memory::range::check_not_empty;
use crate::memory::track::HostAccess;

/// Bytes of fine-grain shared virtual memory as a slice of the host's; `&mut` only if `M` writes.
///
/// As long as it lives, commands and maps that would get in its way are refused. If it is forgotten,
/// they stay so, and the memory is never freed.
///
/// ```compile_fail,E0596
/// # use clmatrix::memory::*;
/// fn read_only_is_read_only(mut bytes: SvmAccess<f32, MapRead>) {
///     bytes[0] = 1.0;
/// }
/// ```
pub type SvmAccess<T, M> = SliceMap<Accessing, T, M>;

/// Keeps commands and maps away from bytes that the host uses.
#[derive(Debug)]
pub struct Accessing {
    _held: HostAccess,
    /// Last: it must outlive its use.
    _memory: Arc<SvmMemory>,
}

/// [`SvmPointer::access`]. No function of OpenCL's is called; `clEnqueueSVMMap` is what coarse-grain
/// memory needs instead.
pub(super) fn access<T: Pod, M: MapMode>(
    svm: &impl SvmPointer,
    range: impl RangeBounds<usize>,
) -> Result<SvmAccess<T, M>> {
    const CALL: &str = "clEnqueueSVMMap";
    let memory = svm.memory();
    if !memory.flags().contains(SvmFlags::FINE_GRAIN_BUFFER) {
        let why = "the memory is coarse-grain; map it, or create it with FINE_GRAIN_BUFFER";
        return Err(Error::refused(CALL, CL_INVALID_OPERATION, why));
    }
    let range = sealed::bytes(CALL, svm, range)?;
    check_not_empty(CALL, &range)?;
    let len = elements::<T>(CALL, range.len())?;
    let pointer = NonNull::new(memory.at(range.start).cast::<T>());
    let pointer = pointer.filter(|pointer| pointer.is_aligned()).ok_or_else(|| {
        let why = format!("elements must be at multiples of {} bytes", align_of::<T>());
        Error::refused(CALL, CL_INVALID_VALUE, why)
    })?;
    let held = memory.tracker().access_by_host(CALL, &range, map::access::<M>())?;
    let accessing = Accessing { _held: held, _memory: Arc::clone(memory) };
    // SAFETY: the memory is alive as long as `accessing` is, which keeps commands and maps away;
    // what was under way has ended, and fine-grain memory is then as the devices left it.
    Ok(unsafe { SliceMap::new(accessing, pointer, len) })
}
