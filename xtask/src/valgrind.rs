//! Valgrind, for counts of instructions that do not depend on what else the machine does.

use std::process::Command;

use anyhow::{Context, Result, ensure};

use crate::process::{self, output};

/// The package. It brings what its tools need in the machine's own folders, so that no variable
/// (`VALGRIND_LIB`) has to lead there.
pub const PACKAGE: &str = "valgrind";

/// A command that runs valgrind, to which a tool and a program are to be added.
///
/// Fails, and says what to do, where valgrind is not installed.
pub fn command() -> Result<Command> {
    let mut version = Command::new("valgrind");
    let found = output(version.arg("--version"));
    let found = found.context("no valgrind here: `cargo xtask provision` installs it")?;
    ensure!(found.status.success(), "`{}` failed ({})", process::line(&version), found.status);
    let mut command = Command::new("valgrind");
    // Variables of the user's own that would add options, or lead to another installation's tools.
    command.env_remove("VALGRIND_OPTS").env_remove("VALGRIND_LIB");
    Ok(command)
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;
    use crate::files::tests::TempFolder;

    /// Also where the package is too old for the machine's C library, or lacks its symbols.
    #[test]
    fn callgrind_counts_instructions_where_valgrind_is_installed() {
        let Ok(mut command) = command() else { return };
        let folder = TempFolder::new("callgrind");
        let file = folder.0.join("callgrind.out");
        command.arg("--tool=callgrind").arg(format!("--callgrind-out-file={}", file.display()));
        let output = output(command.arg("/bin/true")).unwrap();
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        let counts = fs::read_to_string(&file).unwrap();
        let total = counts.lines().find_map(|line| line.strip_prefix("totals: ")).unwrap();
        assert!(total.trim().parse::<u64>().unwrap() > 10_000, "{total}");
    }
}
