//! Finds the reason why the loader sees no platform of a library: a loader skips a driver that it cannot load, and
//! reports nothing.
//!
//! Only the process that probes the driver calls this, since it runs the library's initialisers.

use std::io::{self, Read};
use std::path::Path;

use super::failure::{DriverFailure, FailureKind};
use super::icd::{LoaderVariables, SHOWS_ONE_DRIVER};
use crate::files;
use crate::os::Library;

/// The functions by which loaders enter a driver (cl_khr_icd); each loader needs one of them.
const ENTRY_POINTS: [&std::ffi::CStr; 2] =
    [c"clGetExtensionFunctionAddress", c"clIcdGetPlatformIDsKHR"];

/// Returns the reason why `library` shows no platform.
pub fn no_platform(library: &str) -> DriverFailure {
    let reason = "no platform: the library loads, but shows the loader no platform";
    no_driver(library).unwrap_or_else(|| DriverFailure::new(FailureKind::NoPlatform, reason))
}

/// Returns the reason why `library` is not a driver, if it is not one: platforms of other drivers may hide that.
pub fn hidden_failure(library: &str) -> Option<DriverFailure> {
    (!SHOWS_ONE_DRIVER).then(|| no_driver(library)).flatten()
}

/// Returns the reason why a loader cannot enter `library`, if it cannot.
fn no_driver(library: &str) -> Option<DriverFailure> {
    let reason = "no OpenCL entry point: the library has no function clGetExtensionFunctionAddress";
    match Library::load(library) {
        Err(message) => Some(not_loaded(library, &message)),
        Ok(loaded) if ENTRY_POINTS.iter().any(|name| loaded.has(name)) => None,
        Ok(_) => Some(DriverFailure::new(FailureKind::NoEntryPoint, reason)),
    }
}

/// Returns the reason why no library of OPENCL_DYLIB_PATH can be loaded, if the variable is set and none can. The
/// OpenCL bindings fall back to the system's loader then, which shows other devices than the user selected.
pub fn loader_failure(variables: &LoaderVariables) -> Option<DriverFailure> {
    let paths = variables.loader.as_ref()?.to_string_lossy();
    let failures = paths.split(';').map(|path| Some(not_loaded(path, &Library::load(path).err()?)));
    failures.collect::<Option<Vec<_>>>()?.pop()
}

/// Finds the reason why the dynamic linker does not load `library`. Its message begins with the file at fault: the
/// library, or one that the library depends on.
fn not_loaded(library: &str, message: &str) -> DriverFailure {
    let is_library = message.strip_prefix(library).is_some_and(|rest| rest.starts_with(": "));
    // The name of the library may itself have a colon and a space.
    let beginning = message.split(": ").next().unwrap_or_default();
    let at_fault = Path::new(if is_library { library } else { beginning });
    let is_own = Path::new(library).file_name() == at_fault.file_name();
    let (kind, words) = match starts_like_a_library(at_fault) {
        Ok(false) if is_own => (FailureKind::NotALibrary, "not a shared library"),
        Err(error) if is_own && error.kind() == io::ErrorKind::NotFound => {
            (FailureKind::NoSuchFile, "no such file")
        }
        _ => (FailureKind::CannotLoad, "cannot be loaded"),
    };
    DriverFailure::new(kind, format!("{words}: {message}"))
}

/// The first bytes of libraries: of ELF, Windows, and macOS for one processor and for several.
const STARTS: [&[u8]; 4] = [b"\x7fELF", b"MZ", b"\xcf\xfa\xed\xfe", b"\xca\xfe\xba\xbe"];

fn starts_like_a_library(file: &Path) -> io::Result<bool> {
    let mut start = Vec::new();
    files::open_found(file)?.take(4).read_to_end(&mut start)?;
    Ok(STARTS.iter().any(|known| start.starts_with(known)))
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    #[test]
    fn the_linkers_message_names_the_file_at_fault() {
        let folder = tempfile::tempdir().unwrap();
        let at = |name: &str| folder.path().join(name).display().to_string();
        fs::write(at("text.so"), "not a library").unwrap();
        fs::write(at("short.so"), "x").unwrap();
        fs::write(at("with: colon.so"), "not a library").unwrap();
        fs::write(at("cut.so"), b"\x7fELF").unwrap();
        for (library, message, kind) in [
            (at("absent.so"), "cannot open shared object file", FailureKind::NoSuchFile),
            (at("text.so"), "invalid ELF header", FailureKind::NotALibrary),
            (at("short.so"), "file too short", FailureKind::NotALibrary),
            (at("with: colon.so"), "invalid ELF header", FailureKind::NotALibrary),
            (at("no: such.so"), "cannot open shared object file", FailureKind::NoSuchFile),
            (at("cut.so"), "file too short", FailureKind::CannotLoad),
            ("libno-such-driver.so".to_owned(), "cannot open", FailureKind::NoSuchFile),
        ] {
            let found = not_loaded(&library, &format!("{library}: {message}"));
            assert_eq!(found.kind, kind, "{library}");
            assert!(found.reason.ends_with(message), "{}", found.reason);
        }
        let dependency = "libgone.so.1: cannot open shared object file: No such file or directory";
        assert_eq!(not_loaded(&at("text.so"), dependency).kind, FailureKind::CannotLoad);
    }
}
