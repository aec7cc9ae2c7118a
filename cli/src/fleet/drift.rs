//! The facts in which hosts differ.

use indexmap::{IndexMap, IndexSet};
use serde::Serialize;

use super::host::{HostRun, NUMBER};

/// A fact in which hosts differ.
#[derive(Debug, Serialize)]
pub(crate) struct Drift {
    /// The model of the devices; none for the machine.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) model: Option<String>,
    /// The name of the fact.
    pub(crate) fact: String,
    /// The value of most hosts; none if they lack the fact.
    pub(crate) majority: Option<String>,
    /// The number of these hosts.
    pub(crate) hosts: usize,
    /// The other values.
    pub(crate) others: Vec<OtherValue>,
}

/// A value that is not that of most hosts.
#[derive(Debug, Serialize)]
pub(crate) struct OtherValue {
    /// The value; none if the hosts lack the fact.
    pub(crate) value: Option<String>,
    /// The hosts.
    pub(crate) hosts: Vec<String>,
}

/// Returns the facts in which the hosts differ: those of the machines, then those of each model of devices. A host
/// without a model differs only in the number of its devices.
pub(crate) fn drift(hosts: &[HostRun]) -> Vec<Drift> {
    let models: IndexSet<_> = hosts.iter().flat_map(|host| host.facts.keys()).collect();
    models.into_iter().flat_map(|model| of_model(model, hosts)).collect()
}

/// Returns the drift of a model, or that of the machines.
fn of_model(model: &Option<String>, hosts: &[HostRun]) -> Vec<Drift> {
    let facts: Vec<_> = hosts.iter().map(|host| host.facts.get(model)).collect();
    let names = facts.iter().flatten().flat_map(|facts| facts.keys());
    let mut names: IndexSet<&str> = names.map(String::as_str).collect();
    names.sort_by_cached_key(|name| *name == NUMBER);
    let drift = |fact: &str| {
        let mut values: IndexMap<Option<String>, Vec<String>> = IndexMap::new();
        for (host, facts) in hosts.iter().zip(&facts) {
            let value = match facts {
                Some(facts) => facts.get(fact).cloned(),
                None if fact == NUMBER => Some("0".to_owned()),
                None => continue,
            };
            values.entry(value).or_default().push(host.host.clone());
        }
        // Stable: the first of equal values is the majority.
        values.sort_by(|_, a, _, b| b.len().cmp(&a.len()));
        let mut values = values.into_iter().map(|(value, hosts)| OtherValue { value, hosts });
        let OtherValue { value: majority, hosts } = values.next()?;
        let (others, hosts): (Vec<_>, _) = (values.collect(), hosts.len());
        let (model, fact) = (model.clone(), fact.to_owned());
        (!others.is_empty()).then_some(Drift { model, fact, majority, hosts, others })
    };
    names.into_iter().filter_map(drift).collect()
}
