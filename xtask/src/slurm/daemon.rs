//! A daemon in a PID namespace of its own.

use std::fs::File;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

use anyhow::{Context, Result, bail};

use crate::files::cannot;

/// A program that ends, with all processes that it has started, when it is dropped and when this process
/// ends in any way.
pub struct Daemon {
    /// The name that the program has in the cluster.
    pub name: &'static str,
    unshare: Child,
    /// The file with its output.
    log: PathBuf,
}

impl Daemon {
    /// Starts a program that stays in the foreground. Its output goes to a file in the folder `logs`.
    pub fn start(
        name: &'static str,
        command: &[&str],
        slurm_conf: &Path,
        logs: &Path,
    ) -> Result<Self> {
        let log = logs.join(format!("{name}.txt"));
        let output = File::create(&log).with_context(|| cannot("create", &log))?;
        let errors = output.try_clone().with_context(|| cannot("open", &log))?;
        // The kernel kills `unshare` when the main thread of this process ends, the first process of the
        // namespace when `unshare` ends, and with that process all others of the namespace.
        let mut setpriv = Command::new("setpriv");
        setpriv.args(["--pdeathsig", "KILL", "unshare", "--pid", "--kill-child", "--mount-proc"]);
        setpriv.args(command).env("SLURM_CONF", slurm_conf);
        setpriv.stdin(Stdio::null()).stdout(output).stderr(errors);
        let unshare =
            setpriv.spawn().with_context(|| format!("cannot start {name} by `setpriv`"))?;
        Ok(Self { name, unshare, log })
    }

    /// Fails if the program has ended.
    pub fn ensure_running(&mut self) -> Result<()> {
        if let Some(status) = self.unshare.try_wait()? {
            bail!("{} has ended ({status}), see {}", self.name, self.log.display());
        }
        Ok(())
    }
}

impl Drop for Daemon {
    fn drop(&mut self) {
        // Both fail only if the process has ended.
        let _ = self.unshare.kill();
        let _ = self.unshare.wait();
    }
}
