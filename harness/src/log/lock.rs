//! A lock file: held by one run at a time, and naming it.

use std::fs::{self, File, TryLockError};
use std::io::{self, Write};
use std::path::Path;
use std::sync::Once;
use std::time::SystemTime;

use serde::{Deserialize, Serialize};

use crate::os;
use crate::serde_time::Rfc3339;
use crate::terminal::status_line;

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
    /// Takes the lock; `Err` within is the process that holds it. Says once that a folder cannot be guarded, where
    /// the file system has no locks.
    pub(crate) fn acquire(path: &Path) -> io::Result<Result<Self, Option<Holder>>> {
        static UNGUARDED: Once = Once::new();
        let mut file = File::options().create(true).write(true).truncate(false).open(path)?;
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
        file.write_all(&Holder::this_process())?;
        Ok(Ok(Self { _file: file }))
    }

    /// Returns the process that holds the lock, or `Some(None)` if that process is unknown.
    pub(crate) fn holder(path: &Path) -> Option<Option<Holder>> {
        let locked = |file: File| matches!(file.try_lock_shared(), Err(TryLockError::WouldBlock));
        File::open(path).is_ok_and(locked).then(|| Holder::read(path))
    }
}

impl Holder {
    /// This process as the content of a lock file.
    fn this_process() -> Vec<u8> {
        let (host, pid, time) = (os::host_name(), std::process::id(), SystemTime::now());
        serde_json::to_vec(&Self { host, pid, time }).expect("a holder is plain data")
    }

    fn read(path: &Path) -> Option<Self> {
        serde_json::from_slice(&fs::read(path).ok()?).ok()
    }
}

impl std::fmt::Display for Holder {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let time = humantime::format_rfc3339_seconds(self.time);
        write!(f, "process {} on {} since {time}", self.pid, self.host)
    }
}
