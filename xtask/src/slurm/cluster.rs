//! A Slurm cluster on this machine, without systemd, cgroups and files in /etc.

use std::fmt::Write;
use std::fs;
use std::net::TcpListener;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::thread::sleep;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail, ensure};
use tempfile::TempDir;

use super::daemon::Daemon;
use super::task::Task;
use crate::files::{self, cannot};
use crate::process;

/// The limit for the start of the daemons.
const START_LIMIT: Duration = Duration::from_secs(30);

/// The limit for a job.
const JOB_LIMIT: Duration = Duration::from_secs(180);

/// munged, slurmctld, and a slurmd for each node, all on 127.0.0.1. Ends with all its jobs when it is
/// dropped.
pub struct Cluster {
    /// munged, slurmctld, and slurmd for each node, with the node's name.
    daemons: Vec<Daemon>,
    /// The configuration, the key, the socket and the state.
    folder: TempDir,
    /// The folder for the output of daemons and jobs.
    logs: PathBuf,
}

impl Cluster {
    /// Starts a cluster of these nodes, each with one processor and one GPU of the type `virtual`.
    pub fn start(nodes: &[&'static str], logs: &Path) -> Result<Self> {
        let folder = TempDir::with_prefix("clmatrix-slurm-").context("cannot create a folder")?;
        write_configuration(folder.path(), nodes)?;
        let mut cluster = Self { daemons: Vec::new(), folder, logs: logs.to_owned() };
        cluster.start_munged()?;
        cluster.start_daemon("slurmctld", &["slurmctld", "-D"])?;
        for node in nodes {
            cluster.start_daemon(node, &["slurmd", "-D", "-N", node])?;
        }
        poll("idle nodes", START_LIMIT, || {
            cluster.daemons.iter_mut().try_for_each(Daemon::ensure_running)?;
            let mut sinfo = cluster.command("sinfo");
            // The command fails until slurmctld listens.
            let output = process::output(sinfo.args(["--noheader", "--Node", "--format=%t"]))?;
            let states = String::from_utf8_lossy(&output.stdout);
            let idle = states.lines().filter(|state| *state == "idle").count();
            Ok((idle == nodes.len()).then_some(()))
        })?;
        Ok(cluster)
    }

    fn start_munged(&mut self) -> Result<()> {
        let path = |name| self.folder.path().join(name).display().to_string();
        let (key, socket) = (path("munge.key"), path("munge.socket"));
        process::run(Command::new("mungekey").args(["--create", "--keyfile", &key]))?;
        let options = [("pid", "munged.pid"), ("log", "munged.log"), ("seed", "munged.seed")];
        let options = options.map(|(option, name)| format!("--{option}-file={}", path(name)));
        let mut munged = vec!["munged", "--foreground", "--key-file", &key, "--socket", &socket];
        munged.extend(options.iter().map(String::as_str));
        self.start_daemon("munged", &munged)?;
        poll("munged", START_LIMIT, || {
            self.daemons.iter_mut().try_for_each(Daemon::ensure_running)?;
            Ok(fs::exists(&socket)?.then_some(()))
        })
    }

    fn start_daemon(&mut self, name: &'static str, command: &[&str]) -> Result<()> {
        let daemon = Daemon::start(name, command, &self.slurm_conf(), &self.logs)?;
        self.daemons.push(daemon);
        Ok(())
    }

    fn slurm_conf(&self) -> PathBuf {
        self.folder.path().join("slurm.conf")
    }

    /// A command of Slurm for this cluster.
    fn command(&self, program: &str) -> Command {
        let mut command = Command::new(program);
        command.env("SLURM_CONF", self.slurm_conf());
        command
    }

    /// An `sbatch` command for this cluster, for [`submit`](Self::submit).
    pub fn sbatch(&self) -> Command {
        let mut sbatch = self.command("sbatch");
        sbatch.arg("--parsable").arg("--output").arg(self.logs.join("job-%j.txt"));
        sbatch
    }

    /// Submits a job, and returns its id.
    pub fn submit(&self, sbatch: &mut Command) -> Result<String> {
        Ok(successful_output(sbatch)?.trim().to_owned())
    }

    /// The tasks of the array of a job. The tasks that wait for a node are one together. Fails if one has failed.
    pub fn tasks(&self, job: &str) -> Result<Vec<Task>> {
        let mut squeue = self.command("squeue");
        squeue.args(["--noheader", "--states=all", "--format=%K/%T/%N", "--job", job]);
        let tasks = successful_output(&mut squeue)?;
        let tasks = tasks.lines().map(Task::read).collect::<Result<Vec<_>>>()?;
        if let Some(task) = tasks.iter().find(|task| task.has_failed()) {
            bail!("{}\nthe job has failed: {task:?}", self.output_of_jobs());
        }
        Ok(tasks)
    }

    /// Waits until all tasks of a job have ended with success.
    pub fn wait(&self, job: &str) -> Result<()> {
        poll("the end of the job", JOB_LIMIT, || {
            Ok(self.tasks(job)?.iter().all(Task::is_completed).then_some(()))
        })
    }

    /// Kills all processes of a node, and reports to slurmctld that the node is down.
    pub fn kill_node(&mut self, node: &str) -> Result<()> {
        self.daemons.retain(|daemon| daemon.name != node);
        // Earlier than by SlurmdTimeout, which would also end nodes that are only slow.
        let mut update = self.command("scontrol");
        update.args(["update", &format!("NodeName={node}"), "State=DOWN", "Reason=killed"]);
        process::run(&mut update)
    }

    /// All that jobs have printed.
    fn output_of_jobs(&self) -> String {
        let outputs = files::entries(&self.logs).unwrap_or_default();
        let outputs = outputs.iter().filter(|path| files::name(path).starts_with("job-"));
        outputs.map(|path| fs::read_to_string(path).unwrap_or_default()).collect()
    }
}

/// Writes the files that Slurm reads.
fn write_configuration(folder: &Path, nodes: &[&str]) -> Result<()> {
    let write = |name: &str, text: &str| {
        let path = folder.join(name);
        fs::write(&path, text).with_context(|| cannot("write", &path))
    };
    let mut slurm_conf = include_str!("slurm.conf").replace("FOLDER", &folder.to_string_lossy());
    let ports = free_ports(nodes.len() + 1)?;
    // Writing to a string cannot fail.
    let _ = writeln!(slurm_conf, "SlurmctldPort={}", ports[0]);
    for (node, port) in nodes.iter().zip(&ports[1..]) {
        let _ = writeln!(
            slurm_conf,
            "NodeName={node} NodeHostName=localhost NodeAddr=127.0.0.1 Port={port} CPUs=1 Gres=gpu:virtual:1"
        );
    }
    write("slurm.conf", &slurm_conf)?;
    // The plugin of version 2 needs systemd.
    write("cgroup.conf", "CgroupPlugin=cgroup/v1\nCgroupAutomount=no\n")?;
    // Slurm takes only device files.
    let device = folder.join("device");
    symlink("/dev/null", &device).with_context(|| cannot("create", &device))?;
    write("gres.conf", &format!("Name=gpu Type=virtual File={}\n", device.display()))?;
    let state = folder.join("state");
    fs::create_dir(&state).with_context(|| cannot("create", &state))
}

/// Different ports of the loopback interface that no process listens on.
fn free_ports(count: usize) -> Result<Vec<u16>> {
    let bind = || TcpListener::bind("127.0.0.1:0").context("there is no free port on 127.0.0.1");
    let listeners = (0..count).map(|_| bind()).collect::<Result<Vec<_>>>()?;
    listeners.iter().map(|listener| Ok(listener.local_addr()?.port())).collect()
}

/// Runs a command to its end and returns its standard output. Fails unless it succeeds.
fn successful_output(command: &mut Command) -> Result<String> {
    let output = process::output(command.stderr(Stdio::inherit()))?;
    ensure!(output.status.success(), "`{}` failed ({})", process::line(command), output.status);
    Ok(String::from_utf8_lossy(&output.stdout).into_owned())
}

/// Calls `look` until it returns a value. Fails after the limit; `what` names what is missing then.
pub fn poll<T>(
    what: &str,
    limit: Duration,
    mut look: impl FnMut() -> Result<Option<T>>,
) -> Result<T> {
    let begin = Instant::now();
    loop {
        if let Some(value) = look()? {
            return Ok(value);
        }
        ensure!(begin.elapsed() < limit, "waited {limit:?} for {what} in vain");
        sleep(Duration::from_millis(100));
    }
}
