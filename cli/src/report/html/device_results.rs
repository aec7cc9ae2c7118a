//! The results of a device.

use clmatrix_runner::log::run_log::RunLog;
use clmatrix_runner::result::test_result::TestResult;
use serde::Serialize;

use super::result_details::{Details, is_plain_pass};
use super::test_list::TestList;
use super::texts::Texts;
use crate::report::tally::Kind;

/// The results of a device.
#[derive(Serialize)]
pub(super) struct DeviceResults {
    /// A sign for each test; a blank where the device has no result.
    verdicts: String,
    /// The time of each test in microseconds.
    times: Vec<u64>,
    /// The results that are not plain passes.
    details: Vec<Details>,
    texts: Texts,
}

impl DeviceResults {
    /// Describes results of a device, with texts of at most `room` bytes, from which it takes their lengths.
    pub(super) fn new(
        log: &RunLog,
        tests: &TestList<'_>,
        results: &[&TestResult],
        room: &mut usize,
    ) -> Self {
        let (mut verdicts, mut times) = (vec![' '; tests.len()], vec![0; tests.len()]);
        let mut detailed = Vec::new();
        for result in results {
            let Some(test) = tests.position(result.test.path()) else { continue };
            verdicts[test] = Kind::of(result.verdict).letter;
            times[test] = u64::try_from(result.attempt.duration.as_micros()).unwrap_or(u64::MAX);
            if !is_plain_pass(result) {
                detailed.push((test, *result));
            }
        }
        let mut texts = Texts { room: *room, ..Texts::default() };
        // Unexpected results number their texts first, so that the page has room for these.
        for (test, result) in detailed.iter().filter(|(_, result)| !result.is_as_expected()) {
            Details::new(log, *test, result, &mut texts, &mut 0);
        }
        let mut outputs = 0;
        let details = detailed
            .into_iter()
            .map(|(test, result)| Details::new(log, test, result, &mut texts, &mut outputs));
        let details = details.collect();
        *room = texts.room;
        Self { verdicts: verdicts.into_iter().collect(), times, details, texts }
    }
}
