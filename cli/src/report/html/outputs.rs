//! The outputs of the results of a device.

use clmatrix_runner::log::run_log::RunLog;
use clmatrix_runner::result::test_result::TestResult;
use indexmap::IndexMap;

use super::result_details::is_plain_pass;
use super::texts::shown;
use crate::report::has_output;

/// The least room for which more outputs are read.
const LEAST_ROOM: usize = 1 << 10;

/// Returns standard output, standard error and stacks of each attempt that has one of them, by its number. Outputs
/// for which there is no room are left out; those of unexpected results come first.
pub(super) fn outputs(
    log: &RunLog,
    results: &[&TestResult],
    room: &mut usize,
) -> IndexMap<usize, [String; 3]> {
    let attempts = results
        .iter()
        .filter(|result| !is_plain_pass(result))
        .flat_map(|result| result.all_attempts().map(|attempt| (result.is_as_expected(), attempt)));
    let mut attempts: Vec<_> =
        attempts.filter(|(_, attempt)| has_output(attempt)).enumerate().collect();
    attempts.sort_by_key(|(_, (is_as_expected, _))| *is_as_expected);
    let mut outputs = IndexMap::new();
    for (number, (_, attempt)) in attempts {
        if *room < LEAST_ROOM {
            break;
        }
        let attempt = &log.with_output(attempt).attempt;
        let stacks = attempt.stacks.as_ref().map(ToString::to_string).unwrap_or_default();
        let texts = [&attempt.stdout, &attempt.stderr, &stacks].map(|text| shown(text));
        if let Some(left) = room.checked_sub(texts.iter().map(String::len).sum()) {
            *room = left;
            outputs.insert(number, texts);
        }
    }
    outputs
}
