//! Counts the instructions of calls by running this executable again under valgrind's callgrind.

use std::env;
use std::fs;
use std::path::Path;
use std::process::{Command, Stdio};

use crate::Subject;
use crate::callgrind::{self, Count};
use crate::calls::{Setup, TIMES};

/// Tells a process of this executable that it runs under valgrind, and on which device.
const ROLE: &str = "CLMATRIX_BENCH_COUNT";

/// What is counted is what happens within this.
#[unsafe(no_mangle)]
#[inline(never)]
fn clmatrix_bench_counted(call: &mut dyn FnMut()) {
    call();
}

/// Valgrind writes down what it has counted when it comes here.
#[unsafe(no_mangle)]
#[inline(never)]
fn clmatrix_bench_write_down() {
    std::hint::black_box(());
}

/// Counts each call, of cl3 and ours, made [`TIMES`] times.
///
/// # Errors
/// Why that cannot be done.
pub fn count(subject: &Subject) -> Result<Vec<[Count; 2]>, &'static str> {
    if !subject.info.device_type.is_cpu_only() {
        return Err("instructions are counted on CPU devices only");
    }
    if Command::new("valgrind").arg("--version").stdout(Stdio::null()).status().is_err() {
        return Err("instructions are not counted without valgrind: `cargo xtask provision`");
    }
    let folder = env::temp_dir().join(format!("clmatrix-bench-{}", std::process::id()));
    fs::create_dir_all(&folder).expect("a folder for valgrind's files");
    let counts = count_in(&folder, subject);
    let _ = fs::remove_dir_all(&folder);
    Ok(counts)
}

fn count_in(folder: &Path, subject: &Subject) -> Vec<[Count; 2]> {
    let executable = env::current_exe().expect("this executable has a path");
    let out = folder.join("callgrind");
    let mut valgrind = Command::new("valgrind");
    valgrind
        .args(["--tool=callgrind", "--toggle-collect=clmatrix_bench_counted"])
        .arg("--dump-before=clmatrix_bench_write_down")
        // Nothing abbreviated, so that it is easy to read.
        .args(["--compress-strings=no", "--compress-pos=no", "--dump-line=no"])
        .arg(format!("--callgrind-out-file={}", out.display()))
        .arg(&executable)
        // Kernels that were compiled for the processor may be none for valgrind's.
        .env("POCL_CACHE_DIR", folder)
        .env_remove("VALGRIND_OPTS")
        .env(ROLE, format!("{}:{}", subject.platform, subject.number))
        .stdin(Stdio::null())
        .stdout(Stdio::null());
    let output = valgrind.stderr(Stdio::piped()).output().expect("valgrind starts");
    let log = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{valgrind:?}: {}\n{log}", output.status);
    // The first file is of what was done before.
    let mut number = 1;
    let mut next = || {
        number += 1;
        let file = folder.join(format!("callgrind.{number}"));
        let text = fs::read_to_string(&file).ok()?;
        Some(callgrind::parse(&text, &executable.to_string_lossy()))
    };
    std::iter::from_fn(|| Some([next()?, next()?])).collect()
}

/// The device on which calls are to be counted, if this is the process that makes them.
pub fn to_be_counted(subjects: &[Subject]) -> Option<&Subject> {
    let role = env::var(ROLE).ok()?;
    subjects.iter().find(|subject| format!("{}:{}", subject.platform, subject.number) == role)
}

pub fn run_under_valgrind(subject: &Subject) {
    let setup = Setup::new(&subject.context());
    // Valgrind begins anew only where it has counted something.
    clmatrix_bench_counted(&mut || ());
    clmatrix_bench_write_down();
    for call in setup.calls() {
        for mut call in [call.raw, call.safe] {
            setup.warm_up(&mut call);
            setup.repeat(TIMES, || clmatrix_bench_counted(&mut *call));
            clmatrix_bench_write_down();
        }
    }
}
