//! Files, names, libraries and the end of this process, on Windows.

use std::ffi::CStr;
use std::fs::{self, File, OpenOptions};
use std::io;
use std::os::windows::ffi::OsStrExt;
use std::os::windows::fs::OpenOptionsExt;
use std::os::windows::io::AsHandle;
use std::path::{Path, PathBuf};
use std::ptr;

use windows_sys::Win32::Foundation::HMODULE;
use windows_sys::Win32::System::LibraryLoader::{
    GetProcAddress, LOAD_WITH_ALTERED_SEARCH_PATH, LoadLibraryExW,
};
use windows_sys::Win32::System::Threading::{GetCurrentProcess, TerminateProcess};

/// The flag of `CreateFileW` that opens a link itself.
const FILE_FLAG_OPEN_REPARSE_POINT: u32 = 0x0020_0000;

/// Ends the process at once, without the drivers' exit handlers, which may hang.
// quirk: DRIVER-12
pub fn exit_now(status: i32) -> ! {
    // SAFETY: the handle is that of this process, which may end itself.
    unsafe { TerminateProcess(GetCurrentProcess(), status.cast_unsigned()) };
    // Not reached, unless the call fails.
    std::process::abort()
}

/// Returns the machine's name.
pub fn host_name() -> String {
    std::env::var("COMPUTERNAME").unwrap_or_else(|_| "localhost".to_owned())
}

/// Calls `handle`, on a thread of its own, for each Ctrl-C, Ctrl-Break and end of the console, with true: they are not
/// told apart.
pub fn on_signals(mut handle: impl FnMut(bool) + Send + 'static) -> io::Result<()> {
    ctrlc::set_handler(move || handle(true)).map_err(io::Error::other)
}

/// The name of the system; its version is not asked for.
pub fn kernel() -> Option<String> {
    std::env::var("OS").ok()
}

/// Creates a folder among the temporary files of this user.
pub fn temporary_folder() -> io::Result<PathBuf> {
    let process = std::process::id();
    (0_u32..)
        .map(|number| std::env::temp_dir().join(format!("clmatrix-{process}-{number}")))
        .find_map(|path| match fs::create_dir(&path) {
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => None,
            created => Some(created.map(|()| path)),
        })
        .expect("there are more numbers than folders")
}

/// Returns the path of a file from the root, without the `\\?\` of [`fs::canonicalize`], which is not for users.
pub fn canonical(file: &Path) -> io::Result<PathBuf> {
    file.metadata()?;
    std::path::absolute(file)
}

/// Creates `link`, which shows the file at `path` in `folder`: a hard link, since a symbolic link needs a privilege.
pub fn link_file(folder: &Path, path: &Path, link: &Path) -> io::Result<()> {
    fs::hard_link(folder.join(path), link)
}

/// Changes nothing: pipes have names of their own.
pub fn without_waiting(options: &mut OpenOptions) -> &mut OpenOptions {
    options
}

/// Opens a link in place of what it leads to.
pub fn without_links(options: &mut OpenOptions) -> &mut OpenOptions {
    options.custom_flags(FILE_FLAG_OPEN_REPARSE_POINT)
}

/// Returns standard output as a file.
pub fn standard_output() -> io::Result<File> {
    io::stdout().as_handle().try_clone_to_owned().map(File::from)
}

/// Returns `None`: no path leads to a descriptor.
pub fn own_descriptor(_path: &Path) -> Option<i32> {
    None
}

/// Returns `None`: no path leads to a descriptor.
pub fn open_descriptor(_path: &Path) -> Option<io::Result<File>> {
    None
}

/// Does nothing: the system has no such call for folders.
pub fn sync_folder(_folder: &Path) -> io::Result<()> {
    Ok(())
}

/// Returns whether the error of a lock means that the file system has no locks.
pub fn lacks_locks(error: &io::Error) -> bool {
    error.kind() == io::ErrorKind::Unsupported
}

/// Returns whether a file is a program.
pub fn is_program(file: &Path) -> bool {
    file.is_file()
        && file.extension().is_some_and(|extension| extension.eq_ignore_ascii_case("exe"))
}

/// A shared library in this process; it stays loaded.
pub struct Library(HMODULE);

impl Library {
    /// Loads a library in the same way as the Khronos loader: its dependencies may be in the library's folder. The
    /// error begins with the name.
    ///
    /// The library's initialisers run, which may end or hang this process.
    pub fn load(name: &str) -> Result<Self, String> {
        let path = Path::new(name);
        // The flag is for absolute paths only.
        let flags = if path.is_absolute() { LOAD_WITH_ALTERED_SEARCH_PATH } else { 0 };
        let path: Vec<u16> = path.as_os_str().encode_wide().chain([0]).collect();
        // SAFETY: the path ends with a zero. Initialisers are foreign code, as in any driver.
        let library = unsafe { LoadLibraryExW(path.as_ptr(), ptr::null_mut(), flags) };
        match library.is_null() {
            true => Err(format!("{name}: {}", io::Error::last_os_error())),
            false => Ok(Self(library)),
        }
    }

    /// Returns whether the library has a function or variable of this name.
    pub fn has(&self, name: &CStr) -> bool {
        // SAFETY: the library is loaded, and the name is a C string.
        unsafe { GetProcAddress(self.0, name.as_ptr().cast()) }.is_some()
    }
}
