//! The whole runs of different hosts: which of them go together.

use indexmap::IndexMap;

use super::Merge;
use super::input::Input;

/// Runs that are not those of different hosts.
#[derive(Debug, thiserror::Error)]
pub(crate) enum HostsError {
    /// A run is a shard.
    #[error("{0} is a part of a run; merge its shards first, without --hosts")]
    Shard(String),
    /// A host is there twice.
    #[error("a host is there twice: {0} and {1}")]
    Twice(String, String),
    /// A host has no run.
    #[error("no run of these hosts: {}", .0.join(", "))]
    Missing(Vec<String>),
}

impl Merge {
    /// Checks that each input is a whole run of another host, and that all expected hosts are there. A device is
    /// its key.
    pub(crate) fn of_hosts(inputs: Vec<Input>, expected: &[String]) -> Result<Self, HostsError> {
        let mut hosts: IndexMap<&str, &Input> = IndexMap::new();
        for input in &inputs {
            if input.header.shard.is_some() {
                return Err(HostsError::Shard(input.to_string()));
            }
            if let Some(other) = hosts.insert(&input.header.host, input) {
                return Err(HostsError::Twice(other.to_string(), input.to_string()));
            }
        }
        let is_missing = |host: &&String| !hosts.contains_key(host.as_str());
        let missing: Vec<String> = expected.iter().filter(is_missing).cloned().collect();
        if !missing.is_empty() {
            return Err(HostsError::Missing(missing));
        }
        Ok(Self { inputs, by_host: true })
    }
}

/// Returns the hosts of a list: a name a line, with comments after `#`.
pub(crate) fn listed_hosts(text: &str) -> Vec<String> {
    let names = text.lines().map(|line| line.split('#').next().unwrap_or_default().trim());
    names.filter(|name| !name.is_empty()).map(str::to_owned).collect()
}
