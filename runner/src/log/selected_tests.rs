//! A list of tests in the header of a run.

use std::collections::BTreeSet;
use std::fmt;

use serde::{Deserialize, Serialize};
use xxhash_rust::xxh64::xxh64;

/// The list of tests that `--tests` or `--rerun` selects. Lists with the same ids and paths are equal.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct SelectedTests {
    /// The number of ids and paths in the list.
    pub number: u32,
    /// XXH64 with the seed 0 of the sorted lines of the list, in hexadecimal digits.
    pub hash: String,
}

impl<'a> FromIterator<&'a str> for SelectedTests {
    fn from_iter<I: IntoIterator<Item = &'a str>>(ids: I) -> Self {
        let ids: BTreeSet<&str> = ids.into_iter().collect();
        let lines: String = ids.iter().flat_map(|id| [*id, "\n"]).collect();
        Self { number: ids.len() as u32, hash: format!("{:016x}", xxh64(lines.as_bytes(), 0)) }
    }
}

impl fmt::Display for SelectedTests {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "a list of {} (XXH64 {})", self.number, self.hash)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lists_are_equal_if_they_have_the_same_lines() {
        let list = |ids: &[&'static str]| ids.iter().copied().collect::<SelectedTests>();
        assert_eq!(list(&["s::a", "s::b@d", "s::a"]), list(&["s::b@d", "s::a"]));
        assert_ne!(list(&["s::a", "s::b"]), list(&["s::a", "s::c"]));
        assert_ne!(list(&["ab", "c"]), list(&["a", "bc"]));
        // XXH64 of "abc\n".
        let abc = SelectedTests { number: 1, hash: "e8a1523b824c6e2d".to_owned() };
        assert_eq!(list(&["abc"]), abc);
    }
}
