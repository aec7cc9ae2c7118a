//! The durations of tests in stored runs.

use std::borrow::Cow;
use std::collections::HashMap;
use std::path::Path;
use std::time::Duration;

use serde::Deserialize;

use super::lines::Lines;
use super::{LOG, Place, ReadError, chain, store};
use crate::result::test_id::TestId;

/// The most bytes of a log that are read: about 180,000 results, in 1.1 s of an unoptimized build.
const MOST_BYTES: u64 = 64 << 20;

/// The first bytes of the line of a result.
const FINISHED: &[u8] = br#"{"event":"finished","#;

/// The fields that are read from the line of a result.
#[derive(Deserialize)]
struct TimedLine<'a> {
    #[serde(borrow)]
    test: Cow<'a, str>,
    #[serde(borrow)]
    outcome: Cow<'a, str>,
    duration_ns: u64,
}

/// Returns the duration of each test that ran, by its id, from the first 64 MiB of a log, and of each log that it
/// resumes.
pub fn read(log: &Path) -> Result<HashMap<TestId, Duration>, ReadError> {
    let mut durations = HashMap::new();
    for_each(log, MOST_BYTES, |test, outcome, duration| {
        if outcome != "not-run" {
            durations.insert(TestId::parse(test), duration);
        }
    })?;
    Ok(durations)
}

/// Returns the durations of tests in the newest other run of the report folder, by their ids. A log that cannot be
/// read has none.
pub fn of_earlier_run(place: &Place) -> HashMap<TestId, Duration> {
    let runs = store::runs(&place.folder).unwrap_or_default();
    let earlier = runs.into_iter().rev().find(|run| !run.ends_with(&place.run_id));
    earlier.and_then(|run| read(&run.join(LOG)).ok()).unwrap_or_default()
}

/// Calls `add` with the test, the name of the outcome and the duration of each attempt in the first `most_bytes`
/// bytes of a log, and of each log that it resumes.
pub fn for_each(
    log: &Path,
    most_bytes: u64,
    mut add: impl FnMut(&str, &str, Duration),
) -> Result<(), ReadError> {
    for path in chain::of(log)? {
        let mut lines = Lines::open(&path)?;
        while lines.end < most_bytes {
            let line = lines.next_text()?;
            if line.is_empty() {
                break;
            }
            if line.starts_with(FINISHED)
                && let Ok(timed) = serde_json::from_slice::<TimedLine<'_>>(line)
            {
                add(&timed.test, &timed.outcome, Duration::from_nanos(timed.duration_ns));
            }
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::log::events::Event;
    use crate::log::sample::result;
    use crate::verdict::Outcome;

    #[test]
    fn tests_that_ran_have_durations() {
        let not_run = Outcome::not_run("stopped");
        let results = [result("s::a@\"d\"", Outcome::Passed), result("s::b@d", not_run)];
        let lines =
            results.map(|result| serde_json::to_string(&Event::finished(result)).unwrap() + "\n");
        let folder = tempfile::tempdir().unwrap();
        let log = folder.path().join("events.jsonl");
        std::fs::write(&log, lines.concat() + "{\"event\":\"finished\",\"te").unwrap();
        let durations = read(&log).unwrap();
        let expected = ("s::a@\"d\"".into(), Duration::from_millis(250));
        assert_eq!(durations, HashMap::from([expected]));
    }
}
