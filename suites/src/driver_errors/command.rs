//! Commands with any arguments.

use std::ptr;

use clmatrix::cl3::error_codes::CL_SUCCESS;
use clmatrix::cl3::event::{release_event, wait_for_events};
use clmatrix::cl3::types::{cl_command_queue, cl_event, cl_int, cl_uint};

use super::{Answer, assert_code};

/// The arguments that all commands have.
pub struct Common {
    pub queue: cl_command_queue,
    /// The length of the wait list.
    pub count: cl_uint,
    /// The wait list.
    pub events: *const cl_event,
}

impl Common {
    /// The arguments of a command on `queue` without a wait list.
    pub fn new(queue: cl_command_queue) -> Self {
        Self { queue, count: 0, events: ptr::null() }
    }
}

/// A command, whether its arguments are valid or not.
pub trait Command {
    /// The arguments that all commands have.
    fn common(&mut self) -> &mut Common;

    /// Enqueues the command.
    fn enqueue(&self) -> Answer<cl_event>;

    /// Enqueues the command, waits for it, and returns the code of the call.
    fn code(&self) -> cl_int {
        match self.enqueue() {
            Ok(event) => {
                // The code of the call counts, not the fate of the command.
                _ = wait_for_events(&[event]);
                // SAFETY: nothing else has the event.
                _ = unsafe { release_event(event) };
                CL_SUCCESS
            }
            Err(code) => code,
        }
    }
}

/// Changes a valid command, and checks the code of the call.
#[track_caller]
pub fn check<C: Command>(mut command: C, change: fn(&mut C), expected: cl_int) {
    change(&mut command);
    assert_code(command.code(), expected);
}

/// The pointer to an origin, a region or a pattern; null for `None`.
pub fn pointer<T>(argument: &Option<T>) -> *const T {
    argument.as_ref().map_or(ptr::null(), ptr::from_ref)
}
