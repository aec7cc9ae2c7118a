//! Many hosts beside each other: their results, the [`drift`] of their facts, and the [`outliers`] among their
//! measurements.

pub(crate) mod drift;
pub(crate) mod host;
pub(crate) mod outliers;
pub(crate) mod pages;
#[cfg(test)]
mod tests;

use std::path::PathBuf;

use clmatrix_harness::private::log::read_error::ReadError;
use clmatrix_harness::private::log::run_log::RunLog;
use serde::Serialize;

use self::drift::Drift;
use self::host::HostRun;
use self::outliers::Outlier;

/// The runs of many hosts.
#[derive(Debug, Serialize)]
pub(crate) struct Fleet {
    /// The hosts that have a run.
    pub(crate) hosts: Vec<HostRun>,
    /// The hosts that have none.
    pub(crate) missing: Vec<String>,
    /// The facts in which hosts differ.
    pub(crate) drift: Vec<Drift>,
    /// The measurements that are far from those of the same model.
    pub(crate) outliers: Vec<Outlier>,
}

/// Runs that are not those of different hosts.
#[derive(Debug, thiserror::Error)]
pub(crate) enum FleetError {
    /// A log cannot be read.
    #[error(transparent)]
    Read(#[from] ReadError),
    /// A host is there twice.
    #[error("two runs of the host {0}: {1} and {2}")]
    Twice(String, String, String),
}

impl Fleet {
    /// Reads the logs, one after the other. Hosts of `expected` without a run are missing.
    pub(crate) fn read(logs: &[PathBuf], expected: &[String]) -> Result<Self, FleetError> {
        let mut hosts: Vec<HostRun> = Vec::new();
        for path in logs {
            let host = HostRun::new(&RunLog::read(path)?);
            if let Some(other) = hosts.iter().find(|other| other.host == host.host) {
                let (first, second) = (other.run_id.clone(), host.run_id);
                return Err(FleetError::Twice(host.host, first, second));
            }
            hosts.push(host);
        }
        let is_missing = |name: &&String| hosts.iter().all(|host| host.host != **name);
        let missing = expected.iter().filter(is_missing).cloned().collect();
        let (drift, outliers) = (drift::drift(&hosts), outliers::outliers(&hosts));
        Ok(Self { hosts, missing, drift, outliers })
    }

    /// The names of the hosts whose runs succeeded.
    pub(crate) fn passed(&self) -> impl Iterator<Item = &str> {
        let passed = self.hosts.iter().filter(|host| host.has_passed());
        passed.map(|host| host.host.as_str())
    }

    /// The names of the hosts whose runs did not succeed, and of those that have no run.
    pub(crate) fn failed(&self) -> impl Iterator<Item = &str> {
        let failed = self.hosts.iter().filter(|host| !host.has_passed());
        failed.map(|host| host.host.as_str()).chain(self.missing.iter().map(String::as_str))
    }
}
