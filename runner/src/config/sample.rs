//! Configurations for the tests of this crate and of clmatrix-cli.

use std::fs;
use std::path::PathBuf;
use std::time::{Duration, SystemTime};

use super::{Config, ConfigError, EmbeddedConfig, Source};
use crate::files::replace;
use crate::folders::TemporaryFolder;

/// 2026-01-02T03:04:05Z.
pub(super) fn now() -> SystemTime {
    SystemTime::UNIX_EPOCH + Duration::from_secs(1_767_323_045)
}

/// A project in a temporary folder.
pub struct Project(TemporaryFolder);

impl Project {
    /// Writes the files.
    pub fn new(files: &[(&str, &str)]) -> Self {
        let project = Self(TemporaryFolder::new().unwrap());
        for (name, text) in files {
            let path = project.path(name);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            replace(&path, text.as_bytes()).unwrap();
        }
        project
    }

    /// Returns the path of a file.
    pub fn path(&self, name: &str) -> PathBuf {
        self.0.path().join(name)
    }

    /// Reads the configuration.
    pub fn config(&self) -> Result<Config, ConfigError> {
        self.load(None)
    }

    pub(super) fn load(&self, embedded: Option<EmbeddedConfig>) -> Result<Config, ConfigError> {
        Config::from_source(Source::find(None, None, self.0.path()), embedded, now())
    }
}

/// The folder of the expectations of a project, as places in it begin.
pub fn own_place(project: &Project) -> String {
    format!("{}/", project.path("expectations").display())
}
