//! A private folder of `.icd` files, by which an OpenCL loader is shown some drivers and no others.
//!
//! Each file holds the absolute path of one driver library: names without a folder depend on the
//! dynamic loader's search path, and on the loader.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use super::files::{cannot, entries};

/// Makes the folder hold exactly these drivers, given as (file name without `.icd`, library).
pub fn write(folder: &Path, drivers: &[(&str, PathBuf)]) -> io::Result<()> {
    fs::create_dir_all(folder).map_err(cannot("create", folder))?;
    for path in entries(folder)? {
        if !drivers.iter().any(|(name, _)| path == icd(folder, name)) {
            fs::remove_file(&path).map_err(cannot("remove", &path))?;
        }
    }
    for (name, library) in drivers {
        let path = icd(folder, name);
        let text = format!("{}\n", library.display());
        // A file that is right stays: a run may be reading it, and its time is part of cache keys.
        if fs::read_to_string(&path).ok().as_ref() != Some(&text) {
            fs::write(&path, text).map_err(cannot("write", &path))?;
        }
    }
    Ok(())
}

/// Returns whether all libraries that the folder names exist.
pub fn are_installed(folder: &Path) -> io::Result<bool> {
    for path in entries(folder)? {
        let text = fs::read_to_string(&path).map_err(cannot("read", &path))?;
        if !Path::new(text.trim_end()).is_file() {
            return Ok(false);
        }
    }
    Ok(true)
}

/// The file in the folder that names this driver.
pub fn icd(folder: &Path, name: &str) -> PathBuf {
    folder.join(format!("{name}.icd"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::provision::files;

    #[test]
    fn a_folder_holds_exactly_the_drivers_written_last() {
        let temp = tempfile::tempdir().unwrap();
        let folder = temp.path().join("vendors");
        let library = temp.path().join("lib.so");
        fs::write(&library, "").unwrap();
        write(&folder, &[("old", library.clone()), ("same", library.clone())]).unwrap();
        write(&folder, &[("same", library.clone()), ("new", library.clone())]).unwrap();
        let left: Vec<_> = entries(&folder).unwrap().iter().map(|p| files::name(p)).collect();
        assert_eq!(left, ["new.icd", "same.icd"]);
        assert!(are_installed(&folder).unwrap());
        fs::remove_file(&library).unwrap();
        assert!(!are_installed(&folder).unwrap());
    }
}
