//! The outputs of the results of a device.

use clmatrix_harness::private::log::run_log::RunLog;
use clmatrix_harness::private::result::test_result::TestResult;
use serde::ser::{Serialize, SerializeMap, Serializer};

use super::allowance::Share;
use super::result_details::{attempts, has_output};
use super::texts::shown;

/// With less room than this, no more outputs are read.
const LEAST_ROOM: usize = 1 << 10;

/// Standard output, standard error and stacks of each attempt that has one of them, by its number. Outputs
/// that the page has no room for are not there; those of unexpected results come first.
pub(super) struct Outputs<'a, I> {
    log: &'a RunLog,
    results: I,
    share: Share<'a>,
}

impl<'a, I: Iterator<Item = &'a TestResult> + Clone> Outputs<'a, I> {
    pub(super) fn new(log: &'a RunLog, results: I, share: Share<'a>) -> Self {
        Self { log, results, share }
    }
}

impl<'a, I: Iterator<Item = &'a TestResult> + Clone> Serialize for Outputs<'a, I> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut map = serializer.serialize_map(None)?;
        for expected in [false, true] {
            let of_result = |result: &'a TestResult| {
                attempts(result).map(move |attempt| (result.is_as_expected(), attempt))
            };
            let all = self.results.clone().flat_map(of_result);
            let with_output = all.filter(|(_, attempt)| has_output(attempt)).enumerate();
            let wanted = with_output.filter(|(_, (of, _))| *of == expected);
            let has_room = |_: &_| self.share.left() >= LEAST_ROOM;
            for (number, (_, attempt)) in wanted.take_while(has_room) {
                let attempt = self.log.with_output(attempt);
                let stacks = attempt.stacks.as_ref().map(ToString::to_string).unwrap_or_default();
                let texts = [shown(&attempt.stdout), shown(&attempt.stderr), shown(&stacks)];
                if self.share.take(texts.iter().map(String::len).sum()) {
                    map.serialize_entry(&number, &texts)?;
                }
            }
        }
        map.end()
    }
}
