//! `cargo xtask test-slurm`: the scripts of config/slurm on a cluster of four nodes.

use std::env;
use std::ffi::{OsStr, OsString};
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use anyhow::{Context, Result, ensure};
use clmatrix_runner::provision::Environment;

use crate::apt;
use crate::ci_matrix;
use crate::files::{self, cannot};
use crate::process;
use crate::workspace::Workspace;

mod cluster;
mod daemon;
mod results;
mod task;

use cluster::{Cluster, poll};
use results::Results;
use task::Task;

/// The nodes of the cluster, named as the drivers of the CI matrix.
const NODES: [&str; 4] = ["pocl", "rusticl", "oclgrind", "intel"];

/// The tests, which take some 20 s on all drivers.
const FILTER: [&str; 2] = ["buffer::*", "fill::*"];

/// The limit for the first results of a shard.
const RESULTS_LIMIT: Duration = Duration::from_secs(60);

/// Runs the tests without Slurm and by the scripts of config/slurm. Fails unless all have the same results.
pub fn run(workspace: &Workspace) -> Result<()> {
    ensure!(process::is_root(), "Slurm's daemons take root: run `cargo xtask test-slurm` as root");
    apt::install(&["munge", "slurm-wlm"])?;
    let test = SlurmTest::prepare(workspace)?;
    println!("One run without Slurm");
    let expected = test.plain_run()?;
    println!("Four shards, a node is killed");
    test.shards_with_a_killed_node(&expected)?;
    println!("One driver per node");
    test.one_driver_per_node(&expected)?;
    println!("The same {} results each time", expected.len());
    Ok(())
}

/// The settings of all runs.
struct SlurmTest<'a> {
    workspace: &'a Workspace,
    devices: Environment,
    /// The search path, which begins with the folder of `clmatrix`.
    path: OsString,
    /// The folder for reports and the output of jobs.
    folder: PathBuf,
}

impl<'a> SlurmTest<'a> {
    fn prepare(workspace: &'a Workspace) -> Result<Self> {
        let clmatrix = workspace.build_clmatrix()?;
        let devices = ci_matrix::environment(&workspace.runtimes)?;
        let folders = clmatrix.parent().map(Path::to_owned);
        let others = env::var_os("PATH").unwrap_or_default();
        let path = env::join_paths(folders.into_iter().chain(env::split_paths(&others)))?;
        let folder = workspace.target.join("slurm");
        files::remove_tree(&folder)?;
        fs::create_dir_all(&folder).with_context(|| cannot("create", &folder))?;
        Ok(Self { workspace, devices, path, folder })
    }

    /// Lets a command run in the workspace, on the devices, with this folder for reports.
    fn set_up(&self, command: &mut Command, reports: &Path) {
        self.devices.apply(command);
        command.current_dir(&self.workspace.root).env("PATH", &self.path);
        command.env("CLMATRIX_REPORT_DIR", reports).env_remove("CLMATRIX_PROFILE");
    }

    /// Starts a cluster, and returns it with its folder for reports and logs.
    fn start_cluster(&self, name: &str) -> Result<(Cluster, PathBuf)> {
        let folder = self.folder.join(name);
        fs::create_dir(&folder).with_context(|| cannot("create", &folder))?;
        Ok((Cluster::start(&NODES, &folder)?, folder))
    }

    fn plain_run(&self) -> Result<Results> {
        let reports = self.folder.join("plain");
        let mut run = Command::new("clmatrix");
        self.set_up(&mut run, &reports);
        process::run(run.args(["run", "--quiet", "--profile", "ci"]).args(FILTER))?;
        read_run(&reports)
    }

    /// Runs a shard on each node. The first node with some results is killed, and Slurm starts its task again
    /// on another node.
    fn shards_with_a_killed_node(&self, expected: &Results) -> Result<()> {
        let (mut cluster, folder) = self.start_cluster("shards")?;
        let mut sbatch = cluster.sbatch();
        self.set_up(&mut sbatch, &folder);
        // Two tasks at a time: some tests have to get a processor within 50 ms.
        sbatch.env("CLMATRIX_PROFILE", "ci").args(["--array=1-4%2", "--gres=gpu:virtual:1"]);
        let job = cluster.submit(sbatch.arg("config/slurm/array.sbatch").args(FILTER))?;
        let reports = |task: &Task| folder.join(&job).join(format!("shard-{}-of-4", task.index));
        let task = poll("results", RESULTS_LIMIT, || {
            let has_results = |task: &Task| {
                let is_some = |results: Results| results.len() >= 20;
                task.is_running() && read_run(&reports(task)).is_ok_and(is_some)
            };
            Ok(cluster.tasks(&job)?.into_iter().find(has_results))
        })?;
        cluster.kill_node(&task.nodes)?;
        let before = read_run(&reports(&task))?;
        cluster.wait(&job)?;
        // Fails if a result is in the log twice.
        let after = read_run(&reports(&task))?;
        ensure!(
            before.len() < after.len(),
            "the shard had all its results before its node was killed"
        );
        self.merge(&folder, &job, &[])?.ensure_equal(expected)
    }

    /// Runs all tests on each node, which has the driver of its name.
    fn one_driver_per_node(&self, expected: &Results) -> Result<()> {
        let (cluster, folder) = self.start_cluster("nodes")?;
        let mut sbatch = cluster.sbatch();
        self.set_up(&mut sbatch, &folder);
        sbatch.env("SLURM_TASK_PROLOG", self.write_prolog(&folder)?);
        sbatch.args([
            "--nodes=4",
            "--gres=gpu:virtual:1",
            "config/slurm/burn-in.sbatch",
            "--for=1h",
            "--repeat=1",
        ]);
        let job = cluster.submit(sbatch.args(FILTER))?;
        cluster.wait(&job)?;
        let hosts = folder.join(&job).join("passed.txt");
        let passed = fs::read_to_string(&hosts).with_context(|| cannot("read", &hosts))?;
        ensure!(NODES.iter().all(|node| passed.lines().any(|host| host == *node)), "only {passed}");
        let options = ["--hosts".as_ref(), "--expect-hosts".as_ref(), hosts.as_os_str()];
        self.merge(&folder, &job, &options)?.ensure_equal(&expected.on_hosts(&NODES))
    }

    /// Merges the runs of a job, and returns the results of the merged run.
    fn merge(&self, folder: &Path, job: &str, options: &[&OsStr]) -> Result<Results> {
        let reports = folder.join("merged");
        let mut merge = Command::new("clmatrix");
        self.set_up(&mut merge, &reports);
        let mut runs = files::entries(&folder.join(job))?;
        runs.retain(|path| path.is_dir());
        merge.arg("merge").args(options).args(runs);
        process::run(&mut merge)?;
        read_run(&reports)
    }

    /// Writes the script by which Slurm gives each node the driver of its name.
    fn write_prolog(&self, folder: &Path) -> Result<PathBuf> {
        let path = folder.join("prolog");
        let vendors = ci_matrix::vendors_folder(&self.workspace.runtimes);
        let text = format!(
            "#!/bin/sh\necho \"export OCL_ICD_VENDORS={}/$SLURMD_NODENAME.icd\"\n",
            vendors.display()
        );
        fs::write(&path, text).with_context(|| cannot("write", &path))?;
        fs::set_permissions(&path, fs::Permissions::from_mode(0o755))?;
        Ok(path)
    }
}

/// Reads the results of the run in a folder for reports, from its log and those that it resumes. Fails unless
/// there is exactly one.
fn read_run(reports: &Path) -> Result<Results> {
    let mut runs = files::entries(&reports.join("runs"))?;
    runs.retain(|path| path.is_dir());
    runs.sort();
    let mut text = String::new();
    for run in runs {
        let log = run.join("events.jsonl");
        let part = fs::read_to_string(&log).with_context(|| cannot("read", &log))?;
        // A last line without its end is not whole.
        text += &part[..part.rfind('\n').map_or(0, |end| end + 1)];
    }
    let headers = text.lines().filter(|line| line.starts_with(r#"{"event":"run","#));
    let count = headers.filter(|line| !line.contains(r#""goes_on":true"#)).count();
    ensure!(count == 1, "{} has {count} runs, not one", reports.display());
    Results::read(&text).with_context(|| reports.display().to_string())
}
