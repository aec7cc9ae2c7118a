//! Moving memory objects before they are used (OpenCL 3.0, 5.5.3;
//! `pyopencl.enqueue_migrate_mem_objects`).

use crate::driver::Driver;
use crate::event::Event;
use cl3::command_queue as cl;
use cl3::error_codes::CL_INVALID_VALUE;
use cl3::memory::{CL_MIGRATE_MEM_OBJECT_CONTENT_UNDEFINED, CL_MIGRATE_MEM_OBJECT_HOST};
use cl3::types::cl_uint;
use smallvec::SmallVec;

use super::command::enqueue;
use super::object::MemoryObject;
use super::object::sealed::Handle;
use super::track::Access;
use crate::error::{Error, Result};
use crate::order::Order;

bitflags::bitflags! {
    /// The destination, and whether the content is kept (`cl_mem_migration_flags`; `pyopencl.mem_migration_flags`).
    /// No flags: to the queue's device, with the content.
    #[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
    pub struct MigrationFlags: u64 {
        /// To the host, whatever the queue's device.
        const HOST = CL_MIGRATE_MEM_OBJECT_HOST;
        /// Their content is not needed, and undefined afterwards.
        const CONTENT_UNDEFINED = CL_MIGRATE_MEM_OBJECT_CONTENT_UNDEFINED;
    }
}

/// A [`MemoryObject`] or pooled buffer of any type, for mixed lists.
pub trait AnyMemoryObject {
    /// Returns the handle of the memory object.
    #[doc(hidden)]
    fn as_handle(&self) -> &dyn Handle;
}

impl<M: MemoryObject> AnyMemoryObject for M {
    fn as_handle(&self) -> &dyn Handle {
        self
    }
}

/// Moves `objects` to the queue's device or to the host (`clEnqueueMigrateMemObjects`, OpenCL 1.2).
/// Does not block. Many drivers allocate an object's memory only now.
///
/// ```
/// use clmatrix::memory::{Buffer, MemFlags, MigrationFlags, enqueue_migrate_mem_objects};
///
/// # fn main() -> clmatrix::Result<()> {
/// # let context = clmatrix::create_some_context()?;
/// # let queue = clmatrix::CommandQueue::new(&context)?;
/// let (one, other) = (
///     Buffer::new(&context, MemFlags::READ_WRITE, 1 << 20)?,
///     Buffer::new(&context, MemFlags::READ_WRITE, 1 << 20)?,
/// );
/// let flags = MigrationFlags::CONTENT_UNDEFINED;
/// enqueue_migrate_mem_objects(&queue, &[&one, &other], flags)?.wait()?;
/// # Ok(())
/// # }
/// ```
///
/// # Errors
/// CL_INVALID_VALUE for no objects and for flags that OpenCL does not know, CL_INVALID_CONTEXT where
/// they, the queue and the events are not of one context, CL_INVALID_OPERATION for one that is mapped
/// for writing, or mapped at all where its content is not needed (a region counts as its whole
/// buffer);
/// CL_EXEC_STATUS_ERROR_FOR_EVENTS_IN_WAIT_LIST for an event that has failed, and the driver's
/// errors.
pub fn enqueue_migrate_mem_objects<'q>(
    order: impl Into<Order<'q>>,
    objects: &[&dyn AnyMemoryObject],
    flags: MigrationFlags,
) -> Result<Event> {
    const CALL: &str = "clEnqueueMigrateMemObjects";
    let order = order.into();
    let (count, access) = checked(CALL, objects.len(), flags)?;
    let handles = objects.iter().map(|object| object.as_handle());
    // Drivers move an object as a whole, a region with its buffer.
    let whole_objects = handles.clone().map(|handle| handle.object());
    let accesses = whole_objects.map(|object| object.accessed(&(0..object.desc().size), access));
    let accesses: SmallVec<[_; 4]> = accesses.collect();
    let driver = order.queue.state().driver;
    let (raw, flags) = driver_view(handles, flags, driver.contains(Driver::CONFUSES_REGIONS));
    let event = enqueue(CALL, &order, &accesses, |(queue, events, list)| {
        let raw = raw.as_ptr().cast();
        // SAFETY: the handles are alive and of one context, and the driver keeps the objects until
        // the command has ended.
        unsafe { cl::enqueue_migrate_mem_object(queue, count, raw, flags.bits(), events, list) }
    })?;
    // quirk: NVIDIA-12
    if driver.contains(Driver::READS_ARRAYS_LATE) {
        event.keep(raw);
    }
    Ok(event)
}

/// Returns the number of objects, and the access of the migration to them.
pub(crate) fn checked(
    call: &'static str,
    count: usize,
    flags: MigrationFlags,
) -> Result<(cl_uint, Access)> {
    let refused = |reason| Err(Error::refused(call, CL_INVALID_VALUE, reason));
    if count == 0 {
        return refused("the list of objects to migrate is empty");
    }
    if flags.difference(MigrationFlags::all()) != MigrationFlags::empty() {
        return refused("the flags may be HOST and CONTENT_UNDEFINED only");
    }
    let Ok(count) = cl_uint::try_from(count) else {
        return refused("more than 2^32 at once");
    };
    let undefined = flags.contains(MigrationFlags::CONTENT_UNDEFINED);
    Ok((count, if undefined { Access::Write } else { Access::Read }))
}

/// Returns the handles, as numbers, and the flags for the driver. A driver that confuses regions migrates the whole
/// buffer, of which the content then matters.
// quirk: NVIDIA-11
fn driver_view<'a>(
    handles: impl Iterator<Item = &'a dyn Handle>,
    mut flags: MigrationFlags,
    confuses_regions: bool,
) -> (Vec<usize>, MigrationFlags) {
    let raw = handles.map(|handle| {
        let (part, whole) = (handle.handle(), handle.object().raw());
        if !confuses_regions || part == whole {
            return part.expose_provenance();
        }
        flags.remove(MigrationFlags::CONTENT_UNDEFINED);
        whole.expose_provenance()
    });
    (raw.collect(), flags)
}
