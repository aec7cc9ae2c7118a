//! Files, names, libraries and the end of this process, on all Unix systems.

use std::ffi::{CStr, CString, c_void};
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

/// Returns the path of a file from the root, without links.
pub fn canonical(file: &Path) -> io::Result<PathBuf> {
    file.canonicalize()
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

/// A shared library in this process; it stays loaded.
pub struct Library(*mut c_void);

impl Library {
    /// Loads a library in the way of ocl-icd; the error is the dynamic linker's message.
    ///
    /// The library's initialisers run, which may end or hang this process.
    pub fn load(name: &str) -> Result<Self, String> {
        let name = CString::new(name).map_err(|error| error.to_string())?;
        // SAFETY: the name is a C string. Initialisers are foreign code, as in any driver.
        let handle = unsafe { libc::dlopen(name.as_ptr(), libc::RTLD_LAZY | libc::RTLD_LOCAL) };
        if !handle.is_null() {
            return Ok(Self(handle));
        }
        // SAFETY: after a failure, dlerror gives this thread a C string that lives until its next call.
        let message = unsafe { CStr::from_ptr(libc::dlerror()) };
        Err(message.to_string_lossy().into_owned())
    }

    /// Returns whether the library has a function or variable of this name.
    pub fn has(&self, name: &CStr) -> bool {
        // SAFETY: the handle is open, and the name is a C string.
        !unsafe { libc::dlsym(self.0, name.as_ptr()) }.is_null()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::replace_file::replace_file;

    #[test]
    fn a_temporary_folder_is_private() {
        let folder = temporary_folder().unwrap();
        assert_eq!(folder.metadata().unwrap().permissions().mode() & 0o777, 0o700);
        fs::remove_dir(folder).unwrap();
    }

    #[test]
    fn a_replaced_file_keeps_its_permissions_and_its_links() {
        let folder = tempfile::tempdir().unwrap();
        let [path, link] = ["a.toml", "b.toml"].map(|name| folder.path().join(name));
        fs::write(&path, "old").unwrap();
        fs::set_permissions(&path, fs::Permissions::from_mode(0o600)).unwrap();
        symlink("a.toml", &link).unwrap();
        replace_file(&link, b"new").unwrap();
        assert_eq!(fs::read(&path).unwrap(), b"new");
        assert_eq!(fs::read_link(&link).unwrap(), Path::new("a.toml"));
        assert_eq!(fs::metadata(&path).unwrap().permissions().mode() & 0o777, 0o600);
    }
}
