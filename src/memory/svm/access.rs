//! Accesses of the host to fine-grain memory without a map.

use std::ops::RangeBounds;
use std::ptr::NonNull;
use std::sync::Arc;

use bytemuck::Pod;
use cl3::error_codes::{CL_INVALID_OPERATION, CL_INVALID_VALUE};

use super::flags::SvmFlags;
use super::memory::{Svm, SvmMemory, elements};
use crate::error::{Error, Result};
use crate::memory::mapping::mode;
use crate::memory::track::HostAccess;
use crate::memory::{MapMode, SliceMap};

/// Elements of fine-grain shared virtual memory as a slice on the host; `&mut` only if `M` writes.
///
/// As long as it lives, commands and maps that conflict with it are refused. If it is forgotten, they
/// are refused for good, and the memory is never freed.
///
/// ```compile_fail,E0596
/// # use clmatrix::memory::*;
/// fn read_only_is_read_only(mut bytes: SvmAccess<f32, MapRead>) {
///     bytes[0] = 1.0;
/// }
/// ```
pub type SvmAccess<T, M> = SliceMap<AccessGuard, T, M>;

/// An access of the host, which keeps conflicting commands and maps away.
#[derive(Debug)]
pub struct AccessGuard {
    _held: HostAccess,
    /// The last field: it must outlive the access.
    _memory: Arc<SvmMemory>,
}

/// Implements [`SvmPointer::access`](super::pointer::SvmPointer::access). Calls no function of OpenCL; errors name
/// `clEnqueueSVMMap`, which coarse-grain memory needs instead.
pub(super) fn access<T: Pod, M: MapMode>(
    svm: &impl Svm,
    range: impl RangeBounds<usize>,
) -> Result<SvmAccess<T, M>> {
    const CALL: &str = "clEnqueueSVMMap";
    let memory = svm.memory();
    let is_coarse = !memory.flags().contains(SvmFlags::FINE_GRAIN_BUFFER);
    let reason = "the memory is coarse-grain; map it, or create it with FINE_GRAIN_BUFFER";
    Error::refuse_if(is_coarse, CALL, CL_INVALID_OPERATION, || reason)?;
    let bytes = elements::<T>(CALL, svm, range)?;
    let pointer = NonNull::new(memory.at(bytes.start).cast::<T>());
    let pointer = pointer.filter(|pointer| pointer.is_aligned()).ok_or_else(|| {
        let reason = format!("elements must be at multiples of {} bytes", align_of::<T>());
        Error::refused(CALL, CL_INVALID_VALUE, reason)
    })?;
    let access = memory.tracker().access_by_host(CALL, &bytes, mode::access::<M>())?;
    let guard = AccessGuard { _held: access, _memory: Arc::clone(memory) };
    // SAFETY: the bytes are a whole number of elements; `guard` keeps the memory alive, and
    // commands and maps away; earlier commands have ended, after which the host sees the devices'
    // writes to fine-grain memory.
    Ok(unsafe { SliceMap::new(guard, pointer, bytes.len()) })
}
