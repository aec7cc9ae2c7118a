//! The configuration that is part of an executable.

use std::path::PathBuf;

use super::error::ConfigError;
use super::{ConfigFile, parse_toml};

/// The texts of a configuration folder, which `main!(config = "...")` and `command!` include at
/// build time.
#[derive(Clone, Copy, Debug)]
pub struct EmbeddedConfig {
    /// The text of `clmatrix.toml`.
    pub config: &'static str,
    /// The path, `expectations/NAME.toml`, and the text of each file of expectations, in the order
    /// of their names.
    pub expectations: &'static [(&'static str, &'static str)],
}

impl EmbeddedConfig {
    /// Reads `clmatrix.toml`.
    pub(super) fn read_config(&self) -> Result<ConfigFile, ConfigError> {
        parse_toml(&path("clmatrix.toml"), self.config)
    }

    /// The paths and texts of the expectations.
    pub(super) fn expectations(&self) -> Vec<(PathBuf, String)> {
        self.expectations.iter().map(|(name, text)| (path(name), (*text).to_owned())).collect()
    }
}

/// The path of an included file in messages.
fn path(name: &str) -> PathBuf {
    format!("built-in {name}").into()
}
