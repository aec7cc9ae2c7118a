//! The tests of a page, each with its path once.

use std::collections::BTreeMap;
use std::sync::Arc;

use clmatrix_runner::log::run_log::RunLog;
use clmatrix_runner::report::selecting;
use clmatrix_runner::result::worker_end::WorkerEnd;
use clmatrix_runner::verdict::Location;
use foldhash::fast::RandomState;
use indexmap::{IndexMap, IndexSet};
use serde::Serialize;

use super::device_results::is_plain_pass;

/// The most results on a page. With more, the tests that passed everywhere are left out.
pub(super) const MOST_RESULTS: usize = 1 << 21;

/// The tests of all runs, in the order of the newest run; tests that it lacks follow.
#[derive(Serialize)]
pub(super) struct TestList<'a> {
    pub(super) paths: IndexSet<&'a str, RandomState>,
    /// The words that select tests if those differ from the paths; none for results of workers, which belong to no
    /// test.
    words: BTreeMap<usize, Option<String>>,
    /// The source files.
    files: IndexSet<Arc<str>>,
    /// The number of the file of each test and its line; -1 if the file is unknown.
    places: Vec<i64>,
    /// The number of tests that are left out.
    left_out: usize,
}

impl<'a> TestList<'a> {
    pub(super) fn new(runs: &[&'a RunLog], most_results: usize) -> Self {
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
        let mut files = IndexSet::new();
        let places = tests.values_mut().flat_map(|(place, _)| match place.take() {
            Some(Location { file, line }) => [files.insert_full(file).0 as i64, line.into()],
            None => [-1, 0],
        });
        let places = places.collect();
        let word = |(at, path): (usize, &&str)| {
            let word = WorkerEnd::of_path(path).is_none().then(|| selecting(path));
            (word.as_deref() != Some(*path)).then_some((at, word))
        };
        let words = tests.keys().enumerate().filter_map(word).collect();
        Self { paths: tests.into_keys().collect(), words, files, places, left_out }
    }
}
