//! Opens files: those that the runner finds or that a user names, those of its own, and those that a user names for
//! reports.
//!
//! No other module of the runner and the command opens a file; the lint `disallowed_methods` sees to that. `os` alone
//! opens `/proc` and `/dev/null`.

#![allow(clippy::disallowed_methods)]

use std::fs::{self, File, TryLockError};
use std::io::{self, BufWriter, Read, Write};
use std::path::{Path, PathBuf};
use std::time::SystemTime;

use same_file::Handle;

use crate::folders::entries;
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
fn regular(file: File) -> io::Result<File> {
    let kind = file.metadata()?.file_type();
    if kind.is_file() {
        Ok(file)
    } else if kind.is_dir() {
        Err(io::ErrorKind::IsADirectory.into())
    } else {
        Err(io::Error::new(io::ErrorKind::InvalidInput, "it is not a regular file"))
    }
}

/// The beginning and the end of the name of a file that is being written.
const UNFINISHED: (&str, &str) = (".clmatrix-", ".part");

/// Replaces a file of the runner's own. See [`replace_with`].
pub fn replace(path: &Path, content: &[u8]) -> io::Result<()> {
    replace_with(path, |file| file.write_all(content))
}

/// Writes a file of the runner's own that is whole or not there: under another name first, which an error removes. A
/// file that is replaced keeps its permissions; of a link in its place, the target stays as it is.
pub fn replace_with(
    path: &Path,
    write: impl FnOnce(&mut BufWriter<File>) -> io::Result<()>,
) -> io::Result<()> {
    let replaced = fs::symlink_metadata(path).ok().filter(fs::Metadata::is_file);
    let (file, unfinished) = create_beside(path)?;
    let written = replaced.map_or(Ok(()), |replaced| file.set_permissions(replaced.permissions()));
    let written = written.and_then(|()| fill(file, write));
    let in_place = written.and_then(|_| fs::rename(&unfinished, path));
    if in_place.is_err() {
        let _ = fs::remove_file(&unfinished);
    }
    in_place
}

/// Creates a file with a new name in the folder of another. It is locked, so that [`remove_leftovers`] of another process
/// leaves it alone.
fn create_beside(path: &Path) -> io::Result<(File, PathBuf)> {
    let (begin, end) = UNFINISHED;
    loop {
        let path = path.with_file_name(format!("{begin}{:016x}{end}", fastrand::u64(..)));
        let file = match File::create_new(&path) {
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => continue,
            created => created?,
        };
        let is_taken = matches!(file.try_lock(), Err(TryLockError::WouldBlock));
        if !is_taken && path.exists() {
            return Ok((file, path));
        }
    }
}

/// Writes all that `write` writes. Returns the file, still open.
fn fill(
    file: File,
    write: impl FnOnce(&mut BufWriter<File>) -> io::Result<()>,
) -> io::Result<File> {
    let mut file = BufWriter::new(file);
    write(&mut file)?;
    Ok(file.into_inner()?)
}

/// Removes the files that killed processes were writing to a folder of the runner's own. Errors are ignored: the next
/// run tries again.
pub(crate) fn remove_leftovers(folder: &Path) {
    let (begin, end) = UNFINISHED;
    for path in entries(folder).unwrap_or_default() {
        let name = path.file_name().unwrap_or_default().to_string_lossy();
        // The lock is held until the file is gone.
        if name.starts_with(begin)
            && name.ends_with(end)
            && let Ok(file) = open_found(&path)
            && file.try_lock().is_ok()
        {
            let _ = fs::remove_file(path);
        }
    }
}

/// Creates a folder for files of the runner's own. A link in its place is removed.
pub fn create_folder(path: &Path) -> io::Result<()> {
    if path.is_symlink() {
        // Windows has links to folders that are folders.
        fs::remove_file(path).or_else(|_| fs::remove_dir(path))?;
    }
    fs::create_dir_all(path)
}

/// Creates the log of a new run.
pub fn create_log(path: &Path) -> io::Result<File> {
    File::options().create_new(true).append(true).open(path)
}

/// Opens a lock file of the runner's own, which may be new. Links and pipes are errors.
pub fn open_lock(path: &Path) -> io::Result<File> {
    let mut options = File::options();
    let file = os::without_links(options.create(true).read(true).write(true)).open(path);
    file.and_then(regular).map_err(|error| match path.is_symlink() {
        true => io::Error::new(io::ErrorKind::InvalidInput, "it is a link"),
        false => error,
    })
}

/// Writes a file that a user names. A link to a regular file stays, and the file is replaced as in [`replace_with`].
/// Standard output (`-`), open descriptors such as `/dev/fd/3`, devices and pipes are written to.
pub fn write_named(
    path: &Path,
    write: impl FnOnce(&mut BufWriter<File>) -> io::Result<()>,
) -> io::Result<()> {
    let Some(stream) = stream(path) else {
        return replace_with(&path.canonicalize().unwrap_or_else(|_| path.to_owned()), write);
    };
    match stream.and_then(|stream| fill(stream, write)) {
        // Its reader has read as much as it wants.
        Err(error) if error.kind() == io::ErrorKind::BrokenPipe => Ok(()),
        written => written.map(drop),
    }
}

/// Checks before a run that [`write_named`] can create a file. Devices and pipes are opened only when they are written.
pub fn try_named(path: &Path) -> io::Result<()> {
    match path.exists() && !path.is_file() {
        true => Ok(()),
        false => create_beside(path).and_then(|(_, unfinished)| fs::remove_file(unfinished)),
    }
}

/// Opens what a path names, if it is no file that can be replaced.
fn stream(path: &Path) -> Option<io::Result<File>> {
    if path == Path::new("-") {
        return Some(os::standard_output());
    }
    os::open_descriptor(path).or_else(|| {
        let is_special = |found: fs::Metadata| !found.is_file() && !found.is_dir();
        fs::metadata(path).is_ok_and(is_special).then(|| append_named(path))
    })
}

/// Returns whether a path that a user names for a report is standard output: `-`, or `/dev/stdout`.
pub fn is_standard_output(path: &Path) -> bool {
    path == Path::new("-") || os::own_descriptor(path) == Some(1)
}

/// Opens a file that a user or a service names, to write behind its end.
pub fn append_named(path: &Path) -> io::Result<File> {
    File::options().append(true).open(path)
}

/// Sets the time of a file that a service names, which may be new.
pub fn touch_named(path: &Path) -> io::Result<()> {
    let file = File::options().create(true).append(true).open(path)?;
    file.set_modified(SystemTime::now())
}

#[cfg(test)]
mod tests {
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

    #[test]
    fn a_file_that_cannot_be_written_is_not_there() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("d.xml");
        fs::create_dir_all(path.join("not empty")).unwrap();
        assert!(replace(&path, b"text").is_err());
        assert!(write_named(&path, |file| file.write_all(b"text")).is_err());
        assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 1, "no other file");
        fs::remove_dir_all(&path).unwrap();
        replace(&path, b"text").unwrap();
        assert_eq!(fs::read(&path).unwrap(), b"text");
    }

    #[test]
    fn a_leftover_goes_and_a_file_that_is_being_written_stays() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("page.html");
        let count = || fs::read_dir(folder.path()).unwrap().count();
        replace_with(&path, |file| {
            remove_leftovers(folder.path());
            assert_eq!(count(), 1);
            file.write_all(b"text")
        })
        .unwrap();
        let (file, _) = create_beside(&path).unwrap();
        fs::write(folder.path().join(".clmatrix-notes"), "").unwrap();
        drop(file);
        assert_eq!(count(), 3);
        remove_leftovers(folder.path());
        assert_eq!(count(), 2, "the page and the notes");
    }
}
