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
    tests: &[PlannedTest],
    devices: impl IntoIterator<Item = (String, PositionRanges)>,
) -> Vec<Event> {
    let parts = tests.chunks(MOST).map(|tests| PlannedTests { tests: tests.to_vec() });
    let mut events: Vec<Event> = parts.map(Event::Plan).collect();
    for (device, PositionRanges(ranges)) in devices {
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
        let mut positions = PositionRanges::default();
        (0..=2 * MOST as u32).step_by(2).for_each(|position| positions.push(position));
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
