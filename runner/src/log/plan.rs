//! The plan in the event log: the list of tests, each with its path once, and for each device the
//! positions of its tests in that list.

use std::sync::Arc;

use serde::{Deserialize, Serialize};

use super::events::Event;

/// The most tests or ranges in a line of the log.
const MOST: usize = 1000;

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
    /// Returns a test that is in no plan.
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

/// Returns the events of a list of tests, and of the positions of the tests of each device, which ascend.
pub fn events(
    tests: &[PlannedTest],
    devices: impl IntoIterator<Item = (String, Vec<u32>)>,
) -> Vec<Event> {
    let parts = tests.chunks(MOST).map(|tests| PlannedTests { tests: tests.to_vec() });
    let mut events: Vec<Event> = parts.map(Event::Plan).collect();
    for (device, positions) in devices {
        let ranges = positions.chunk_by(|position, next| position + 1 == *next);
        let ranges: Vec<_> = ranges.map(|range| (range[0], range[range.len() - 1])).collect();
        events.extend(ranges.chunks(MOST).map(|ranges| {
            Event::PlanDevice(PlannedDevice { device: device.clone(), ranges: ranges.to_vec() })
        }));
    }
    events
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_long_plan_has_several_lines() {
        let tests: Vec<_> = (0..MOST + 1).map(|n| PlannedTest::unplanned(&n.to_string())).collect();
        let positions = (0..=2 * MOST as u32).step_by(2).collect();
        let (mut found, mut ranges) = (Vec::new(), Vec::new());
        for event in events(&tests, [("d".to_owned(), positions)]) {
            match event {
                Event::Plan(part) => found.push(part.tests),
                Event::PlanDevice(part) => ranges.push(part.ranges),
                event => panic!("{event:?}"),
            }
        }
        assert_eq!([found.len(), ranges.len()], [2, 2]);
        assert_eq!(found.concat(), tests);
        assert_eq!(ranges.concat()[MOST], (2 * MOST as u32, 2 * MOST as u32));
    }
}
