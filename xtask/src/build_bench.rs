//! The build that the harness adds to a downstream crate: `cargo xtask bench build`.
//!
//! Counts the crates of the harness, and builds the tests of `harness/examples/downstream` from nothing, with and
//! without the feature `stacks`. The processor time is a ratio to that of a crate with clap and serde_json, so
//! that its limit holds on any machine.

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;
use std::process::{Command, ExitCode};
use std::time::Duration;

use anyhow::{Result, ensure};
use nix::sys::resource::{UsageWho, getrusage};
use nix::sys::time::TimeValLike;

use crate::process;
use crate::workspace::Workspace;

#[path = "../../cli/benches/common/figure.rs"]
mod figure;

use figure::Figure;

/// A set of features of the harness, with its limits.
struct Variant {
    /// In Cargo.toml, after the path.
    manifest: &'static str,
    /// For `cargo tree`.
    arguments: &'static [&'static str],
    max_crates: u32,
    /// The most times the processor time of [`REFERENCE`].
    max_ratio: f64,
    /// The names of the two figures.
    figures: [&'static str; 2],
}

/// Measured on two cores: 7.9 times the reference, and 7.3 without `stacks`.
const VARIANTS: [Variant; 2] = [
    Variant {
        manifest: "",
        arguments: &[],
        max_crates: 100,
        max_ratio: 8.0,
        figures: ["crates", "processor time, as a ratio to clap and serde_json"],
    },
    Variant {
        manifest: r#", default-features = false, features = ["provision"]"#,
        arguments: &["--no-default-features", "--features", "provision"],
        max_crates: 93,
        max_ratio: 7.5,
        figures: ["crates, without `stacks`", "processor time, without `stacks`"],
    },
];

/// A package beside which the time of a build means something on any machine.
const REFERENCE: &str = r#"
[package]
name = "reference"
edition = "2024"

[lib]
path = "lib.rs"

[dependencies]
clap = { version = "4.6", features = ["derive"] }
serde_json = "1"

[workspace]
"#;

/// Prints the figures. The exit status is 1 if a limit is missed.
pub fn run(workspace: &Workspace) -> Result<ExitCode> {
    let folder = tempfile::tempdir_in(&workspace.target)?;
    let reference = folder.path().join("reference");
    fs::create_dir(&reference)?;
    fs::write(reference.join("Cargo.toml"), REFERENCE)?;
    fs::write(reference.join("lib.rs"), "")?;
    fs::copy(workspace.root.join("Cargo.lock"), reference.join("Cargo.lock"))?;
    let reference = processor_seconds(&reference)?;
    println!("clap and serde_json: {reference:.1} s of processor time");

    let mut figures = Vec::new();
    for variant in VARIANTS {
        let Variant { manifest, arguments, max_crates, max_ratio, figures: [crates, time] } =
            variant;
        let measured = f64::from(count_crates(workspace, arguments)?);
        figures.push(Figure { what: crates, measured, limit: max_crates.into(), unit: "" });
        let package = folder.path().join("downstream");
        copy_example(&workspace.root.join("harness"), &package, manifest)?;
        let measured = processor_seconds(&package)? / reference;
        fs::remove_dir_all(&package)?;
        figures.push(Figure { what: time, measured, limit: max_ratio, unit: "x" });
    }
    Ok(figure::report(&figures))
}

/// Counts the crates that the harness needs, itself among them.
fn count_crates(workspace: &Workspace, arguments: &[&str]) -> Result<u32> {
    let mut tree = workspace.cargo();
    tree.args(["tree", "--package", "clmatrix-harness", "--edges", "normal"]);
    tree.args(["--prefix", "none", "--format", "{p}", "--no-dedupe"]).args(arguments);
    let output = process::output(&mut tree)?;
    let stderr = String::from_utf8_lossy(&output.stderr);
    ensure!(output.status.success(), "`{}` failed:\n{stderr}", process::line(&tree));
    let text = String::from_utf8_lossy(&output.stdout);
    Ok(u32::try_from(text.lines().collect::<BTreeSet<_>>().len())?)
}

/// Copies the example, with these features of the harness.
fn copy_example(harness: &Path, to: &Path, features: &str) -> Result<()> {
    let mut copy = Command::new("cp");
    process::run(copy.arg("-r").arg(harness.join("examples/downstream")).arg(to))?;
    // The example may have been built in its own folder.
    let built = to.join("target");
    if built.exists() {
        fs::remove_dir_all(built)?;
    }
    let manifest = to.join("Cargo.toml");
    let harness = harness.display();
    let text = fs::read_to_string(&manifest)?
        .replace(r#"{ path = "../.." }"#, &format!(r#"{{ path = "{harness}"{features} }}"#))
        .replace(r#""../../..""#, &format!(r#""{harness}/..""#));
    Ok(fs::write(&manifest, text)?)
}

/// Builds the tests of a package from nothing. Returns the processor time of cargo and all that it starts.
fn processor_seconds(package: &Path) -> Result<f64> {
    let cargo = |arguments: &[&str]| {
        let mut cargo = Command::new(env!("CARGO"));
        cargo.current_dir(package).args(arguments).env("CARGO_TARGET_DIR", package.join("target"));
        process::run(&mut cargo)
    };
    cargo(&["fetch"])?;
    let before = used()?;
    cargo(&["build", "--tests"])?;
    Ok((used()? - before).as_secs_f64())
}

/// The processor time of all processes that this one has waited for.
fn used() -> Result<Duration> {
    let usage = getrusage(UsageWho::RUSAGE_CHILDREN)?;
    let micros = (usage.user_time() + usage.system_time()).num_microseconds();
    Ok(Duration::from_micros(u64::try_from(micros)?))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_harness_needs_few_crates() -> Result<()> {
        let workspace = Workspace::find()?;
        for Variant { arguments, max_crates, .. } in VARIANTS {
            let crates = count_crates(&workspace, arguments)?;
            assert!(crates <= max_crates, "{crates} with {arguments:?}, at most {max_crates}");
        }
        Ok(())
    }
}
