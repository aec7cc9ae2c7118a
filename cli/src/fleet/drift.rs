//! The facts in which hosts differ.

use indexmap::{IndexMap, IndexSet};
use serde::Serialize;

use super::host::HostRun;
use crate::report::facts::Facts;

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
    let machines: Vec<_> = hosts.iter().map(|host| (host, &host.facts)).collect();
    let mut drift = of_facts(None, &machines);
    let models: IndexSet<&String> = hosts.iter().flat_map(|host| host.models.keys()).collect();
    let none = Facts::from_iter([("number of devices".to_owned(), "0".to_owned())]);
    for model in models {
        let (mut with, mut all) = (Vec::new(), Vec::new());
        for host in hosts {
            let facts = host.models.get(model);
            with.extend(facts.map(|facts| (host, facts)));
            all.push((host, facts.unwrap_or(&none)));
        }
        let is_number = |drift: &Drift| none.contains_key(&drift.fact);
        drift.extend(of_facts(Some(model), &with).into_iter().filter(|drift| !is_number(drift)));
        drift.extend(of_facts(Some(model), &all).into_iter().filter(is_number));
    }
    drift
}

fn of_facts(model: Option<&str>, hosts: &[(&HostRun, &Facts)]) -> Vec<Drift> {
    let names: IndexSet<&String> = hosts.iter().flat_map(|(_, facts)| facts.keys()).collect();
    let of_fact = |name: &String| {
        let mut values: IndexMap<Option<&String>, Vec<String>> = IndexMap::new();
        for (host, facts) in hosts {
            values.entry(facts.get(name)).or_default().push(host.host.clone());
        }
        // Stable: the first of equal values is the majority.
        values.sort_by(|_, a, _, b| b.len().cmp(&a.len()));
        let mut values = values.into_iter();
        let (majority, most) = values.next()?;
        let other =
            |(value, hosts): (Option<&String>, _)| OtherValue { value: value.cloned(), hosts };
        let others: Vec<OtherValue> = values.map(other).collect();
        (!others.is_empty()).then(|| Drift {
            model: model.map(str::to_owned),
            fact: name.clone(),
            majority: majority.cloned(),
            hosts: most.len(),
            others,
        })
    };
    names.into_iter().filter_map(of_fact).collect()
}
