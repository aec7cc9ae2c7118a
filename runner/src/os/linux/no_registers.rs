//! The registers on processors without stacks.

/// The registers of a thread, which are not used here.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Registers {}

impl Registers {
    /// The number of registers.
    pub const COUNT: usize = 0;

    /// Returns nothing.
    pub fn of_signal(_context: &libc::ucontext_t) -> Self {
        Self {}
    }

    /// Returns no numbers.
    pub fn numbers(self) -> [u64; Self::COUNT] {
        []
    }

    /// Returns the registers of no numbers.
    pub fn from_numbers([]: [u64; Self::COUNT]) -> Self {
        Self {}
    }
}
