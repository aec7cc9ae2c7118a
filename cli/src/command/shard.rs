//! The options that select a shard.

use std::fmt;
use std::path::PathBuf;

use clap::Args;
use clmatrix_runner::log::durations;
use clmatrix_runner::log::run_header::RunHeader;
use clmatrix_runner::shard::{Engine, Shard, ShardRule};
use clmatrix_runner::terminal::{AnyError, status_line};
use clmatrix_runner::variable;

use crate::shard::{Division, ShardChoice};
use crate::stored_runs;

#[derive(Args)]
pub struct ShardArguments {
    /// Select the tests of one of several parts, by a hash of the test's path: `2/8`, from 1; or `auto`: the
    /// part that the variables of Bazel, a Slurm array, Buildkite or GitLab name, if they are set [default: the
    /// profile's `shard`].
    #[arg(long, value_name = "I/N")]
    shard: Option<ShardChoice>,
    /// Divide the tests by their durations in this run: its folder or log, its id or the beginning, or
    /// `latest`. Tests that it does not have are divided by the hash.
    #[arg(long, value_name = "RUN")]
    balance: Option<String>,
}

/// A shard and its tests.
pub struct ChosenShard {
    pub shard: Shard,
    /// The engine whose variables name it.
    pub engine: Option<Engine>,
    /// The rule that divides the tests; none if all selected tests are in the shard.
    division: Option<Division>,
}

impl ChosenShard {
    /// Returns whether the shard has the test with this path.
    pub fn has(&self, path: &str) -> bool {
        let is_here = |division: &Division| division.shard_of(path) == self.shard.index;
        self.division.as_ref().is_none_or(is_here)
    }

    /// Keeps all selected tests if those are of the same part of an earlier run, as that run divided them.
    /// Returns whether it is the same part.
    pub fn adopt(&mut self, part: Shard) -> bool {
        let is_same = (self.shard.index, self.shard.total) == (part.index, part.total);
        if is_same {
            (self.shard, self.division) = (part, None);
        }
        is_same
    }
}

impl fmt::Display for ChosenShard {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Shard { index, total, rule } = &self.shard;
        write!(f, "shard: {index} of {total}")?;
        if let Some(engine) = self.engine {
            write!(f, ", by {engine}")?;
        }
        match rule {
            ShardRule::Hash => Ok(()),
            ShardRule::Balanced(run) => write!(f, ", balanced by the run {run}"),
        }
    }
}

impl ShardArguments {
    /// Returns the shard that the options and the profile select, by the hash.
    ///
    /// # Errors
    ///
    /// A variable is missing or wrong, or `--balance` has no effect.
    pub fn choose(&self, by_profile: Option<ShardChoice>) -> Result<Option<ChosenShard>, AnyError> {
        let (shard, engine) = match self.shard.clone().or(by_profile) {
            None if self.balance.is_some() => return Err("--balance needs --shard".into()),
            None => return Ok(None),
            Some(ShardChoice::Given(shard)) => (shard, None),
            Some(ShardChoice::Auto) => {
                let Some((engine, shard)) = Engine::find(Engine::ALL, &variable::lossy)? else {
                    status_line(
                        "shard: none, since no variable of Bazel, Slurm, Buildkite or GitLab is set",
                    );
                    return Ok(None);
                };
                (shard, Some(engine))
            }
        };
        let division = Some(Division::by_hash(shard.total));
        Ok(Some(ChosenShard { shard, engine, division }))
    }

    /// Divides the tests by their durations, with `--balance`. `folder` has the stored runs; `paths` are the tests of
    /// all shards, on any devices.
    ///
    /// # Errors
    ///
    /// The run for the durations cannot be read.
    pub fn balance<'a>(
        &self,
        chosen: &mut ChosenShard,
        folder: impl FnOnce() -> Result<PathBuf, AnyError>,
        paths: impl Iterator<Item = &'a str>,
    ) -> Result<(), AnyError> {
        if let Some(run) = &self.balance {
            let log = stored_runs::find(&folder()?, run)?;
            chosen.shard.rule = ShardRule::Balanced(RunHeader::read(&log)?.run_id);
            let durations = durations::read(&log)?;
            chosen.division = Some(Division::balanced(chosen.shard.total, paths, &durations));
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tests_of_the_same_part_are_not_divided_again() {
        let part = |index, total, rule| Shard { index, total, rule };
        let has = |before: Shard| {
            let division = Some(Division::by_hash(4));
            let shard = part(1, 4, ShardRule::Hash);
            let mut chosen = ChosenShard { shard, engine: None, division };
            let is_same = chosen.adopt(before);
            let tests = (0..100).filter(|test| chosen.has(&format!("s::t_{test}"))).count();
            (is_same, tests < 100, chosen.to_string())
        };
        let of_balanced = "shard: 1 of 4, balanced by the run r".to_owned();
        let balanced = || ShardRule::Balanced("r".to_owned());
        assert_eq!(has(part(1, 4, balanced())), (true, false, of_balanced));
        let by_hash = || "shard: 1 of 4".to_owned();
        assert_eq!(has(part(1, 4, ShardRule::Hash)), (true, false, by_hash()));
        assert_eq!(has(part(2, 4, balanced())), (false, true, by_hash()));
        assert_eq!(has(part(1, 2, balanced())), (false, true, by_hash()));
    }
}
