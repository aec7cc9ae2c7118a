//! What the safe calls cost beside the same calls of cl3: `cargo xtask bench memory`.
//!
//! - Instructions that a safe call adds to the driver's, and allocations, counted ([`counts`]);
//! - GB/s of large transfers, beside raw ones, from pageable and from pinned memory, and beside
//!   PyOpenCL where `python3` has it ([`throughput`]).
//!
//! The device is PYOPENCL_CTX's, else PoCL's, else the first. Each figure has a limit; one that is
//! missed makes the exit status 1. The executable needs nothing beside it but valgrind for the
//! instructions, so it can be carried to another machine: `cargo bench --bench memory --no-run` says
//! where it is.

mod counts;
mod operations;
mod throughput;

use std::process::ExitCode;

use clmatrix::select::platforms;
use clmatrix::{CommandQueue, Context, Result, create_some_context};
use operations::Operation;

/// Set, this process does one operation over and over, to be counted by valgrind.
const COUNTED: &str = "CLMATRIX_BENCH_OPERATION";

const HELP: &str = "What the safe calls cost beside the same calls of cl3.

Usage: memory [instructions] [allocations] [throughput] [pinned]

Without arguments: all but `pinned`, which is for GPUs (transfers from mapped pinned memory).
The device is the one that PYOPENCL_CTX chooses, else PoCL's, else the first.";

const ALL: [&str; 4] = ["instructions", "allocations", "throughput", "pinned"];

fn main() -> ExitCode {
    if let Ok(operation) = std::env::var(COUNTED) {
        counts::repeat(&operation);
        return ExitCode::SUCCESS;
    }
    let mut wanted: Vec<String> =
        std::env::args().skip(1).filter(|argument| argument != "--bench").collect();
    if let Some(odd) = wanted.iter().find(|argument| !ALL.contains(&argument.as_str())) {
        println!("{HELP}");
        return if odd == "--help" || odd == "-h" { ExitCode::SUCCESS } else { ExitCode::from(2) };
    }
    if wanted.is_empty() {
        wanted = ALL[..3].iter().map(|&part| part.to_owned()).collect();
    }
    let bench = match Bench::new() {
        Ok(bench) => bench,
        Err(error) => {
            eprintln!("{error}");
            return ExitCode::from(2);
        }
    };
    println!("clmatrix {}, {}", env!("CARGO_PKG_VERSION"), bench.device);
    let mut good = true;
    for part in &wanted {
        good &= match part.as_str() {
            "instructions" => counts::instructions(),
            "allocations" => counts::allocations(&bench),
            "throughput" => throughput::against_raw(&bench),
            _ => throughput::pinned(&bench),
        };
    }
    if good { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}

/// The device that is measured.
pub struct Bench {
    /// A context of it alone.
    pub context: Context,
    /// An in-order queue.
    pub queue: CommandQueue,
    /// Its name, with the driver's version.
    pub device: String,
}

impl Bench {
    fn new() -> Result<Self> {
        let context = match std::env::var_os("PYOPENCL_CTX") {
            Some(_) => create_some_context()?,
            None => first_device()?,
        };
        let queue = CommandQueue::create_default(&context, 0)?;
        let device = clmatrix::Device::new(context.default_device());
        let device = format!(
            "{} ({}, driver {})",
            device.name()?,
            device.version()?,
            device.driver_version()?
        );
        Ok(Self { context, queue, device })
    }

    /// One of each operation, ready to be repeated.
    pub fn operations(&self) -> Result<Vec<Operation<'_>>> {
        operations::all(self)
    }
}

fn first_device() -> Result<Context> {
    let platforms = platforms()?;
    let mut devices = platforms.iter().flat_map(|platform| &platform.devices);
    let is_pocl = |platform: &&clmatrix::select::FoundPlatform| {
        platform.info.name.contains("Portable Computing Language")
    };
    let pocl = platforms.iter().find(is_pocl).and_then(|platform| platform.devices.first());
    match pocl.or_else(|| devices.next()) {
        Some(found) => Ok(Context::from_device(found)?),
        None => create_some_context(),
    }
}
