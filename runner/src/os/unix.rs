//! Files, names, libraries and the end of this process, on all Unix systems.

use std::ffi::{CStr, CString, c_void};
use std::fs::{self, File, OpenOptions};
use std::io;
use std::os::fd::{AsFd, FromRawFd, RawFd};
use std::os::unix::fs::{OpenOptionsExt, PermissionsExt, symlink};
use std::path::{Path, PathBuf};
use std::thread;

use nix::unistd::mkdtemp;
use signal_hook::iterator::Signals;

/// Ends the process at once, without the drivers' exit handlers, which may hang.
// quirk: DRIVER-12
pub fn exit_now(status: i32) -> ! {
    // SAFETY: `_exit` takes any status and does not return.
    unsafe { libc::_exit(status) }
}

/// Calls `handle`, on a thread of its own, for each SIGINT, SIGTERM and SIGHUP, with true for SIGINT, the signal of
/// Ctrl-C.
pub fn on_signals(mut handle: impl FnMut(bool) + Send + 'static) -> io::Result<()> {
    let mut signals = Signals::new([libc::SIGINT, libc::SIGTERM, libc::SIGHUP])?;
    let each = move || signals.forever().for_each(|signal| handle(signal == libc::SIGINT));
    thread::Builder::new().name("clmatrix-signals".to_owned()).spawn(each).map(drop)
}

/// The machine's name.
pub fn host_name() -> String {
    nix::unistd::gethostname()
        .map_or_else(|_| "localhost".to_owned(), |name| name.to_string_lossy().into_owned())
}

/// Returns the kernel's name, release and version.
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

/// Creates `link`, which shows the file at `path` in `folder` once it is moved there.
pub fn link_file(_folder: &Path, path: &Path, link: &Path) -> io::Result<()> {
    symlink(path, link)
}

/// Lets a pipe be opened at once, whether or not it has another end.
pub fn without_waiting(options: &mut OpenOptions) -> &mut OpenOptions {
    options.custom_flags(libc::O_NONBLOCK | libc::O_NOCTTY)
}

/// Opens no link, and waits for no pipe.
pub fn without_links(options: &mut OpenOptions) -> &mut OpenOptions {
    options.custom_flags(libc::O_NOFOLLOW | libc::O_NONBLOCK | libc::O_NOCTTY)
}

/// Returns standard output as a file.
pub fn standard_output() -> io::Result<File> {
    io::stdout().as_fd().try_clone_to_owned().map(File::from)
}

/// Returns the descriptor of this process to which a path leads, as `/dev/stdout` does.
pub fn own_descriptor(path: &Path) -> Option<RawFd> {
    own_number(&descriptor(path)?)
}

/// Returns the number of an entry in this process's folder of descriptors.
fn own_number(descriptor: &Path) -> Option<RawFd> {
    let folder = descriptor.parent()?;
    let is_own = |own: &str| Path::new(own).canonicalize().is_ok_and(|own| own == folder);
    let number =
        ["/proc/self/fd", "/dev/fd"].into_iter().any(is_own).then(|| descriptor.file_name());
    number.flatten()?.to_str()?.parse().ok()
}

/// Opens the descriptor to which a path leads: that of this process at its position, that of another process to append
/// to its file. `None` for other paths.
pub fn open_descriptor(path: &Path) -> Option<io::Result<File>> {
    let place = descriptor(path)?;
    let Some(number) = own_number(&place) else {
        return Some(File::options().append(true).open(place));
    };
    // SAFETY: the call reads no memory, and fails for a number that is not open.
    let copy = unsafe { libc::fcntl(number, libc::F_DUPFD_CLOEXEC, 0) };
    if copy < 0 {
        return Some(Err(io::Error::last_os_error()));
    }
    // SAFETY: the copy is new, and nothing else owns it.
    Some(Ok(unsafe { File::from_raw_fd(copy) }))
}

/// Follows a path to an entry in a folder of descriptors.
fn descriptor(path: &Path) -> Option<PathBuf> {
    /// As many links as Linux follows.
    const MOST_LINKS: usize = 40;
    let mut path = path.to_owned();
    for _ in 0..MOST_LINKS {
        let folder = path.parent()?;
        let folder = if folder == Path::new("") { Path::new(".") } else { folder };
        let folder = folder.canonicalize().ok()?;
        path = folder.join(path.file_name()?);
        let is_of_process = folder.starts_with("/proc") && folder.ends_with("fd");
        if is_of_process || folder == Path::new("/dev/fd") {
            return path.symlink_metadata().is_ok().then_some(path);
        }
        path = folder.join(path.read_link().ok()?);
    }
    None
}

/// Writes the entries of a folder to the disk.
pub fn sync_folder(folder: &Path) -> io::Result<()> {
    File::open(folder)?.sync_all()
}

/// Returns whether the error of a lock means that the file system has no locks.
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
    /// Loads a library in the same way as ocl-icd; the error is the dynamic linker's message.
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
    use std::io::Write;

    use super::*;
    use crate::files::{open_found, open_lock, replace, write_named};

    #[test]
    fn a_temporary_folder_is_private() {
        let folder = temporary_folder().unwrap();
        assert_eq!(folder.metadata().unwrap().permissions().mode() & 0o777, 0o700);
        fs::remove_dir(folder).unwrap();
    }

    #[test]
    fn a_link_that_a_user_names_stays_and_one_in_the_place_of_an_own_file_goes() {
        let folder = tempfile::tempdir().unwrap();
        let [path, link] = ["a.toml", "b.toml"].map(|name| folder.path().join(name));
        let mode = |path: &Path| fs::metadata(path).unwrap().permissions().mode() & 0o777;
        fs::write(&path, "old").unwrap();
        fs::set_permissions(&path, fs::Permissions::from_mode(0o600)).unwrap();
        symlink("a.toml", &link).unwrap();
        write_named(&link, |file| file.write_all(b"new")).unwrap();
        assert_eq!(fs::read(&path).unwrap(), b"new");
        assert_eq!(
            (fs::read_link(&link).unwrap().as_path(), mode(&path)),
            (Path::new("a.toml"), 0o600)
        );
        replace(&link, b"own").unwrap();
        assert!(!link.is_symlink());
        assert_eq!(
            (fs::read(&path).unwrap(), fs::read(&link).unwrap()),
            (b"new".into(), b"own".into())
        );
        let fresh = folder.path().join("fresh");
        fs::write(&fresh, "").unwrap();
        assert_eq!(mode(&link), mode(&fresh), "by the umask");
    }

    #[test]
    fn no_pipe_or_link_is_taken_for_a_file() {
        let folder = tempfile::tempdir().unwrap();
        let at = |name: &str| folder.path().join(name);
        nix::unistd::mkfifo(&at("pipe"), nix::sys::stat::Mode::S_IRWXU).unwrap();
        symlink("nothing", at("dangling")).unwrap();
        fs::write(at("file"), "").unwrap();
        symlink("file", at("link")).unwrap();
        let found = |name: &str| open_found(&at(name)).map(drop).map_err(|error| error.to_string());
        let lock = |name: &str| open_lock(&at(name)).map(drop).map_err(|error| error.to_string());
        let error = |text: &str| Err(text.to_owned());
        assert_eq!((found("link"), lock("link")), (Ok(()), error("it is a link")));
        assert_eq!(
            (found("dangling"), lock("dangling")),
            (error("it is a link to nothing"), error("it is a link"))
        );
        let refused = || error("it is not a regular file");
        assert_eq!((found("pipe"), lock("pipe")), (refused(), refused()));
        assert_eq!((found("."), lock("new")), (error("is a directory"), Ok(())));
    }

    #[test]
    fn a_path_leads_to_a_descriptor_or_not() {
        let folder = tempfile::tempdir().unwrap();
        let [link, file] = ["link", "file"].map(|name| folder.path().join(name));
        symlink("/dev/stderr", &link).unwrap();
        fs::write(&file, "").unwrap();
        let of = |path: &Path| own_descriptor(path);
        assert_eq!((of("/dev/stdout".as_ref()), of(&link), of(&file)), (Some(1), Some(2), None));
        assert!(open_descriptor(&file).is_none());
        let writer = File::options().write(true).open(&file).unwrap();
        let name = format!("/dev/fd/{}", std::os::fd::AsRawFd::as_raw_fd(&writer));
        (&writer).write_all(b"before").unwrap();
        write_named(name.as_ref(), |file| file.write_all(b" and after")).unwrap();
        (&writer).write_all(b".").unwrap();
        assert_eq!(fs::read(&file).unwrap(), b"before and after.");
    }
}
