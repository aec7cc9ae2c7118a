//! The folders for files that are kept between runs.

use std::io;
use std::path::{Path, PathBuf};

use crate::os;

/// Returns the folder for files that are kept between runs: in cargo's target folder, else in the user's
/// cache folder, else a private temporary one for this run.
pub fn state_folder() -> io::Result<PathBuf> {
    let wanted = match cargo_target() {
        Some(target) => Some(target.join("clmatrix").join("state")),
        None => user_cache_folder().map(|cache| cache.join("clmatrix")),
    };
    if let Some(folder) = wanted.filter(|folder| std::fs::create_dir_all(folder).is_ok()) {
        return Ok(folder);
    }
    os::temporary_folder()
}

/// Returns the target folder of cargo that contains this executable, if there is one.
pub(crate) fn cargo_target() -> Option<PathBuf> {
    let exe = std::env::current_exe().ok()?;
    let target = exe.ancestors().skip(1).find(|folder| folder.join("CACHEDIR.TAG").is_file());
    target.map(Path::to_path_buf)
}

/// Returns the folder for cached files of the user.
pub(crate) fn user_cache_folder() -> Option<PathBuf> {
    folder_variable("XDG_CACHE_HOME")
        .or_else(|| folder_variable("HOME").map(|home| home.join(".cache")))
        .or_else(|| folder_variable("LOCALAPPDATA"))
}

/// The folder that an environment variable names; an empty variable counts as unset.
pub(crate) fn folder_variable(name: &str) -> Option<PathBuf> {
    std::env::var_os(name).filter(|value| !value.is_empty()).map(PathBuf::from)
}
