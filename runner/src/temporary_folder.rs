//! A folder that is removed.

use std::io;
use std::path::{Path, PathBuf};

use crate::os;

/// A private folder, which is removed with its files when this value is dropped.
pub struct TemporaryFolder(PathBuf);

impl TemporaryFolder {
    /// Creates an empty folder among the temporary files of the system.
    pub fn new() -> io::Result<Self> {
        os::temporary_folder().map(Self)
    }

    /// Returns its path.
    pub fn path(&self) -> &Path {
        &self.0
    }
}

impl Drop for TemporaryFolder {
    fn drop(&mut self) {
        // The system removes temporary files as well.
        let _ = std::fs::remove_dir_all(&self.0);
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
