//! `cargo xtask test-slurm`: the scripts of config/slurm on a cluster of four nodes.

use std::env;
use std::ffi::OsString;
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result, ensure};

use crate::apt;
use crate::ci_matrix;
use crate::environment::Environment;
use crate::files::{self, cannot};
use crate::process;
use crate::workspace::Workspace;

mod cluster;
mod daemon;
mod results;
mod task;

use cluster::Cluster;
use results::Results;

/// The nodes of the cluster, named as the drivers of the CI matrix.
const NODES: [&str; 4] = ["pocl", "rusticl", "oclgrind", "intel"];

/// The tests, which take some 20 s on all drivers.
const FILTER: [&str; 2] = ["buffer::*", "fill::*"];

/// Runs the tests without Slurm and by the scripts of config/slurm. Fails unless all have the same results.
pub fn run(workspace: &Workspace) -> Result<()> {
    ensure!(process::is_root(), "Slurm's daemons take root: run `cargo xtask test-slurm` as root");
    apt::install(&["munge", "slurm-wlm"])?;
    let test = SlurmTest::prepare(workspace)?;
    println!("One run without Slurm");
    let expected = test.plain_run()?;
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

    fn plain_run(&self) -> Result<Results> {
        let reports = self.folder.join("plain");
        let mut run = Command::new("clmatrix");
        self.set_up(&mut run, &reports);
        process::run(run.args(["run", "--quiet", "--profile", "ci"]).args(FILTER))?;
        read_run(&reports)
    }

    /// Runs all tests on each node, which has the driver of its name.
    fn one_driver_per_node(&self, expected: &Results) -> Result<()> {
        let folder = self.folder.join("nodes");
        fs::create_dir(&folder).with_context(|| cannot("create", &folder))?;
        let cluster = Cluster::start(&NODES, &folder)?;
        let mut sbatch = cluster.sbatch();
        self.set_up(&mut sbatch, &folder);
        sbatch.env("SLURM_TASK_PROLOG", self.write_prolog(&folder)?);
        sbatch.args([
            "--nodes=4",
            "--gres=gpu:virtual:1",
            "config/slurm/burn-in.sbatch",
            "--repeat=1",
        ]);
        let job = cluster.submit(sbatch.args(FILTER))?;
        cluster.wait(&job)?;
        let mut found = Results::default();
        for node in NODES {
            found.extend(read_run(&folder.join(&job).join(node))?)?;
        }
        found.ensure_equal(expected)
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

/// Reads the results of the only run in a folder for reports.
fn read_run(reports: &Path) -> Result<Results> {
    let log = files::find(reports, &|name| name == "events.jsonl")?;
    let log = log.with_context(|| format!("{} has no run", reports.display()))?;
    let text = fs::read_to_string(&log).with_context(|| cannot("read", &log))?;
    Results::read(&text).with_context(|| log.display().to_string())
}
