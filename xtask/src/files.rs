//! Files and folders, with errors that name the path.

use std::collections::{HashMap, HashSet};
use std::fs::{self, File};
use std::io::{BufRead, BufReader, ErrorKind};
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result};

/// The message for an operation that failed on a path.
pub fn cannot(verb: &str, path: &Path) -> String {
    format!("cannot {verb} {}", path.display())
}

/// The paths in a folder, in order; none if there is no such folder.
pub fn entries(folder: &Path) -> Result<Vec<PathBuf>> {
    let listing = match fs::read_dir(folder) {
        Err(error) if error.kind() == ErrorKind::NotFound => return Ok(Vec::new()),
        listing => listing.with_context(|| cannot("read", folder))?,
    };
    let mut paths = Vec::new();
    for entry in listing {
        paths.push(entry.with_context(|| cannot("read", folder))?.path());
    }
    paths.sort();
    Ok(paths)
}

/// The last part of a path, as text.
pub fn name(path: &Path) -> String {
    path.file_name().unwrap_or_default().to_string_lossy().into_owned()
}

/// The first file below a folder whose name passes.
pub fn find(folder: &Path, passes: &dyn Fn(&str) -> bool) -> Result<Option<PathBuf>> {
    for path in entries(folder)? {
        if path.is_dir() {
            if let Some(found) = find(&path, passes)? {
                return Ok(Some(found));
            }
        } else if passes(&name(&path)) {
            return Ok(Some(path));
        }
    }
    Ok(None)
}

/// Removes a folder with all that is in it; content if there is none.
pub fn remove_tree(folder: &Path) -> Result<()> {
    match fs::remove_dir_all(folder) {
        Err(error) if error.kind() == ErrorKind::NotFound => Ok(()),
        outcome => outcome.with_context(|| cannot("remove", folder)),
    }
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

/// Turns equal files of one folder, and of each folder below it, into hard links.
pub fn link_duplicates(folder: &Path) -> Result<()> {
    let mut by_size: HashMap<u64, Vec<PathBuf>> = HashMap::new();
    for path in entries(folder)? {
        let metadata = fs::symlink_metadata(&path).with_context(|| cannot("read", &path))?;
        if metadata.is_dir() {
            link_duplicates(&path)?;
        } else if metadata.is_file() {
            by_size.entry(metadata.len()).or_default().push(path);
        }
    }
    by_size.into_values().try_for_each(link_equal)
}

/// Links each of these files to the first one with the same contents.
fn link_equal(paths: Vec<PathBuf>) -> Result<()> {
    let mut originals: Vec<PathBuf> = Vec::new();
    'paths: for path in paths {
        for original in &originals {
            if same_contents(original, &path)? {
                fs::remove_file(&path).with_context(|| cannot("remove", &path))?;
                fs::hard_link(original, &path).with_context(|| cannot("link", &path))?;
                continue 'paths;
            }
        }
        originals.push(path);
    }
    Ok(())
}

/// Compares two files of one size, without holding them in memory.
fn same_contents(one: &Path, other: &Path) -> Result<bool> {
    let open = |path: &Path| {
        let file = File::open(path).with_context(|| cannot("open", path))?;
        anyhow::Ok(BufReader::with_capacity(1 << 16, file))
    };
    let (mut left, mut right) = (open(one)?, open(other)?);
    loop {
        let a = left.fill_buf().with_context(|| cannot("read", one))?;
        let b = right.fill_buf().with_context(|| cannot("read", other))?;
        let length = a.len().min(b.len());
        if length == 0 {
            return Ok(a.len() == b.len());
        }
        if a[..length] != b[..length] {
            return Ok(false);
        }
        left.consume(length);
        right.consume(length);
    }
}

#[cfg(test)]
pub mod tests {
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
    fn equal_files_become_one_and_others_stay() {
        let folder = TempFolder::new("link");
        // Longer than one buffer, and different in the last byte only.
        let long = vec![7; 100_000];
        let mut different = long.clone();
        *different.last_mut().unwrap() = 8;
        for (name, contents) in [("a.so", &long), ("a.so.1", &long), ("b.so", &different)] {
            fs::write(folder.0.join(name), contents).unwrap();
        }
        link_duplicates(&folder.0).unwrap();
        let inode = |name| fs::metadata(folder.0.join(name)).unwrap().ino();
        assert_eq!(inode("a.so"), inode("a.so.1"));
        assert_ne!(inode("a.so"), inode("b.so"));
        assert_eq!(fs::read(folder.0.join("a.so.1")).unwrap(), long);
        assert_eq!(fs::read(folder.0.join("b.so")).unwrap(), different);
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

    #[test]
    fn a_missing_folder_has_no_files() {
        let folder = TempFolder::new("missing");
        let missing = folder.0.join("no/such");
        assert!(entries(&missing).unwrap().is_empty());
        assert_eq!(find(&missing, &|_| true).unwrap(), None);
        remove_tree(&missing).unwrap();
    }
}
