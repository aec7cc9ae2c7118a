//! A lock file, which one run holds at a time, and which names the run.

use std::fs::{File, TryLockError};
use std::io::{self, Write};
use std::path::Path;
use std::sync::Once;
use std::time::SystemTime;

use serde::{Deserialize, Serialize};

use crate::serde_time::Rfc3339;
use crate::terminal::status_line;
use crate::{files, os};

/// A lock that this process holds until it is dropped.
#[derive(Debug)]
pub(crate) struct Lock {
    /// Locked, where the file system has locks.
    _file: File,
}

/// The process that holds a lock.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct Holder {
    host: String,
    pid: u32,
    #[serde(with = "Rfc3339")]
    time: SystemTime,
}

impl Lock {
    /// Takes the lock; the inner `Err` is the process that holds it. Warns once if the file system has no locks, so
    /// that the folder is not guarded.
    pub(crate) fn acquire(path: &Path) -> io::Result<Result<Self, Option<Holder>>> {
        static UNGUARDED: Once = Once::new();
        let mut file = files::open_lock(path)?;
        match file.try_lock() {
            Ok(()) => {}
            Err(TryLockError::WouldBlock) => return Ok(Err(Holder::read(path))),
            Err(TryLockError::Error(error)) if os::lacks_locks(&error) => UNGUARDED.call_once(|| {
                status_line(&format!(
                    "warning: the file system of {} has no locks: the folder is not guarded from other runs",
                    path.display()
                ));
            }),
            Err(TryLockError::Error(error)) => return Err(error),
        }
        file.set_len(0)?;
        let (host, pid, time) = (os::host_name(), std::process::id(), SystemTime::now());
        file.write_all(&serde_json::to_vec(&Holder { host, pid, time })?)?;
        Ok(Ok(Self { _file: file }))
    }

    /// Returns whether a process holds the lock.
    pub(crate) fn is_held(path: &Path) -> bool {
        let locked = |file: File| matches!(file.try_lock_shared(), Err(TryLockError::WouldBlock));
        files::open_found(path).is_ok_and(locked)
    }
}

impl Holder {
    /// Reads the process that holds a lock, unless it is unknown.
    pub(crate) fn read(path: &Path) -> Option<Self> {
        serde_json::from_slice(&files::read_found(path).ok()?).ok()
    }
}

impl std::fmt::Display for Holder {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let time = humantime::format_rfc3339_seconds(self.time);
        write!(f, "process {} on {} since {time}", self.pid, self.host)
    }
}
