//! The search for the test that makes a later test go wrong, by repetition.
//!
//! A test that goes wrong after others is repeated after them and, as the control, alone, until the two differ more
//! than by chance. Then the tests before it are halved in the same way. [`culprit`] selects the parts.

mod culprit;
mod fisher;
pub(crate) mod trials;

pub(crate) use fisher::Count;
use fisher::p_value;

/// The probability of a difference by chance below which two counts differ.
const SIGNIFICANT: f64 = 0.01;

/// The end of a search.
#[derive(Debug, PartialEq)]
pub(crate) enum SearchEnd {
    /// The test at this position of the history alone makes the test go wrong.
    Cause { position: usize, with: Count, without: Count },
    /// All tests of the history do so, and none of them alone.
    Several { with: Count, without: Count },
    /// The test goes wrong as often alone.
    NoDifference { with: Count, without: Count },
}

/// Finds the test of a history that makes a test go wrong. `trial` runs the test once after a part of the history,
/// and returns whether it goes wrong; `None` if the command was stopped, and then the search has no end either. `runs`
/// is the most trials of a comparison.
pub(crate) fn search<T>(
    history: &[T],
    runs: u32,
    mut trial: impl FnMut(&[T]) -> Option<bool>,
) -> Option<SearchEnd> {
    let mut without = Count::default();
    let all = compare(history, runs, &mut without, &mut trial)?;
    if p_value(all, without) >= SIGNIFICANT {
        return Some(SearchEnd::NoDifference { with: all, without });
    }
    let (mut last, mut is_stopped) = (all, false);
    let found = culprit::find(history, |part| {
        if part.len() == history.len() {
            return Some(true);
        }
        let with = compare(part, runs, &mut without, &mut trial);
        is_stopped = with.is_none();
        let with = with?;
        let differs = p_value(with, without) < SIGNIFICANT;
        if differs && part.len() == 1 {
            last = with;
        }
        Some(differs)
    });
    match found {
        Some(position) => Some(SearchEnd::Cause { position, with: last, without }),
        None => (!is_stopped).then_some(SearchEnd::Several { with: all, without }),
    }
}

/// Repeats a test after others, and alone if `without` has fewer trials, until both differ or there were `runs`
/// trials.
fn compare<T>(
    part: &[T],
    runs: u32,
    without: &mut Count,
    trial: &mut impl FnMut(&[T]) -> Option<bool>,
) -> Option<Count> {
    let mut with = Count::default();
    for _ in 0..runs.div_ceil(2) {
        with.add(trial(part)?);
        if without.all < with.all {
            without.add(trial(&[])?);
        }
        if p_value(with, *without) < SIGNIFICANT {
            break;
        }
    }
    Some(with)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Returns the end of the search in a history of 20 tests, of which `causes` together make a test go wrong, in
    /// `with` of 10 trials, and in `alone` of 10 without them.
    fn find(causes: &[usize], with: u64, alone: u64) -> SearchEnd {
        let history: Vec<usize> = (0..20).collect();
        let mut random = fastrand::Rng::with_seed(7);
        search(&history, 40, |part| {
            let has_all = causes.iter().all(|cause| part.contains(cause));
            Some(random.u64(0..10) < if has_all { with } else { alone })
        })
        .expect("an end")
    }

    #[test]
    fn a_cause_is_found() {
        for cause in 0..20 {
            for (with, alone) in [(10, 0), (9, 0), (10, 1)] {
                let found = find(&[cause], with, alone);
                let SearchEnd::Cause { position, .. } = found else { panic!("{cause}: {found:?}") };
                assert_eq!(position, cause);
            }
        }
        let with = Count { wrong: 4, all: 4 };
        let without = Count { wrong: 0, all: 5 };
        assert_eq!(find(&[19], 10, 0), SearchEnd::Cause { position: 19, with, without });
    }

    #[test]
    fn several_causes_are_told() {
        let found = find(&[3, 17], 10, 0);
        assert!(matches!(found, SearchEnd::Several { .. }), "{found:?}");
    }

    #[test]
    fn a_test_that_goes_wrong_by_itself_has_no_cause() {
        for often in [0, 3, 10] {
            let found = find(&[], often, often);
            let SearchEnd::NoDifference { with, without } = found else { panic!("{found:?}") };
            assert_eq!((with.all, without.all), (20, 20));
        }
    }

    #[test]
    fn a_stop_ends_the_search() {
        let mut left = 13;
        let found = search(&[1, 2, 3], 40, |part| {
            left -= 1;
            (left > 0).then_some(part.contains(&1))
        });
        assert_eq!(found, None);
    }
}
