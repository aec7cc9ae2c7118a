//! `clmatrix config`.

use std::process::ExitCode;

use clap::Subcommand;
use clmatrix_runner::terminal::{AnyError, print};

pub const EXAMPLES: &str = "\
Examples:
  clmatrix config schema > clmatrix.schema.json   for editors: begin clmatrix.toml with the line
                                                  #:schema clmatrix.schema.json";

/// Made by `cargo xtask schema`.
const SCHEMA: &str = include_str!("../../config/clmatrix.schema.json");

#[derive(Subcommand)]
pub enum ConfigCommand {
    /// Print the JSON Schema of `clmatrix.toml`, by which editors complete and check keys.
    Schema,
}

pub fn config(command: &ConfigCommand) -> Result<ExitCode, AnyError> {
    match command {
        ConfigCommand::Schema => print(SCHEMA)?,
    }
    Ok(ExitCode::SUCCESS)
}
