//! Processors whose stacks cannot be unwound.

use std::os::unix::net::UnixStream;

use nix::unistd::Pid;
use serde::{Deserialize, Serialize};

use crate::stacks::Stacks;

/// A crash that is reported before the process ends: there is none.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Crash {}

impl Crash {
    /// Lets a thread go on that has crashed.
    pub fn go_on(&self, _process: Pid) {
        match *self {}
    }
}

/// Does nothing.
pub fn report_crashes(_connection: &UnixStream, _write: fn(&mut &mut [u8], Crash) -> bool) {}

/// Does nothing.
pub fn report_aborts() {}

/// Returns the reason why there are no stacks.
pub fn take(_process: Pid, _crash: Option<Crash>) -> Stacks {
    Stacks::none(format_args!("not available on {}", std::env::consts::ARCH))
}
