//! A fleet of made-up hosts.

use std::fs;
use std::path::{Path, PathBuf};
use std::time::Duration;

use clmatrix_characterize::measure::{Confidence, Finding, Measured, Unit, Value};
use clmatrix_runner::log::events::{DeviceMeasurements, End, Event};
use clmatrix_runner::log::run_header::RunHeader;
use clmatrix_runner::log::sample::{device, device_record, header, result};
use clmatrix_runner::target::{NOT_ALL_RUN, SUCCESS, UNEXPECTED};
use clmatrix_runner::verdict::Outcome;
use insta::assert_snapshot;

use super::*;
use crate::characterize::to_log;
use crate::report::page::Page;

/// The run of a host with eight GPUs.
struct Node {
    host: String,
    driver_version: String,
    /// The bandwidth of the last GPU.
    bandwidth: f64,
    gpus: usize,
    outcome: Outcome,
}

impl Node {
    fn new(number: usize) -> Self {
        Self {
            host: format!("node{number:03}"),
            driver_version: "570.1".to_owned(),
            bandwidth: 4.0e12,
            gpus: 8,
            outcome: Outcome::Passed,
        }
    }

    fn events(&self) -> Vec<Event> {
        let header = RunHeader {
            host: self.host.clone(),
            run_id: format!("run-of-{}", self.host),
            seed: Some(self.host.len() as u64),
            ..header(Vec::new())
        };
        let mut events = vec![Event::Run(Box::new(header))];
        for gpu in 0..self.gpus {
            let mut device = device(&format!("gpu-{gpu}"), "NVIDIA");
            device.info.driver_version.clone_from(&self.driver_version);
            device.info.uuid = Some(format!("{}-{gpu}", self.host));
            events.push(Event::Device(Box::new(device_record(device, &self.host))));
        }
        for gpu in 0..self.gpus {
            let bandwidth = if gpu == 7 { self.bandwidth } else { 4.0e12 };
            events.push(Event::Measured(DeviceMeasurements {
                device: format!("gpu-{gpu}"),
                measured: to_log(&[
                    measured("global_bandwidth", bandwidth),
                    // Within its spread.
                    measured("launch_latency", if gpu == 0 { 1910.0 } else { 1900.0 }),
                ]),
            }));
            let result = result(&format!("s::t@gpu-{gpu}"), self.outcome.clone());
            events.push(Event::finished(result));
        }
        events.push(Event::End(End {
            interrupted: false,
            duration: Duration::from_secs(60),
            exit_status: match self.outcome {
                Outcome::Passed if self.gpus > 0 => SUCCESS,
                Outcome::Passed => NOT_ALL_RUN,
                _ => UNEXPECTED,
            },
            counts: std::collections::BTreeMap::new(),
        }));
        events
    }

    fn write(&self, folder: &Path) -> PathBuf {
        let lines = self.events().into_iter();
        let lines = lines.map(|event| serde_json::to_string(&event).unwrap() + "\n");
        let path = folder.join(format!("{}.jsonl", self.host));
        fs::write(&path, lines.collect::<String>()).unwrap();
        path
    }
}

fn measured(name: &str, value: f64) -> Measured {
    let unit = Unit::BytesPerSecond;
    let (value, spread) = (Value::Number(value), 0.01 * value);
    let finding = Finding { value, unit, spread, confidence: Confidence::High };
    Measured {
        name: name.to_owned(),
        answer: Ok(finding),
        series: Vec::new(),
        took: Duration::ZERO,
    }
}

fn fleet(nodes: &[Node], expected: &[String]) -> Fleet {
    let folder = tempfile::tempdir().unwrap();
    let logs: Vec<PathBuf> = nodes.iter().map(|node| node.write(folder.path())).collect();
    Fleet::read(&logs, expected).unwrap()
}

fn text(fleet: &Fleet) -> String {
    fleet.pages().into_iter().map(Page::plain).collect::<Vec<_>>().join("\n")
}

#[test]
fn of_200_hosts_exactly_the_odd_ones_are_reported() {
    let mut nodes: Vec<Node> = (0..200).map(Node::new).collect();
    nodes[17].driver_version = "565.9".to_owned();
    nodes[42].bandwidth *= 0.8;
    let expected: Vec<String> = nodes.iter().map(|node| node.host.clone()).collect();
    nodes.remove(99);
    let fleet = fleet(&nodes, &expected);
    let text = text(&fleet);
    let odd = text.lines().filter(|line| !line.contains("  passed   8  "));
    assert_snapshot!(odd.collect::<Vec<_>>().join("\n"));
    assert_eq!(fleet.failed().collect::<Vec<_>>(), ["node099"]);
}

#[test]
fn a_host_with_fewer_devices_drifts_and_one_with_a_failure_fails() {
    let mut nodes: Vec<Node> = (0..3).map(Node::new).collect();
    nodes[0].gpus = 7;
    nodes[1].gpus = 0;
    nodes[2].outcome = Outcome::signal("SIGSEGV");
    nodes.push(Node::new(3));
    let fleet = fleet(&nodes, &[]);
    assert_snapshot!(text(&fleet));
    // Without devices, there are no results.
    assert_eq!(fleet.failed().collect::<Vec<_>>(), ["node001", "node002"]);
}

#[test]
fn a_host_with_two_runs_is_refused() {
    let folder = tempfile::tempdir().unwrap();
    let log = Node::new(1).write(folder.path());
    let error = Fleet::read(&[log.clone(), log], &[]).err().unwrap().to_string();
    assert_eq!(error, "two runs of the host node001: run-of-node001 and run-of-node001");
}
