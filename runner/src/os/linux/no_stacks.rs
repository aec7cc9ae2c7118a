//! Processors whose stacks cannot be unwound, and executables without the feature `stacks`.

use nix::unistd::Pid;

use super::crash::Crash;
use crate::stacks::Stacks;

/// Resumes a thread that has crashed. Returns the reason why there are no stacks, and
/// false: the code that started the thread is unknown.
pub fn take(process: Pid, crash: Option<Crash>) -> (Stacks, bool) {
    if let Some(crash) = crash {
        crash.go_on(process);
    }
    let stacks = match cfg!(feature = "stacks") {
        true => Stacks::none(format_args!("not available on {}", std::env::consts::ARCH)),
        false => Stacks::none("not available without the feature `stacks`"),
    };
    (stacks, false)
}
