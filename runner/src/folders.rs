//! The folders for files that are kept between runs, temporary ones, and the contents of folders.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use crate::{os, variable};

/// Returns whether nothing has this path, not even a link to nothing.
pub(crate) fn is_absent(path: &Path) -> bool {
    let absent = [io::ErrorKind::NotFound, io::ErrorKind::NotADirectory];
    fs::symlink_metadata(path).is_err_and(|error| absent.contains(&error.kind()))
}

/// Returns the paths in a folder, in order; none if there is no such folder.
pub fn entries(folder: &Path) -> io::Result<Vec<PathBuf>> {
    if is_absent(folder) {
        return Ok(Vec::new());
    }
    let entries = fs::read_dir(folder)?;
    let mut paths = entries.map(|entry| Ok(entry?.path())).collect::<io::Result<Vec<_>>>()?;
    paths.sort();
    Ok(paths)
}

/// Returns the paths in a folder that have this extension, in order; none if there is no such folder.
pub(crate) fn with_extension(folder: &Path, extension: &str) -> io::Result<Vec<PathBuf>> {
    let mut paths = entries(folder)?;
    paths.retain(|path| path.extension().is_some_and(|its| its == extension));
    Ok(paths)
}

/// Removes a file, if it exists.
pub(crate) fn remove_if_there(file: &Path) -> io::Result<()> {
    match fs::remove_file(file) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => Err(error),
        _ => Ok(()),
    }
}

/// Returns the folder for files that are kept between runs: in cargo's target folder, else in the user's
/// cache folder, else a private temporary one for this run.
pub(crate) fn state_folder() -> io::Result<PathBuf> {
    let wanted = cargo_target()
        .map(|target| target.join("clmatrix").join("state"))
        .or_else(|| user_cache_folder().map(|cache| cache.join("clmatrix")));
    let usable = wanted.filter(|folder| fs::create_dir_all(folder).is_ok());
    usable.map_or_else(os::temporary_folder, Ok)
}

/// Returns the target folder of cargo that contains this executable, if there is one.
pub(crate) fn cargo_target() -> Option<PathBuf> {
    let exe = std::env::current_exe().ok()?;
    let target = exe.ancestors().skip(1).find(|folder| folder.join("CACHEDIR.TAG").is_file());
    target.map(Path::to_path_buf)
}

/// Returns the folder for cached files of the user.
pub(crate) fn user_cache_folder() -> Option<PathBuf> {
    path_variable("XDG_CACHE_HOME")
        .or_else(|| path_variable("HOME").map(|home| home.join(".cache")))
        .or_else(|| path_variable("LOCALAPPDATA"))
}

/// Returns the folder or file that an environment variable names; an empty variable counts as unset.
pub(crate) fn path_variable(name: &str) -> Option<PathBuf> {
    variable::given(name).map(PathBuf::from)
}

/// A private folder, which is removed with its files when this value is dropped.
pub(crate) struct TemporaryFolder(PathBuf);

impl TemporaryFolder {
    /// Creates an empty folder among the temporary files of the system.
    pub(crate) fn new() -> io::Result<Self> {
        os::temporary_folder().map(Self)
    }

    /// Returns its path.
    pub(crate) fn path(&self) -> &Path {
        &self.0
    }
}

impl Drop for TemporaryFolder {
    fn drop(&mut self) {
        // The system removes temporary files as well.
        let _ = fs::remove_dir_all(&self.0);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_folder_goes_with_its_files() {
        let folder = TemporaryFolder::new().unwrap();
        let path = folder.path().to_owned();
        std::fs::write(path.join("file"), "text").unwrap();
        assert_ne!(TemporaryFolder::new().unwrap().path(), path);
        drop(folder);
        assert!(!path.exists());
    }
}
