//! A comparison of many hosts: their results, the [`drift`] of their facts, and the [`outliers`] among their
//! measurements.

pub(crate) mod drift;
pub(crate) mod host;
pub(crate) mod outliers;
pub(crate) mod pages;
#[cfg(test)]
mod tests;

use std::path::PathBuf;

use clmatrix_runner::log::run_log::RunLog;
use clmatrix_runner::terminal::AnyError;
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

impl Fleet {
    /// Reads the logs, one after the other. Hosts of `expected` without a run are missing.
    ///
    /// # Errors
    ///
    /// A log cannot be read, or a host has two runs.
    pub(crate) fn read(logs: &[PathBuf], expected: &[String]) -> Result<Self, AnyError> {
        let mut hosts: Vec<HostRun> = Vec::new();
        for path in logs {
            let host = HostRun::new(&RunLog::read(path)?);
            if let Some(other) = hosts.iter().find(|other| other.host == host.host) {
                let runs = format!("{} and {}", other.run_id, host.run_id);
                return Err(format!("two runs of the host {}: {runs}", host.host).into());
            }
            hosts.push(host);
        }
        let is_missing = |name: &&String| hosts.iter().all(|host| host.host != **name);
        let missing = expected.iter().filter(is_missing).cloned().collect();
        let (drift, outliers) = (drift::drift(&hosts), outliers::outliers(&hosts));
        Ok(Self { hosts, missing, drift, outliers })
    }

    /// Returns the names of the hosts whose runs succeeded.
    pub(crate) fn passed(&self) -> impl Iterator<Item = &str> {
        self.hosts.iter().filter(|host| host.has_passed()).map(|host| host.host.as_str())
    }

    /// Returns the names of the hosts whose runs did not succeed, and of those that have no run.
    pub(crate) fn failed(&self) -> impl Iterator<Item = &str> {
        let failed = self.hosts.iter().filter(|host| !host.has_passed());
        failed.map(|host| host.host.as_str()).chain(self.missing.iter().map(String::as_str))
    }
}
