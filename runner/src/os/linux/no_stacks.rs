//! Processors whose stacks cannot be unwound, and executables without the feature `stacks`.

use nix::unistd::Pid;

use super::crash::Crash;
use crate::stacks::Stacks;

/// The number of registers of a thread, which are not used here.
pub const REGISTERS: usize = 0;

/// Returns nothing.
pub fn of_signal(_context: &libc::ucontext_t) -> [u64; REGISTERS] {
    []
}

/// Resumes a thread that has crashed. Returns the reason why there are no stacks, and
/// false: the code that started the thread is unknown.
pub fn take(process: Pid, crash: Option<Crash>) -> (Stacks, bool) {
    crash.iter().for_each(|crash| crash.go_on(process));
    let stacks = match cfg!(feature = "stacks") {
        true => Stacks::none(format_args!("not available on {}", std::env::consts::ARCH)),
        false => Stacks::none("not available without the feature `stacks`"),
    };
    (stacks, false)
}
