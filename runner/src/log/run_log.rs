//! The sum of a log.

use std::borrow::Cow;
use std::collections::HashMap;
use std::io::{BufRead, Read, Seek, SeekFrom};
use std::ops::Range;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, SystemTime};

use foldhash::fast::RandomState;
use indexmap::IndexMap;
use serde_json::{Map, Value};

use super::lines::Lines;
use super::{DeviceLost, DeviceRecord, Event, PlannedTest, ReadError, RunHeader, Sum, chain};
use crate::config::WrittenExpectation;
use crate::devices::failure::FailedDriver;
use crate::files;
use crate::result::attempt::Attempt;
use crate::result::test_id::suite;
use crate::result::test_result::TestResult;
use crate::target::{CANNOT_RUN, NOT_ALL_RUN, SUCCESS, UNEXPECTED};
use crate::terminal::status_line;
use crate::verdict::{Location, Verdict};

/// The sum of a log: the input of every report.
#[derive(Clone, Debug, PartialEq)]
pub struct RunLog {
    /// The first line, with all devices.
    pub header: RunHeader,
    /// The drivers and settings of the devices, by their ids.
    pub records: IndexMap<String, DeviceRecord>,
    /// The expectations in force.
    pub expectations: Vec<Arc<WrittenExpectation>>,
    /// Expected devices that were not found.
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
    /// Returns the log of a run that has written its header.
    pub(super) fn new(header: RunHeader) -> Self {
        Self {
            header,
            records: IndexMap::new(),
            expectations: Vec::new(),
            absent: Vec::new(),
            failed_drivers: Vec::new(),
            strict_drivers: false,
            properties: IndexMap::new(),
            measured: IndexMap::new(),
            results: Vec::new(),
            tests: IndexMap::default(),
            slots: HashMap::default(),
            lost: Vec::new(),
            interrupted: true,
            has_ended: false,
            recorded_status: None,
            duration: Duration::ZERO,
            resumed: Vec::new(),
            files: Vec::new(),
        }
    }

    /// Reads the log of a run, even if the run has not ended. Long outputs stay in the file.
    pub fn read(path: &Path) -> Result<Self, ReadError> {
        let mut sum = Sum::default();
        sum.add_files(path)?;
        Ok(sum.finish().checked(path))
    }

    /// Reads a log from a stream, which `name` names in errors. All outputs are kept.
    pub fn read_stream(stream: impl BufRead, name: &Path) -> Result<Self, ReadError> {
        let mut sum = Sum::default();
        sum.add_all(Lines::new(stream, name), name, false)?;
        Ok(sum.finish().checked(name))
    }

    /// Returns the events of a log, after those of the logs that it resumes, in their order.
    ///
    /// # Errors
    ///
    /// The log, or for an event its line, cannot be read.
    pub fn events(
        path: &Path,
    ) -> Result<impl Iterator<Item = Result<Event, ReadError>> + use<>, ReadError> {
        let files = chain::of(path)?.into_iter();
        let files = files.map(|file| Lines::open(&file)).collect::<Result<Vec<_>, _>>()?;
        let events = |mut lines: Lines<_>| std::iter::from_fn(move || lines.next().transpose());
        Ok(files.into_iter().flat_map(events).map(|event| Ok(event?.0)))
    }

    /// Returns the result with its outputs, which may be in the file. Outputs that cannot be read are empty.
    pub fn with_output<'a>(&self, result: &'a TestResult) -> Cow<'a, TestResult> {
        let place = result.output_at.as_ref();
        let line = place.and_then(|place| read_line(self.files.get(place.file)?, &place.line));
        let Some(TestResult { attempt: Attempt { stdout, stderr, .. }, .. }) = line else {
            return Cow::Borrowed(result);
        };
        let mut whole = result.clone();
        (whole.attempt.stdout, whole.attempt.stderr) = (stdout, stderr);
        Cow::Owned(whole)
    }

    /// Returns the suite of a result: that of its test's path, or the target for a test at the target's root.
    pub fn suite<'a>(&'a self, result: &'a TestResult) -> &'a str {
        suite(result.test.path()).unwrap_or(&self.header.target)
    }

    /// Returns the place of the test of a result in the source.
    pub fn source(&self, result: &TestResult) -> Option<Location> {
        let test = self.tests.get(result.test.path())?;
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

    /// The exit status of the run: the worse of the one in the log and the one that its results give.
    pub fn exit_status(&self) -> u8 {
        const BEST_FIRST: [u8; 4] = [SUCCESS, NOT_ALL_RUN, UNEXPECTED, CANNOT_RUN];
        let rank = |status| BEST_FIRST.iter().position(|one| *one == status).unwrap_or(3);
        let recorded = self.recorded_status.unwrap_or(SUCCESS);
        BEST_FIRST[rank(recorded).max(rank(self.status()))]
    }

    /// Warns of a log whose exit status is not the one that its results give.
    fn checked(self, name: &Path) -> Self {
        // The results do not show that a run could not do its work.
        if let Some(recorded) = self.recorded_status.filter(|status| *status != CANNOT_RUN)
            && recorded != self.status()
        {
            let (name, status) = (name.display(), self.status());
            status_line(&format!(
                "warning: {name} is inconsistent: its end has the exit status {recorded}, and its results give {status}; \
                 the worse one counts"
            ));
        }
        self
    }

    /// Returns the exit status of the results.
    pub fn status(&self) -> u8 {
        self.status_of(&self.results, self.interrupted)
    }

    pub(super) fn status_of(&self, results: &[TestResult], interrupted: bool) -> u8 {
        if !self.absent.is_empty()
            || !self.failed_drivers.is_empty() && self.strict_drivers
            || results.iter().any(TestResult::is_unexpected)
        {
            UNEXPECTED
        } else if interrupted
            || results.is_empty() && self.header.shard.is_none()
            || results.iter().any(|result| result.verdict == Verdict::NotRun)
            || !self.lost.is_empty()
        {
            NOT_ALL_RUN
        } else {
            SUCCESS
        }
    }
}

fn read_line(path: &Path, place: &Range<u64>) -> Option<TestResult> {
    let mut file = files::open_found(path).ok()?;
    file.seek(SeekFrom::Start(place.start)).ok()?;
    let mut line = vec![0; usize::try_from(place.end - place.start).ok()?];
    file.read_exact(&mut line).ok()?;
    serde_json::from_slice(&line).ok()
}
