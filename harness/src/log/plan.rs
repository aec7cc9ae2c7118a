//! The plan in the event log: the list of tests, each with its path once, and for each device the
//! positions of its tests in that list.

use std::sync::Arc;

use serde::{Deserialize, Serialize};

use super::events::Event;

/// The most bytes of a part of the plan.
const LONGEST_PART: usize = 200 * 1024;

/// The most ranges in a part. Each takes at most 22 bytes.
const MOST_RANGES: usize = 8 * 1024;

/// Consecutive tests of the list.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct PlannedTests {
    /// The tests.
    pub tests: Vec<PlannedTest>,
}

/// One test.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct PlannedTest {
    /// `suite::test::case`.
    pub path: String,
    /// The source file.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub file: Option<Arc<str>>,
    /// The line in that file, from 1.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub line: Option<u32>,
    /// The requirements.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub requires: Vec<String>,
}

impl PlannedTest {
    /// A test that is in no plan.
    pub fn unplanned(path: &str) -> Self {
        Self { path: path.to_owned(), file: None, line: None, requires: Vec::new() }
    }
}

/// The tests that are to run on one device.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct PlannedDevice {
    /// The id of the device, `host` for tests that need none, or `no-device`.
    pub device: String,
    /// The first and the last position of each range of tests in the list.
    pub ranges: Vec<(u32, u32)>,
}

/// The first and the last of each range of positions, in their order.
#[derive(Default)]
pub struct PositionRanges(Vec<(u32, u32)>);

impl PositionRanges {
    /// Adds a position behind all others.
    pub fn push(&mut self, position: u32) {
        match self.0.last_mut() {
            Some((_, end)) if *end + 1 == position => *end = position,
            _ => self.0.push((position, position)),
        }
    }
}

/// Returns the events of a list of tests, and of the positions of the tests of each device.
pub fn events(
    tests: Vec<PlannedTest>,
    devices: impl IntoIterator<Item = (String, PositionRanges)>,
) -> Vec<Event> {
    let mut events = parts(tests);
    for (device, PositionRanges(ranges)) in devices {
        events.extend(ranges.chunks(MOST_RANGES).map(|ranges| {
            Event::PlanDevice(PlannedDevice { device: device.clone(), ranges: ranges.to_vec() })
        }));
    }
    events
}

fn parts(tests: Vec<PlannedTest>) -> Vec<Event> {
    let mut events = Vec::new();
    let (mut part, mut bytes) = (Vec::new(), 0);
    for test in tests {
        bytes += serde_json::to_string(&test).expect("tests are plain data").len() + 1;
        if bytes > LONGEST_PART && !part.is_empty() {
            events.push(Event::Plan(PlannedTests { tests: std::mem::take(&mut part) }));
            bytes = 0;
        }
        part.push(test);
    }
    events.push(Event::Plan(PlannedTests { tests: part }));
    events
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_part_is_shorter_than_256_kib() {
        let test = |number: usize| PlannedTest {
            path: format!("suite::module::a_test_with_a_name_of_usual_length::case_{number}"),
            file: Some("suites/src/suite/module.rs".into()),
            line: Some(100),
            requires: vec!["fp64".to_owned()],
        };
        let events = parts((0..10_000).map(test).collect());
        let lines: Vec<_> =
            events.iter().map(|event| serde_json::to_string(event).unwrap()).collect();
        assert!(lines.len() > 1 && lines.iter().all(|line| line.len() < 256 << 10));
        let count = |event: &Event| match event {
            Event::Plan(part) => part.tests.len(),
            _ => 0,
        };
        assert_eq!(events.iter().map(count).sum::<usize>(), 10_000);
    }
}
