//! The command line on a terminal and without one.

use std::fs::File;
use std::io::{Read, Write};
use std::os::unix::fs::{OpenOptionsExt, PermissionsExt};
use std::path::Path;
use std::process::{Child, Command, Output, Stdio};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::{self, JoinHandle};

use nix::fcntl::OFlag;
use nix::pty::{Winsize, openpty};
use nix::sys::signal::{Signal, kill};
use nix::unistd::{Pid, ttyname};

use crate::Check;
use crate::support::{
    COMMAND, child, log, output, planned_and_begun, wait_for, wait_while_running,
};

pub const CHECKS: &[Check] = &[
    ("terminal::colors_are_used_on_demand", colors_are_used_on_demand),
    ("terminal::colors_are_used_on_a_terminal", colors_are_used_on_a_terminal),
    (
        "terminal::quiet_prints_the_unexpected_results_alone",
        quiet_prints_the_unexpected_results_alone,
    ),
    ("terminal::verbose_prints_each_result", verbose_prints_each_result),
    ("terminal::no_capture_prints_output_below_the_test", no_capture_prints_output_below_the_test),
    ("terminal::ctrl_c_leaves_no_bars", ctrl_c_leaves_no_bars),
    (
        "terminal::a_second_ctrl_c_ends_a_run_whose_terminal_takes_no_output",
        a_second_ctrl_c_ends_a_run_whose_terminal_takes_no_output,
    ),
    ("terminal::devices_have_lines_without_a_terminal", devices_have_lines_without_a_terminal),
    ("terminal::an_interval_of_zero_prints_no_lines", an_interval_of_zero_prints_no_lines),
    ("terminal::a_slow_test_is_named_at_each_doubling", a_slow_test_is_named_at_each_doubling),
    ("terminal::names_have_no_effect_on_a_terminal", names_have_no_effect_on_a_terminal),
    ("terminal::completions_know_the_options", completions_know_the_options),
];

/// Runs a test that passes and one that fails, with these options.
fn run(options: &[&str]) -> Output {
    let folder = tempfile::tempdir().expect("a folder");
    output(command(folder.path(), &["faulty::passes@", "faulty::fails_an_assertion@"], options))
}

fn command(folder: &Path, tests: &[&str], options: &[&str]) -> Command {
    let mut command = child(COMMAND, &["run", "--report-dir"]);
    command.arg(folder).args(tests).args(options);
    command.env_remove("NO_COLOR").env_remove("CLICOLOR_FORCE").env("TERM", "xterm");
    command
}

/// A run in which one test fails and the next never ends.
fn endless(folder: &Path, options: &[&str]) -> Command {
    let tests = ["faulty::fails_an_assertion@", "faulty::waits_for_ever@", "--include-ignored"];
    command(folder, &tests, options)
}

fn interrupt(child: &Child) {
    kill(Pid::from_raw(child.id().cast_signed()), Signal::SIGINT).expect("the run is signalled");
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

fn colors_are_used_on_demand() {
    let is_colored = |options: &[&str]| text(&run(options).stdout).contains("\u{1b}[31mFAIL");
    assert!(is_colored(&["--color", "always"]));
    assert!(is_colored(&["--color=always", "--quiet"]));
    assert!(!is_colored(&["--color", "never"]));
    assert!(!is_colored(&[]), "standard output is no terminal");
}

fn quiet_prints_the_unexpected_results_alone() {
    let output = run(&["-q"]);
    assert_eq!(output.status.code(), Some(1));
    assert_eq!(text(&output.stderr), "");
    let stdout = text(&output.stdout);
    assert!(stdout.starts_with("FAIL faulty::fails_an_assertion@"), "{stdout}");
    assert!(!stdout.contains("faulty::passes"), "{stdout}");
    let last = stdout.trim_end().rsplit("\n\n").next().unwrap_or_default();
    assert!(last.starts_with("FAILED: ") && !last.contains("Reports"), "{stdout}");
    assert_eq!(run(&["-q", "-v"]).status.code(), Some(2));
}

fn verbose_prints_each_result() {
    for (options, expected) in [(&["-v"][..], true), (&[], false)] {
        let stderr = text(&run(options).stderr);
        let has = |start: &str| stderr.lines().any(|line| line.starts_with(start));
        assert!(has("FAIL faulty::fails_an_assertion@"), "{stderr}");
        assert_eq!(has("PASS faulty::passes@"), expected, "{stderr}");
    }
}

fn no_capture_prints_output_below_the_test() {
    let folder = tempfile::tempdir().expect("a folder");
    let tests = ["faulty::passes@", "faulty::is_the_victim_of_the_bomb@", "faulty::leaves_a_time"];
    let output = output(command(folder.path(), &tests, &["--no-capture"]));
    let stderr = text(&output.stderr);
    let log = log(folder.path());
    for device in &log.header.devices {
        let id = &device.id;
        // Other devices print between these lines.
        let lines: Vec<&str> = match log.header.devices.len() {
            1 => stderr.lines().collect(),
            _ => stderr
                .lines()
                .filter_map(|line| line.strip_prefix(id)?.split(" | ").nth(1))
                .collect(),
        };
        let title = format!("--- faulty::passes@{id}");
        let start = lines.iter().position(|line| *line == title).expect("the test's line");
        let mut below = [lines[start + 1], lines[start + 2]];
        below.sort_unstable();
        assert_eq!(below, ["said on standard error", "said on standard output"], "{stderr}");
        let repeated = lines.iter().filter(|line| **line == "said before the crash").count();
        assert_eq!(repeated, 1, "{stderr}");
    }
    assert!(!text(&output.stdout).contains("said on"), "it is not shown again");
}

/// A child whose standard streams are a terminal.
struct Terminal {
    child: Child,
    screen: Arc<Mutex<vt100::Parser>>,
    reader: JoinHandle<()>,
}

impl Terminal {
    fn start(mut command: Command) -> Self {
        let (rows, columns) = (200, 120);
        let size = Winsize { ws_row: rows, ws_col: columns, ws_xpixel: 0, ws_ypixel: 0 };
        let pty = openpty(&size, None).expect("a terminal");
        let stream = || Stdio::from(pty.slave.try_clone().expect("a descriptor"));
        command.stdin(stream()).stdout(stream()).stderr(stream());
        let child = command.spawn().expect("the child starts");
        let screen = Arc::new(Mutex::new(vt100::Parser::new(rows, columns, 0)));
        let (to, mut from) = (screen.clone(), File::from(pty.master));
        let reader = thread::spawn(move || {
            let mut buffer = [0; 4096];
            // The end of a terminal is an error.
            while let Ok(count @ 1..) = from.read(&mut buffer) {
                to.lock().unwrap_or_else(PoisonError::into_inner).process(&buffer[..count]);
            }
        });
        Self { child, screen, reader }
    }

    /// Waits for the end, and returns the exit status and the last text.
    fn finish(mut self) -> (Option<i32>, String) {
        let status = self.child.wait().expect("the child ends");
        let screen = self.screen.clone();
        self.reader.join().expect("the reader ends");
        (status.code(), rows(&screen))
    }
}

/// Returns the rows of a screen. indicatif fills rows with blanks instead of ending them, so the
/// lines of `contents` are not the rows.
fn rows(screen: &Mutex<vt100::Parser>) -> String {
    let parser = screen.lock().unwrap_or_else(PoisonError::into_inner);
    let (_, columns) = parser.screen().size();
    let rows: Vec<String> =
        parser.screen().rows(0, columns).map(|row| row.trim_end().to_owned()).collect();
    rows.join("\n")
}

fn colors_are_used_on_a_terminal() {
    let is_colored = |name: &str, value: &str| {
        let folder = tempfile::tempdir().expect("a folder");
        let mut command = command(folder.path(), &["faulty::passes@"], &[]);
        command.env("CI", "true").env(name, value);
        let terminal = Terminal::start(command);
        let screen = terminal.screen.clone();
        let (status, text) = terminal.finish();
        assert_eq!(status, Some(0), "{text}");
        let screen = screen.lock().unwrap_or_else(PoisonError::into_inner);
        String::from_utf8_lossy(&screen.screen().contents_formatted()).contains("\u{1b}[32m")
    };
    assert!(is_colored("TERM", "xterm"));
    assert!(!is_colored("TERM", "dumb"));
    assert!(!is_colored("NO_COLOR", "1"));
}

/// The parts of a bar.
const BAR: [char; 2] = ['█', '░'];

fn ctrl_c_leaves_no_bars() {
    let folder = tempfile::tempdir().expect("a folder");
    let mut terminal = Terminal::start(endless(folder.path(), &[]));
    let screen = terminal.screen.clone();
    wait_while_running(&mut terminal.child, "bars of tests that hang", || {
        let text = rows(&screen);
        let mut bars = text.lines().filter(|line| line.contains(BAR)).peekable();
        bars.peek()?;
        bars.all(|bar| {
            ["1/2", " ETA ", " 1 unexpected ", "s faulty::waits_for_ever"]
                .iter()
                .all(|part| bar.contains(part))
        })
        .then_some(())
    });
    interrupt(&terminal.child);
    let (status, text) = terminal.finish();
    assert_eq!(status, Some(1), "{text}");
    assert_eq!(text.lines().filter(|line| line.starts_with("stopping: ")).count(), 1, "{text}");
    assert!(!text.contains(BAR), "{text}");
    assert!(text.contains("CUT SHORT"), "{text}");
}

/// The bytes that a command writes to a terminal.
fn written_to_a_terminal(mut command: Command) -> String {
    let pty = openpty(None, None).expect("a terminal");
    let stream = || Stdio::from(pty.slave.try_clone().expect("a descriptor"));
    command.stdin(stream()).stdout(stream()).stderr(stream());
    let mut child = command.spawn().expect("the child starts");
    drop((command, pty.slave));
    let (mut written, mut from) = (Vec::new(), File::from(pty.master));
    // The end of a terminal is an error.
    let _ = from.read_to_end(&mut written);
    child.wait().expect("the child ends");
    text(&written)
}

fn names_have_no_effect_on_a_terminal() {
    let folder = tempfile::tempdir().expect("a folder");
    let at = |name: &str| folder.path().join(name);
    let list = r"printf 'a\342\200\256b\033]0;x\007c: test\n'";
    let script = format!(
        "#!/bin/sh\ncase $* in *--ignored*) ;; *--list*) {list} ;; *) sleep 3; exit 1 ;; esac\n"
    );
    std::fs::write(at("program"), script).expect("the folder is ours");
    let executable = std::fs::Permissions::from_mode(0o755);
    std::fs::set_permissions(at("program"), executable).expect("the file is ours");
    let config = "[[external]]\nname = \"mine\"\nkind = \"libtest\"\nprograms = \"program\"\n";
    std::fs::write(at("clmatrix.toml"), config).expect("the folder is ours");
    for arguments in [&["list", "mine::"][..], &["run", "--slow-after", "1s", "mine::"]] {
        let mut command = child(COMMAND, arguments);
        command.arg("--config").arg(at("clmatrix.toml")).env("TERM", "xterm");
        command.env("CLMATRIX_REPORT_DIR", folder.path()).current_dir(folder.path());
        let written = written_to_a_terminal(command);
        assert!(written.contains(r"a\u{202e}b\u{1b}]0;x\u{7}c"), "{written:?}");
        assert!(!written.contains(['\u{202e}', '\u{7}']), "{written:?}");
    }
}

fn a_second_ctrl_c_ends_a_run_whose_terminal_takes_no_output() {
    let folder = tempfile::tempdir().expect("a folder");
    let pty = openpty(None, None).expect("a terminal");
    let path = ttyname(&pty.slave).expect("the terminal has a path");
    let mut command = endless(folder.path(), &[]);
    command.stdout(Stdio::null()).stderr(Stdio::from(pty.slave));
    let mut run = command.spawn().expect("the child starts");
    wait_while_running(&mut run, "a test that hangs", || {
        let (_, begun) = planned_and_begun(folder.path(), "faulty::waits_for_ever")?;
        (begun > 0).then_some(())
    });
    // A description of its own, so that the child's writes still block.
    let flags = OFlag::O_NONBLOCK | OFlag::O_NOCTTY;
    let mut terminal = File::options()
        .write(true)
        .custom_flags(flags.bits())
        .open(path)
        .expect("the terminal can be opened");
    while terminal.write(b"x").is_ok() {}
    // One signal may reach the run while it handles another.
    let status = wait_for("the run to end", || {
        interrupt(&run);
        run.try_wait().expect("the child can be asked")
    });
    assert_eq!(status.code(), Some(130));
}

fn devices_have_lines_without_a_terminal() {
    let folder = tempfile::tempdir().expect("a folder");
    let stderr = folder.path().join("stderr");
    let mut command = endless(folder.path(), &["--progress-interval", "100ms"]);
    command.stdout(Stdio::null()).stderr(File::create(&stderr).expect("a file"));
    let mut run = command.spawn().expect("the child starts");
    wait_while_running(&mut run, "a line of each device", || {
        let (planned, _) = planned_and_begun(folder.path(), "faulty::waits_for_ever")?;
        let text = std::fs::read_to_string(&stderr).ok()?;
        let mut devices: Vec<&str> = text.lines().filter_map(device_of_line).collect();
        devices.sort_unstable();
        devices.dedup();
        (devices.len() == planned).then_some(())
    });
    interrupt(&run);
    assert_eq!(run.wait().expect("the run ends").code(), Some(1));
}

fn an_interval_of_zero_prints_no_lines() {
    let output = run(&["--progress-interval", "0s"]);
    assert_eq!(output.status.code(), Some(1), "the run ends");
    let stderr = text(&output.stderr);
    assert!(!stderr.contains(" of 2 in "), "{stderr}");
}

fn a_slow_test_is_named_at_each_doubling() {
    let folder = tempfile::tempdir().expect("a folder");
    let stderr = folder.path().join("stderr");
    let options = ["--progress-interval", "0s", "--slow-after", "100ms"];
    let mut command = endless(folder.path(), &options);
    command.stdout(Stdio::null()).stderr(File::create(&stderr).expect("a file"));
    let mut run = command.spawn().expect("the child starts");
    wait_while_running(&mut run, "a test on each device that is named twice", || {
        let (planned, _) = planned_and_begun(folder.path(), "faulty::waits_for_ever")?;
        let text = std::fs::read_to_string(&stderr).ok()?;
        let mut slow: Vec<&str> = text
            .lines()
            .filter_map(|line| line.strip_prefix("SLOW faulty::waits_for_ever@")?.split_once(' '))
            .map(|(device, _)| device)
            .collect();
        slow.sort_unstable();
        let twice = slow.chunk_by(|a, b| a == b).filter(|lines| lines.len() > 1);
        (twice.count() == planned).then_some(())
    });
    interrupt(&run);
    assert_eq!(run.wait().expect("the run ends").code(), Some(1));
}

/// The device of a line of progress that has all parts.
fn device_of_line(line: &str) -> Option<&str> {
    let (device, status) = line.split_once(": 1 of 2 in ")?;
    let running = format!(", 1 unexpected, running faulty::waits_for_ever@{device} for ");
    (status.contains(", ETA ") && status.contains(&running)).then_some(device)
}

fn completions_know_the_options() {
    for shell in ["bash", "elvish", "fish", "powershell", "zsh"] {
        let output = output(child(COMMAND, &["completions", shell]));
        assert!(output.status.success(), "{shell}");
        let script = text(&output.stdout);
        for word in ["faults", "report-dir", "show-output", "characterize"] {
            assert!(script.contains(word), "{shell}: {word}");
        }
    }
    assert_eq!(output(child(COMMAND, &["completions", "tcsh"])).status.code(), Some(2));
}
