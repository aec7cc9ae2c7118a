//! The reasons why a stored run cannot be read.

use std::path::PathBuf;

use clmatrix_harness::private::log::read_error::ReadError;

/// A stored run that cannot be read.
#[derive(Debug, thiserror::Error)]
pub(crate) enum StoredRunError {
    /// The log cannot be read.
    #[error(transparent)]
    Read(#[from] ReadError),
    /// The run has fewer rounds.
    #[error("{}: there is no round {round}; they count from 1 to {last}", .log.display())]
    NoRound { log: PathBuf, round: u32, last: u32 },
    /// The parts of a merged run have rounds of their own.
    #[error("{}: the run is merged; give a round of one of its parts", .0.display())]
    Merged(PathBuf),
}
