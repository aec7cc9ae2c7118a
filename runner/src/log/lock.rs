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
pub(super) struct Lock {
    /// Locked, where the file system has locks.
    _file: File,
}

/// The process that holds a lock.
#[derive(Serialize, Deserialize)]
struct Holder {
    host: String,
    pid: u32,
    #[serde(with = "Rfc3339")]
    time: SystemTime,
}

impl Lock {
    /// Takes the lock. The error for a held lock has the holder between `what` and `advice`. Warns once if the file
    /// system has no locks, so that the folder is not guarded.
    pub(super) fn acquire(path: &Path, what: &str, advice: &str) -> io::Result<Self> {
        static UNGUARDED: Once = Once::new();
        let at_path =
            |error: io::Error| io::Error::new(error.kind(), format!("{}: {error}", path.display()));
        let mut file = files::open_lock(path).map_err(at_path)?;
        match file.try_lock() {
            Ok(()) => {}
            Err(TryLockError::WouldBlock) => {
                let message = format!("{what}{}{advice}", holder(path));
                return Err(io::Error::new(io::ErrorKind::ResourceBusy, message));
            }
            Err(TryLockError::Error(error)) if os::lacks_locks(&error) => UNGUARDED.call_once(|| {
                status_line(&format!(
                    "warning: the file system of {} has no locks: the folder is not guarded from other runs",
                    path.display()
                ));
            }),
            Err(TryLockError::Error(error)) => return Err(at_path(error)),
        }
        let (host, pid, time) = (os::host_name(), std::process::id(), SystemTime::now());
        let holder = serde_json::to_vec(&Holder { host, pid, time })?;
        file.set_len(0).and_then(|()| file.write_all(&holder)).map_err(at_path)?;
        Ok(Self { _file: file })
    }

    /// Returns the holder of the lock as in an error, if a process holds it.
    pub(super) fn held_by(path: &Path) -> Option<String> {
        let locked = |file: File| matches!(file.try_lock_shared(), Err(TryLockError::WouldBlock));
        files::open_found(path).is_ok_and(locked).then(|| holder(path))
    }
}

/// Returns the process that holds a lock, in brackets; nothing if it is unknown.
fn holder(path: &Path) -> String {
    let read = || -> Option<Holder> { serde_json::from_slice(&files::read_found(path).ok()?).ok() };
    let Some(Holder { host, pid, time }) = read() else { return String::new() };
    format!(" (process {pid} on {host} since {})", humantime::format_rfc3339_seconds(time))
}
