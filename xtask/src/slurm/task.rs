//! A task of an array of Slurm.

use anyhow::{Context, Result};

/// A line of `squeue --format=%K/%T/%N`.
#[derive(Debug, PartialEq, Eq)]
pub struct Task {
    /// The index in the array; several for tasks that wait, `N/A` for a job without an array.
    pub index: String,
    /// The state, such as `RUNNING`.
    state: String,
    /// The nodes; empty if the task waits.
    pub nodes: String,
}

impl Task {
    /// Reads a line.
    pub fn read(line: &str) -> Result<Self> {
        // `N/A` has a slash, too.
        let mut fields = line.trim().rsplitn(3, '/').map(str::to_owned);
        let mut field = || fields.next().with_context(|| format!("`squeue` printed `{line}`"));
        let (nodes, state) = (field()?, field()?);
        Ok(Self { index: field()?, state, nodes })
    }

    /// Returns whether the task has ended with success.
    pub fn is_completed(&self) -> bool {
        self.state == "COMPLETED"
    }

    /// Returns whether the task runs.
    pub fn is_running(&self) -> bool {
        self.state == "RUNNING"
    }

    /// Returns whether the task has ended without success.
    pub fn has_failed(&self) -> bool {
        !["PENDING", "CONFIGURING", "RUNNING", "COMPLETING", "COMPLETED"]
            .contains(&self.state.as_str())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_is_an_index_a_state_and_nodes() {
        for (line, index, state, nodes) in [
            ("3/RUNNING/n2", "3", "RUNNING", "n2"),
            ("2-4/PENDING/", "2-4", "PENDING", ""),
            ("N/A/COMPLETED/n1,n2  ", "N/A", "COMPLETED", "n1,n2"),
        ] {
            let task = Task::read(line).unwrap();
            let Task { index: i, state: s, nodes: n } = &task;
            assert_eq!([i, s, n], [index, state, nodes]);
            assert_eq!(task.is_completed(), state == "COMPLETED");
            assert!(!task.has_failed());
        }
        assert!(Task::read("1/NODE_FAIL/n1").unwrap().has_failed());
        assert!(Task::read("1/RUNNING").is_err());
    }
}
