//! The sum of a log.

use std::borrow::Cow;
use std::collections::HashMap;
use std::fs::File;
use std::io::{BufRead, Read, Seek, SeekFrom};
use std::ops::{ControlFlow, Range};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, SystemTime};

use foldhash::fast::RandomState;
use indexmap::IndexMap;
use serde_json::{Map, Value};

use super::chain;
use super::device_record::DeviceRecord;
use super::events::{DeviceLost, Event};
use super::lines::Lines;
use super::plan::PlannedTest;
use super::read_error::ReadError;
use super::run_header::RunHeader;
use super::sum::Sum;
use crate::config::WrittenExpectation;
use crate::devices::failure::FailedDriver;
use crate::log::round_counts::RoundCounts;
use crate::result::attempt::Attempt;
use crate::result::test_result::{TestResult, suite};
use crate::target::{NOT_ALL_RUN, SUCCESS, UNEXPECTED};
use crate::verdict::{Location, Verdict};

/// The reason why a planned test was not run whose log has nothing of it.
pub const NO_RESULT: &str = "the log has no result of it";

/// The sum of a log: the input of every report.
#[derive(Clone, Debug, PartialEq)]
pub struct RunLog {
    /// The first line, with all devices.
    pub header: RunHeader,
    /// The drivers and settings of the devices, by their ids.
    pub records: IndexMap<String, DeviceRecord>,
    /// The expectations in force.
    pub expectations: Vec<Arc<WrittenExpectation>>,
    /// Expected devices that are not there.
    pub absent: Vec<String>,
    /// Drivers that show no platform.
    pub failed_drivers: Vec<FailedDriver>,
    /// True if one of them fails the run.
    pub strict_drivers: bool,
    /// The properties of each device on which a test was run, by its id, or the reason why they are
    /// unknown.
    pub properties: IndexMap<String, Result<IndexMap<String, String>, String>>,
    /// The measurements of devices, by their ids.
    pub measured: IndexMap<String, Vec<Map<String, Value>>>,
    /// One result for each planned test, in the plan's order; `NotRun` where the log has none.
    pub results: Vec<TestResult>,
    /// The rounds of the tests that ran in several, by their ids.
    pub rounds: HashMap<String, RoundCounts, RandomState>,
    /// The tests of the plan, and the others that have results, by their paths.
    pub tests: IndexMap<String, PlannedTest, RandomState>,
    /// The slots of the workers that have run tests, by their numbers.
    pub slots: HashMap<u32, u32, RandomState>,
    /// The devices that were lost.
    pub lost: Vec<DeviceLost>,
    /// True if the run was cut short, or its log ends early.
    pub interrupted: bool,
    /// True if the log has an end.
    pub has_ended: bool,
    /// The exit status in the log.
    pub recorded_status: Option<u8>,
    /// Wall time of the run; up to the end of its last result where the log ends early.
    pub duration: Duration,
    /// The times at which the run was resumed, in their order.
    pub resumed: Vec<SystemTime>,
    /// The logs of the run, the oldest first, if long outputs stay there.
    pub files: Vec<PathBuf>,
}

impl RunLog {
    /// Reads the log of a run, whether or not that run came to its end. Long outputs stay in the file.
    pub fn read(path: &Path) -> Result<Self, ReadError> {
        let mut sum = Sum::default();
        sum.add_files(path, |_| true)?;
        Ok(sum.finish())
    }

    /// Reads a log from a stream, which `name` names in errors. All outputs are kept.
    pub fn read_stream(stream: impl BufRead, name: &Path) -> Result<Self, ReadError> {
        let mut sum = Sum::default();
        sum.add_all(Lines::new(stream, name), name, false, |_| true)?;
        Ok(sum.finish())
    }

    /// Passes the events of a log, after those of the logs that it goes on with, to `each`, in their order, until
    /// `each` breaks.
    ///
    /// # Errors
    ///
    /// The log cannot be read.
    pub fn for_each_event(
        path: &Path,
        mut each: impl FnMut(Event) -> ControlFlow<()>,
    ) -> Result<(), ReadError> {
        for file in chain::of(path)? {
            let mut lines = Lines::open(&file)?;
            while let Some((event, _)) = lines.next()? {
                if each(event).is_break() {
                    return Ok(());
                }
            }
        }
        Ok(())
    }

    /// The result with its outputs, which may be in the file. Outputs that cannot be read are empty.
    pub fn with_output<'a>(&self, result: &'a TestResult) -> Cow<'a, TestResult> {
        let line = result.output_at.as_ref().and_then(|place| {
            let file = self.files.get(place.file)?;
            read_line(file, &place.line)
        });
        match line {
            Some(TestResult { attempt: Attempt { stdout, stderr, .. }, .. }) => {
                let mut whole = result.clone();
                (whole.stdout, whole.stderr) = (stdout, stderr);
                Cow::Owned(whole)
            }
            None => Cow::Borrowed(result),
        }
    }

    /// The suite of a result: that of its test's path, or the target for a test at the target's root.
    pub fn suite<'a>(&'a self, result: &'a TestResult) -> &'a str {
        suite(result.test_and_device().0).unwrap_or(&self.header.target)
    }

    /// The place of the test of a result in the source.
    pub fn source(&self, result: &TestResult) -> Option<Location> {
        let test = self.tests.get(result.test_and_device().0)?;
        Some(Location { file: test.file.clone()?, line: test.line? })
    }

    /// Returns whether the device of a result was lost, and may have been the cause of the result.
    pub fn is_suspect(&self, result: &TestResult) -> bool {
        self.lost.iter().any(|lost| lost.suspects.contains(&result.test))
    }

    /// Returns whether the test was not run since its device was lost.
    pub fn is_not_run_by_loss(&self, result: &TestResult) -> bool {
        self.lost.iter().any(|lost| lost.is_reason_of(result))
    }

    /// The exit status of the run: the one in the log, else the one that its results give.
    pub fn exit_status(&self) -> u8 {
        self.recorded_status.unwrap_or_else(|| self.status())
    }

    /// The exit status that the results give.
    pub fn status(&self) -> u8 {
        self.status_of(self.results.iter(), self.interrupted)
    }

    pub(super) fn status_of<'a>(
        &self,
        mut results: impl Iterator<Item = &'a TestResult> + Clone,
        interrupted: bool,
    ) -> u8 {
        if !self.absent.is_empty()
            || !self.failed_drivers.is_empty() && self.strict_drivers
            || results.clone().any(TestResult::is_unexpected)
        {
            UNEXPECTED
        } else if interrupted
            || results.clone().next().is_none() && self.header.shard.is_none()
            || results.any(|result| result.verdict == Verdict::NotRun)
            || !self.lost.is_empty()
        {
            NOT_ALL_RUN
        } else {
            SUCCESS
        }
    }
}

fn read_line(path: &Path, place: &Range<u64>) -> Option<TestResult> {
    let mut file = File::open(path).ok()?;
    file.seek(SeekFrom::Start(place.start)).ok()?;
    let mut line = vec![0; usize::try_from(place.end - place.start).ok()?];
    file.read_exact(&mut line).ok()?;
    serde_json::from_slice(&line).ok()
}
