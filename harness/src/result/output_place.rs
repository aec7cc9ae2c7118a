//! The place of the outputs of a result.

use std::ops::Range;

/// The place of the line of a result in the logs of its run.
#[derive(Clone, Debug, PartialEq)]
pub struct OutputPlace {
    /// The position of the log among those of the run.
    pub file: usize,
    /// The bytes of the line.
    pub line: Range<u64>,
}
