//! The command line on a terminal and without one.

use std::collections::BTreeSet;
use std::fs::File;
use std::io::{Read, Write};
use std::os::fd::OwnedFd;
use std::os::unix::fs::OpenOptionsExt;
use std::os::unix::process::CommandExt;
use std::process::{Child, Command, Stdio};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::{self, JoinHandle};

use nix::fcntl::OFlag;
use nix::pty::{Winsize, openpty};
use nix::sys::signal::{Signal, kill, killpg};
use nix::unistd::{Pid, ttyname};

use crate::support::{
    COMMAND, Ended, Folder, LIBTEST, child, descendants_of, log, output, planned_and_begun,
    results, wait_for, wait_while_running,
};
use crate::{check, cpu};

/// Runs a test that passes and one that fails, with these options.
fn run(options: &[&str]) -> Ended {
    let folder = Folder::new();
    output(command(&folder, &["faulty::passes@", "faulty::fails_an_assertion@"], options))
}

fn command(folder: &Folder, tests: &[&str], options: &[&str]) -> Command {
    let mut command = folder.run(&[tests, options].concat());
    command.env_remove("NO_COLOR").env_remove("CLICOLOR_FORCE").env("TERM", "xterm");
    command
}

/// A run in which one test fails and the next never ends.
fn endless(folder: &Folder, options: &[&str]) -> Command {
    let tests = ["faulty::fails_an_assertion@", "faulty::waits_for_ever@", "--include-ignored"];
    command(folder, &tests, options)
}

fn interrupt(child: &Child) {
    kill(Pid::from_raw(child.id().cast_signed()), Signal::SIGINT).expect("the run is signalled");
}

check!(a_run_prints_what_its_options_say, {
    let is_colored = |ended: &Ended| ended.stdout.contains("\u{1b}[31mFAIL");
    let has = |ended: &Ended, start: &str| ended.stderr.lines().any(|line| line.starts_with(start));
    let (fail, pass) = ("FAIL faulty::fails_an_assertion@", "PASS faulty::passes@");
    // Standard output is no terminal.
    let plain = run(&["--progress-interval", "0s"]);
    assert!(!is_colored(&plain) && !plain.stderr.contains(" of 2 in "), "{plain:?}");
    assert!(has(&plain, fail) && !has(&plain, pass), "{plain:?}");
    let verbose = run(&["--color", "never", "-v"]);
    assert!(!is_colored(&verbose) && has(&verbose, fail) && has(&verbose, pass), "{verbose:?}");
    let quiet = run(&["--color=always", "-q"]);
    assert_eq!((quiet.status.code(), &*quiet.stderr), (Some(1), ""));
    assert!(is_colored(&quiet) && !quiet.stdout.contains("faulty::passes"), "{quiet:?}");
});

check!(no_capture_prints_output_below_the_test, {
    let folder = Folder::new();
    let tests = ["faulty::passes@", "faulty::is_the_victim_of_the_bomb@", "faulty::leaves_a_time"];
    let output = output(command(&folder, &tests, &["--no-capture"]));
    let stderr = output.stderr;
    let log = folder.log();
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
    assert!(!output.stdout.contains("said on"), "it is not shown again");
});

/// Returns whether GitHub Actions takes a line for a command.
fn is_command(line: &str) -> bool {
    let has_end = |rest: &str, end| rest.contains(end);
    line.trim_start().strip_prefix("::").is_some_and(|rest| has_end(rest, "::"))
        || line.split_once("##[").is_some_and(|(_, rest)| has_end(rest, "]"))
}

check!(no_output_of_a_test_is_a_command_of_github, {
    let folder = Folder::new();
    let test = "faulty::speaks_to_github@";
    for options in [&[][..], &["--nocapture"], &["--show-output"]] {
        let options = [&[test, "--include-ignored"], options].concat();
        for mut command in [folder.run(&options), child(LIBTEST, &options)] {
            command.env("GITHUB_ACTIONS", "true").env_remove("GITHUB_STEP_SUMMARY");
            command.env("CLMATRIX_REPORT_DIR", folder.path());
            let Ended { stdout, stderr, .. } = output(command);
            let all = stdout + &stderr;
            assert!(all.contains(r"\u{3a}:group::bad"), "{all}");
            let commands = all.split(['\n', '\r']).filter(|line| is_command(line));
            let others: Vec<_> =
                commands.filter(|line| !line.starts_with("::error file=")).collect();
            assert_eq!(others, [""; 0], "{options:?}");
        }
    }
});

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

check!(colors_are_used_on_a_terminal, {
    let is_colored = |name: &str, value: &str| {
        let folder = Folder::new();
        let mut command = command(&folder, &["faulty::passes@"], &[]);
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
});

/// The parts of a bar.
const BAR: [char; 2] = ['█', '░'];

check!(ctrl_c_leaves_no_bars, {
    let folder = Folder::new();
    let mut terminal = Terminal::start(endless(&folder, &[]));
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
});

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
    String::from_utf8_lossy(&written).into_owned()
}

check!(names_have_no_effect_on_a_terminal, {
    let folder = Folder::new();
    let list = r"printf 'a\342\200\256b\033]0;x\007c: test\n'";
    let script = format!(
        "#!/bin/sh\ncase $* in *--ignored*) ;; *--list*) {list} ;; *) sleep 3; exit 1 ;; esac\n"
    );
    folder.write_script("program", &script);
    let config = "[[external]]\nname = \"mine\"\nkind = \"libtest\"\nprograms = \"program\"\n";
    let config = folder.write("clmatrix.toml", config);
    for arguments in [&["list", "mine::"][..], &["run", "--slow-after", "1s", "mine::"]] {
        let mut command = child(COMMAND, arguments);
        command.env("CLMATRIX_CONFIG", &config).env("TERM", "xterm");
        command.env("CLMATRIX_REPORT_DIR", folder.path()).current_dir(folder.path());
        let written = written_to_a_terminal(command);
        assert!(written.contains(r"a\u{202e}b\u{1b}]0;x\u{7}c"), "{written:?}");
        assert!(!written.contains(['\u{202e}', '\u{7}']), "{written:?}");
    }
    // Neither in a pipe. Ids and JSON are exact.
    let in_a_pipe = |arguments: &[&str]| {
        let mut command = child(COMMAND, arguments);
        command.env("CLMATRIX_CONFIG", &config).env("CLMATRIX_REPORT_DIR", folder.path());
        output(command.current_dir(folder.path()))
    };
    let (table, run) = (in_a_pipe(&["list", "mine::"]), in_a_pipe(&["run", "mine::"]));
    for text in [table.stdout, run.stdout, run.stderr] {
        assert!(text.contains(r"a\u{202e}b"), "{text:?}");
        assert!(!text.contains(['\u{202e}', '\u{1b}', '\u{7}']), "{text:?}");
    }
    let raw = "mine::program::a\u{202e}b\u{1b}]0;x\u{7}c";
    assert_eq!(in_a_pipe(&["list", "mine::", "--ids"]).stdout, format!("{raw}\n"));
    let json = in_a_pipe(&["list", "mine::", "--format", "json"]).stdout;
    assert_eq!(serde_json::from_str::<serde_json::Value>(&json).expect("JSON")[0]["test"], raw);
});

/// Starts an endless run whose terminal takes no output. Returns the terminal's other end.
fn start_with_full_terminal(folder: &Folder, arguments: &[&str]) -> (Child, OwnedFd) {
    let pty = openpty(None, None).expect("a terminal");
    let path = ttyname(&pty.slave).expect("the terminal has a path");
    let mut command = endless(folder, arguments);
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
    (run, pty.master)
}

check!(a_second_ctrl_c_ends_a_run_whose_terminal_takes_no_output, {
    let folder = Folder::new();
    let (mut run, _master) = start_with_full_terminal(&folder, &[]);
    // One signal may reach the run while it handles another.
    let status = wait_for("the run to end", || {
        interrupt(&run);
        run.try_wait().expect("the child can be asked")
    });
    assert_eq!(status.code(), Some(130));
});

check!(a_ctrl_c_after_the_deadline_is_the_first, {
    let folder = Folder::new();
    let (mut run, master) = start_with_full_terminal(&folder, &["--deadline", "3s"]);
    let id = run.id();
    wait_while_running(&mut run, "the end of the workers", || {
        descendants_of(id).is_empty().then_some(())
    });
    interrupt(&run);
    // The end of the terminal is an error.
    let reader = thread::spawn(move || File::from(master).read_to_end(&mut Vec::new()));
    assert_eq!(run.wait().expect("the run ends").code(), Some(1));
    let _ = reader.join().expect("no panic");
});

check!(devices_and_slow_tests_have_lines_without_a_terminal, {
    let folder = Folder::new();
    let stderr = folder.at("stderr");
    let options = ["--progress-interval", "100ms", "--slow-after", "100ms"];
    let mut command = endless(&folder, &options);
    command.stdout(Stdio::null()).stderr(File::create(&stderr).expect("a file"));
    let mut run = command.spawn().expect("the child starts");
    wait_while_running(&mut run, "a line of each device, and two of its slow test", || {
        let (planned, _) = planned_and_begun(folder.path(), "faulty::waits_for_ever")?;
        let text = std::fs::read_to_string(&stderr).ok()?;
        let devices: BTreeSet<&str> = text.lines().filter_map(device_of_line).collect();
        let is_twice = |device: &&str| {
            let slow = format!("SLOW faulty::waits_for_ever@{device} ");
            text.lines().filter(|line| line.starts_with(&slow)).count() > 1
        };
        (devices.len() == planned && devices.iter().all(is_twice)).then_some(())
    });
    interrupt(&run);
    assert_eq!(run.wait().expect("the run ends").code(), Some(1));
});

/// The device of a line of progress that has all parts.
fn device_of_line(line: &str) -> Option<&str> {
    let (device, status) = line.split_once(": 1 of 2 in ")?;
    let running = format!(", 1 unexpected, running faulty::waits_for_ever@{device} for ");
    (status.contains(", ETA ") && status.contains(&running)).then_some(device)
}

/// A debugger that waits for Ctrl-C before it runs the test.
const DEBUGGER: &str = r#"#!/bin/sh
trap 'echo interrupted' INT
test -t 0 && test -t 1 && test -t 2 && echo on a terminal
echo "first: $1, variable: $CLMATRIX_DEBUGGED_TEST" | cut -c 1-60
shift
echo ready
until read line; do break; done
"$@" && echo it passed
exit 42
"#;

check!(a_debugger_has_the_terminal_the_signals_and_the_status, {
    let id = cpu::test("faulty::passes");
    for is_libtest in [false, true] {
        let folder = Folder::new();
        let debugger = folder.write_script("de bugger", DEBUGGER);
        let option = format!("'{}' 'an argument'", debugger.display());
        let mut command = match is_libtest {
            false => folder.run(&[&id, "--debugger", &option]),
            true => child(LIBTEST, &[&id, "--exact", "--debugger", &option]),
        };
        command.env("CLMATRIX_REPORT_DIR", folder.path()).process_group(0);
        let mut terminal = Terminal::start(command);
        let screen = terminal.screen.clone();
        wait_while_running(&mut terminal.child, "the debugger", || {
            rows(&screen).contains("ready").then_some(())
        });
        killpg(Pid::from_raw(terminal.child.id().cast_signed()), Signal::SIGINT).expect("Ctrl-C");
        let (status, text) = terminal.finish();
        assert_eq!(status, Some(42), "{text}");
        let role = "first: an argument, variable: [{\"Device\"";
        for said in ["on a terminal", role, "interrupted", "passes: passed", "it passed"] {
            assert!(text.contains(said), "{said}: {text}");
        }
        let folder = if is_libtest { log(&folder.at("clmatrix-cli/faults")) } else { folder.log() };
        let summary = results(&folder, "passes")[0].summary();
        assert!(summary.contains("debugged"), "{summary}");
    }
    let folder = Folder::new();
    let several =
        output(folder.run(&["faulty::passes", "faulty::needs_no_device", "--debugger", "true"]));
    assert_eq!(several.status.code(), Some(2));
    assert!(several.stderr.contains("--debugger runs one test, and"), "{}", several.stderr);
    let none =
        output(folder.run(&["faulty::is_ignored", "--devices", "host", "--debugger", "env"]));
    assert_eq!(none.status.code(), Some(2), "{}", none.stderr);
    let bare =
        output(folder.run(&["faulty::is_not_debugged_by_its_children", "--debugger", "env"]));
    assert_eq!(bare.status.code(), Some(0), "{}", bare.stderr);
    let absent = output(folder.run(&[&id, "--debugger", "no-such-debugger --args"]));
    assert_eq!(absent.status.code(), Some(2));
    assert!(absent.stderr.contains("no-such-debugger"), "{}", absent.stderr);
});
