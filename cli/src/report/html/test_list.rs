//! The tests of a page, each with its path once.

use std::collections::BTreeMap;

use clmatrix_runner::log::run_log::RunLog;
use clmatrix_runner::report::selecting;
use clmatrix_runner::result::worker_end::WorkerEnd;
use clmatrix_runner::verdict::Location;
use foldhash::fast::RandomState;
use indexmap::{IndexMap, IndexSet};
use serde::ser::{Serialize, SerializeMap, Serializer};

use super::result_details::is_plain_pass;

/// The most results on a page. With more, the tests that passed everywhere are left out.
const MOST_RESULTS: usize = 1 << 21;

/// The tests of all runs, in the order of the newest run; tests that it lacks follow.
pub(super) struct TestList<'a> {
    places: IndexMap<&'a str, Option<Location>, RandomState>,
    /// The number of tests that are left out.
    left_out: usize,
}

impl<'a> TestList<'a> {
    pub(super) fn from_runs(runs: &[&'a RunLog]) -> Self {
        Self::within(runs, MOST_RESULTS)
    }

    pub(super) fn within(runs: &[&'a RunLog], most_results: usize) -> Self {
        let mut tests: IndexMap<&str, (Option<Location>, bool), RandomState> = IndexMap::default();
        let results =
            runs.iter().flat_map(|log| log.results.iter().map(move |result| (log, result)));
        for (log, result) in results {
            let (place, passed) = tests.entry(result.test.path()).or_insert((None, true));
            *place = place.take().or_else(|| log.source(result));
            *passed &= is_plain_pass(result);
        }
        let all = tests.len();
        if runs.iter().map(|log| log.results.len()).sum::<usize>() > most_results {
            tests.retain(|_, (_, passed)| !*passed);
        }
        let left_out = all - tests.len();
        let places = tests.into_iter().map(|(path, (place, _))| (path, place)).collect();
        Self { places, left_out }
    }

    pub(super) fn len(&self) -> usize {
        self.places.len()
    }

    /// Returns the position of a test, unless it is left out.
    pub(super) fn position(&self, path: &str) -> Option<usize> {
        self.places.get_index_of(path)
    }
}

/// The paths, the words that select them if those differ (null for results of workers, which belong to no test), the
/// source files, and for each test the number of its file and its line; -1 if the file is unknown.
impl Serialize for TestList<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let files: IndexSet<&str> =
            self.places.values().flatten().map(|place| &*place.file).collect();
        let numbers = |place: &Option<Location>| {
            let place = place.as_ref();
            let file = place.and_then(|place| files.get_index_of(&*place.file));
            let file = file.map_or(-1, |file| file as i64);
            [file, place.map_or(0, |place| i64::from(place.line))]
        };
        let words: BTreeMap<usize, Option<String>> = self
            .places
            .keys()
            .enumerate()
            .filter_map(|(at, path)| {
                let word = WorkerEnd::of_path(path).is_none().then(|| selecting(path));
                (word.as_deref() != Some(*path)).then_some((at, word))
            })
            .collect();
        let places: Vec<_> = self.places.values().flat_map(numbers).collect();
        let mut map = serializer.serialize_map(None)?;
        map.serialize_entry("paths", &self.places.keys().collect::<Vec<_>>())?;
        map.serialize_entry("words", &words)?;
        map.serialize_entry("files", &files)?;
        map.serialize_entry("places", &places)?;
        map.serialize_entry("left_out", &self.left_out)?;
        map.end()
    }
}
