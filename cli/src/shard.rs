//! The part of the tests of a run: [`ShardChoice`] is the option, and [`Division`] the rule that divides the tests.

use std::collections::{BTreeSet, HashMap};
use std::num::NonZeroU32;
use std::str::FromStr;
use std::time::Duration;

use clmatrix_runner::result::test_id::TestId;
use clmatrix_runner::shard::{Shard, shard_by_hash};

/// The value of `--shard`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ShardChoice {
    /// The shard that the environment variables of an [`Engine`](clmatrix_runner::shard::Engine) name.
    Auto,
    /// This shard.
    Given(Shard),
}

impl FromStr for ShardChoice {
    type Err = &'static str;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        const EXPECTED: &str = "expected `auto` or INDEX/TOTAL, with an INDEX from 1 to TOTAL";
        if text == "auto" {
            return Ok(Self::Auto);
        }
        let (index, total) = text.split_once('/').ok_or(EXPECTED)?;
        let index: NonZeroU32 = index.parse().map_err(|_| EXPECTED)?;
        let total = total.parse().map_err(|_| EXPECTED)?;
        Shard::from_zero(index.get() - 1, total).map(Self::Given).ok_or(EXPECTED)
    }
}

/// A rule that puts each test into one of several shards. It does not depend on the devices of the machine.
pub struct Division {
    total: u32,
    /// The shards of the tests that are balanced, from 1.
    balanced: HashMap<String, u32>,
}

impl Division {
    /// Divides tests by a hash of their paths.
    pub fn by_hash(total: u32) -> Self {
        Self { total, balanced: HashMap::new() }
    }

    /// Divides the tests with these paths by their durations in an earlier run, summed over its devices, and
    /// all others by the hash.
    ///
    /// The longest test comes first. Each is added to the shard with the least time so far.
    pub fn balanced<'a>(
        total: u32,
        paths: impl IntoIterator<Item = &'a str>,
        durations: &HashMap<TestId, Duration>,
    ) -> Self {
        let mut by_path: HashMap<&str, Duration> = HashMap::new();
        for (id, duration) in durations {
            *by_path.entry(id.path()).or_default() += *duration;
        }
        let known = |path: &'a str| Some((*by_path.get(path)?, path));
        let mut tests: Vec<_> =
            paths.into_iter().filter_map(known).filter(|test| !test.0.is_zero()).collect();
        tests.sort_by(|a, b| b.0.cmp(&a.0).then(a.1.cmp(b.1)));
        // The time of each shard, and its number.
        let mut shards: BTreeSet<(Duration, u32)> =
            (1..=total).map(|shard| (Duration::ZERO, shard)).collect();
        let mut balanced = HashMap::new();
        for (duration, path) in tests {
            let Some((time, shard)) = shards.pop_first() else { break };
            shards.insert((time + duration, shard));
            balanced.insert(path.to_owned(), shard);
        }
        Self { total, balanced }
    }

    /// Returns the number of the shard of a test, from 1.
    pub fn shard_of(&self, path: &str) -> u32 {
        let by_hash = || shard_by_hash(path, self.total);
        self.balanced.get(path).copied().unwrap_or_else(by_hash)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use clmatrix_runner::shard::ShardRule;

    #[test]
    fn a_shard_is_an_index_from_1_and_a_total() {
        assert_eq!("auto".parse(), Ok(ShardChoice::Auto));
        let given =
            |index, total| Ok(ShardChoice::Given(Shard { index, total, rule: ShardRule::Hash }));
        assert_eq!("1/1".parse(), given(1, 1));
        assert_eq!("8/8".parse(), given(8, 8));
        for wrong in ["", "0/8", "9/8", "1/0", "0/0", "1", "1/", "/8", "-1/8", "1/8/2", "Auto"] {
            assert!(wrong.parse::<ShardChoice>().is_err(), "{wrong:?}");
        }
    }

    #[test]
    fn the_hash_of_a_path_never_changes() {
        // XXH64 of "abc" is 44bc2cf5ad770999.
        let shards = [1, 3, 8, 1000].map(|total| Division::by_hash(total).shard_of("abc"));
        assert_eq!(shards, [1, 1, 2, 250]);
    }

    /// Paths, and their durations on two devices: the last nine tests take half of the time.
    fn suite() -> (Vec<String>, HashMap<TestId, Duration>) {
        let paths: Vec<String> = (0..2000).map(|n| format!("suite::test::case_{n}")).collect();
        let mut durations = HashMap::new();
        for (number, path) in paths.iter().enumerate() {
            let millis = if number < 1991 { 1 + number as u64 % 20 } else { 3000 };
            for device in ["a", "b"] {
                // Some tests are new, and some are skipped on a device.
                if number % 50 != 0 && (device == "a" || number % 7 != 0) {
                    durations.insert(TestId::new(path, device), Duration::from_millis(millis));
                }
            }
        }
        (paths, durations)
    }

    #[test]
    fn balanced_shards_take_at_most_a_fifth_more_than_the_ideal() {
        let (paths, durations) = suite();
        let time = |division: &Division, shard| {
            let of_shard = |id: &&TestId| division.shard_of(id.path()) == shard;
            durations.keys().filter(of_shard).map(|id| durations[id]).sum::<Duration>()
        };
        let all: Duration = durations.values().sum();
        for total in [1, 2, 3, 8] {
            let balanced = Division::balanced(total, paths.iter().map(String::as_str), &durations);
            let longest = (1..=total).map(|shard| time(&balanced, shard)).max().expect("a shard");
            assert!(longest.as_secs_f64() <= 1.2 * all.as_secs_f64() / f64::from(total));
        }
        let by_hash = Division::by_hash(8);
        let longest = (1..=8).map(|shard| time(&by_hash, shard)).max().expect("a shard");
        assert!(longest.as_secs_f64() > 1.2 * all.as_secs_f64() / 8.0, "the durations are uneven");
    }

    #[test]
    fn tests_without_durations_are_divided_by_the_hash() {
        let (paths, durations) = suite();
        let balanced = Division::balanced(8, paths.iter().map(String::as_str), &durations);
        let by_hash = Division::by_hash(8);
        for path in paths.iter().step_by(50).map(String::as_str).chain(["other::test"]) {
            assert_eq!(balanced.shard_of(path), by_hash.shard_of(path), "{path}");
        }
    }
}
