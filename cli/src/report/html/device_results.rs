//! The results of a device.

use clmatrix_harness::private::log::run_log::RunLog;
use clmatrix_harness::private::result::test_result::TestResult;
use serde::ser::{Serialize, SerializeMap, SerializeSeq, Serializer};

use super::allowance::Share;
use super::result_details::{ResultDetails, is_plain_pass, letter};
use super::test_list::TestList;
use super::texts::Texts;

/// The results of a device, each with the position of its test.
pub(super) struct DeviceResults<'a> {
    log: &'a RunLog,
    results: Vec<(usize, &'a TestResult)>,
    tests: usize,
    texts: Texts<'a>,
}

impl<'a> DeviceResults<'a> {
    pub(super) fn new(
        log: &'a RunLog,
        tests: &TestList<'_>,
        results: &[&'a TestResult],
        share: Share<'a>,
    ) -> Self {
        let position =
            |result: &&'a TestResult| Some((tests.position(result.test_and_device().0)?, *result));
        Self {
            log,
            results: results.iter().filter_map(position).collect(),
            tests: tests.len(),
            texts: Texts::new(share),
        }
    }

    /// Returns the results that are not plain passes.
    pub(super) fn details(&self) -> impl Iterator<Item = &'a TestResult> + Clone {
        self.results.iter().map(|(_, result)| *result).filter(|result| !is_plain_pass(result))
    }

    /// Returns a sign for each test; a blank where the device has no result.
    fn verdicts(&self) -> String {
        let mut letters = vec![' '; self.tests];
        self.results.iter().for_each(|(test, result)| letters[*test] = letter(result.verdict));
        letters.into_iter().collect()
    }

    /// Returns the time of each test in microseconds.
    fn times(&self) -> Vec<u64> {
        let mut times = vec![0; self.tests];
        for (test, result) in &self.results {
            times[*test] = u64::try_from(result.duration.as_micros()).unwrap_or(u64::MAX);
        }
        times
    }
}

impl Serialize for DeviceResults<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut map = serializer.serialize_map(None)?;
        map.serialize_entry("verdicts", &self.verdicts())?;
        map.serialize_entry("times", &self.times())?;
        map.serialize_entry("details", &Details(self))?;
        // The details have given the texts their numbers.
        map.serialize_entry("texts", &self.texts.all())?;
        map.end()
    }
}

/// The details of the results, made one after the other. A large run may skip most tests: a result with nothing but
/// a reason is a pair of the test and the reason.
struct Details<'a>(&'a DeviceResults<'a>);

impl Serialize for Details<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let DeviceResults { log, results, texts, .. } = self.0;
        let mut list = serializer.serialize_seq(None)?;
        // Unexpected results number their texts first, so that the page has room for these.
        for (test, result) in results.iter().filter(|(_, result)| !result.is_as_expected()) {
            ResultDetails::new(log, *test, result, texts, &mut 0);
        }
        let mut outputs = 0;
        for (test, result) in results.iter().filter(|(_, result)| !is_plain_pass(result)) {
            let details = ResultDetails::new(log, *test, result, texts, &mut outputs);
            match details.reason() {
                Some(reason) => list.serialize_element(&reason)?,
                None => list.serialize_element(&details)?,
            }
        }
        list.end()
    }
}
