//! What safety costs: `cargo xtask bench memory`.
//!
//! For every device chosen: what this crate's functions add to the driver's, in instructions and in
//! memory from the heap, and how fast they move data, against the same calls of cl3 and of PyOpenCL
//! (where Python has it). Figures with a limit that is missed make the exit status 1.
//!
//! The executable needs nothing but itself, and can be carried to another machine.

mod allocations;
mod callgrind;
mod calls;
mod instructions;
mod pyopencl;
mod transfers;

use std::env;
use std::process::ExitCode;

use clmatrix::select::{DeviceInfo, Selection, platforms};
use clmatrix::{Context, Device};

const HELP: &str = "\
What clmatrix adds to OpenCL's calls, and how fast it moves data.

Usage: memory [calls] [transfers]      both, if none is named

  calls       instructions (by valgrind, on CPU devices) and heap allocations that are added
  transfers   GB/s to and from the device, beside cl3 and PyOpenCL

  CLMATRIX_TEST          the devices, as for tests; PoCL if it is not set
  CLMATRIX_BENCH_PYTHON  a Python that has PyOpenCL; python3 if it is not set

The executable can be copied to another machine with the same C library.";

/// A device to be measured, with what is needed to find it again.
struct Subject {
    platform: usize,
    number: usize,
    platform_name: String,
    device: Device,
    info: DeviceInfo,
}

impl Subject {
    fn context(&self) -> Context {
        Context::from_device(&self.device).expect("a context")
    }
}

fn main() -> ExitCode {
    let arguments: Vec<String> = env::args().skip(1).filter(|arg| arg != "--bench").collect();
    if let Some(unknown) = arguments.iter().find(|arg| !["calls", "transfers"].contains(&&***arg)) {
        println!("{HELP}");
        return if unknown == "--help" { ExitCode::SUCCESS } else { ExitCode::from(2) };
    }
    let wants = |section: &str| arguments.is_empty() || arguments.iter().any(|arg| arg == section);
    let subjects = chosen();
    if let Some(subject) = instructions::to_be_counted(&subjects) {
        instructions::run_under_valgrind(subject);
        return ExitCode::SUCCESS;
    }
    let mut is_met = true;
    for subject in &subjects {
        print_header(subject);
        if wants("calls") {
            is_met &= calls::report(subject);
        }
        if wants("transfers") {
            is_met &= transfers::report(subject);
        }
    }
    let path = env::current_exe().map_or_else(|_| "it".into(), |path| path.display().to_string());
    println!("\nTo measure on another machine: copy {path} there and run it; --help says how.");
    if is_met { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}

/// What CLMATRIX_TEST says, else PoCL.
fn chosen() -> Vec<Subject> {
    let wish = env::var("CLMATRIX_TEST").unwrap_or_else(|_| "Portable Computing Language".into());
    let platforms = platforms().unwrap_or_else(|error| panic!("{error}"));
    let infos: Vec<_> = platforms.iter().map(|platform| platform.info.clone()).collect();
    let found = Selection::parse_clmatrix(&wish)
        .and_then(|selection| selection.resolve(&infos))
        .unwrap_or_else(|error| panic!("CLMATRIX_TEST={wish}: {error}"));
    let subject = |(platform, number): (usize, usize)| Subject {
        platform,
        number,
        platform_name: infos[platform].name.clone(),
        device: platforms[platform].devices[number],
        info: infos[platform].devices[number].clone(),
    };
    found.into_iter().map(subject).collect()
}

fn print_header(subject: &Subject) {
    let Subject { platform_name, info, .. } = subject;
    println!("\n{} ({platform_name})", info.name);
    println!("driver {}, {}", info.driver_version, info.version);
    println!("clmatrix {}, rustc {}", env!("CARGO_PKG_VERSION"), rustc_version());
}

/// The compiler's version, which it notes in what it makes.
fn rustc_version() -> String {
    const NOTE: &[u8] = b"rustc version ";
    let executable = env::current_exe().and_then(std::fs::read).unwrap_or_default();
    let notes = executable.windows(NOTE.len()).enumerate().filter(|(_, bytes)| *bytes == NOTE);
    notes
        .map(|(position, _)| &executable[position + NOTE.len()..])
        .find(|text| text[0].is_ascii_digit())
        .and_then(|text| text.split(|byte| *byte == 0).next())
        .map_or_else(|| "unknown".into(), |text| String::from_utf8_lossy(text).into_owned())
}
