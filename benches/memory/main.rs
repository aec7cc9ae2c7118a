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
#[path = "../common/device.rs"]
mod device;
mod instructions;
mod pyopencl;
#[path = "../common/time.rs"]
mod time;
mod transfers;

use std::env;
use std::process::ExitCode;

use device::Subject;

const HELP: &str = "\
What clmatrix adds to OpenCL's calls, and how fast it moves data.

Usage: memory [calls] [transfers]      both, if none is named

  calls       instructions (by valgrind, on CPU devices) and heap allocations that are added
  transfers   GB/s to and from the device, beside cl3 and PyOpenCL

  CLMATRIX_TEST          the devices, as for tests; PoCL if it is not set
  CLMATRIX_BENCH_PYTHON  a Python that has PyOpenCL; python3 if it is not set

The executable can be copied to another machine with the same C library.";

fn main() -> ExitCode {
    let arguments: Vec<String> = env::args().skip(1).filter(|arg| arg != "--bench").collect();
    if let Some(unknown) = arguments.iter().find(|arg| !["calls", "transfers"].contains(&&***arg)) {
        println!("{HELP}");
        return if unknown == "--help" { ExitCode::SUCCESS } else { ExitCode::from(2) };
    }
    let wants = |section: &str| arguments.is_empty() || arguments.iter().any(|arg| arg == section);
    let subjects = device::chosen();
    if let Some(subject) = instructions::to_be_counted(&subjects) {
        instructions::run_under_valgrind(subject);
        return ExitCode::SUCCESS;
    }
    let mut is_met = true;
    for subject in &subjects {
        println!("\n{}", subject.header());
        if wants("calls") {
            is_met &= calls::report(subject);
        }
        if wants("transfers") {
            is_met &= transfers::report(subject);
        }
    }
    device::print_where_this_is();
    if is_met { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}
