//! The check that whole runs of different hosts can be merged.

use clmatrix_runner::terminal::AnyError;
use indexmap::IndexMap;

use super::Merge;
use super::input::Input;

impl Merge {
    /// Checks that each input is a whole run of another host, and that all expected hosts have one. A device is
    /// identified by its key.
    ///
    /// # Errors
    ///
    /// A run is a shard, or a host has two runs or none.
    pub(crate) fn of_hosts(inputs: Vec<Input>, expected: &[String]) -> Result<Self, AnyError> {
        let mut hosts: IndexMap<&str, &Input> = IndexMap::new();
        for input in &inputs {
            if input.header.shard.is_some() {
                let how = "merge its shards first, without --hosts";
                return Err(format!("{input} is a part of a run; {how}").into());
            }
            if let Some(other) = hosts.insert(&input.header.host, input) {
                return Err(format!("a host has two runs: {other} and {input}").into());
            }
        }
        let is_missing = |host: &&String| !hosts.contains_key(host.as_str());
        let missing: Vec<&str> = expected.iter().filter(is_missing).map(String::as_str).collect();
        if !missing.is_empty() {
            return Err(format!("no run of these hosts: {}", missing.join(", ")).into());
        }
        Ok(Self { inputs, by_host: true })
    }
}

/// Returns the hosts of a list: a name a line, with comments after `#`.
pub(crate) fn listed_hosts(text: &str) -> Vec<String> {
    let names = text.lines().map(|line| line.split('#').next().unwrap_or_default().trim());
    names.filter(|name| !name.is_empty()).map(str::to_owned).collect()
}
