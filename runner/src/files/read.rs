//! Files that are read.

use std::fs::File;
use std::io::{self, Read};
use std::path::Path;

use same_file::Handle;

use crate::os;

/// The most bytes of a list that a user names.
const MOST_LIST: u64 = 256 << 20;

/// Opens a file that the runner finds, or a link to one. Pipes and devices are errors: they could keep the reader waiting
/// for ever.
pub fn open_found(path: &Path) -> io::Result<File> {
    let file = os::without_waiting(File::options().read(true)).open(path);
    file.and_then(regular).map_err(|error| match error.kind() {
        io::ErrorKind::NotFound if path.is_symlink() => {
            io::Error::new(io::ErrorKind::InvalidInput, "it is a link to nothing")
        }
        _ => error,
    })
}

/// Opens a file that a user names, which may be a pipe.
pub fn open_named(path: &Path) -> io::Result<File> {
    File::open(path)
}

/// Reads a file that the runner finds.
pub fn read_found(path: &Path) -> io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    open_found(path)?.read_to_end(&mut bytes)?;
    Ok(bytes)
}

/// Reads a text of at most `most` bytes.
pub fn read_text(file: impl Read, most: u64) -> io::Result<String> {
    let mut bytes = Vec::new();
    file.take(most + 1).read_to_end(&mut bytes)?;
    if bytes.len() as u64 > most {
        let message = format!("it is longer than {} KiB", most >> 10);
        return Err(io::Error::new(io::ErrorKind::FileTooLarge, message));
    }
    String::from_utf8(bytes).map_err(|error| io::Error::new(io::ErrorKind::InvalidData, error))
}

/// Reads a list that a user names, without a byte order mark; `-` is standard input.
pub fn read_list(path: &Path) -> io::Result<String> {
    let text = match path == Path::new("-") {
        true => read_text(io::stdin().lock(), MOST_LIST),
        false => read_text(open_named(path)?, MOST_LIST),
    }?;
    Ok(text.strip_prefix('\u{feff}').map(str::to_owned).unwrap_or(text))
}

/// Returns whether two paths lead to the same file that the runner finds.
pub fn is_same(one: &Path, other: &Path) -> bool {
    let handle = |path| Handle::from_file(open_found(path)?);
    matches!((handle(one), handle(other)), (Ok(one), Ok(other)) if one == other)
}

/// Refuses all but regular files.
pub(super) fn regular(file: File) -> io::Result<File> {
    let kind = file.metadata()?.file_type();
    if kind.is_file() {
        Ok(file)
    } else if kind.is_dir() {
        Err(io::ErrorKind::IsADirectory.into())
    } else {
        Err(io::Error::new(io::ErrorKind::InvalidInput, "it is not a regular file"))
    }
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    #[test]
    fn a_text_has_a_longest_length_and_its_list_no_mark() {
        assert_eq!(read_text(&b"abc"[..], 3).unwrap(), "abc");
        let error = read_text(io::repeat(0), 1 << 16).unwrap_err().to_string();
        assert_eq!(error, "it is longer than 64 KiB");
        assert!(read_text(&b"\xff"[..], 3).is_err());
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("list");
        fs::write(&path, "\u{feff}a\n").unwrap();
        assert_eq!(read_list(&path).unwrap(), "a\n");
    }

    #[test]
    fn a_file_is_the_same_by_each_of_its_names() {
        let folder = tempfile::tempdir().unwrap();
        let [one, link, other] = ["one", "link", "other"].map(|name| folder.path().join(name));
        fs::write(&one, "").unwrap();
        fs::write(&other, "").unwrap();
        fs::hard_link(&one, &link).unwrap();
        assert!(is_same(&one, &link) && !is_same(&one, &other));
        assert!(!is_same(folder.path(), folder.path()), "no file");
    }
}
