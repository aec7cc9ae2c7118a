//! The first command on a new buffer, which makes the driver allocate its memory.

use std::ptr;

use cl3::command_queue::enqueue_migrate_mem_object;
use cl3::memory::CL_MIGRATE_MEM_OBJECT_CONTENT_UNDEFINED;

use crate::error::{Error, Result, in_call};
use crate::event::{Event, Outcome};
use crate::memory::Buffer;
use crate::queue::CommandQueue;

/// The command that makes the driver allocate memory.
const CALL: &str = "clEnqueueMigrateMemObjects";

/// Makes the driver allocate the memory of a buffer without other handles, by a command on `queue`, and returns when it
/// has.
///
/// The buffer need not track the command: it has ended before the buffer is used.
pub(super) fn touch(queue: &CommandQueue, buffer: &Buffer) -> Result<()> {
    let (raw_queue, raw) = (queue.as_raw(), buffer.as_raw());
    let flags = CL_MIGRATE_MEM_OBJECT_CONTENT_UNDEFINED;
    // SAFETY: the queue and the buffer are alive and of one context; there is no wait list.
    let event = unsafe { enqueue_migrate_mem_object(raw_queue, 1, &raw, flags, 0, ptr::null()) };
    // SAFETY: the driver has just made it, with one reference.
    wait(&unsafe { queue.event_from_raw(event.map_err(in_call(CALL))?) }?)
}

/// Waits for a command and returns the code that it failed with. Some drivers report that memory ran out
/// through the event only.
// quirk: DRIVER-7
fn wait(event: &Event) -> Result<()> {
    match event.wait_until_ended()? {
        Outcome::Complete => Ok(()),
        Outcome::Failed => Err(Error::from_call(CALL, event.raw_status()?)),
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
            let found = wait(&event);
            assert_eq!(found.map_err(|error| (error.class(), error.code())), expected);
        }
        Ok(())
    }
}
