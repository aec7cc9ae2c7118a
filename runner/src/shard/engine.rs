//! Programs that start several runs, each with the number of its shard in environment variables.

use std::fmt;
use std::path::PathBuf;

use super::Shard;
use crate::{files, variable};

/// A program that gives each run its shard.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Engine {
    /// Bazel, with `shard_count`.
    Bazel,
    /// A job array of Slurm.
    Slurm,
    /// A step of Buildkite with `parallelism`.
    Buildkite,
    /// A job of GitLab with `parallel`.
    GitLab,
}

impl Engine {
    /// All engines, in the order in which their variables count.
    pub const ALL: &[Self] = &[Self::Bazel, Self::Slurm, Self::Buildkite, Self::GitLab];

    /// Finds the first of some engines whose variables are set, and the shard that they name.
    ///
    /// # Errors
    ///
    /// Some of its variables are missing or wrong. The message names the variable.
    pub fn find(
        engines: &[Self],
        variable: &dyn Fn(&str) -> Option<String>,
    ) -> Result<Option<(Self, Shard)>, String> {
        for engine in engines {
            if let Some(shard) = engine.shard(variable)? {
                return Ok(Some((*engine, shard)));
            }
        }
        Ok(None)
    }

    /// Tells the engine that the run takes its shard into account.
    ///
    /// # Errors
    ///
    /// The file of Bazel cannot be touched.
    pub fn acknowledge(self) -> Result<(), String> {
        const VARIABLE: &str = "TEST_SHARD_STATUS_FILE";
        let Some(file) = self.path_of_bazel(VARIABLE) else { return Ok(()) };
        files::touch_named(&file).map_err(|error| format!("{VARIABLE}: {error}"))
    }

    /// Returns the folder in which the engine expects reports.
    pub fn report_folder(self) -> Option<PathBuf> {
        self.path_of_bazel("TEST_UNDECLARED_OUTPUTS_DIR")
    }

    /// Returns the JUnit file that the engine expects.
    ///
    /// # Errors
    ///
    /// No file can be created in its folder.
    pub fn junit_file(self) -> Result<Option<PathBuf>, String> {
        const VARIABLE: &str = "XML_OUTPUT_FILE";
        let Some(file) = self.path_of_bazel(VARIABLE) else { return Ok(None) };
        files::try_named(&file).map_err(|error| format!("{VARIABLE}: {error}"))?;
        Ok(Some(file))
    }

    fn path_of_bazel(self, name: &str) -> Option<PathBuf> {
        variable::given(name).filter(|_| self == Self::Bazel).map(PathBuf::from)
    }

    /// Returns the variables of the index and of the number of shards.
    fn variables(self) -> [&'static str; 2] {
        match self {
            Self::Bazel => ["TEST_SHARD_INDEX", "TEST_TOTAL_SHARDS"],
            Self::Slurm => ["SLURM_ARRAY_TASK_ID", "SLURM_ARRAY_TASK_COUNT"],
            Self::Buildkite => ["BUILDKITE_PARALLEL_JOB", "BUILDKITE_PARALLEL_JOB_COUNT"],
            Self::GitLab => ["CI_NODE_INDEX", "CI_NODE_TOTAL"],
        }
    }

    /// Returns the shard that the variables name; `None` if the one of the index is not set or empty.
    fn shard(self, variable: &dyn Fn(&str) -> Option<String>) -> Result<Option<Shard>, String> {
        let [index, total] = self.variables();
        let get = |name: &str| variable(name).filter(|value| !value.is_empty());
        if get(index).is_none() {
            return Ok(None);
        }
        let number = |name: &str| {
            let value = get(name).ok_or_else(|| format!("{index} is set, but {name} is not"))?;
            let parsed = value.parse::<u32>();
            parsed.map_err(|_| format!("{name} is {value:?}, and not a whole number"))
        };
        let first = match self {
            Self::Bazel | Self::Buildkite => 0,
            Self::GitLab => 1,
            Self::Slurm => number("SLURM_ARRAY_TASK_MIN")?,
        };
        let (value, count) = (number(index)?, number(total)?);
        if self == Self::Slurm {
            let last = number("SLURM_ARRAY_TASK_MAX")?;
            if last.checked_sub(first) != count.checked_sub(1) {
                return Err(format!(
                    "the job array has {count} tasks from {first} to {last}; `--shard auto` takes one without gaps"
                ));
            }
        }
        let shard = value.checked_sub(first).and_then(|value| Shard::from_zero(value, count));
        shard.map(Some).ok_or_else(|| {
            format!("{index} is {value}, which is not an index from {first} of {total}={count}")
        })
    }
}

impl fmt::Display for Engine {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{self:?}'s {}", self.variables()[0])
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The index, from 1, and the total, or the error.
    fn find(set: &[(&str, &str)]) -> Result<Option<(Engine, u32, u32)>, String> {
        let variable = |name: &str| {
            let found = set.iter().find(|(its, _)| *its == name);
            found.map(|(_, value)| (*value).to_owned())
        };
        let found = Engine::find(Engine::ALL, &variable)?;
        Ok(found.map(|(engine, shard)| (engine, shard.index, shard.total)))
    }

    #[test]
    fn each_engine_names_a_shard() {
        use Engine::{Bazel, Buildkite, GitLab};
        let cases: [(Engine, [&str; 2], [&str; 2]); 3] = [
            (Bazel, ["TEST_SHARD_INDEX", "TEST_TOTAL_SHARDS"], ["0", "2"]),
            (Buildkite, ["BUILDKITE_PARALLEL_JOB", "BUILDKITE_PARALLEL_JOB_COUNT"], ["0", "2"]),
            (GitLab, ["CI_NODE_INDEX", "CI_NODE_TOTAL"], ["1", "3"]),
        ];
        for (engine, [index, total], [first, past]) in cases {
            assert_eq!(find(&[(index, first), (total, "2")]), Ok(Some((engine, 1, 2))));
            let last = (first.parse::<u32>().unwrap() + 1).to_string();
            assert_eq!(find(&[(index, &last), (total, "2")]), Ok(Some((engine, 2, 2))));
            let wrong: [(&[(&str, &str)], &str); 5] = [
                (&[(index, first)], &format!("{index} is set, but {total} is not")),
                (&[(index, first), (total, "")], &format!("{index} is set, but {total} is not")),
                (&[(index, "x"), (total, "2")], &format!("{index} is \"x\", ")),
                (&[(index, first), (total, "-1")], &format!("{total} is \"-1\", ")),
                (&[(index, past), (total, "2")], &format!("{index} is {past}, ")),
            ];
            for (set, expected) in wrong {
                let error = find(set).unwrap_err();
                assert!(error.starts_with(expected), "{error}");
            }
            let error = find(&[(index, first), (total, "0")]).unwrap_err();
            assert!(error.contains(&format!("{total}=0")), "{error}");
        }
        assert!(find(&[("CI_NODE_INDEX", "0"), ("CI_NODE_TOTAL", "2")]).is_err());
    }

    #[test]
    fn without_an_index_there_is_no_shard() {
        assert_eq!(find(&[]), Ok(None));
        // A job without `parallel`.
        assert_eq!(find(&[("CI_NODE_TOTAL", "1")]), Ok(None));
        assert_eq!(find(&[("TEST_SHARD_INDEX", ""), ("SLURM_ARRAY_TASK_ID", "")]), Ok(None));
    }

    #[test]
    fn a_task_of_an_array_has_its_place_in_it() {
        let array = |[id, min, max, count]: [&str; 4]| {
            let names = ["ID", "MIN", "MAX", "COUNT"].map(|it| format!("SLURM_ARRAY_TASK_{it}"));
            let values = names.iter().map(String::as_str).zip([id, min, max, count]);
            find(&values.collect::<Vec<_>>())
        };
        for (values, index, total) in [
            (["0", "0", "7", "8"], 1, 8),
            (["7", "0", "7", "8"], 8, 8),
            (["4", "4", "4", "1"], 1, 1),
        ] {
            assert_eq!(array(values), Ok(Some((Engine::Slurm, index, total))), "{values:?}");
        }
        for (values, expected) in [
            (["8", "0", "7", "8"], "SLURM_ARRAY_TASK_ID is 8, which is not an index from 0"),
            // --array=1,2,7
            (["1", "1", "7", "3"], "the job array has 3 tasks from 1 to 7"),
            (["1", "", "8", "8"], "SLURM_ARRAY_TASK_ID is set, but SLURM_ARRAY_TASK_MIN is not"),
            (["1", "0", "7", ""], "SLURM_ARRAY_TASK_COUNT is not"),
            (["1", "0", "7", "x"], "SLURM_ARRAY_TASK_COUNT is \"x\""),
        ] {
            let error = array(values).unwrap_err();
            assert!(error.contains(expected), "{values:?}: {error}");
        }
    }

    #[test]
    fn the_first_engine_counts() {
        let bazel = [("TEST_SHARD_INDEX", "1"), ("TEST_TOTAL_SHARDS", "2")];
        let gitlab = [("CI_NODE_INDEX", "1"), ("CI_NODE_TOTAL", "4")];
        assert_eq!(find(&[gitlab, bazel].concat()), Ok(Some((Engine::Bazel, 2, 2))));
        let half = [bazel[0], gitlab[0], gitlab[1]];
        assert!(find(&half).unwrap_err().contains("TEST_TOTAL_SHARDS"));
    }
}
