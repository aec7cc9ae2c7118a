//! `cargo xtask test-windows`: the suites, a downstream crate and faults on Windows, which Wine stands for.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result, ensure};
use clmatrix_harness::provision::Environment;

use crate::apt;
use crate::files::cannot;
use crate::process;
use crate::workspace::{Workspace, executables};

/// Debian's cross compiler and Wine.
const PACKAGES: [&str; 2] = ["gcc-mingw-w64-x86-64", "wine64"];

const TARGET: &str = "x86_64-pc-windows-gnu";

/// The systems for which the crates are compiled and no more.
const COMPILED: [&str; 2] = ["aarch64-apple-darwin", "aarch64-unknown-linux-gnu"];

/// The crates of users.
const CRATES: [&str; 2] = ["--package=clmatrix-cli", "--package=clmatrix-suites"];

/// Suites, without the tests of host memory: Wine 8 has no `clSetMemObjectDestructorCallback`.
const SUITES: [&str; 7] = [
    "buffer::copy::*",
    "buffer::fill::*",
    "buffer::map::*",
    "buffer::read_write::*",
    "fill::*",
    "launch::args::*",
    "selection::*",
];

/// Some tests that are skipped, since the loader is too old.
const SKIPPED: [&str; 2] = ["svm::map::*", "pipe::*"];

/// `bcryptprimitives.dll`, which Rust's standard library needs and Wine 8 lacks.
const RANDOM: &str = r"
#include <windows.h>
#include <ntsecapi.h>
__declspec(dllexport) BOOL WINAPI ProcessPrng(PBYTE data, SIZE_T size)
{
    return RtlGenRandom(data, (ULONG)size);
}
";

/// Checks the crates for the other systems, and runs tests under Wine on the devices of `environment`.
pub fn run(workspace: &Workspace, environment: &Environment) -> Result<()> {
    apt::install(&PACKAGES)?;
    let mut rustup = Command::new("rustup");
    process::run(rustup.args(["target", "add", TARGET]).args(COMPILED))?;
    for target in COMPILED {
        process::run(workspace.cargo().args(["check", "--target", target]).args(CRATES))?;
    }
    let mut clippy = workspace.cargo();
    clippy.args(["clippy", "--target", TARGET]).args(CRATES).args(["--", "--deny", "warnings"]);
    process::run(&mut clippy)?;
    let wine = Wine::prepare(workspace, environment)?;
    wine.suites()?;
    wine.faults()?;
    wine.downstream()
}

/// Wine with a prefix of its own, in the target folder.
struct Wine<'a> {
    workspace: &'a Workspace,
    environment: &'a Environment,
    /// The program.
    program: PathBuf,
    prefix: PathBuf,
}

impl<'a> Wine<'a> {
    fn prepare(workspace: &'a Workspace, environment: &'a Environment) -> Result<Self> {
        let program = apt::file("wine64", "wine/wine64")?;
        let folder = workspace.target.join("wine");
        let wine = Self { workspace, environment, program, prefix: folder.join("prefix") };
        fs::create_dir_all(&folder).with_context(|| cannot("create", &folder))?;
        let library = wine.prefix.join("drive_c/windows/system32/bcryptprimitives.dll");
        if library.is_file() {
            return Ok(wine);
        }
        process::run(wine.set_up(&mut Command::new(&wine.program)).args(["wineboot", "--init"]))?;
        let source = folder.join("bcryptprimitives.c");
        fs::write(&source, RANDOM).with_context(|| cannot("write", &source))?;
        let mut compiler = Command::new("x86_64-w64-mingw32-gcc");
        compiler.args(["-shared", "-Os", "-o"]).args([&library, &source]).arg("-ladvapi32");
        process::run(&mut compiler)?;
        Ok(wine)
    }

    /// Lets a command, or the programs that it starts, run under this Wine.
    fn set_up<'c>(&self, command: &'c mut Command) -> &'c mut Command {
        self.environment.apply(command);
        command.env("WINEPREFIX", &self.prefix).env("WINEDEBUG", "-all");
        // Neither .NET nor a browser nor a display is needed.
        command.env("WINEDLLOVERRIDES", "mscoree,mshtml=").env_remove("DISPLAY");
        command.env("CARGO_TARGET_X86_64_PC_WINDOWS_GNU_RUNNER", &self.program);
        command.current_dir(&self.workspace.root)
    }

    /// Runs the suites. The tests that need more than Wine's loader has are skipped.
    fn suites(&self) -> Result<()> {
        let mut build = self.workspace.cargo();
        build.args(["build", "--package=clmatrix-cli", "--bin=clmatrix", "--target", TARGET]);
        let [clmatrix] = executables(&mut build, ["clmatrix"])?;
        let folder = self.workspace.target.join("wine/reports");
        let mut run = Command::new(&self.program);
        self.set_up(&mut run).arg(&clmatrix).args(["run", "--quiet", "--report-dir"]);
        run.arg(&folder).args(SUITES).args(SKIPPED);
        process::run(&mut run)
    }

    /// Runs the faults of `cli/tests/portable`.
    fn faults(&self) -> Result<()> {
        let mut test = self.workspace.cargo();
        test.args(["test", "--package=clmatrix-cli", "--test=portable", "--target", TARGET]);
        process::run(self.set_up(&mut test))
    }

    /// Runs the tests of the downstream crate.
    fn downstream(&self) -> Result<()> {
        let manifest = Path::new("harness/examples/downstream/Cargo.toml");
        ensure!(self.workspace.root.join(manifest).is_file(), "the downstream crate is there");
        let mut test = self.workspace.cargo();
        self.set_up(&mut test).args(["test", "--test=devices", "--target", TARGET]);
        test.arg("--manifest-path").arg(manifest);
        process::run(test.env("CARGO_TARGET_DIR", &self.workspace.target))
    }
}
