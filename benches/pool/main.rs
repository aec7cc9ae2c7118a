//! The cost of memory from a pool: `cargo xtask bench pool`.
//!
//! For every device chosen: how long an allocate + drop pair takes, against a plain port of PyOpenCL's
//! algorithm and against the driver, how long it takes where blocks are still in use, and how much memory a
//! pool reserves for what is in use. Figures with a limit that is missed make the exit status 1.
//!
//! The executable needs nothing but itself, and can be carried to another machine.

#[path = "../common/barrier.rs"]
mod barrier;
#[path = "../common/device.rs"]
mod device;
mod driver;
mod options;
mod ours;
mod plots;
mod reference;
mod report;
mod sizes;
mod source;
mod speed;
mod team;
#[path = "../common/time.rs"]
mod time;
mod uses;
mod waste;
mod workload;

use std::env;
use std::error::Error;
use std::fs;
use std::path::Path;
use std::process::ExitCode;

use clmatrix::pool::PoolOptions;

use device::Subject;
use options::{HELP, Options};
use reference::Reference;
use report::{Limit, Report};

fn main() -> ExitCode {
    let options = match Options::parse(env::args().skip(1)) {
        Ok(options) => options,
        Err(None) => {
            println!("{HELP}");
            return ExitCode::SUCCESS;
        }
        Err(Some(reason)) => {
            eprintln!("{reason}\n\n{HELP}");
            return ExitCode::from(2);
        }
    };
    let mut misses = vec![];
    let subjects = device::chosen(&[device::POCL]);
    for subject in &subjects {
        let folder = match subjects.len() {
            1 => options.out.clone(),
            _ => options.out.join(format!("{}-{}", subject.platform, subject.number)),
        };
        match measure(subject, &options, &folder) {
            Ok(missed) => misses.extend(missed),
            Err(error) => {
                eprintln!("error: {}: {error}", folder.display());
                return ExitCode::from(2);
            }
        }
    }
    device::print_where_this_is();
    for miss in &misses {
        eprintln!("limit missed: {miss}");
    }
    if misses.is_empty() { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}

/// Measures a device. Returns what missed its limit.
fn measure(
    subject: &Subject,
    options: &Options,
    folder: &Path,
) -> Result<Vec<String>, Box<dyn Error>> {
    println!("\n{}", subject.header());
    fs::create_dir_all(folder)?;
    let mut report = Report::default();
    if options.wants("speed") {
        let figures = speed(subject);
        speed::report(&figures, &mut report);
        plots::threads(&folder.join("threads.svg"), &subject.info.name, &figures)?;
    }
    if options.wants("waste") {
        let replays = waste(subject);
        waste::report(&replays, &mut report);
        plots::reserved(&folder.join("reserved.svg"), &subject.info.name, &replays)?;
    }
    if options.wants("driver") {
        driver::report(subject, &mut report);
    }
    if options.wants("uses") {
        uses::report(subject, &mut report);
    }
    print!("{}", report.text());
    let table = format!("```text\n{}\n```\n{}", subject.header(), report.text());
    fs::write(folder.join("table.md"), table)?;
    println!("\nThese tables and the plots: {}", folder.display());
    Ok(report.into_misses())
}

fn speed(subject: &Subject) -> Vec<speed::Figure> {
    let context = subject.context();
    let reference = || Reference::new(ours::allocator(&context));
    speed::measure(reference, || ours::pool(&context, PoolOptions::new()))
}

fn waste(subject: &Subject) -> Vec<waste::Replay> {
    let context = subject.context();
    let limit = |at_most| Some(Limit { at_most, aim: None });
    let ours = |name, options, limit| waste::replay(name, &ours::pool(&context, options), limit);
    vec![
        waste::replay("PyOpenCL's rule", &Reference::new(ours::allocator(&context)), None),
        ours("clmatrix, default", PoolOptions::new(), None),
        ours("reuse up to 25 % larger", PoolOptions::new().max_oversize_percent(25), limit(0.65)),
        waste::replay("slabs of 64 MiB", &ours::Slabs::new(&context, 64 << 20), limit(0.52)),
    ]
}
