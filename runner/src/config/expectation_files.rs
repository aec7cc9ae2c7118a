//! The files of expectations: those in the executable, and those in the folder beside the configuration.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::time::SystemTime;

use super::error::ConfigError;
use super::expectations::Expectations;
use super::read_toml;
use crate::files::open_found;
use crate::folders::{entries, with_extension};

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
        let mut all = Expectations::new(now);
        self.builtin.iter().try_for_each(|(path, text)| all.add(path, text))?;
        let builtin = all.count();
        self.own.iter().try_for_each(|(path, text)| all.add(path, text))?;
        all.own = all.count() - builtin;
        Ok(all)
    }
}

/// Returns the files in `folder` whose extension is `toml` in other letters.
pub(super) fn unread(folder: &Path) -> impl Iterator<Item = PathBuf> + use<> {
    let is_toml = |file: &PathBuf| {
        let extension = file.extension().unwrap_or_default();
        extension.eq_ignore_ascii_case("toml") && extension != "toml"
    };
    entries(folder).unwrap_or_default().into_iter().filter(is_toml)
}

/// The texts of all `*.toml` in `folder`; a folder that does not exist has none.
pub(super) fn read_folder(folder: &Path) -> Result<BTreeMap<PathBuf, String>, ConfigError> {
    let files = with_extension(folder, "toml")
        .map_err(|error| ConfigError::Read(folder.to_owned(), error))?;
    let read = |path: PathBuf| {
        let text = read_toml(&path, open_found(&path))?;
        Ok((path, text))
    };
    files.into_iter().map(read).collect()
}
