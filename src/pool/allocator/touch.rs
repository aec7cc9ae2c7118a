//! How the memory of a new buffer is made to exist: the first command that uses it.

use std::ptr;

use crate::queue::CommandQueue;
use crate::queue_properties::QueueProperties;
use cl3::command_queue as cl;
use cl3::device::{CL_DEVICE_PLATFORM, CL_DEVICE_VERSION, get_device_info};
use cl3::memory::CL_MIGRATE_MEM_OBJECT_CONTENT_UNDEFINED;
use cl3::platform::{CL_PLATFORM_VERSION, get_platform_info};
use cl3::types::{CL_FALSE, cl_platform_id};

use crate::error::{Error, Result, in_call};
use crate::event::{Event, Outcome};
use crate::memory::{Buffer, MemoryObject};
use crate::select::Version;

/// AccessTracker new buffers on a queue of its own, so that nothing that the program does makes it wait.
#[derive(Debug)]
pub(super) struct Toucher {
    queue: CommandQueue,
    by: By,
}

/// The command that does it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum By {
    /// `clEnqueueMigrateMemObjects`, from OpenCL 1.2 on.
    Migrating,
    /// `clEnqueueWriteBuffer` of a few bytes.
    Writing,
}

impl By {
    /// Selects the command by the versions of the device and of its platform: the loader calls a null
    /// pointer if the driver lacks a function.
    // quirk: LOADER-2
    fn of_versions(device: &str, platform: &str) -> Self {
        let migrates = |text| {
            Version::parse(text).is_some_and(|version| version >= Version { major: 1, minor: 2 })
        };
        if migrates(device) && migrates(platform) { Self::Migrating } else { Self::Writing }
    }

    fn for_queue(queue: &CommandQueue) -> Result<Self> {
        let device = queue.device().as_raw();
        let info = |name| get_device_info(device, name).map_err(in_call("clGetDeviceInfo"));
        let platform = isize::from(info(CL_DEVICE_PLATFORM)?) as cl_platform_id;
        let platform_version = get_platform_info(platform, CL_PLATFORM_VERSION)
            .map_err(in_call("clGetPlatformInfo"))?;
        let device_version = String::from(info(CL_DEVICE_VERSION)?);
        Ok(Self::of_versions(&device_version, &String::from(platform_version)))
    }

    fn call(self) -> &'static str {
        match self {
            Self::Migrating => "clEnqueueMigrateMemObjects",
            Self::Writing => "clEnqueueWriteBuffer",
        }
    }
}

impl Toucher {
    /// On the device of `queue`.
    pub(super) fn beside(queue: &CommandQueue) -> Result<Self> {
        let (context, device) = (queue.context_raw(), queue.device().as_raw());
        // SAFETY: the context and the device are alive while the queue is borrowed.
        let queue = unsafe { CommandQueue::create(context, device, QueueProperties::empty()) }?;
        Ok(Self { by: By::for_queue(&queue)?, queue })
    }

    /// Makes the memory of a buffer without other handles exist, and returns when it does.
    ///
    /// The buffer need not remember the command: it has ended before the buffer is used.
    pub(super) fn touch(&self, buffer: &Buffer) -> Result<()> {
        static ZERO: [u8; 4] = [0; 4];
        let (call, queue, raw) = (self.by.call(), self.queue.as_raw(), buffer.as_raw());
        let event = match self.by {
            By::Migrating => {
                let flags = CL_MIGRATE_MEM_OBJECT_CONTENT_UNDEFINED;
                // SAFETY: the queue and the buffer are alive and of one context; there is no wait list.
                unsafe { cl::enqueue_migrate_mem_object(queue, 1, &raw, flags, 0, ptr::null()) }
            }
            By::Writing => {
                let (size, from) = (buffer.size().min(ZERO.len()), ZERO.as_ptr().cast_mut().cast());
                // SAFETY: as above; the buffer has that many bytes, and so has the memory that is written,
                // which is static.
                unsafe {
                    cl::enqueue_write_buffer(queue, raw, CL_FALSE, 0, size, from, 0, ptr::null())
                }
            }
        }
        .map_err(in_call(call))?;
        // SAFETY: the driver has just made it, with one reference.
        wait(call, &unsafe { self.queue.event_from_raw(event, false) }?)
    }
}

/// Waits for a command and returns the code that it failed with. Some drivers report that memory ran out
/// through the event only.
// quirk: DRIVER-7
fn wait(call: &'static str, event: &Event) -> Result<()> {
    match event.wait_until_ended()? {
        Outcome::Complete => Ok(()),
        Outcome::Failed => Err(Error::from_call(call, event.raw_status()?)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn memory_that_ran_out_in_the_command_is_out_of_memory() -> Result<()> {
        use cl3::error_codes::CL_MEM_OBJECT_ALLOCATION_FAILURE as RAN_OUT;
        use cl3::event::CL_COMPLETE;

        use crate::event::UserEvent;

        let context = crate::create_some_context()?;
        for (status, expected) in
            [(CL_COMPLETE, Ok(())), (RAN_OUT, Err((crate::Class::OutOfMemory, RAN_OUT)))]
        {
            let user = UserEvent::new(&context)?;
            let event = Event::clone(&user);
            match status {
                CL_COMPLETE => user.set_complete(),
                // SAFETY: no command waits for the event.
                code => unsafe { user.set_failed(code) },
            }?;
            let found = wait("clEnqueueMigrateMemObjects", &event);
            assert_eq!(found.map_err(|error| (error.class(), error.code())), expected);
        }
        Ok(())
    }

    #[test]
    fn only_what_has_opencl_1_2_throughout_migrates() {
        for (device, platform, by) in [
            ("OpenCL 1.2 a", "OpenCL 1.2 a", By::Migrating),
            ("OpenCL 3.0 a", "OpenCL 2.1 a", By::Migrating),
            ("OpenCL 1.1 a", "OpenCL 3.0 a", By::Writing),
            ("OpenCL 1.2 a", "OpenCL 1.1 a", By::Writing),
            ("OpenCL 1.0 a", "OpenCL 1.0 a", By::Writing),
            ("", "", By::Writing),
        ] {
            assert_eq!(By::of_versions(device, platform), by, "{device}, {platform}");
        }
    }

    /// The allocator writes a few bytes, and not beyond the end.
    #[test]
    fn writing_makes_memory_exist_too() -> Result<()> {
        use crate::memory::MemFlags;

        let context = crate::create_some_context()?;
        let queue = CommandQueue::new(&context)?;
        let toucher = Toucher { by: By::Writing, ..Toucher::beside(&queue)? };
        for size in [1, 3, 4, 5] {
            let buffer = Buffer::from_slice(&context, MemFlags::READ_WRITE, &[7_u8; 5][..size])?;
            toucher.touch(&buffer)?;
            let mut found = [1_u8; 5];
            buffer.read(&queue, &mut found[..size])?;
            assert_eq!(found[..size], [0, 0, 0, 0, 7][..size]);
        }
        Ok(())
    }
}
