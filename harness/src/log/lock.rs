//! A lock file: held by one run at a time, and naming it.

use std::fs::{self, File, TryLockError};
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::time::SystemTime;

use serde::{Deserialize, Serialize};

use crate::os;
use crate::serde_time::rfc3339;

/// A lock that this process holds until it is dropped.
#[derive(Debug)]
pub(crate) struct Lock {
    /// Locked, where the file system has locks.
    _file: Option<File>,
    /// The file whose existence is the lock, where the file system has none.
    held: Option<PathBuf>,
}

/// The process that holds a lock.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct Holder {
    host: String,
    pid: u32,
    #[serde(with = "rfc3339")]
    time: SystemTime,
    /// The file that names it.
    #[serde(skip)]
    file: PathBuf,
}

impl Lock {
    /// Takes the lock; `Err` within is the process that holds it.
    pub(crate) fn acquire(path: &Path) -> io::Result<Result<Self, Option<Holder>>> {
        let mut file = File::options().create(true).append(true).open(path)?;
        match file.try_lock() {
            Ok(()) => {
                file.set_len(0)?;
                file.write_all(&Holder::this_process())?;
                Ok(Ok(Self { _file: Some(file), held: None }))
            }
            Err(TryLockError::WouldBlock) => Ok(Err(Holder::read(path))),
            Err(TryLockError::Error(error)) if lacks_locks(&error) => Self::acquire_by_file(path),
            Err(TryLockError::Error(error)) => Err(error),
        }
    }

    /// Takes the lock by creating a file. A file of a process that has ended does not count.
    fn acquire_by_file(path: &Path) -> io::Result<Result<Self, Option<Holder>>> {
        let held = held_path(path);
        if let Some(holder) = Holder::read(&held).filter(Holder::is_alive) {
            return Ok(Err(Some(holder)));
        }
        let _ = fs::remove_file(&held);
        match File::options().create_new(true).write(true).open(&held) {
            Ok(mut file) => {
                file.write_all(&Holder::this_process())?;
                Ok(Ok(Self { _file: None, held: Some(held) }))
            }
            // Another process was faster.
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {
                Ok(Err(Holder::read(&held)))
            }
            Err(error) => Err(error),
        }
    }

    /// Returns the process that holds the lock, or `Some(None)` if that process is unknown.
    pub(crate) fn holder(path: &Path) -> Option<Option<Holder>> {
        if let Some(holder) = Holder::read(&held_path(path)).filter(Holder::is_alive) {
            return Some(Some(holder));
        }
        let locked = |file: File| matches!(file.try_lock_shared(), Err(TryLockError::WouldBlock));
        File::open(path).is_ok_and(locked).then(|| Holder::read(path))
    }
}

impl Drop for Lock {
    fn drop(&mut self) {
        if let Some(held) = &self.held {
            let _ = fs::remove_file(held);
        }
    }
}

fn held_path(path: &Path) -> PathBuf {
    path.with_extension("held")
}

/// Returns whether the file system has no locks: ENOSYS, EOPNOTSUPP or ENOLCK.
fn lacks_locks(error: &io::Error) -> bool {
    let lacking = [libc::ENOSYS, libc::EOPNOTSUPP, libc::ENOLCK];
    error.raw_os_error().is_some_and(|code| lacking.contains(&code))
}

impl Holder {
    /// This process as the content of a lock file.
    fn this_process() -> Vec<u8> {
        let (host, time) = (os::host_name(), SystemTime::now());
        let holder = Self { host, pid: std::process::id(), time, file: PathBuf::new() };
        serde_json::to_vec(&holder).expect("a holder is plain data")
    }

    fn read(path: &Path) -> Option<Self> {
        let holder = serde_json::from_slice(&fs::read(path).ok()?).ok()?;
        Some(Self { file: path.to_owned(), ..holder })
    }

    /// Returns whether the process runs, as far as this host knows.
    fn is_alive(&self) -> bool {
        self.host != os::host_name() || Path::new(&format!("/proc/{}", self.pid)).exists()
    }
}

impl std::fmt::Display for Holder {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let time = humantime::format_rfc3339_seconds(self.time);
        write!(f, "process {} on {} since {time}", self.pid, self.host)?;
        if self.host != os::host_name() {
            write!(f, "; delete {} if it is not alive any more", self.file.display())?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_file_of_a_process_on_another_host_is_named() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("lock");
        let held = held_path(&path);
        let hint = format!("; delete {} if it is not alive any more", held.display());
        for (host, is_named) in [("another host", true), (&os::host_name(), false)] {
            let (pid, time) = (std::process::id(), "2026-01-01T00:00:00Z");
            let holder = serde_json::json!({ "host": host, "pid": pid, "time": time });
            fs::write(&held, holder.to_string()).unwrap();
            let shown = Lock::holder(&path).unwrap().unwrap().to_string();
            assert!(shown.starts_with(&format!("process {pid} on {host} since ")), "{shown}");
            assert_eq!(shown.ends_with(&hint), is_named, "{shown}");
        }
    }
}
