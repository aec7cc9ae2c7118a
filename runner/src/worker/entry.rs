//! The entry of a worker, before its process has another thread.
//!
//! A target with libtest's own `main` runs each test on a thread beside the main one, also with `--test-threads=1`. A
//! constructor of the executable runs before both: it splits the process into keeper and worker, and does nothing
//! else. The registry is read later.

use std::fmt::Display;

use parking_lot::Mutex;

use super::protocol::{ROLE_VARIABLE, Role};
use crate::os::{self, Connection};
use crate::target::CANNOT_RUN;
use crate::variable;

/// The role of this process and its connection, until the entry point takes them.
static WORKER: Mutex<Option<(Role, Connection)>> = Mutex::new(None);

#[cfg(target_os = "linux")]
#[used]
// SAFETY: the C library calls the functions of this section, which take no arguments here, before `main`.
#[unsafe(link_section = ".init_array")]
static CONSTRUCTOR: extern "C" fn() = {
    extern "C" fn construct() {
        become_worker_if_asked();
    }
    construct
};

/// Returns the role of this process and its connection, once, if the environment makes it a worker.
pub(super) fn take() -> Option<(Role, Connection)> {
    // Other systems have no keeper, and need no fork.
    #[cfg(not(target_os = "linux"))]
    become_worker_if_asked();
    WORKER.lock().take()
}

fn become_worker_if_asked() {
    let Some(role) = variable::value(ROLE_VARIABLE) else { return };
    let role = role.to_str().and_then(|json| serde_json::from_str(json).ok());
    let role: Role = role.unwrap_or_else(|| refuse("its value is none of the runner's"));
    // Processes that the tests start are no workers.
    // SAFETY: on Linux, a constructor calls this, and no other thread exists. On Windows, any thread may make the call.
    // Elsewhere, the other thread of libtest waits for this one, and uses no variable.
    unsafe { std::env::remove_var(ROLE_VARIABLE) };
    let connection = os::become_worker().unwrap_or_else(|error| refuse(error));
    *WORKER.lock() = Some((role, connection));
}

/// Ends a process that is no worker, although the environment says so.
fn refuse(reason: impl Display) -> ! {
    eprintln!(
        "error: {ROLE_VARIABLE} is set, which the runner does for its workers only; unset it: {reason}"
    );
    os::exit_now(i32::from(CANNOT_RUN))
}
