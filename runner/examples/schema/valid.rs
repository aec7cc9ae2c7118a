//! Validates event logs against the schema.

use std::fs;
use std::path::Path;

use anyhow::{Context, Result, anyhow};
use boon::{Compiler, Schemas};
use serde_json::Value;

/// The schema, which `cargo xtask schema --check` compares with the types.
const SCHEMA: &str = include_str!("../../../docs/log.schema.json");

/// Returns the number of lines of a log.
///
/// # Errors
///
/// The log cannot be read, or a line is not valid.
pub fn validate(log: &Path) -> Result<usize> {
    let (mut schemas, mut compiler) = (Schemas::new(), Compiler::new());
    let written = serde_json::from_str(SCHEMA).expect("JSON");
    compiler.add_resource("log.schema.json", written).expect("JSON");
    let schema = compiler.compile("log.schema.json", &mut schemas).expect("a schema");
    let text = fs::read_to_string(log)?;
    for (line, number) in text.lines().zip(1..) {
        let event: Value = serde_json::from_str(line).with_context(|| format!("line {number}"))?;
        schemas.validate(&event, schema).map_err(|error| anyhow!("line {number}: {error}"))?;
    }
    Ok(text.lines().count())
}
