//! Pinned wheels from PyPI, unpacked into a private folder by the machine's own pip.
//!
//! pip downloads, checks and unpacks, because the user's mirrors, proxies and certificates are set
//! up there, and because `--require-hashes` refuses whatever does not have the checksum given here.
//! No Python code of a wheel is run: only the shared libraries inside are of interest. `--target`
//! and `--prefix` also work where the distribution keeps pip off its own packages (PEP 668).

use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::process::{self, Command};

use anyhow::{Context, Result, bail, ensure};

use crate::files::{self, cannot};
use crate::process::{output, run};

/// The file in a folder that says which wheels it holds.
const STAMP: &str = "wheels.txt";

/// Wheels that are unpacked together.
pub struct WheelSet {
    /// The name of the folder that they go into.
    pub folder: &'static str,
    /// Each wheel's name, version and sha256.
    pub pins: &'static [(&'static str, &'static str, &'static str)],
    /// Options of `pip install`; the last one takes the folder.
    pub options: &'static [&'static str],
    /// How much is downloaded and how much disk it takes, said before the download starts.
    pub size: &'static str,
}

impl WheelSet {
    /// The folder that the wheels are unpacked in, there or not.
    pub fn path(&self, runtimes: &Path) -> PathBuf {
        runtimes.join(self.folder)
    }

    /// Returns whether exactly these wheels are unpacked.
    pub fn is_ready(&self, runtimes: &Path) -> bool {
        let stamp = fs::read_to_string(self.path(runtimes).join(STAMP));
        stamp.is_ok_and(|stamp| stamp == self.requirements())
    }

    /// Downloads and unpacks the wheels, unless that is done already.
    ///
    /// The folder appears complete or not at all: it is filled under another name, then renamed.
    pub fn install(&self, runtimes: &Path) -> Result<()> {
        if self.is_ready(runtimes) {
            return Ok(());
        }
        check_platform()?;
        let pip = find_pip()?;
        let _lock = self.lock(runtimes)?;
        if self.is_ready(runtimes) {
            return Ok(()); // Another process was faster, and its devices may be in use by now.
        }
        self.announce(runtimes);
        self.remove_abandoned(runtimes)?;
        let partial = runtimes.join(format!("{}{}", self.partial_prefix(), process::id()));
        let outcome = self.fill(&partial, pip).and_then(|()| self.publish(&partial, runtimes));
        let removed = files::remove_tree(&partial);
        outcome.and(removed)
    }

    /// Keeps other processes from installing the same wheels, until the file is closed.
    fn lock(&self, runtimes: &Path) -> Result<File> {
        fs::create_dir_all(runtimes).with_context(|| cannot("create", runtimes))?;
        let path = runtimes.join(format!("{}.lock", self.folder));
        let file = File::create(&path).with_context(|| cannot("create", &path))?;
        if file.try_lock().is_err() {
            eprintln!("Waiting for another process to fetch {}.", self.path(runtimes).display());
            file.lock().with_context(|| cannot("lock", &path))?;
        }
        Ok(file)
    }

    /// How the folders start that are being filled. They differ by process: where one of ours was
    /// killed, its pip may still be writing.
    fn partial_prefix(&self) -> String {
        format!("{}.partial-", self.folder)
    }

    /// Removes what processes that were killed left behind. For the holder of the lock only.
    fn remove_abandoned(&self, runtimes: &Path) -> Result<()> {
        let is_partial = |path: &PathBuf| files::name(path).starts_with(&self.partial_prefix());
        let mut abandoned = files::entries(runtimes)?.into_iter().filter(is_partial);
        abandoned.try_for_each(|path| files::remove_tree(&path))
    }

    fn announce(&self, runtimes: &Path) {
        let path = self.path(runtimes);
        eprintln!("Fetching from PyPI with pip: {}, into {}", self.size, path.display());
        for (name, version, _) in self.pins {
            eprintln!("  {name} {version}");
        }
    }

    /// Returns the requirements for pip. The stamp holds them, too, so that a changed pin makes a folder outdated.
    fn requirements(&self) -> String {
        let line = |(name, version, sha256): &(&str, &str, &str)| {
            format!("{name}=={version} --hash=sha256:{sha256}\n")
        };
        self.pins.iter().map(line).collect()
    }

    fn fill(&self, partial: &Path, mut pip: Command) -> Result<()> {
        fs::create_dir_all(partial).with_context(|| cannot("create", partial))?;
        let stamp = partial.join(STAMP);
        fs::write(&stamp, self.requirements()).with_context(|| cannot("write", &stamp))?;
        let tree = partial.join("tree");
        pip.args(["install", "--no-deps", "--only-binary=:all:", "--no-compile"]);
        pip.arg("--require-hashes").arg("--requirement").arg(&stamp);
        pip.args(self.options).arg(&tree);
        run(&mut pip).context(
            "the OpenCL runtime could not be fetched; see pip's message above. Where PyPI is out of \
             reach, point pip at a mirror (`pip config set global.index-url URL`), or install an \
             OpenCL driver yourself (Debian, Ubuntu: `apt-get install pocl-opencl-icd \
             ocl-icd-libopencl1`)",
        )?;
        // A wheel holds no links: libx.so, libx.so.1 and libx.so.1.2 are three copies. As one file
        // they take a third of the space, and the dynamic loader sees that they are one library.
        files::link_duplicates(&tree)?;
        fs::rename(&stamp, tree.join(STAMP)).with_context(|| cannot("move", &stamp))
    }

    fn publish(&self, partial: &Path, runtimes: &Path) -> Result<()> {
        let path = self.path(runtimes);
        files::remove_tree(&path)?;
        fs::rename(partial.join("tree"), &path).with_context(|| cannot("create", &path))
    }
}

/// Fails where the wheels, all of them for x86-64 Linux with glibc, cannot run.
fn check_platform() -> Result<()> {
    ensure!(
        cfg!(all(target_os = "linux", target_arch = "x86_64", target_env = "gnu")),
        "the OpenCL runtimes on PyPI are for x86-64 Linux with glibc only. Install an OpenCL \
         driver for this machine yourself, then run again"
    );
    Ok(())
}

/// Returns whether this machine has a pip.
pub fn has_pip() -> bool {
    find_pip().is_ok()
}

/// The machine's pip, without the settings that contradict a private folder or ask questions.
fn find_pip() -> Result<Command> {
    let ways: [&[&str]; 3] = [&["python3", "-m", "pip"], &["pip3"], &["pip"]];
    for words in ways {
        let command = || {
            let mut command = Command::new(words[0]);
            command.args(&words[1..]);
            command
        };
        if output(command().arg("--version")).is_ok_and(|output| output.status.success()) {
            let mut pip = command();
            pip.envs([("PIP_USER", "0"), ("PIP_NO_INPUT", "1")]);
            pip.envs([("PIP_DISABLE_PIP_VERSION_CHECK", "1"), ("PIP_ROOT_USER_ACTION", "ignore")]);
            return Ok(pip);
        }
    }
    bail!(
        "OpenCL runtimes are fetched with Python's pip, and there is none. Install it (Debian, \
         Ubuntu: `apt-get install python3-pip`)"
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::files::tests::TempFolder;

    const SET: WheelSet = WheelSet {
        folder: "set",
        pins: &[("a", "1", "aa"), ("b", "2", "bb")],
        options: &["--target"],
        size: "",
    };

    fn publish(runtimes: &Path, stamp: &str) {
        let partial = runtimes.join("set.partial-1");
        fs::create_dir_all(partial.join("tree")).unwrap();
        fs::write(partial.join("tree").join(STAMP), stamp).unwrap();
        SET.publish(&partial, runtimes).unwrap();
    }

    #[test]
    fn a_folder_is_ready_only_with_the_wheels_of_today() {
        let runtimes = TempFolder::new("ready");
        assert!(!SET.is_ready(&runtimes.0));
        publish(&runtimes.0, "a==0 --hash=sha256:00\n");
        assert!(!SET.is_ready(&runtimes.0));
        publish(&runtimes.0, "a==1 --hash=sha256:aa\nb==2 --hash=sha256:bb\n");
        assert!(SET.is_ready(&runtimes.0));
    }
}
