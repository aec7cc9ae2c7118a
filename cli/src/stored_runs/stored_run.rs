//! A stored run, or one of its rounds.

use std::fmt;
use std::path::{Path, PathBuf};

use clmatrix_harness::private::log::run_log::RunLog;

use super::stored_run_error::StoredRunError;
use super::{find, round, round_of};

/// A stored run, or one of its rounds, which is read as a run of its own.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct StoredRun {
    /// The log of the run.
    pub(crate) log: PathBuf,
    /// The number of the round, from 1.
    pub(crate) round: Option<u32>,
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
        match self.round {
            Some(number) => round::read(&self.log, number),
            None => Ok(RunLog::read(&self.log)?),
        }
    }
}

impl fmt::Display for StoredRun {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.log.display())?;
        self.round.map_or(Ok(()), |round| write!(f, ":{round}"))
    }
}
