//! The reasons to skip a test that no query of the device tells.

use clmatrix_harness::skip;

/// A reason in time or in the environment of the process. Every other skip rests on what the device reports, and
/// none on the failure of a call.
#[derive(Clone, Copy, Debug)]
pub enum Excuse {
    /// The order of two threads is free.
    LateThread,
    /// A device need not run while the host does.
    KernelBeforeHost,
    /// Work groups need not run at the same time.
    GroupsInTurn,
    /// A driver may align memory more than it has to.
    AlignedBlocks,
    /// A driver may have reserved the memory of all buffers when it started.
    ReservedMemory,
    NoProcessSize,
    NoAddressSpaceEnd,
}

impl Excuse {
    /// Ends the test as skipped.
    pub fn skip(self) -> ! {
        let reason = match self {
            Self::LateThread => "the other thread was late",
            Self::KernelBeforeHost => "the kernel ended before it could see the flag of the host",
            Self::GroupsInTurn => "no work group saw the flag of another",
            Self::AlignedBlocks => "all blocks begin at multiples of 1 MiB",
            Self::ReservedMemory => "the memory of buffers does not show in the process",
            Self::NoProcessSize => "this system does not tell how much memory a process has",
            Self::NoAddressSpaceEnd => {
                "the address space cannot have an end, as on Windows or in a sanitizer's process"
            }
        };
        skip!("{reason}")
    }
}
