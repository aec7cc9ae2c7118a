//! `cargo xtask test-windows`: the suites, a downstream crate and faults on Windows, emulated by Wine.

mod alike;

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result, ensure};
use clmatrix_runner::provision::Environment;

use crate::apt;
use crate::files::cannot;
use crate::process;
use crate::workspace::{Workspace, executables};

/// Debian's cross compiler and Wine.
const PACKAGES: [&str; 2] = ["gcc-mingw-w64-x86-64", "wine64"];

const TARGET: &str = "x86_64-pc-windows-gnu";

/// The crate that depends on all others but `xtask`.
const PACKAGE: &str = "--package=clmatrix-cli";

const RUNNER: &str = "--package=clmatrix-runner";

/// The systems for which the compiler checks the crates, and no more.
const COMPILED: [&str; 3] =
    ["x86_64-pc-windows-msvc", "aarch64-apple-darwin", "aarch64-unknown-linux-gnu"];

/// Suites, and some tests that are skipped since the loader is too old.
const TESTS: [&str; 10] = [
    "buffer::*",
    "copy::*",
    "fill::*",
    "host_access::*",
    "image::*",
    "launch::*",
    "pipe::*",
    "pool::*",
    "selection::*",
    "svm::map::*",
];

/// Unit tests of the harness that need symbolic links, `bash`, or folders of `.icd` files, or that have `\` in the name
/// of a test, which is a separator of paths to globset.
const UNIX_TESTS: [&str; 6] = [
    "devices::icd::tests::drivers_come_from_folders_files_and_libraries",
    "devices::icd::tests::one_driver_is_shown_through_a_private_folder",
    "log::store::tests::the_newest_runs_stay_with_their_parents_and_the_full_one",
    "report::result_text::tests::a_rerun_command_selects_one_test_whatever_its_name",
    "text::tests::a_shell_reads_a_quoted_word_as_it_was",
    "text::tests::an_exact_glob_matches_one_text",
];

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
    let mut clippy = workspace.cargo();
    clippy.args(["clippy", PACKAGE, "--target", TARGET]);
    clippy.args(COMPILED.iter().flat_map(|target| ["--target", target]));
    process::run(clippy.args(["--", "--deny", "warnings"]))?;
    let mut clippy = workspace.cargo();
    clippy.args(["clippy", RUNNER, "--lib", "--tests", "--target", TARGET]);
    process::run(clippy.args(["--", "--deny", "warnings"]))?;
    // Cargo builds the binary of the package for its tests, too.
    let mut build = workspace.cargo();
    build.args(["test", "--no-run", PACKAGE, "--test=portable", "--target", TARGET]);
    let [clmatrix, faults] = executables(&mut build, ["clmatrix", "portable"])?;
    let wine = Wine::prepare(workspace, environment)?;
    wine.suites(&clmatrix)?;
    wine.without_driver(&clmatrix)?;
    process::run(&mut wine.command(&faults))?;
    wine.library()?;
    wine.downstream()?;
    // The parts that macOS has in the place of Windows' parts.
    let mut test = workspace.cargo();
    wine.environment.apply(&mut test);
    test.args(["test", PACKAGE, "--test=portable", "--features=clmatrix-runner/portable"]);
    process::run(test.args(["--", "--skip=linux_alone"]))
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

    /// Returns the command that runs an executable under this Wine.
    fn command(&self, executable: &Path) -> Command {
        let mut command = Command::new(&self.program);
        self.set_up(&mut command).arg(executable);
        command
    }

    /// Runs the suites under Wine and on Linux, with the same results but for what is explained.
    fn suites(&self, clmatrix: &Path) -> Result<()> {
        let [linux, wine] =
            ["linux", "reports"].map(|name| self.workspace.target.join("wine").join(name));
        let on_linux = self.workspace.build_clmatrix()?;
        let mut run = Command::new(&on_linux);
        self.set_up(&mut run).args(["run", "--quiet", "--report-dir"]);
        process::run(run.arg(&linux).args(TESTS))?;
        let mut run = self.command(clmatrix);
        run.args(["run", "--quiet", "--config=config/wine/clmatrix.toml", "--report-dir"]);
        process::run(run.arg(&wine).args(TESTS))?;
        alike::check(&on_linux, &linux, &wine)
    }

    /// Checks the advice for a machine without a driver. Wine finds the drivers of Linux.
    fn without_driver(&self, clmatrix: &Path) -> Result<()> {
        let mut devices = self.command(clmatrix);
        let output = process::output(devices.arg("devices").env("OCL_ICD_VENDORS", "/nowhere/"))?;
        let text = String::from_utf8_lossy(&output.stderr);
        ensure!(text.contains("Intel's CPU runtime") && !text.contains("Debian"), "{text}");
        Ok(())
    }

    /// Runs the example of the library and the unit tests of the harness.
    fn library(&self) -> Result<()> {
        let mut test = self.workspace.cargo();
        self.set_up(&mut test).args(["test", "--doc", "--package=clmatrix", "--target", TARGET]);
        process::run(test.arg("README"))?;
        let mut test = self.workspace.cargo();
        self.set_up(&mut test).args(["test", "--quiet", RUNNER, "--lib", "--target", TARGET, "--"]);
        process::run(test.args(UNIX_TESTS.iter().flat_map(|test| ["--skip", test])))
    }

    /// Runs the tests of the downstream crate.
    fn downstream(&self) -> Result<()> {
        let mut test = self.workspace.cargo();
        self.set_up(&mut test).args(["test", "--test=devices", "--target", TARGET]);
        test.arg("--manifest-path=harness/examples/downstream/Cargo.toml");
        // Without debug info as the workspace does, so that what both depend on is built once.
        test.env("CARGO_PROFILE_DEV_DEBUG", "0").env("CARGO_INCREMENTAL", "0");
        process::run(test.env("CARGO_TARGET_DIR", &self.workspace.target))
    }
}
