//! Starting this executable as its own child.

use std::borrow::BorrowMut;
use std::cell::RefCell;
use std::collections::BTreeMap;
use std::fs::Permissions;
use std::io::Read;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Output, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use clmatrix_cli::__private::stored_runs;
use clmatrix_runner::log::run_log::RunLog;
use clmatrix_runner::result::test_result::TestResult;
use clmatrix_runner::verdict::Verdict;
use serde_json::Value;
use tempfile::TempDir;

use crate::valid::validate;

/// The variable that makes a child of this executable, and its values.
pub const ROLE: &str = "CLMATRIX_FAULTS";
pub const COMMAND: &str = "command";
pub const LIBTEST: &str = "libtest";
pub const MIMIC: &str = "mimic";

/// More than any step here needs on a slow machine.
const PATIENCE: Duration = Duration::from_secs(120);

/// The variable with the contexts of tests in `clmatrix run` without `--contexts`.
const CONTEXTS: &str = "CLMATRIX_FAULTS_CONTEXTS";

/// This executable as `clmatrix`, or as a test target. A run has one slot a device, unless the arguments say more.
pub fn child(role: &str, arguments: &[&str]) -> Command {
    let ["run", options @ ..] = arguments else { return child_as_written(role, arguments) };
    let mut command = child_as_written(role, &["run"]);
    if !options.contains(&"--slots") && !options.contains(&"--resume") {
        command.args(["--slots", "1"]);
    }
    if let Some(contexts) = std::env::var_os(CONTEXTS)
        && !options.contains(&"--contexts")
    {
        command.arg("--contexts").arg(contexts);
    }
    command.args(options);
    command
}

/// This executable as `clmatrix`, or as a test target, with these arguments and no others.
pub fn child_as_written(role: &str, arguments: &[&str]) -> Command {
    let mut command = Command::new(std::env::current_exe().expect("this executable has a path"));
    command.env(ROLE, role).stdin(Stdio::null()).args(arguments);
    // Expectations and profiles of the repository are about other tests.
    command.env_remove("CLMATRIX_PROFILE").env_remove("CLMATRIX_REPORT_DIR").env_remove("NEXTEST");
    // Starting each driver to ask for its devices takes half of the time of a check.
    command.env("CLMATRIX_CACHE", "1");
    command
        .env("CLMATRIX_CONFIG", concat!(env!("CARGO_MANIFEST_DIR"), "/tests/faults/clmatrix.toml"));
    command
}

thread_local! {
    /// The output of the children of the check that this thread runs.
    static TRANSCRIPT: RefCell<String> = const { RefCell::new(String::new()) };
}

/// Takes the output of the children, to be shown if the check failed.
pub fn take_transcript() -> String {
    TRANSCRIPT.take()
}

/// The end of a child, and the text that it has printed.
#[derive(Debug)]
pub struct Ended {
    pub status: ExitStatus,
    pub stdout: String,
    pub stderr: String,
}

impl From<Output> for Ended {
    fn from(Output { status, stdout, stderr }: Output) -> Self {
        let [stdout, stderr] =
            [stdout, stderr].map(|bytes| String::from_utf8_lossy(&bytes).into_owned());
        Self { status, stdout, stderr }
    }
}

/// Runs a child to its end.
pub fn output(mut command: impl BorrowMut<Command>) -> Ended {
    let command = command.borrow_mut();
    let ended = Ended::from(command.output().expect("the child starts"));
    let Ended { status, stdout, stderr } = &ended;
    let text = format!("{command:?}: {status}\n{stdout}\n{stderr}\n");
    TRANSCRIPT.with_borrow_mut(|transcript| transcript.push_str(&text));
    ended
}

/// Starts a child and does not wait for it.
pub fn start(mut command: Command) -> Child {
    command.stdout(Stdio::null()).stderr(Stdio::null()).spawn().expect("the child starts")
}

/// Waits until `condition` returns a value. Fails as soon as the child has ended before that.
pub fn wait_while_running<T>(
    child: &mut Child,
    what: &str,
    mut condition: impl FnMut() -> Option<T>,
) -> T {
    wait_for(what, || {
        // Asked first: the child may meet the condition and end between the two.
        let ended = child.try_wait().expect("the child can be asked");
        let value = condition();
        if value.is_none()
            && let Some(status) = ended
        {
            panic!("the child ended ({status}) before {what}:\n{}", printed(child));
        }
        value
    })
}

/// Copies the variables that a command sets and removes.
pub fn copy_variables(from: &Command, to: &mut Command) {
    for (name, value) in from.get_envs() {
        match value {
            Some(value) => to.env(name, value),
            None => to.env_remove(name),
        };
    }
}

/// Hides all drivers from a child.
pub fn without_devices(mut command: Command) -> Command {
    command.env("OCL_ICD_VENDORS", "/nowhere").env_remove("OCL_ICD_FILENAMES");
    command
}

/// The output of a child that has ended, if it goes to pipes.
fn printed(child: &mut Child) -> String {
    let mut text = String::new();
    if let Some(mut stdout) = child.stdout.take() {
        stdout.read_to_string(&mut text).expect("the output is text");
    }
    if let Some(mut stderr) = child.stderr.take() {
        stderr.read_to_string(&mut text).expect("the output is text");
    }
    text
}

/// Waits until `condition` returns a value.
pub fn wait_for<T>(what: &str, mut condition: impl FnMut() -> Option<T>) -> T {
    let begin = Instant::now();
    loop {
        if let Some(value) = condition() {
            return value;
        }
        assert!(begin.elapsed() < PATIENCE, "waited in vain for {what}");
        thread::sleep(Duration::from_millis(10));
    }
}

/// A command that compiles a shared library from C source code.
pub fn shared_library(library: &Path, source: &Path) -> Command {
    let mut command = Command::new("cc");
    command.args(["-shared", "-fPIC", "-o"]).args([library, source]);
    command
}

/// Lets a command run under the layer `context_layer.c`, in which these contexts go wrong. Returns the file
/// that counts contexts.
pub fn context_layer(command: &mut Command, folder: &Path, mode: &str, contexts: &str) -> PathBuf {
    let source = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/faults/context_layer.c");
    let library = folder.join("liblayer.so");
    compile(shared_library(&library, Path::new(source)));
    let count = folder.join("count");
    command.env("OPENCL_LAYERS", library).env("FAULTS_COUNT", &count);
    command.env("FAULTS_MODE", mode).env("FAULTS_CONTEXTS", contexts);
    count
}

/// Runs a compiler, which must succeed.
pub fn compile(mut command: Command) {
    let status = command.status();
    let status = status.expect("a C compiler is there, as for every Rust program that is linked");
    assert!(status.success(), "{command:?}: {status}");
}

/// A folder for reports and for files of a test.
pub struct Folder(TempDir);

impl Folder {
    pub fn new() -> Self {
        Self(tempfile::tempdir().expect("a folder"))
    }

    pub fn path(&self) -> &Path {
        self.0.path()
    }

    /// The path of a file.
    pub fn at(&self, name: &str) -> PathBuf {
        self.path().join(name)
    }

    /// Writes a file. Returns its path.
    pub fn write(&self, name: &str, text: &str) -> PathBuf {
        let path = self.at(name);
        std::fs::create_dir_all(path.parent().expect("a folder")).expect("a folder");
        std::fs::write(&path, text).expect("it is written");
        path
    }

    /// Writes a file that is a program. Returns its path.
    pub fn write_script(&self, name: &str, text: &str) -> PathBuf {
        let path = self.write(name, text);
        let executable = Permissions::from_mode(0o755);
        std::fs::set_permissions(&path, executable).expect("the file is ours");
        path
    }

    /// Lets a command use this configuration.
    pub fn configure(&self, command: &mut Command, configuration: &str) {
        command.env("CLMATRIX_CONFIG", self.write("clmatrix.toml", configuration));
    }

    /// A run that reports to this folder.
    pub fn run(&self, arguments: &[&str]) -> Command {
        self.command(&[&["run"], arguments].concat())
    }

    /// A command on the reports in this folder.
    pub fn command(&self, arguments: &[&str]) -> Command {
        let mut command = child(COMMAND, arguments);
        command.arg("--report-dir").arg(self.path());
        command
    }

    /// Runs tests. Returns the exit status and the log.
    pub fn ran(&self, arguments: &[&str]) -> (Option<i32>, RunLog) {
        (output(self.run(arguments)).status.code(), self.log())
    }

    /// The log of the last run.
    pub fn log(&self) -> RunLog {
        log(self.path())
    }

    /// The JUnit file of a device in the last run.
    pub fn junit(&self, device: &str) -> String {
        let file = reports(self.path()).join("junit").join(format!("{device}.xml"));
        std::fs::read_to_string(file).expect("the device has a report")
    }
}

/// The folder of the last run with `--report-dir FOLDER`; FOLDER if there is none yet.
pub fn reports(folder: &Path) -> PathBuf {
    let log = stored_runs::find(folder, "latest").ok();
    log.as_deref().and_then(Path::parent).unwrap_or(folder).to_path_buf()
}

/// The lines of the last run that reports to `folder`; empty if the run has no log yet.
pub fn events(folder: &Path) -> Vec<Value> {
    let log = std::fs::read_to_string(reports(folder).join("events.jsonl")).unwrap_or_default();
    log.lines().filter_map(|line| serde_json::from_str(line).ok()).collect()
}

/// The number of devices of the last run with tests, and of `started` events of a test; `None` if the
/// log does not say yet.
pub fn planned_and_begun(folder: &Path, test: &str) -> Option<(usize, usize)> {
    let events = events(folder);
    // The first event after the whole plan.
    events.iter().find(|event| event["event"] == "worker-started")?;
    let planned = events.iter().filter(|event| event["event"] == "plan-device").count();
    let plan = events.iter().find(|event| event["event"] == "plan")?;
    let position = plan["tests"].as_array()?.iter().position(|planned| planned["path"] == test)?;
    let is_start = |event: &&Value| event["event"] == "started" && event["test"] == position;
    Some((planned, events.iter().filter(is_start).count()))
}

/// Reads the log of the run that reports to `folder`. All its lines are valid; a runner that is killed may
/// leave a part of a line.
pub fn log(folder: &Path) -> RunLog {
    let path = reports(folder).join("events.jsonl");
    let log = RunLog::read(&path).expect("the log can be read");
    if log.has_ended {
        validate(&path).expect("lines of the schema");
    }
    log
}

/// The verdicts by test.
pub fn verdicts(log: &RunLog) -> BTreeMap<&str, Verdict> {
    log.results.iter().map(|result| (&*result.test, result.verdict)).collect()
}

/// The results of one test, one for each device.
pub fn results<'a>(log: &'a RunLog, test: &str) -> Vec<&'a TestResult> {
    let path = format!("faulty::{test}");
    let results: Vec<&TestResult> =
        log.results.iter().filter(|result| result.test.path() == path).collect();
    assert!(!results.is_empty(), "{path} is in the log");
    results
}

/// Returns whether the process exists and is not waiting to be reaped.
pub fn is_running(pid: u32) -> bool {
    std::fs::read_to_string(format!("/proc/{pid}/stat")).is_ok_and(|stat| {
        !stat.rsplit(')').next().unwrap_or_default().trim_start().starts_with('Z')
    })
}

/// The processes whose parent is `pid`.
pub fn children_of(pid: u32) -> Vec<u32> {
    let parent = format!("PPid:\t{pid}");
    std::fs::read_dir("/proc")
        .expect("/proc is there")
        .filter_map(|entry| entry.ok()?.file_name().to_str()?.parse().ok())
        .filter(|child| {
            std::fs::read_to_string(format!("/proc/{child}/status"))
                .is_ok_and(|status| status.lines().any(|line| line == parent))
        })
        .collect()
}

/// The children of `pid`, their children, and so on.
pub fn descendants_of(pid: u32) -> Vec<u32> {
    let children = children_of(pid);
    let further = children.iter().flat_map(|child| descendants_of(*child)).collect::<Vec<_>>();
    [children, further].concat()
}
