//! A private folder of `.icd` files, with which an OpenCL loader sees only selected drivers.
//!
//! Each file holds the absolute path of one driver library: names without a folder depend on the
//! dynamic loader's search path, and on the loader.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use super::files::cannot;
use crate::devices::icd::write_if_different;
use crate::files::read_found;
use crate::folders::{remove_if_there, with_extension};

/// Makes the folder hold exactly these drivers, given as (file name without `.icd`, library).
pub fn write(folder: &Path, drivers: &[(&str, PathBuf)]) -> io::Result<()> {
    fs::create_dir_all(folder).map_err(cannot("create", folder))?;
    for path in icds(folder)? {
        if !drivers.iter().any(|(name, _)| path == icd(folder, name)) {
            // Another process may have removed it.
            remove_if_there(&path).map_err(cannot("remove", &path))?;
        }
    }
    for (name, library) in drivers {
        let path = icd(folder, name);
        let text = format!("{}\n", library.display());
        // A file that is right stays: a run may be reading it, and its time is part of cache keys.
        write_if_different(&path, &text).map_err(cannot("write", &path))?;
    }
    Ok(())
}

/// Returns whether all libraries that the folder names exist.
pub fn are_installed(folder: &Path) -> io::Result<bool> {
    for path in icds(folder)? {
        let text = read_found(&path).map_err(cannot("read", &path))?;
        if !Path::new(String::from_utf8_lossy(&text).trim_end()).is_file() {
            return Ok(false);
        }
    }
    Ok(true)
}

/// Returns the files of drivers in the folder. Other processes may be writing further ones, under other names.
fn icds(folder: &Path) -> io::Result<Vec<PathBuf>> {
    with_extension(folder, "icd").map_err(cannot("read", folder))
}

/// Returns the file in the folder that names this driver.
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
        let left: Vec<_> =
            files::entries(&folder).unwrap().iter().map(|p| files::name(p)).collect();
        assert_eq!(left, ["new.icd", "same.icd"]);
        assert!(are_installed(&folder).unwrap());
        fs::remove_file(&library).unwrap();
        assert!(!are_installed(&folder).unwrap());
    }
}
