//! Pinned wheels from PyPI, unpacked into a private folder by the machine's own pip.
//!
//! pip downloads, checks and unpacks, because the user's mirrors, proxies and certificates are set up there, and
//! because `--require-hashes` refuses files without the checksum given here. No Python code of a wheel is run: only
//! its shared libraries are used. `--target` and `--prefix` also work where the distribution keeps pip off its own
//! packages (PEP 668).

use std::fs::{self, File};
use std::io;
use std::path::{Path, PathBuf};
use std::process::{self, Command, Stdio};

use super::ProvisionError;
use super::files::{self, cannot};
use crate::files::{open_lock, read_found, replace};
use crate::terminal::status_line;

/// The file in a folder that names its wheels.
const STAMP: &str = "wheels.txt";

/// Wheels that are unpacked together.
pub struct WheelSet {
    /// The name of their folder in the folder of the runtimes.
    pub folder: &'static str,
    /// The usual name of the software.
    pub title: &'static str,
    /// Each wheel's name, version and sha256.
    pub pins: &'static [(&'static str, &'static str, &'static str)],
    /// Options of `pip install`; the last one takes the folder.
    pub options: &'static [&'static str],
    /// The sizes of the download and of the folder, printed before the download starts.
    pub size: &'static str,
    /// The licence, printed before the download starts.
    pub licence: &'static str,
}

impl WheelSet {
    /// Returns the folder of the unpacked wheels, which may not exist.
    pub fn path(&self, runtimes: &Path) -> PathBuf {
        runtimes.join(self.folder)
    }

    /// Returns the library whose name begins with `name`.
    ///
    /// # Errors
    ///
    /// The wheels are not unpacked, or were changed since.
    pub fn library(&self, runtimes: &Path, name: &str) -> Result<PathBuf, ProvisionError> {
        let folder = self.path(runtimes);
        let found = files::find(&folder, &|file| file.starts_with(name))?;
        found.ok_or(ProvisionError::Incomplete(format!("{name}*"), folder))
    }

    /// Returns whether exactly these wheels are unpacked.
    pub fn is_ready(&self, runtimes: &Path) -> bool {
        let stamp = read_found(&self.path(runtimes).join(STAMP));
        stamp.is_ok_and(|stamp| stamp == self.requirements().as_bytes())
    }

    /// Downloads and unpacks the wheels, unless they are unpacked.
    ///
    /// The folder appears complete or not at all: it is filled under another name, then renamed.
    ///
    /// # Errors
    ///
    /// See [`ProvisionError`].
    pub fn install(&self, runtimes: &Path) -> Result<(), ProvisionError> {
        if self.is_ready(runtimes) {
            return Ok(());
        }
        let pip = find_pip()?;
        let _lock = self.lock(runtimes)?;
        if self.is_ready(runtimes) {
            return Ok(()); // Another process was faster, and its devices may be in use by now.
        }
        self.announce(runtimes);
        // Folders that are being filled have names that differ by process: the pip of a process that was killed may
        // still be writing.
        let prefix = format!("{}.partial-", self.folder);
        let mut abandoned = files::entries(runtimes)?;
        abandoned.retain(|path| files::name(path).starts_with(&prefix));
        abandoned.iter().try_for_each(|path| files::remove_tree(path))?;
        let partial = runtimes.join(format!("{prefix}{}", process::id()));
        let outcome = self.fill(&partial, pip).and_then(|()| self.publish(&partial, runtimes));
        let removed = files::remove_tree(&partial);
        outcome.and_then(|()| Ok(removed?))
    }

    /// Keeps other processes from installing the same wheels, until the file is closed.
    fn lock(&self, runtimes: &Path) -> io::Result<File> {
        fs::create_dir_all(runtimes).map_err(cannot("create", runtimes))?;
        let path = runtimes.join(format!("{}.lock", self.folder));
        let file = open_lock(&path).map_err(cannot("create", &path))?;
        if file.try_lock().is_err() {
            let folder = self.path(runtimes);
            status_line(&format!("Waiting for another process to fetch {}.", folder.display()));
            file.lock().map_err(cannot("lock", &path))?;
        }
        Ok(file)
    }

    fn announce(&self, runtimes: &Path) {
        let Self { title, size, licence, .. } = self;
        let path = self.path(runtimes);
        status_line(&format!(
            "Fetching {title} from PyPI with pip: {size}, into {}",
            path.display()
        ));
        status_line(&format!("  licence: {licence}"));
        for (name, version, _) in self.pins {
            status_line(&format!("  {name} {version}"));
        }
    }

    /// Returns the requirements for pip. The stamp holds them, too, so that a changed pin makes a folder outdated.
    fn requirements(&self) -> String {
        let line = |(name, version, sha256): &(&str, &str, &str)| {
            format!("{name}=={version} --hash=sha256:{sha256}\n")
        };
        self.pins.iter().map(line).collect()
    }

    fn fill(&self, partial: &Path, mut pip: Command) -> Result<(), ProvisionError> {
        fs::create_dir_all(partial).map_err(cannot("create", partial))?;
        let stamp = partial.join(STAMP);
        replace(&stamp, self.requirements().as_bytes()).map_err(cannot("write", &stamp))?;
        let tree = partial.join("tree");
        pip.args(["install", "--no-deps", "--only-binary=:all:", "--no-compile"]);
        pip.arg("--require-hashes").arg("--requirement").arg(&stamp);
        pip.args(self.options).arg(&tree);
        // Standard output carries the variables only.
        let status = pip.stdin(Stdio::null()).stdout(Stdio::from(io::stderr())).status()?;
        if !status.success() {
            return Err(ProvisionError::Pip(status));
        }
        // A wheel holds no links: libx.so, libx.so.1 and libx.so.1.2 are three copies. As one file
        // they take a third of the space, and the dynamic loader sees that they are one library.
        files::link_duplicates(&tree)?;
        Ok(fs::rename(&stamp, tree.join(STAMP)).map_err(cannot("move", &stamp))?)
    }

    fn publish(&self, partial: &Path, runtimes: &Path) -> Result<(), ProvisionError> {
        let path = self.path(runtimes);
        files::remove_tree(&path)?;
        Ok(fs::rename(partial.join("tree"), &path).map_err(cannot("create", &path))?)
    }
}

/// Returns whether this machine has a pip.
pub fn has_pip() -> bool {
    find_pip().is_ok()
}

/// Returns the machine's pip, without the settings that contradict a private folder or prompt.
fn find_pip() -> Result<Command, ProvisionError> {
    let ways: [&[&str]; 3] = [&["python3", "-m", "pip"], &["pip3"], &["pip"]];
    for words in ways {
        let mut pip = Command::new(words[0]);
        pip.args(&words[1..]);
        let mut version = Command::new(words[0]);
        version.args(&words[1..]).arg("--version").stdin(Stdio::null());
        if version.output().is_ok_and(|output| output.status.success()) {
            pip.envs([("PIP_USER", "0"), ("PIP_NO_INPUT", "1")]);
            pip.envs([("PIP_DISABLE_PIP_VERSION_CHECK", "1"), ("PIP_ROOT_USER_ACTION", "ignore")]);
            return Ok(pip);
        }
    }
    Err(ProvisionError::NoPip)
}

#[cfg(test)]
mod tests {
    use super::*;

    const SET: WheelSet = WheelSet {
        folder: "set",
        title: "",
        pins: &[("a", "1", "aa"), ("b", "2", "bb")],
        options: &["--target"],
        size: "",
        licence: "",
    };

    fn publish(runtimes: &Path, stamp: &str) {
        let partial = runtimes.join("set.partial-1");
        fs::create_dir_all(partial.join("tree")).unwrap();
        fs::write(partial.join("tree").join(STAMP), stamp).unwrap();
        SET.publish(&partial, runtimes).unwrap();
    }

    #[test]
    fn a_folder_is_ready_only_with_the_present_pins() {
        let runtimes = tempfile::tempdir().unwrap();
        assert!(!SET.is_ready(runtimes.path()));
        publish(runtimes.path(), "a==0 --hash=sha256:00\n");
        assert!(!SET.is_ready(runtimes.path()));
        publish(runtimes.path(), "a==1 --hash=sha256:aa\nb==2 --hash=sha256:bb\n");
        assert!(SET.is_ready(runtimes.path()));
    }

    #[test]
    fn a_missing_library_is_named() {
        let runtimes = tempfile::tempdir().unwrap();
        publish(runtimes.path(), "");
        let error = SET.library(runtimes.path(), "libx-").unwrap_err().to_string();
        assert!(error.starts_with("there is no libx-* in "), "{error}");
        fs::write(runtimes.path().join("set/libx-1.so"), "").unwrap();
        let library = SET.library(runtimes.path(), "libx-").unwrap();
        assert_eq!(library, runtimes.path().join("set/libx-1.so"));
    }
}
