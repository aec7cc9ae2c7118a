//! The view of a process while it runs.

use crate::os::Source;

/// Follows a process.
pub trait Watch {
    /// The process of this id has been started.
    fn begins(&mut self, process: u32);

    /// The test has written these bytes.
    fn wrote(&mut self, from: Source, bytes: &[u8]);
}
