//! Moving shared virtual memory before it is used (`clEnqueueSVMMigrateMem`).

use std::ffi::c_void;

use crate::event::Event;
use cl3::command_queue as cl;
use cl3::error_codes::CL_INVALID_VALUE;
use smallvec::SmallVec;

use super::memory::all_bytes;
use super::pointer::SvmPointer;
use crate::device::check_versions;
use crate::error::{Error, Result};
use crate::memory::command::enqueue;
use crate::memory::migrate::checked;
use crate::memory::range::check_not_empty;
use crate::memory::{MigrationFlags, Order};
use crate::select::Version;

const CALL: &str = "clEnqueueSVMMigrateMem";

/// Moves `svms` to the queue's device or to the host (`clEnqueueSVMMigrateMem`, OpenCL 2.1;
/// `pyopencl.enqueue_svm_migratemem`). Does not block.
///
/// ```no_run
/// use clmatrix::memory::{MigrationFlags, SvmAllocation, SvmFlags, enqueue_svm_migratemem};
///
/// # fn main() -> clmatrix::Result<()> {
/// # let context = clmatrix::create_some_context()?;
/// # let queue = clmatrix::CommandQueue::new(&context)?;
/// let memory = SvmAllocation::new(&context, 1 << 20, 0, SvmFlags::READ_WRITE)?;
/// enqueue_svm_migratemem(&queue, &[&memory], MigrationFlags::CONTENT_UNDEFINED)?.wait()?;
/// # Ok(())
/// # }
/// ```
///
/// # Errors
/// An error of class [`Unsupported`](crate::Class::Unsupported) where the queue's device or the loader is
/// older than OpenCL 2.1. CL_INVALID_VALUE for an empty list, for memory of 0 bytes, for the host's own
/// and for flags that OpenCL does not know; CL_INVALID_CONTEXT where the memory, the queue and the
/// events are not of one context, CL_INVALID_OPERATION for memory that is mapped for writing, or
/// mapped at all where its content is not needed;
/// CL_EXEC_STATUS_ERROR_FOR_EVENTS_IN_WAIT_LIST for an event that has failed, and the driver's
/// errors.
pub fn enqueue_svm_migratemem<'q>(
    order: impl Into<Order<'q>>,
    svms: &[&dyn SvmPointer],
    flags: MigrationFlags,
) -> Result<Event> {
    let order = order.into();
    let (count, access) = checked(CALL, svms.len(), flags)?;
    for svm in svms {
        check_not_empty(CALL, &(0..svm.size()))?;
        let reason = "the host's own memory cannot be migrated";
        Error::refuse_if(!svm.memory().is_from_driver(), CALL, CL_INVALID_VALUE, || reason)?;
    }
    let device = std::slice::from_ref(order.queue.device());
    check_versions(CALL, device, Version { major: 2, minor: 1 })?;
    let accesses: SmallVec<[_; 4]> = svms.iter().map(|svm| all_bytes(*svm, access)).collect();
    let pointers: SmallVec<[*const c_void; 4]> =
        svms.iter().map(|svm| svm.svm_ptr().cast_const()).collect();
    let sizes: SmallVec<[usize; 4]> = svms.iter().map(|svm| svm.size()).collect();
    enqueue(CALL, &order, &accesses, |(queue, events, list)| {
        let (at, sizes) = (pointers.as_ptr(), sizes.as_ptr());
        // SAFETY: the handles are alive and of one context, as is the memory, which has so many bytes
        // there and is not freed before the command has ended.
        unsafe { cl::enqueue_svm_migrate_mem(queue, count, at, sizes, flags.bits(), events, list) }
    })
}
