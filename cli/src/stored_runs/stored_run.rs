//! A stored run, or one of its rounds.

use std::path::{Path, PathBuf};

use clmatrix_harness::private::log::read_error::ReadError;
use clmatrix_harness::private::log::run_log::RunLog;

use super::{find, round};

/// A stored run, or one of its rounds, which is read as a run of its own.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct StoredRun {
    /// The log of the run.
    pub(crate) log: PathBuf,
    /// The number of the round, from 1.
    pub(crate) round: Option<u32>,
}

/// A stored run that cannot be read.
#[derive(Debug, thiserror::Error)]
pub(crate) enum StoredRunError {
    /// The log cannot be read.
    #[error(transparent)]
    Read(#[from] ReadError),
    /// The run has fewer rounds.
    #[error("{}: there is no round {round}; the last one is {last}", .log.display())]
    NoRound { log: PathBuf, round: u32, last: u32 },
}

impl StoredRun {
    /// Finds a run by one of the names that [`find`] takes, or one of its rounds by that name, `:` and a number.
    ///
    /// # Errors
    ///
    /// There is no such run, or more than one.
    pub(crate) fn find(folder: &Path, name: &str) -> Result<Self, String> {
        let (run, round) = round_of(name).map_or((name, None), |(run, round)| (run, Some(round)));
        Ok(Self { log: find(folder, run)?, round })
    }

    /// Reads the run or the round.
    ///
    /// # Errors
    ///
    /// The log cannot be read, or has no such round.
    pub(crate) fn read(&self) -> Result<RunLog, StoredRunError> {
        let Some(number) = self.round else { return Ok(RunLog::read(&self.log)?) };
        let round = round::read(&self.log, number)?;
        round.map_err(|last| StoredRunError::NoRound { log: self.log.clone(), round: number, last })
    }
}

/// The parts of the name of a round: the name of its run, and its number.
pub(crate) fn round_of(name: &str) -> Option<(&str, u32)> {
    let (run, number) = name.rsplit_once(':')?;
    let number = number.parse().ok().filter(|number| *number > 0)?;
    (!Path::new(name).exists()).then_some((run, number))
}
