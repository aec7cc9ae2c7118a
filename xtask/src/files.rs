//! Files and folders, with errors that name the path.

use std::collections::HashSet;
use std::fs;
use std::os::unix::fs::MetadataExt;
use std::path::Path;

use anyhow::Result;
pub use clmatrix_runner::provision::files::{entries, find, name, remove_tree};

/// The message for an operation that failed on a path.
pub fn cannot(verb: &str, path: &Path) -> String {
    format!("cannot {verb} {}", path.display())
}

/// Adds up the disk usage of files and folders. Hard links count once: cargo makes one of each executable.
#[derive(Default)]
pub struct DiskUsage {
    /// The device and the inode of each file that counts already.
    seen: HashSet<(u64, u64)>,
}

impl DiskUsage {
    /// Returns the bytes that a file or a folder takes on the disk, without the files that have counted before.
    pub fn add(&mut self, path: &Path) -> Result<u64> {
        let (mut bytes, mut open) = (0, vec![path.to_owned()]);
        while let Some(path) = open.pop() {
            // Cargo and clmatrix remove files of their own meanwhile.
            let Ok(metadata) = fs::symlink_metadata(&path) else { continue };
            if self.seen.insert((metadata.dev(), metadata.ino())) {
                bytes += metadata.blocks() * 512;
            }
            if metadata.is_dir() {
                open.extend(entries(&path)?);
            }
        }
        Ok(bytes)
    }
}

#[cfg(test)]
pub mod tests {
    use std::path::PathBuf;

    use super::*;

    /// A folder that is gone after the test. `name` keeps tests of one process apart.
    pub struct TempFolder(pub PathBuf);

    impl TempFolder {
        pub fn new(name: &str) -> Self {
            let folder = std::env::temp_dir().join(format!("xtask-{name}-{}", std::process::id()));
            fs::create_dir_all(&folder).unwrap();
            Self(folder)
        }
    }

    impl Drop for TempFolder {
        fn drop(&mut self) {
            let _ = fs::remove_dir_all(&self.0);
        }
    }

    #[test]
    fn disk_usage_counts_a_file_once_and_follows_no_link() {
        let folder = TempFolder::new("usage");
        let below = folder.0.join("below");
        fs::create_dir(&below).unwrap();
        let usage = || DiskUsage::default().add(&folder.0).unwrap();
        let empty = usage();
        fs::write(below.join("file"), vec![7; 1 << 20]).unwrap();
        fs::hard_link(below.join("file"), folder.0.join("same")).unwrap();
        std::os::unix::fs::symlink("/", folder.0.join("elsewhere")).unwrap();
        let grown = usage() - empty;
        assert!((1 << 20..1 << 21).contains(&grown), "{grown}");
        let mut parts = DiskUsage::default();
        assert!(parts.add(&below).unwrap() > 1 << 20);
        assert_eq!(parts.add(&folder.0.join("same")).unwrap(), 0);
    }
}
