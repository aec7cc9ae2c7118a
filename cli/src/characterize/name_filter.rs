//! `--only`: the names of the wanted answers and measurements.

use std::collections::HashSet;

use clmatrix_characterize::measure::Topic;
use clmatrix_characterize::{Facts, FactsOnly, table};

/// The wanted names; without any, all names are wanted.
pub struct NameFilter {
    /// Names of answers and measurements.
    names: Option<HashSet<&'static str>>,
}

/// The names of PyOpenCL's answers.
fn answers() -> impl Iterator<Item = &'static str> {
    table(&Facts::default(), FactsOnly).into_iter().map(|row| row.function)
}

impl NameFilter {
    /// Reads names of answers, measurements and topics. A topic selects all its measurements.
    ///
    /// # Errors
    ///
    /// No answer, measurement or topic has one of these names.
    pub fn new(wanted: &[String]) -> Result<Self, String> {
        if wanted.is_empty() {
            return Ok(Self { names: None });
        }
        let topics = Topic::ALL.map(Topic::name);
        let measurements = Topic::ALL.into_iter().flat_map(Topic::measurements).copied();
        let known: Vec<&'static str> = answers().chain(measurements).collect();
        let mut names = HashSet::new();
        for wanted in wanted {
            if let Some(topic) = Topic::from_name(wanted) {
                names.extend(topic.measurements());
            } else if let Some(name) = known.iter().find(|name| *name == wanted) {
                names.insert(*name);
            } else {
                let all = known.iter().copied().chain(topics);
                let distance = |name: &&str| strsim::levenshtein(name, wanted);
                let similar = all.min_by_key(distance).filter(|name| distance(name) <= 3);
                let similar = similar.map(|name| format!(" (did you mean {name}?)"));
                return Err(format!(
                    "--only {wanted}: no answer, measurement or topic has this name{}; topics are {}; \
                     `clmatrix characterize` shows the answers",
                    similar.unwrap_or_default(),
                    topics.join(", ")
                ));
            }
        }
        Ok(Self { names: Some(names) })
    }

    /// Returns whether this answer or measurement is wanted.
    pub fn has(&self, name: &str) -> bool {
        self.names.as_ref().is_none_or(|names| names.contains(name))
    }

    /// Returns whether any of PyOpenCL's answers is wanted.
    pub fn has_answers(&self) -> bool {
        answers().any(|name| self.has(name))
    }

    /// The topics that have a measurement which is wanted.
    pub fn topics(&self) -> Vec<Topic> {
        let is_wanted = |topic: &Topic| topic.measurements().iter().any(|name| self.has(name));
        Topic::ALL.into_iter().filter(is_wanted).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn only(names: &[&str]) -> Result<NameFilter, String> {
        NameFilter::new(&names.iter().map(|name| (*name).to_owned()).collect::<Vec<_>>())
    }

    #[test]
    fn without_names_all_is_wanted() {
        let only = only(&[]).unwrap();
        assert_eq!(only.topics(), Topic::ALL);
        assert!(only.has("get_simd_group_size") && only.has("launch_latency"));
    }

    #[test]
    fn a_topic_stands_for_its_measurements() {
        let only = only(&["launch", "has_double_support"]).unwrap();
        assert_eq!(only.topics(), [Topic::Launch]);
        assert!(only.has("launch_latency") && only.has("has_double_support"));
        assert!(only.has_answers() && !self::only(&["launch"]).unwrap().has_answers());
        assert!(!only.has("has_amd_double_support"));
    }

    #[test]
    fn a_measurement_brings_its_topic_and_no_other_measurement() {
        let only = only(&["launch_latency"]).unwrap();
        assert_eq!(only.topics(), [Topic::Launch]);
        assert!(!only.has("launch_and_wait"));
    }

    #[test]
    fn unknown_names_are_refused_with_a_similar_one() {
        let error = only(&["launch_latenzy"]).err().unwrap();
        assert!(error.contains("did you mean launch_latency?"), "{error}");
        let error = only(&["something-else-altogether"]).err().unwrap();
        assert!(error.contains("launch") && !error.contains("did you mean"), "{error}");
    }
}
