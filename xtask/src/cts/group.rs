//! The programs in `config/cts.toml`.

use std::fs;
use std::path::{Path, PathBuf};
use std::time::Duration;

use anyhow::{Context, Result};
use toml::{Table, Value};

use crate::files::{self, cannot};

/// A program of the suite.
#[derive(Debug, PartialEq)]
pub struct Group {
    /// The path in the folder of the build.
    pub program: PathBuf,
    /// Arguments after the names of tests.
    pub args: Vec<String>,
    /// The time limit of a test.
    pub timeout: Duration,
}

impl Group {
    /// The name of the file, which is also cmake's target.
    pub fn target(&self) -> String {
        files::name(&self.program)
    }

    /// The beginning of the paths of its tests in clmatrix.
    pub fn prefix(&self) -> String {
        let target = self.target();
        format!("cts::{}::", target.strip_prefix("test_").unwrap_or(&target))
    }
}

/// Reads the programs of all `[[external]]` tables.
pub fn read(config: &Path) -> Result<Vec<Group>> {
    let text = fs::read_to_string(config).with_context(|| cannot("read", config))?;
    parse(&text).with_context(|| cannot("understand", config))
}

fn parse(text: &str) -> Result<Vec<Group>> {
    let config: Table = text.parse()?;
    let suites = config.get("external").and_then(Value::as_array).context("no [[external]]")?;
    let mut groups = Vec::new();
    for suite in suites {
        let timeout = suite.get("timeout").and_then(Value::as_str).unwrap_or_default();
        let seconds = timeout.strip_suffix('s').and_then(|number| number.parse().ok());
        let timeout = seconds.map(Duration::from_secs).context("`timeout` is not like \"60s\"")?;
        let args = strings(suite.get("args"));
        groups.extend(strings(suite.get("programs")).into_iter().map(|program| Group {
            program: program.into(),
            args: args.clone(),
            timeout,
        }));
    }
    Ok(groups)
}

/// The strings of an array; a single string counts as one.
fn strings(value: Option<&Value>) -> Vec<String> {
    let strings = match value {
        Some(Value::Array(values)) => values.as_slice(),
        Some(value) => std::slice::from_ref(value),
        None => &[],
    };
    strings.iter().filter_map(|string| string.as_str().map(str::to_owned)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_program_is_a_group() {
        let groups = parse(
            "[[external]]\nprograms = [\"a/test_b\", \"test_c\"]\ntimeout = \"60s\"\n\
             [[external]]\nprograms = \"d/test_e\"\nargs = [\"single\"]\ntimeout = \"5s\"\n",
        );
        let group = |program: &str, args: &[&str], seconds| Group {
            program: program.into(),
            args: args.iter().map(|arg| (*arg).to_owned()).collect(),
            timeout: Duration::from_secs(seconds),
        };
        let expected = [
            group("a/test_b", &[], 60),
            group("test_c", &[], 60),
            group("d/test_e", &["single"], 5),
        ];
        assert_eq!(groups.unwrap(), expected);
        assert_eq!(expected[0].prefix(), "cts::b::");
        assert!(parse("[[external]]\nprograms = \"a\"\ntimeout = \"5 years\"").is_err());
    }

    #[test]
    fn the_configuration_can_be_read() {
        let root = Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap();
        assert!(!read(&root.join(super::super::CONFIG)).unwrap().is_empty());
    }
}
