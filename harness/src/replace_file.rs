//! Files that are whole or not there.

use std::fs::{self, File};
use std::io::{self, BufWriter, Write};
use std::path::Path;

/// Writes a file that is whole or not there. See [`replace_file_with`].
pub fn replace_file(path: &Path, content: &[u8]) -> io::Result<()> {
    replace_file_with(path, |file| file.write_all(content))
}

/// Writes a file that is whole or not there: under another name first, which an error removes. A file that is
/// replaced keeps its permissions, and a link to it stays.
pub fn replace_file_with(
    path: &Path,
    write: impl FnOnce(&mut BufWriter<File>) -> io::Result<()>,
) -> io::Result<()> {
    let path = path.canonicalize().unwrap_or_else(|_| path.to_owned());
    let temporary = path.with_extension("part");
    let permissions = fs::metadata(&path).map(|metadata| metadata.permissions());
    let written = File::create(&temporary).map(BufWriter::new).and_then(|mut file| {
        write(&mut file)?;
        file.flush()
    });
    let replaced = written
        .and_then(|()| match permissions {
            Ok(permissions) => fs::set_permissions(&temporary, permissions),
            Err(_) => Ok(()),
        })
        .and_then(|()| fs::rename(&temporary, &path));
    if replaced.is_err() {
        let _ = fs::remove_file(&temporary);
    }
    replaced
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_that_cannot_be_written_is_not_there() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("d.xml");
        fs::create_dir_all(path.join("not empty")).unwrap();
        assert!(replace_file(&path, b"text").is_err());
        assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 1, "no other file");
        fs::remove_dir_all(&path).unwrap();
        replace_file(&path, b"text").unwrap();
        assert_eq!(fs::read(&path).unwrap(), b"text");
    }
}
