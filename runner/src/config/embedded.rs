//! The configuration that is part of an executable.

use std::path::PathBuf;

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
    /// The paths and texts of the expectations.
    pub(super) fn expectations(&self) -> Vec<(PathBuf, String)> {
        let built_in = |name: &str| format!("built-in {name}").into();
        self.expectations.iter().map(|(name, text)| (built_in(name), (*text).to_owned())).collect()
    }
}
