//! Files and folders, with errors that name the path.

use std::fs;
use std::io::{self, ErrorKind};
use std::path::{Path, PathBuf};

use crate::files::read_found;
use crate::folders;

/// Returns a function that adds the path to an error: `cannot VERB PATH: ERROR`.
pub fn cannot(verb: &str, path: &Path) -> impl FnOnce(io::Error) -> io::Error {
    move |error| io::Error::new(error.kind(), format!("cannot {verb} {}: {error}", path.display()))
}

/// Returns the paths in a folder, in order; none if there is no such folder.
pub fn entries(folder: &Path) -> io::Result<Vec<PathBuf>> {
    folders::entries(folder).map_err(cannot("read", folder))
}

/// Returns the last part of a path, as text.
pub fn name(path: &Path) -> String {
    path.file_name().unwrap_or_default().to_string_lossy().into_owned()
}

/// Returns the first file below a folder whose name passes.
pub fn find(folder: &Path, passes: &dyn Fn(&str) -> bool) -> io::Result<Option<PathBuf>> {
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

/// Removes a folder with its contents, if it exists.
pub fn remove_tree(folder: &Path) -> io::Result<()> {
    match fs::remove_dir_all(folder) {
        Err(error) if error.kind() == ErrorKind::NotFound => Ok(()),
        outcome => outcome.map_err(cannot("remove", folder)),
    }
}

/// Turns equal files of one folder, and of each folder below it, into hard links.
pub fn link_duplicates(folder: &Path) -> io::Result<()> {
    let read = |path: &Path| read_found(path).map_err(cannot("read", path));
    let mut originals: Vec<(u64, PathBuf)> = Vec::new();
    'paths: for path in entries(folder)? {
        let metadata = fs::symlink_metadata(&path).map_err(cannot("read", &path))?;
        if metadata.is_dir() {
            link_duplicates(&path)?;
        }
        if !metadata.is_file() {
            continue;
        }
        for (length, original) in &originals {
            if *length == metadata.len() && read(original)? == read(&path)? {
                fs::remove_file(&path).map_err(cannot("remove", &path))?;
                fs::hard_link(original, &path).map_err(cannot("link", &path))?;
                continue 'paths;
            }
        }
        originals.push((metadata.len(), path));
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use same_file::is_same_file;

    use super::*;

    #[test]
    fn equal_files_become_one_and_others_stay() {
        let folder = tempfile::tempdir().unwrap();
        let at = |name: &str| folder.path().join(name);
        // Different in the last byte only.
        let long = vec![7; 100_000];
        let mut different = long.clone();
        *different.last_mut().unwrap() = 8;
        for (name, contents) in [("a.so", &long), ("a.so.1", &long), ("b.so", &different)] {
            fs::write(at(name), contents).unwrap();
        }
        link_duplicates(folder.path()).unwrap();
        assert!(is_same_file(at("a.so"), at("a.so.1")).unwrap());
        assert!(!is_same_file(at("a.so"), at("b.so")).unwrap());
        assert_eq!(fs::read(at("a.so.1")).unwrap(), long);
        assert_eq!(fs::read(at("b.so")).unwrap(), different);
    }

    #[test]
    fn a_missing_folder_has_no_files() {
        let folder = tempfile::tempdir().unwrap();
        let missing = folder.path().join("no/such");
        assert!(entries(&missing).unwrap().is_empty());
        assert_eq!(find(&missing, &|_| true).unwrap(), None);
        remove_tree(&missing).unwrap();
    }

    #[test]
    fn an_error_names_the_path() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("file");
        fs::write(&file, "").unwrap();
        let error = entries(&file).unwrap_err();
        assert!(error.to_string().starts_with(&format!("cannot read {}: ", file.display())));
    }
}
