//! Shared virtual memory as a buffer (`clCreateBuffer` with CL_MEM_USE_HOST_PTR).

use std::mem::ManuallyDrop;
use std::ops::RangeBounds;
use std::sync::Arc;
use std::thread;

use cl3::error_codes::CL_INVALID_BUFFER_SIZE;

use super::memory::{Svm, SvmMemory, bytes};
use crate::create::create;
use crate::error::{Error, Result};
use crate::memory::destructor_callback::keep_until_destroyed;
use crate::memory::object::{MemObject, ObjectDesc};
use crate::memory::track::Access;
use crate::memory::{Buffer, MemFlags};

/// Implements [`SvmPointer::as_buffer`](super::pointer::SvmPointer::as_buffer).
pub(super) fn as_buffer(
    svm: &impl Svm,
    flags: MemFlags,
    range: impl RangeBounds<usize>,
) -> Result<Buffer> {
    const CALL: &str = "clCreateBuffer";
    let flags = flags.for_host_memory(CALL)?;
    let range = bytes(CALL, svm, range)?;
    let (memory, size) = (svm.memory(), range.len());
    let context = memory.context();
    let reason = "the buffer would have 0 bytes";
    Error::refuse_if(size == 0, CALL, CL_INVALID_BUFFER_SIZE, || reason)?;
    context.check_size(CALL, size)?;
    let at = memory.at(range.start);
    // The driver may copy them to a device at once, whatever the flags; it writes them only in
    // commands.
    let read = memory.tracker().access_by_host(CALL, &range, Access::Read)?;
    // SAFETY: the context is alive, and `size` bytes at `at` are memory that its devices share, which
    // no host access writes meanwhile; the destructor callback below keeps it for the driver.
    let raw = unsafe { create!(MemRef, clCreateBuffer(context.raw(), flags.bits(), size, at)) }?;
    drop(read);
    let (desc, uses) = (ObjectDesc { flags, size }, Arc::clone(memory.tracker()));
    let object = MemObject::within(raw, Arc::clone(context), desc, uses, range.start)
        .keeping_alive(Arc::<SvmMemory>::clone(memory));
    // SAFETY: the object is alive.
    unsafe { keep_until_destroyed(object.raw(), DriverRef::new(memory)) }
        .map_err(|(error, _)| error)?;
    Ok(Buffer::whole(object))
}

/// The memory of a driver's buffer. It is dropped in the thread in which the driver destroys the buffer. That thread
/// must not wait, which a free of the memory may have to.
///
/// In most cases, that is within the release of the buffer's last handle, which itself keeps the memory that long:
/// the memory then ends in the caller's thread, and no other code of this crate runs while the process exits. Only
/// where a command has outlived all handles is this the last reference, and a new thread waits.
struct DriverRef(ManuallyDrop<Arc<SvmMemory>>);

impl DriverRef {
    fn new(memory: &Arc<SvmMemory>) -> Self {
        Self(ManuallyDrop::new(Arc::clone(memory)))
    }
}

impl Drop for DriverRef {
    fn drop(&mut self) {
        // SAFETY: it is taken once, here.
        let memory = unsafe { ManuallyDrop::take(&mut self.0) };
        let Some(last) = Arc::into_inner(memory).map(ManuallyDrop::new) else { return };
        let size = last.size();
        let freed = thread::Builder::new().spawn(move || drop(ManuallyDrop::into_inner(last)));
        if let Err(error) = freed {
            log::error!("{error}: {size} bytes of shared virtual memory are never freed");
        }
    }
}
