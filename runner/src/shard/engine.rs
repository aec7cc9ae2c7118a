//! Programs that start several runs, each with the number of its shard in environment variables.

use std::fmt;
use std::num::NonZeroU32;
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
    /// An indexed job of Kubernetes.
    Kubernetes,
    /// A step of Buildkite with `parallelism`.
    Buildkite,
    /// A job of GitLab with `parallel`.
    GitLab,
}

/// The variable of an indexed job.
const COMPLETION: &str = "JOB_COMPLETION_INDEX";

/// The environment variables of this process, or of a test.
struct Variables<'a>(&'a dyn Fn(&str) -> Option<String>);

impl Engine {
    /// All engines, in the order in which their variables count.
    pub const ALL: &[Self] =
        &[Self::Bazel, Self::Slurm, Self::Kubernetes, Self::Buildkite, Self::GitLab];

    /// Finds the first of some engines whose variables are set, and the shard that they name.
    ///
    /// `shards` is the number of shards of an indexed job, whose variables do not have it.
    ///
    /// # Errors
    ///
    /// Some of its variables are missing or wrong. The message names the variable.
    pub fn find(
        engines: &[Self],
        variable: &dyn Fn(&str) -> Option<String>,
        shards: Option<NonZeroU32>,
    ) -> Result<Option<(Self, Shard)>, String> {
        let may_be = |engine: &&Self| shards.is_none() || **engine == Self::Kubernetes;
        for engine in engines.iter().filter(may_be) {
            if let Some(shard) = engine.shard(&Variables(variable), shards)? {
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

    fn shard(
        self,
        variables: &Variables<'_>,
        shards: Option<NonZeroU32>,
    ) -> Result<Option<Shard>, String> {
        match self {
            Self::Bazel => variables.pair("TEST_SHARD_INDEX", 0, "TEST_TOTAL_SHARDS"),
            Self::Slurm => variables.slurm(),
            Self::Kubernetes => variables.kubernetes(shards),
            Self::Buildkite => {
                variables.pair("BUILDKITE_PARALLEL_JOB", 0, "BUILDKITE_PARALLEL_JOB_COUNT")
            }
            // A job without `parallel` has the total, but no index.
            Self::GitLab if variables.get("CI_NODE_TOTAL").as_deref() == Some("1") => Ok(None),
            Self::GitLab => variables.pair("CI_NODE_INDEX", 1, "CI_NODE_TOTAL"),
        }
    }
}

impl Variables<'_> {
    /// Returns the value of a variable; an empty one counts as unset.
    fn get(&self, name: &str) -> Option<String> {
        (self.0)(name).filter(|value| !value.is_empty())
    }

    /// Returns the numbers of variables that are set together; `None` if none is set.
    fn numbers<const N: usize>(&self, names: [&str; N]) -> Result<Option<[u32; N]>, String> {
        let is_set = |name: &&str| self.get(name).is_some();
        let Some(set) = names.into_iter().find(is_set) else { return Ok(None) };
        let mut numbers = [0; N];
        for (number, name) in numbers.iter_mut().zip(names) {
            let value = self.get(name).ok_or_else(|| format!("{set} is set, but {name} is not"))?;
            let parsed = value.parse::<u32>();
            *number = parsed.map_err(|_| format!("{name} is {value:?}, and not a whole number"))?;
        }
        Ok(Some(numbers))
    }

    /// Returns the shard of an index, which counts from `first`, and a total.
    fn pair(&self, index: &str, first: u32, total: &str) -> Result<Option<Shard>, String> {
        let Some([value, count]) = self.numbers([index, total])? else { return Ok(None) };
        let shard = value.checked_sub(first).and_then(|value| Shard::from_zero(value, count));
        shard.map(Some).ok_or_else(|| {
            format!("{index} is {value}, which is not an index from {first} of {total}={count}")
        })
    }

    fn kubernetes(&self, shards: Option<NonZeroU32>) -> Result<Option<Shard>, String> {
        let (index, total) = match (self.numbers([COMPLETION])?, shards) {
            (None, None) => return Ok(None),
            (None, Some(_)) => return Err(format!("--shards is set, but {COMPLETION} is not set")),
            (Some(_), None) => {
                return Err(format!(
                    "{COMPLETION} is set, but the number of completions is not known: give --shards N to `clmatrix run`"
                ));
            }
            (Some([index]), Some(total)) => (index, total.get()),
        };
        Shard::from_zero(index, total).map(Some).ok_or_else(|| {
            format!("{COMPLETION} is {index}, which is not an index from 0 of --shards {total}")
        })
    }

    fn slurm(&self) -> Result<Option<Shard>, String> {
        let numbers = self.numbers([
            "SLURM_ARRAY_TASK_ID",
            "SLURM_ARRAY_TASK_MIN",
            "SLURM_ARRAY_TASK_MAX",
            "SLURM_ARRAY_TASK_STEP",
            "SLURM_ARRAY_TASK_COUNT",
        ]);
        let Some([id, min, max, step, count]) = numbers? else { return Ok(None) };
        let steps = |task: u32| {
            let distance = task.checked_sub(min)?;
            (distance.checked_rem(step)? == 0).then_some(distance / step)
        };
        let is_dense = count > 0 && steps(max) == Some(count - 1);
        if !is_dense {
            return Err(format!(
                "the array of SLURM_ARRAY_TASK_COUNT={count} tasks is sparse: they are not \
                 SLURM_ARRAY_TASK_MIN={min} to SLURM_ARRAY_TASK_MAX={max} in steps of \
                 SLURM_ARRAY_TASK_STEP={step}"
            ));
        }
        let shard = steps(id).and_then(|index| Shard::from_zero(index, count));
        shard.map(Some).ok_or_else(|| {
            format!(
                "SLURM_ARRAY_TASK_ID is {id}, which is not a task of the array {min}-{max}:{step}"
            )
        })
    }
}

impl fmt::Display for Engine {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Bazel => "Bazel's TEST_SHARD_INDEX",
            Self::Slurm => "Slurm's SLURM_ARRAY_TASK_ID",
            Self::Kubernetes => "Kubernetes' JOB_COMPLETION_INDEX",
            Self::Buildkite => "Buildkite's BUILDKITE_PARALLEL_JOB",
            Self::GitLab => "GitLab's CI_NODE_INDEX",
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The index, from 1, and the total, or the error.
    fn find(
        set: &[(&str, &str)],
        shards: Option<u32>,
    ) -> Result<Option<(Engine, u32, u32)>, String> {
        let variable = |name: &str| {
            let found = set.iter().find(|(its, _)| *its == name);
            found.map(|(_, value)| (*value).to_owned())
        };
        let found = Engine::find(Engine::ALL, &variable, shards.and_then(NonZeroU32::new))?;
        Ok(found.map(|(engine, shard)| (engine, shard.index, shard.total)))
    }

    /// The variables of a Slurm array, in the order of their names in `slurm`.
    fn slurm(values: [&str; 5]) -> Vec<(&'static str, String)> {
        let names = ["ID", "MIN", "MAX", "STEP", "COUNT"];
        let names = names.map(|name| &*format!("SLURM_ARRAY_TASK_{name}").leak());
        names.into_iter().zip(values.map(str::to_owned)).collect()
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
            assert_eq!(find(&[(index, first), (total, "2")], None), Ok(Some((engine, 1, 2))));
            let last = (first.parse::<u32>().unwrap() + 1).to_string();
            assert_eq!(find(&[(index, &last), (total, "2")], None), Ok(Some((engine, 2, 2))));
            let wrong: [(&[(&str, &str)], &str); 6] = [
                (&[(index, first)], &format!("{index} is set, but {total} is not")),
                (&[(total, "2")], &format!("{total} is set, but {index} is not")),
                (&[(index, first), (total, "")], &format!("{index} is set, but {total} is not")),
                (&[(index, "x"), (total, "2")], &format!("{index} is \"x\", ")),
                (&[(index, first), (total, "-1")], &format!("{total} is \"-1\", ")),
                (&[(index, past), (total, "2")], &format!("{index} is {past}, ")),
            ];
            for (set, expected) in wrong {
                let error = find(set, None).unwrap_err();
                assert!(error.starts_with(expected), "{error}");
            }
            let error = find(&[(index, first), (total, "0")], None).unwrap_err();
            assert!(error.contains(&format!("{total}=0")), "{error}");
        }
        assert!(find(&[("CI_NODE_INDEX", "0"), ("CI_NODE_TOTAL", "2")], None).is_err());
    }

    #[test]
    fn without_variables_there_is_no_shard() {
        assert_eq!(find(&[], None), Ok(None));
        assert_eq!(find(&[("CI_NODE_TOTAL", "1")], None), Ok(None));
        assert_eq!(find(&[("TEST_SHARD_INDEX", ""), ("SLURM_ARRAY_TASK_ID", "")], None), Ok(None));
    }

    #[test]
    fn an_indexed_job_needs_its_size() {
        let index = ("JOB_COMPLETION_INDEX", "3");
        assert_eq!(find(&[index], Some(4)), Ok(Some((Engine::Kubernetes, 4, 4))));
        let cases: [(&[(&str, &str)], _, _); 4] = [
            (&[index], None, "JOB_COMPLETION_INDEX is set, but"),
            (&[], Some(4), "--shards is set, but JOB_COMPLETION_INDEX"),
            (&[index], Some(3), "JOB_COMPLETION_INDEX is 3, "),
            (&[("JOB_COMPLETION_INDEX", "a")], Some(3), "JOB_COMPLETION_INDEX is \"a\", "),
        ];
        for (set, shards, expected) in cases {
            let error = find(set, shards).unwrap_err();
            assert!(error.starts_with(expected), "{error}");
        }
    }

    #[test]
    fn a_task_of_an_array_has_its_place_in_it() {
        let array = |values| {
            let set = slurm(values);
            let set: Vec<_> = set.iter().map(|(name, value)| (*name, value.as_str())).collect();
            find(&set, None)
        };
        for (values, index, total) in [
            (["0", "0", "7", "1", "8"], 1, 8),
            (["7", "0", "7", "1", "8"], 8, 8),
            (["5", "1", "9", "4", "3"], 2, 3),
            (["4", "4", "4", "1", "1"], 1, 1),
        ] {
            assert_eq!(array(values), Ok(Some((Engine::Slurm, index, total))), "{values:?}");
        }
        for (values, expected) in [
            // --array=1,2,7: the first two could be taken for tasks of 1-3.
            (["1", "1", "7", "1", "3"], "sparse"),
            (["2", "1", "8", "4", "2"], "sparse"),
            (["1", "1", "7", "0", "3"], "sparse"),
            (["1", "1", "7", "1", "0"], "sparse"),
            (["8", "0", "7", "1", "8"], "SLURM_ARRAY_TASK_ID is 8"),
            (["3", "1", "9", "4", "3"], "SLURM_ARRAY_TASK_ID is 3"),
            (["1", "", "7", "1", "8"], "SLURM_ARRAY_TASK_ID is set, but SLURM_ARRAY_TASK_MIN is"),
            (["1", "0", "", "1", "8"], "SLURM_ARRAY_TASK_MAX is not"),
            (["1", "0", "7", "", "8"], "SLURM_ARRAY_TASK_STEP is not"),
            (["1", "0", "7", "1", ""], "SLURM_ARRAY_TASK_COUNT is not"),
            (["", "0", "7", "1", "8"], "SLURM_ARRAY_TASK_MIN is set, but SLURM_ARRAY_TASK_ID is"),
            (["1", "0", "7", "1", "x"], "SLURM_ARRAY_TASK_COUNT is \"x\""),
        ] {
            let error = array(values).unwrap_err();
            assert!(error.contains(expected), "{values:?}: {error}");
        }
    }

    #[test]
    fn the_first_engine_counts() {
        let bazel = [("TEST_SHARD_INDEX", "1"), ("TEST_TOTAL_SHARDS", "2")];
        let gitlab = [("CI_NODE_INDEX", "1"), ("CI_NODE_TOTAL", "4")];
        let found = find(&[gitlab, bazel].concat(), None);
        assert_eq!(found, Ok(Some((Engine::Bazel, 2, 2))));
        let half = [("TEST_SHARD_INDEX", "1"), gitlab[0], gitlab[1]];
        assert!(find(&half, None).unwrap_err().contains("TEST_TOTAL_SHARDS"));
    }
}
