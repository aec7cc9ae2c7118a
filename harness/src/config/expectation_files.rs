//! The files of expectations: those in the executable, and those in the folder beside the configuration.

use std::collections::BTreeMap;
use std::ffi::OsStr;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::time::SystemTime;

use super::error::ConfigError;
use super::expectations::{Expectations, ExpectationsFile};

/// The paths and the texts.
#[derive(Clone, Debug, Default)]
pub struct ExpectationFiles {
    /// The files in the executable.
    pub(super) builtin: Vec<(PathBuf, String)>,
    /// The files on disk, in the order of their names.
    pub own: BTreeMap<PathBuf, String>,
}

impl ExpectationFiles {
    /// Reads the texts.
    pub fn parse(&self, now: SystemTime) -> Result<Expectations, ConfigError> {
        let parse = |(path, text): (&PathBuf, &String)| ExpectationsFile::parse(path, text);
        let builtin = self.builtin.iter().map(|(path, text)| parse((path, text)));
        let builtin = builtin.collect::<Result<_, _>>()?;
        let own = self.own.iter().map(parse).collect::<Result<_, _>>()?;
        Ok(Expectations::new(builtin, own, now))
    }
}

/// The texts of all `*.toml` in `folder`; a folder that does not exist has none.
pub(super) fn read_folder(folder: &Path) -> Result<BTreeMap<PathBuf, String>, ConfigError> {
    let in_error = |path: &Path, error| ConfigError::Read { path: path.to_owned(), error };
    let files = toml_files(folder).map_err(|error| in_error(folder, error))?;
    let read = |path: PathBuf| {
        let text = fs::read_to_string(&path).map_err(|error| in_error(&path, error))?;
        Ok((path, text))
    };
    files.into_iter().map(read).collect()
}

fn toml_files(folder: &Path) -> io::Result<Vec<PathBuf>> {
    let entries = match fs::read_dir(folder) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
        entries => entries?,
    };
    let mut files = entries.map(|entry| Ok(entry?.path())).collect::<io::Result<Vec<_>>>()?;
    files.retain(|file| file.extension() == Some(OsStr::new("toml")));
    Ok(files)
}
