//! Cost of safe calls: `cargo xtask bench memory`.
//!
//! For every device: the times and heap allocations of this crate's calls, and the speed of its
//! transfers, beside the same calls of cl3 and of PyOpenCL (if Python has it). A missed limit makes the
//! exit status 1.
//!
//! The executable needs nothing but itself, and can be carried to another machine.

mod allocations;
#[path = "../common/barrier.rs"]
mod barrier;
mod calls;
mod case;
#[expect(dead_code, reason = "no file is named after a device")]
#[path = "../common/device.rs"]
mod device;
mod maps;
mod pending;
mod place;
mod pyopencl;
#[path = "../common/time.rs"]
mod time;
mod transfers;

use std::env;
use std::process::ExitCode;

use device::Subject;

const HELP: &str = "\
Cost of safe calls, and the speed of transfers.

Usage: memory [calls] [waits] [maps] [pending] [transfers]      all, if none is named

  calls       times of calls without a wait list, and their heap allocations, beside cl3's
  waits       the same with a wait list
  maps        many maps of one buffer at once
  pending     one map behind many commands that have not run
  transfers   GB/s to and from the device, beside cl3 and PyOpenCL

  CLMATRIX_TEST          the devices, as for tests [default: PoCL and Intel's, if present]
  CLMATRIX_BENCH_PYTHON  a Python that has PyOpenCL [default: python3]

The executable can be copied to another machine with the same C library.";

/// Returns false if a limit is missed.
type Report = fn(&Subject) -> bool;

const SECTIONS: [(&str, Report); 5] = [
    ("calls", calls::report),
    ("waits", calls::report_waits),
    ("maps", maps::report),
    ("pending", pending::report),
    ("transfers", transfers::report),
];

const DEVICES: [&str; 2] = [device::POCL, "Intel"];

fn main() -> ExitCode {
    let arguments: Vec<String> = env::args().skip(1).filter(|arg| arg != "--bench").collect();
    let is_section = |argument: &str| SECTIONS.iter().any(|(name, _)| *name == argument);
    if let Some(unknown) = arguments.iter().find(|argument| !is_section(argument)) {
        println!("{HELP}");
        return if unknown == "--help" { ExitCode::SUCCESS } else { ExitCode::from(2) };
    }
    let mut is_met = true;
    for subject in &device::chosen(&DEVICES) {
        println!("\n{}", subject.header());
        for (name, report) in SECTIONS {
            if arguments.is_empty() || arguments.iter().any(|argument| argument == name) {
                is_met &= report(subject);
            }
        }
    }
    device::print_where_this_is();
    if is_met { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}
