//! The results in an event log.

use std::collections::BTreeMap;

use anyhow::{Context, Result, ensure};
use clmatrix_runner::result::test_id::TestId;
use serde_json::Value;

/// The verdict of each test on each device, by the id of the result.
#[derive(Debug)]
pub struct Results(BTreeMap<String, String>);

impl Results {
    /// Reads an event log, which may still grow. Fails if a result is there twice.
    pub fn read(log: &str) -> Result<Self> {
        let mut verdicts = BTreeMap::new();
        // A last line without its end is not whole.
        for line in log.split_inclusive('\n').filter(|line| line.ends_with('\n')) {
            let event: Value =
                serde_json::from_str(line).with_context(|| format!("not JSON: {line}"))?;
            if event["event"] == "finished" {
                let field = |name: &str| event[name].as_str().map(str::to_owned);
                let result = field("test").zip(field("verdict"));
                let (id, verdict) = result.with_context(|| format!("no result: {line}"))?;
                let earlier = verdicts.insert(id, verdict);
                ensure!(earlier.is_none(), "a second result: {line}");
            }
        }
        Ok(Self(verdicts))
    }

    /// The same results on several hosts, with ids of the form `TEST@DEVICE%HOST`: a device is on the host whose
    /// name its id begins with.
    pub fn on_hosts(&self, hosts: &[&str]) -> Self {
        let on_host = |id: &String| {
            let test = TestId::parse(id);
            let host = hosts.iter().find(|host| test.device().starts_with(**host));
            host.map_or(id.clone(), |host| format!("{id}%{host}"))
        };
        Self(self.0.iter().map(|(id, verdict)| (on_host(id), verdict.clone())).collect())
    }

    /// The number of results.
    pub fn len(&self) -> usize {
        self.0.len()
    }

    /// Fails, with all differences, unless the results are the expected ones.
    pub fn ensure_equal(&self, expected: &Self) -> Result<()> {
        let mut differences = Vec::new();
        for id in self.0.keys().chain(expected.0.keys()) {
            let [found, expected] =
                [self, expected].map(|results| results.0.get(id).map_or("none", String::as_str));
            let difference = format!("{id}: {found}, expected {expected}");
            if found != expected && !differences.contains(&difference) {
                differences.push(difference);
            }
        }
        ensure!(
            differences.is_empty(),
            "{} other results:\n{}",
            differences.len(),
            differences.join("\n")
        );
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn log(results: &[(&str, &str)]) -> String {
        let line = |(id, verdict): &(&str, &str)| {
            format!("{{\"event\":\"finished\",\"test\":\"{id}\",\"verdict\":\"{verdict}\"}}\n")
        };
        format!("{{\"event\":\"run\"}}\n{}", results.iter().map(line).collect::<String>())
    }

    fn results(results: &[(&str, &str)]) -> Results {
        Results::read(&log(results)).unwrap()
    }

    #[test]
    fn a_result_that_is_there_twice_is_an_error() {
        let twice = log(&[("a@d", "pass"), ("b@d", "fail"), ("a@d", "pass")]);
        assert!(Results::read(&twice).is_err());
    }

    #[test]
    fn a_device_is_on_the_host_with_the_beginning_of_its_id() {
        let here = results(&[("a@pocl-cpu", "pass"), ("b@other", "fail")]);
        let there = results(&[("a@pocl-cpu%pocl", "pass"), ("b@other", "fail")]);
        here.on_hosts(&["intel", "pocl"]).ensure_equal(&there).unwrap();
    }

    #[test]
    fn a_line_that_is_not_whole_does_not_count() {
        let log = log(&[("a@d", "pass"), ("b@d", "fail")]);
        assert_eq!(Results::read(&log[..log.len() - 1]).unwrap().len(), 1);
    }

    #[test]
    fn differences_are_lost_added_and_other_results() {
        let expected = results(&[("a@d", "pass"), ("b@d", "fail"), ("c@d", "pass")]);
        expected.ensure_equal(&expected).unwrap();
        let found = results(&[("a@d", "pass"), ("b@d", "pass"), ("d@d", "pass")]);
        let error = found.ensure_equal(&expected).unwrap_err().to_string();
        let lines = [
            "3 other results:",
            "b@d: pass, expected fail",
            "d@d: pass, expected none",
            "c@d: none, expected pass",
        ];
        assert_eq!(error, lines.join("\n"));
    }
}
