//! The options that several commands have.

use std::path::PathBuf;

use clap::{Args, ValueEnum};
use clmatrix_runner::config::{Config, ConfigError};
use clmatrix_runner::setup::Options;
use clmatrix_runner::target::Target;
use clmatrix_runner::text::shell_quoted;

/// The options of all commands that need devices.
#[derive(Args, Clone)]
pub(super) struct Common {
    /// Select devices: `platform` or `platform:device,device`; separate several with `;`. A name is an
    /// index, or a part of 'name vendor type', which selects the first match, or a glob (`intel:*`,
    /// `*:*gpu*`), which selects all matches.
    #[arg(long, value_name = "SEL", allow_hyphen_values = true)]
    pub(super) devices: Option<String>,
    /// Use this profile of the configuration [default: CLMATRIX_PROFILE, else `default`].
    #[arg(long, value_name = "P")]
    pub(super) profile: Option<String>,
    /// Read this configuration file, which adds to the built-in configuration [default:
    /// CLMATRIX_CONFIG, else clmatrix.toml or config/clmatrix.toml here or in a folder above].
    #[arg(long, value_name = "FILE")]
    pub(super) config: Option<PathBuf>,
    /// Add a driver: its library or an .icd file; may be repeated. CLMATRIX_ICD is a list of such
    /// paths, separated by `:` or, on Windows, `;`.
    #[arg(long, value_name = "PATH")]
    pub(super) icd: Vec<PathBuf>,
}

/// The options that lead to the report folder.
#[derive(Args)]
pub struct ReportPlace {
    /// The report folder [default: CLMATRIX_REPORT_DIR, else the profile's, else target/clmatrix].
    #[arg(long, value_name = "DIR")]
    pub(super) report_dir: Option<PathBuf>,
    /// Use this profile of the configuration [default: CLMATRIX_PROFILE, else `default`].
    #[arg(long, value_name = "P")]
    pub(super) profile: Option<String>,
    /// Read this configuration file [default: CLMATRIX_CONFIG, else clmatrix.toml or
    /// config/clmatrix.toml here or in a folder above].
    #[arg(long, value_name = "FILE")]
    pub(super) config: Option<PathBuf>,
}

impl ReportPlace {
    pub(super) fn folder(&self, target: Target) -> Result<PathBuf, ConfigError> {
        self.report_dir.clone().map_or_else(|| self.options(target).report_folder(), Ok)
    }

    pub(super) fn config(&self, target: Target) -> Result<Config, ConfigError> {
        Ok(self.options(target).configuration()?.0)
    }

    fn options(&self, target: Target) -> Options {
        let (config, profile) = (self.config.clone(), self.profile.clone());
        Options { embedded: target.config, config, profile, ..Options::default() }
    }
}

impl Common {
    pub(super) fn options(&self, target: Target) -> Options {
        let Self { devices, profile, config, icd } = self.clone();
        let (embedded, provision) = (target.config, provision_command(""));
        Options { embedded, config, profile, devices, icd, provision, ..Options::default() }
    }
}

#[derive(Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(super) enum TableFormat {
    Table,
    Json,
}

/// Returns the command that shows a shell the device of `provision` with these options, if any, each after a
/// blank.
pub(super) fn provision_command(options: &str) -> String {
    let executable = std::env::args_os().next().unwrap_or_default();
    let executable = executable.to_string_lossy();
    format!("eval \"$({} provision{options} --print-env)\"", shell_quoted(&executable))
}
