//! The suites under AddressSanitizer and LeakSanitizer, on PoCL.
//!
//! The Rust code of this workspace and of its dependencies is instrumented. Rust's standard
//! library and the drivers are not, but they allocate through the sanitizer, and its `memcpy`,
//! `strlen` and the like check what they are given: a driver that is told to write past the end of
//! a `Vec` is caught when it copies. Not seen is what a kernel does: PoCL compiles it to machine
//! code with plain loads and stores. This is Oclgrind's part, in the matrix.
//!
//! Other drivers are left out, as each costs suppressions of its own and PoCL already takes all the
//! paths through our code; it copies on the CPU, in our address space, where a sanitizer can look.

use std::env;
use std::ffi::OsString;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode};

use anyhow::{Context, Result, bail, ensure};
use clmatrix_runner::provision::Environment;

use crate::files::{self, cannot};
use crate::process::{self, output};
use crate::workspace::{Workspace, executables};

/// How the compiler and the linker are called.
const RUSTFLAGS: [&str; 2] = [
    "-Zsanitizer=address",
    // For the check after each test: see `finds_leaks` in runner/src/os/linux.rs. At the exit of
    // a process, where LeakSanitizer looks by itself, the runner is seen but no worker: workers
    // are killed when they are not needed any more, or leave by `_exit`, since drivers hang in
    // their exit handlers.
    "-Clink-arg=-Wl,--export-dynamic-symbol=__lsan_do_recoverable_leak_check",
];

/// Options of the sanitizers, in which `{}` is replaced by the folder of the reports. All others have
/// their defaults. Some that drivers are known for are not needed: PoCL and its LLVM neither free
/// what another allocator gave out (`alloc_dealloc_mismatch`), nor define a global twice
/// (`detect_odr_violation`), nor take SIGSEGV for themselves (`handle_segv`).
const ASAN_OPTIONS: [&str; 4] = [
    // On by default on some systems only.
    "detect_leaks=1",
    // PoCL, LLVM and the loader are built without frame pointers: the stack of what they allocate
    // would end with them, and not show on whose behalf they did.
    "fast_unwind_on_malloc=0",
    // Where there is no llvm-symbolizer. A machine that links Rust programs has binutils.
    "allow_addr2line=1",
    // A file for each process. On standard error a report belongs to the test that runs, and is
    // lost where none does: while a driver loads, in the runner, in what a test starts.
    "log_path='{}/report'",
];

/// The list of suppressions would otherwise be printed at each check that needs one.
const LSAN_OPTIONS: [&str; 2] = ["suppressions='{}'", "print_suppressions=0"];

/// The variable that names PoCL's cache of kernels.
const POCL_CACHE: &str = "POCL_CACHE_DIR";

/// A test of examples/known_bad.rs, and what the sanitizer has to say of it.
const KNOWN: [(&str, Option<&str>); 4] = [
    ("nothing_is_wrong", None),
    ("reads_past_the_end", Some("AddressSanitizer: heap-buffer-overflow")),
    ("lets_the_driver_write_past_the_end", Some("AddressSanitizer: heap-buffer-overflow")),
    ("leaks", Some("LeakSanitizer: detected memory leaks")),
];

/// The exit status of `clmatrix run` after unexpected results.
const EXIT_UNEXPECTED: u8 = 1;

/// Builds the suites with the sanitizer, makes sure that it works, and runs them.
///
/// `devices` shows PoCL and nothing else. Exits as `clmatrix run` does, and never with success if
/// there was a report.
pub fn run(workspace: &Workspace, devices: &Environment, arguments: &[String]) -> Result<ExitCode> {
    let host = host()?;
    check_runtime(&host)?;
    let target = workspace.target.join("sanitize");
    eprintln!("Building the suites with AddressSanitizer in {}", target.display());
    let [clmatrix, known_bad] = build(workspace, &host, &target)?;
    let sanitizer = Sanitizer { workspace, devices, folder: target.join("reports") };

    eprintln!("Checking that the sanitizers catch known errors");
    for (test, words) in KNOWN {
        sanitizer.check(&known_bad, test, words)?;
    }

    let mut run = sanitizer.command(&clmatrix)?;
    run.arg("run").args(arguments).env("CLMATRIX_RERUN", "cargo xtask sanitize --");
    // A profile of config/clmatrix.toml: checked code takes longer.
    run.env("CLMATRIX_PROFILE", "sanitize");
    let status = process::status(&mut run)?;
    let reports = sanitizer.reports()?;
    for (path, text) in &reports {
        eprintln!("\n{}:\n{}", path.display(), text.trim());
    }
    if !reports.is_empty() {
        eprintln!(
            "\nThe sanitizers made {} reports, above and in {}",
            reports.len(),
            sanitizer.folder.display()
        );
    }
    Ok(process::exit_code(status, reports.is_empty()))
}

/// How instrumented programs are run.
struct Sanitizer<'a> {
    workspace: &'a Workspace,
    devices: &'a Environment,
    /// Where their reports go.
    folder: PathBuf,
}

impl Sanitizer<'_> {
    /// A command that runs the program, with no reports in the folder so far.
    fn command(&self, program: &Path) -> Result<Command> {
        files::remove_tree(&self.folder)?;
        fs::create_dir_all(&self.folder).with_context(|| cannot("create", &self.folder))?;
        let suppressions = self.workspace.root.join("config/sanitize/lsan.supp");
        let mut command = Command::new(program);
        command.current_dir(&self.workspace.root);
        self.devices.apply(&mut command);
        // These choose among devices and expect some that are not shown here.
        for variable in ["CLMATRIX_PROFILE", "CLMATRIX_TEST", "PYOPENCL_TEST", "CLMATRIX_ICD"] {
            command.env_remove(variable);
        }
        // LLVM takes ten times as long here. Kernels that a run of the suites has built are not built again.
        if env::var_os(POCL_CACHE).is_none() {
            command.env(POCL_CACHE, self.workspace.target.join("clmatrix/state/pocl-cache"));
        }
        for (variable, defaults, path) in [
            ("ASAN_OPTIONS", ASAN_OPTIONS.as_slice(), &self.folder),
            ("LSAN_OPTIONS", LSAN_OPTIONS.as_slice(), &suppressions),
        ] {
            command.env(variable, options(defaults, path, env::var_os(variable)));
        }
        Ok(command)
    }

    /// The reports of the last command, with their files.
    fn reports(&self) -> Result<Vec<(PathBuf, String)>> {
        let mut reports = Vec::new();
        for path in files::entries(&self.folder)? {
            let bytes = fs::read(&path).with_context(|| cannot("read", &path))?;
            reports.push((path, String::from_utf8_lossy(&bytes).into_owned()));
        }
        Ok(reports)
    }

    /// Fails unless this test of `known_bad` gets the report that it should get.
    fn check(&self, known_bad: &Path, test: &str, words: Option<&str>) -> Result<()> {
        let mut run = self.command(known_bad)?;
        run.args(["run", test, "--config", "xtask/examples/clmatrix.toml", "--report-dir"]);
        // Apart from what is about the suites.
        run.arg(self.folder.with_file_name("known-bad"));
        let output = output(&mut run)?;
        let reports = self.reports()?;
        let is_as_it_should_be = match words {
            None => output.status.success() && reports.is_empty(),
            Some(words) => {
                output.status.code() == Some(EXIT_UNEXPECTED.into())
                    && reports.iter().any(|(_, text)| text.contains(words))
            }
        };
        if is_as_it_should_be {
            return Ok(());
        }
        let texts =
            [output.stdout, output.stderr].map(|o| String::from_utf8_lossy(&o).into_owned());
        let mut texts: Vec<String> = texts.into_iter().collect();
        texts.extend(reports.into_iter().map(|(_, text)| text));
        bail!(
            "the sanitizers do not work here, so that a run would prove nothing: the test `{test}` \
             of xtask/examples/known_bad.rs should end {}. If you have set ASAN_OPTIONS or \
             LSAN_OPTIONS, unset them; LeakSanitizer needs ptrace, which debuggers and some \
             containers take away. It printed, with {}:\n{}",
            words.map_or("without a report".to_owned(), |words| format!("with \"{words}\"")),
            output.status,
            texts.concat().trim_end(),
        )
    }
}

/// The value of a variable of options: ours, then the user's own, of which later ones win.
fn options(defaults: &[&str], path: &Path, own: Option<OsString>) -> OsString {
    let text = defaults.join(":").replace("{}", &path.to_string_lossy());
    let mut value = OsString::from(text);
    if let Some(own) = own.filter(|own| !own.is_empty()) {
        value.push(":");
        value.push(own);
    }
    value
}

/// Builds the programs `clmatrix` and `known_bad`.
fn build(workspace: &Workspace, host: &str, target: &Path) -> Result<[PathBuf; 2]> {
    let mut build = workspace.cargo();
    build.args(["build", "--package", "clmatrix-cli", "--bin", "clmatrix"]);
    build.args(["--package", "xtask", "--example", "known_bad"]);
    // With a target named, even if it is this machine, build scripts and procedural macros do not
    // get the flags: the compiler, which loads the macros, is not instrumented.
    build.args(["--target", host, "--target-dir"]).arg(target);
    // This one wins over all other places in which flags may stand.
    build.env("CARGO_ENCODED_RUSTFLAGS", RUSTFLAGS.join("\x1f"));
    // Lets the stable compiler take -Z.
    build.env("RUSTC_BOOTSTRAP", "1");
    executables(&mut build, ["clmatrix", "known_bad"])
}

fn rustc() -> Command {
    Command::new(env::var_os("RUSTC").unwrap_or_else(|| "rustc".into()))
}

/// The target triple of this machine.
fn host() -> Result<String> {
    let mut command = rustc();
    let output = output(command.arg("-vV"))?;
    let text = String::from_utf8_lossy(&output.stdout);
    let host = text.lines().find_map(|line| line.strip_prefix("host: "));
    Ok(host.with_context(|| format!("`{}` names no host", process::line(&command)))?.to_owned())
}

/// Fails where the toolchain has no sanitizer: the linker's message would not say what to do.
fn check_runtime(host: &str) -> Result<()> {
    let mut command = rustc();
    let output = output(command.args(["--print", "target-libdir", "--target", host]))?;
    let folder = PathBuf::from(String::from_utf8_lossy(&output.stdout).trim());
    let is_runtime = |name: &str| name.ends_with("_rt.asan.a");
    ensure!(
        files::find(&folder, &is_runtime)?.is_some(),
        "this Rust toolchain has no AddressSanitizer for {host} (there is no *_rt.asan.a in {}). \
         Those of rustup have it for {{x86_64,aarch64}}-unknown-linux-gnu; a distribution's may \
         not: install one with rustup, https://rustup.rs, and run this again",
        folder.display()
    );
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_users_options_come_last() {
        let path = Path::new("/t:1/r");
        let defaults = ["a=1", "log_path='{}/report'"];
        assert_eq!(options(&defaults, path, None), "a=1:log_path='/t:1/r/report'");
        assert_eq!(options(&defaults, path, Some("".into())), "a=1:log_path='/t:1/r/report'");
        let own = Some("a=0".into());
        assert_eq!(options(&defaults, path, own), "a=1:log_path='/t:1/r/report':a=0");
    }
}
