//! Files, names and the end of this process, on all Unix systems.

use std::fs::{self, File};
use std::io;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::{Path, PathBuf};

use nix::unistd::mkdtemp;

/// Ends the process at once, without the drivers' exit handlers, which may hang.
// quirk: DRIVER-12
pub fn exit_now(status: i32) -> ! {
    // SAFETY: `_exit` takes any status and does not return.
    unsafe { libc::_exit(status) }
}

/// The machine's name.
pub fn host_name() -> String {
    nix::unistd::gethostname()
        .map_or_else(|_| "localhost".to_owned(), |name| name.to_string_lossy().into_owned())
}

/// The kernel's name, release and version.
pub fn kernel() -> Option<String> {
    let name = nix::sys::utsname::uname().ok()?;
    let parts = [name.sysname(), name.release(), name.version()];
    Some(parts.map(|part| part.to_string_lossy().into_owned()).join(" "))
}

/// Creates a folder among the temporary files of the system that only this user can enter.
pub fn temporary_folder() -> io::Result<PathBuf> {
    Ok(mkdtemp(&std::env::temp_dir().join("clmatrix-XXXXXX"))?)
}

/// Makes `link`, once it is in `folder`, show the file at `path` in that folder.
pub fn link_file(_folder: &Path, path: &Path, link: &Path) -> io::Result<()> {
    symlink(path, link)
}

/// Writes the entries of a folder to the disk.
pub fn sync_folder(folder: &Path) -> io::Result<()> {
    File::open(folder)?.sync_all()
}

/// Returns whether the error of a lock says that the file system has none.
pub fn lacks_locks(error: &io::Error) -> bool {
    let lacking = [libc::ENOSYS, libc::EOPNOTSUPP, libc::ENOLCK];
    error.raw_os_error().is_some_and(|code| lacking.contains(&code))
}

/// Returns whether a file is a program.
pub fn is_program(file: &Path) -> bool {
    fs::metadata(file).is_ok_and(|file| file.is_file() && file.permissions().mode() & 0o111 != 0)
}
