//! The plan of a run: the tests on each device that the filters accept.

use std::iter::repeat_n;

use indexmap::IndexMap;

use crate::case::Case;
use crate::devices::TestDevice;
use crate::devices::run_device::HOST;
use crate::log::events::Event;
use crate::log::plan::{self, PlannedTest};
use crate::log::program_record::ProgramRecord;
use crate::result::test_id::TestId;
use crate::run::entry::Entry;

/// The device part of the id of a test that needs a device on a machine without one.
pub const NO_DEVICE: &str = "no-device";

/// The tests of a run, in the order of the sources, and for each the devices in their order.
pub struct Plan {
    /// The devices under test.
    pub devices: Vec<TestDevice>,
    /// The tests, each on one device.
    pub entries: Vec<Planned>,
    home: &'static str,
}

/// One test on one device.
#[derive(Clone)]
pub struct Planned {
    /// The test.
    pub test: Case,
    /// Position of the device in the plan; `None` for a test that needs none, or that has none.
    pub device: Option<u32>,
}

impl Planned {
    /// Returns whether the test needs a device on a machine without one. Such a test is planned, so that it
    /// is listed and reported, but it is not run.
    pub fn lacks_device(&self) -> bool {
        self.device.is_none() && !self.test.once()
    }
}

impl Plan {
    /// Plans every test on every device whose id `wanted` accepts.
    ///
    /// `home` is the crate whose name is left out of the ids.
    pub fn new(
        home: &'static str,
        tests: &[Case],
        devices: Vec<TestDevice>,
        mut wanted: impl FnMut(&TestId, &Planned, Option<&TestDevice>) -> bool,
    ) -> Self {
        let mut plan = Self { devices, entries: Vec::new(), home };
        for test in tests {
            let on: Vec<Option<u32>> = match test.once() || plan.devices.is_empty() {
                true => vec![None],
                false => (0..plan.devices.len() as u32).map(Some).collect(),
            };
            for device in on {
                let entry = Planned { test: test.clone(), device };
                if wanted(&plan.id(&entry), &entry, plan.device(&entry)) {
                    plan.entries.push(entry);
                }
            }
        }
        plan
    }

    /// Returns the tests with their positions.
    pub fn positions(&self) -> impl Iterator<Item = (Entry, &Planned)> {
        (0..).map(Entry).zip(&self.entries)
    }

    /// Returns the entries of each test, which are adjacent.
    fn by_test(&self) -> impl Iterator<Item = &[Planned]> {
        self.entries.chunk_by(|entry, next| entry.test.is(&next.test))
    }

    /// Returns the position of each entry's test among the tests of the plan, without regard to devices.
    pub fn test_positions(&self) -> Vec<u32> {
        let of_each = (0..).zip(self.by_test());
        of_each.flat_map(|(position, entries)| repeat_n(position, entries.len())).collect()
    }

    /// Returns the events of the plan.
    pub fn events(&self) -> Vec<Event> {
        let mut tests: Vec<PlannedTest> = Vec::new();
        let mut devices: IndexMap<String, Vec<u32>> = IndexMap::new();
        for (position, entries) in (0..).zip(self.by_test()) {
            let first = &entries[0];
            let (file, line) = first.test.source();
            tests.push(PlannedTest {
                path: self.path(first),
                file: Some(file.into()),
                line,
                requires: first.test.requires().iter().map(ToString::to_string).collect(),
            });
            for entry in entries {
                devices.entry(self.device_id(entry).to_owned()).or_default().push(position);
            }
        }
        plan::events(&tests, devices)
    }

    /// Returns the programs of the tests of other programs, each once.
    pub fn programs(&self) -> Vec<ProgramRecord> {
        let program = |entries: &[Planned]| match &entries[0].test {
            Case::Outside(test) => Some(test.program()),
            Case::Registered(_) => None,
        };
        let mut programs: Vec<_> = self.by_test().filter_map(program).collect();
        programs.dedup();
        programs
    }

    /// Returns whether a test needs a device on a machine without one.
    pub fn lacks_devices(&self) -> bool {
        self.entries.iter().any(Planned::lacks_device)
    }

    /// Returns `suite::test::case@device`.
    pub fn id(&self, entry: &Planned) -> TestId {
        TestId::new(&self.path(entry), self.device_id(entry))
    }

    /// Returns the device part of the id.
    pub fn device_id(&self, entry: &Planned) -> &str {
        let without_device = if entry.lacks_device() { NO_DEVICE } else { HOST };
        self.device(entry).map_or(without_device, |device| &device.run.id)
    }

    /// Returns the id without its device.
    pub fn path(&self, entry: &Planned) -> String {
        entry.test.path(self.home)
    }

    /// Returns the device of an entry, if it needs one.
    pub fn device(&self, entry: &Planned) -> Option<&TestDevice> {
        entry.device.map(|device| &self.devices[device as usize])
    }

    /// Returns the device part of the id of each entry.
    pub fn device_ids(&self) -> impl Iterator<Item = &str> {
        self.entries.iter().map(|entry| self.device_id(entry))
    }
}
