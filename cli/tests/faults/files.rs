//! Files in the place of which there is something else: pipes, devices, descriptors, links, damage, and files of other
//! people.

use std::fs::{self, File};
use std::io::Read;
use std::os::unix::fs::{FileTypeExt, PermissionsExt, symlink};
use std::path::Path;
use std::process::{Command, Stdio};

use nix::pty::openpty;
use nix::sys::stat::Mode;
use nix::unistd::{mkfifo, ttyname};
use serde_json::Value;

use crate::check;
use crate::support::{
    COMMAND, Ended, Folder, child, copy_variables, output, reports, wait_for, without_devices,
};

/// A folder with a stored run.
fn stored() -> Folder {
    let folder = Folder::new();
    assert_eq!(output(folder.run(&[PASSES])).status.code(), Some(0));
    folder
}

const PASSES: &str = "faulty::needs_no_device@";

/// Runs a command to its end, which must come without help.
fn ended(mut command: Command) -> Ended {
    command.stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut running = command.spawn().expect("the child starts");
    wait_for("the end of the command", || running.try_wait().expect("the child can be asked"));
    running.wait_with_output().expect("the child ends").into()
}

/// Lets a shell run a command as `"$@"`.
fn in_shell(script: &str, command: &Command) -> Command {
    let mut shell = Command::new("sh");
    shell.args(["-c", script, "sh"]).arg(command.get_program()).args(command.get_args());
    copy_variables(command, &mut shell);
    shell
}

fn pipe(path: &Path) {
    mkfifo(path, Mode::S_IRUSR | Mode::S_IWUSR).expect("a pipe");
}

fn is_trace(text: &str) -> bool {
    serde_json::from_str::<Value>(text).is_ok_and(|trace| trace["traceEvents"].is_array())
}

check!(a_report_goes_where_its_name_leads, {
    let folder = stored();
    let report = |arguments: &[&str]| folder.command(&[&["report"], arguments].concat());
    for name in ["-", "/dev/stdout", "/proc/self/fd/1"] {
        let trace = output(report(&["--trace", name]));
        assert!(is_trace(&trace.stdout), "{name}: {}", trace.stdout);
        assert!(trace.stderr.contains("PASSED"), "{name}: {}", trace.stderr);
    }
    assert!(output(report(&["--html", "-"])).stdout.starts_with("<!"));

    let around = "printf before >&3; \"$@\" 3>&3; printf after >&3";
    let kept = folder.write("kept", "");
    let command = report(&["--trace", "/dev/fd/3"]);
    let shell = in_shell(&format!("exec 3>{}; {around}", kept.display()), &command);
    assert!(output(shell).status.success());
    let text = fs::read_to_string(kept).expect("a file");
    let trace = text.strip_prefix("before").and_then(|text| text.strip_suffix("after"));
    assert!(trace.is_some_and(is_trace), "{text}");

    let fifo = folder.at("pipe");
    pipe(&fifo);
    let mut reader = Command::new("cat").arg(&fifo).stdout(Stdio::piped()).spawn().expect("cat");
    assert!(output(report(&["--trace", &fifo.to_string_lossy()])).status.success());
    if !fifo.metadata().expect("it is there").file_type().is_fifo() {
        reader.kill().expect("it runs");
        panic!("a file is in the place of the pipe");
    }
    let read = Ended::from(reader.wait_with_output().expect("cat ends"));
    assert!(is_trace(&read.stdout), "{}", read.stdout);

    // A folder of devices in which no process can create a file.
    let pty = openpty(None, None).expect("a terminal");
    symlink(ttyname(&pty.slave).expect("a path"), folder.at("device")).expect("a link");
    let link = folder.at("device");
    assert!(output(report(&["--trace", &link.to_string_lossy()])).status.success());
    let mut written = [0; 2];
    File::from(pty.master).read_exact(&mut written).expect("a report");
    assert_eq!((&written, link.is_symlink()), (b"{\"", true));
});

check!(a_run_from_elsewhere_leads_to_no_file_of_ours, {
    let folder = stored();
    let [run, ours] = [folder.at("unpacked"), folder.at("ours")];
    fs::rename(reports(folder.path()), &run).expect("a run");
    fs::create_dir(&ours).expect("a folder");
    fs::remove_dir_all(run.join("junit")).expect("a folder");
    symlink(&ours, run.join("junit")).expect("a link");
    let names = ["report.html", "summary.md", "host.xml"];
    for name in names {
        fs::write(ours.join(name), "ours").expect("a file");
    }
    for name in ["report.html", "summary.md"] {
        fs::remove_file(run.join(name)).expect("a report");
        symlink(ours.join(name), run.join(name)).expect("a link");
    }
    let report = output(folder.command(&["report", &run.to_string_lossy()]));
    assert_eq!(report.status.code(), Some(0));
    for name in names {
        assert_eq!(fs::read_to_string(ours.join(name)).expect("a file"), "ours", "{name}");
    }
    for name in ["report.html", "summary.md", "junit", "junit/host.xml"] {
        let is_own = run.join(name).exists() && !run.join(name).is_symlink();
        assert!(is_own, "{name}");
    }
});

check!(a_report_spares_other_files_and_the_next_run_removes_what_a_killed_one_left, {
    let folder = stored();
    let page = folder.write("page.html", "");
    fs::set_permissions(&page, fs::Permissions::from_mode(0o640)).expect("our file");
    let part = folder.write("page.part", "ours");
    let run = folder.at("runs").join(folder.log().header.run_id);
    let left = [folder.at(".clmatrix-7.part"), run.join("junit/.clmatrix-8.part")];
    left.iter().for_each(|path| fs::write(path, "").expect("a file"));
    assert!(
        output(folder.command(&["report", "--html", &page.to_string_lossy()])).status.success()
    );
    let permissions = page.metadata().expect("a page").permissions();
    assert_eq!(permissions.mode() & 0o777, 0o640);
    assert!(fs::read_to_string(&page).expect("a page").starts_with("<!"));
    output(folder.run(&[PASSES]));
    assert_eq!(fs::read_to_string(part).expect("it stays"), "ours");
    assert!(!left.iter().any(|path| path.exists()));
});

check!(a_damaged_log_is_pointed_out, {
    let folder = stored();
    let run = reports(folder.path());
    let log = run.join("events.jsonl");
    let text = fs::read_to_string(&log).expect("a log");
    let damaged = text.replace("\"exit_status\":0", "\"exit_status\":1");
    fs::write(&log, damaged).expect("a log");
    for command in ["report", "fleet"] {
        let mut command = child(COMMAND, &[command, &run.to_string_lossy()]);
        let read = output(command.env("CLMATRIX_REPORT_DIR", folder.path()));
        assert_eq!(read.status.code(), Some(1), "{command:?}");
        let warning = "inconsistent: its end has the exit status 1";
        assert!(read.stderr.contains(warning), "{read:?}");
    }
});

check!(no_pipe_that_a_command_finds_keeps_it_waiting, {
    let folder = stored();
    let run = folder.log().header.run_id;
    let lock = folder.at("runs").join(&run).join("lock");
    fs::remove_file(&lock).expect("a lock");
    pipe(&lock);
    assert_eq!(ended(folder.command(&["report", &run])).status.code(), Some(0));

    pipe(&folder.at("x.icd"));
    let mut devices = without_devices(child(COMMAND, &["devices"]));
    devices.env("OCL_ICD_VENDORS", folder.path());
    let text = ended(devices);
    let text = text.stdout + &text.stderr;
    assert!(text.contains("x.icd") && text.contains("it is not a regular file"), "{text}");

    let configured = |file: &str| {
        let mut command = without_devices(child(COMMAND, &["list", "--config", file]));
        command.stdin(Stdio::null());
        command
    };
    let endless = ended(configured("/dev/zero"));
    assert_eq!(endless.status.code(), Some(2));
    assert!(
        endless.stderr.contains("/dev/zero: cannot be read: it is longer"),
        "{}",
        endless.stderr
    );
    let script = "printf '[profile.default]\\nretries = -1\\n' | \"$@\"";
    let piped = ended(in_shell(script, &configured("/dev/stdin")));
    assert!(piped.stderr.contains("retries"), "it was read: {}", piped.stderr);
});

check!(a_configuration_that_is_no_file_is_an_error, {
    for (name, is_link, reason) in [
        ("clmatrix.toml", false, "is a directory"),
        ("clmatrix.toml", true, "it is a link to nothing"),
        ("config/clmatrix.toml", true, "it is a link to nothing"),
        ("expectations", true, "No such file"),
    ] {
        let folder = Folder::new();
        if name == "expectations" {
            folder.write("clmatrix.toml", "");
        }
        let path = folder.at(name);
        fs::create_dir_all(path.parent().expect("a folder")).expect("a folder");
        let created = if is_link { symlink("nothing", &path) } else { fs::create_dir(&path) };
        created.expect("it is new");
        let mut list = child(COMMAND, &["list"]);
        let list = output(list.env_remove("CLMATRIX_CONFIG").current_dir(folder.path()));
        assert_eq!(list.status.code(), Some(2), "{name}");
        assert!(
            list.stderr.contains(&format!("{name}: cannot be read: {reason}")),
            "{}",
            list.stderr
        );
    }
});
