//! Instructions and allocations that safe calls add, which do not depend on what else the machine
//! does.
//!
//! Instructions are counted by callgrind, and only those of this executable: what the driver does
//! for one and the same call depends on what its threads have done meanwhile. Its calls are counted
//! instead.

use std::alloc::{GlobalAlloc, Layout, System};
use std::collections::HashMap;
use std::path::Path;
use std::process::{Command, Stdio};
use std::sync::atomic::{AtomicU64, Ordering};

use crate::operations::Operation;
use crate::{Bench, COUNTED};

/// How many instructions a safe call may add to each call of the driver's.
const LIMIT: f64 = 200.0;
const TIMES: u64 = 1000;
/// After so many, the device is to catch up.
const BATCH: u64 = 50;

static ALLOCATIONS: AtomicU64 = AtomicU64::new(0);

struct Counting;

#[global_allocator]
static COUNTING: Counting = Counting;

// SAFETY: the system's allocator does it all.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        ALLOCATIONS.fetch_add(1, Ordering::Relaxed);
        // SAFETY: as the caller promises.
        unsafe { System.alloc(layout) }
    }

    unsafe fn dealloc(&self, pointer: *mut u8, layout: Layout) {
        // SAFETY: as the caller promises.
        unsafe { System.dealloc(pointer, layout) }
    }

    unsafe fn realloc(&self, pointer: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        ALLOCATIONS.fetch_add(1, Ordering::Relaxed);
        // SAFETY: as the caller promises.
        unsafe { System.realloc(pointer, layout, size) }
    }
}

fn run(bench: &Bench, times: u64, mut operation: impl FnMut()) {
    for done in 1..=times {
        operation();
        if done % BATCH == 0 {
            bench.queue.finish().expect("the queue runs dry");
        }
    }
}

/// Heap allocations of the safe calls once they have been made before, beside those of the raw ones.
pub fn allocations(bench: &Bench) -> bool {
    println!("\nHeap allocations per operation           raw    safe");
    let mut good = true;
    for Operation { name, raw, safe, .. } in bench.operations().expect("the operations") {
        let per_operation = |mut operation: Box<dyn FnMut() + '_>| {
            run(bench, BATCH, &mut operation);
            let before = ALLOCATIONS.load(Ordering::Relaxed);
            run(bench, TIMES, operation);
            (ALLOCATIONS.load(Ordering::Relaxed) - before) as f64 / TIMES as f64
        };
        let (raw, safe) = (per_operation(raw), per_operation(safe));
        let within = safe <= raw;
        println!("  {name:<35} {raw:7.2} {safe:7.2}{}", missed(within));
        good &= within;
    }
    good
}

fn missed(within: bool) -> &'static str {
    if within { "" } else { "  MORE THAN ALLOWED" }
}

/// Instructions that the safe calls add to the raw ones.
pub fn instructions() -> bool {
    println!("\nInstructions per operation               raw    safe   added  limit");
    let folder = std::env::temp_dir().join(format!("clmatrix-bench-{}", std::process::id()));
    std::fs::create_dir_all(&folder).expect("a temporary folder");
    let mut good = true;
    for (name, calls) in Bench::new()
        .and_then(|bench| {
            Ok(bench.operations()?.iter().map(|one| (one.name, one.calls)).collect::<Vec<_>>())
        })
        .expect("the operations")
    {
        let [Some(raw), Some(safe)] = ["raw", "safe"].map(|way| count(&folder, way, name)) else {
            println!("  valgrind is needed: `cargo xtask provision` installs it");
            good = false;
            break;
        };
        let per_operation = |count: u64| count as f64 / TIMES as f64;
        let (one, other) = (per_operation(raw.own), per_operation(safe.own));
        let added = other - one;
        let limit = LIMIT * calls as f64;
        let within = added <= limit;
        println!("  {name:<35} {one:7.0} {other:7.0} {added:7.0} {limit:6.0}{}", missed(within));
        good &= within;
        if safe.driver_calls > raw.driver_calls + TIMES / 10 {
            let more = per_operation(safe.driver_calls - raw.driver_calls);
            println!("  {name:<35} calls the driver {more:.2} times more: MORE THAN ALLOWED");
            good = false;
        }
    }
    let _ = std::fs::remove_dir_all(&folder);
    good
}

/// What valgrind has counted in a process of this executable.
struct Counts {
    /// Instructions of the executable itself.
    own: u64,
    driver_calls: u64,
}

/// `None` without valgrind.
fn count(folder: &Path, way: &str, name: &str) -> Option<Counts> {
    let this = std::env::current_exe().expect("the path of this executable");
    let file = folder.join("callgrind.out");
    let status = Command::new("valgrind")
        .args(["--tool=callgrind", "--quiet"])
        .arg(format!("--callgrind-out-file={}", file.display()))
        .arg(&this)
        .env(COUNTED, format!("{way} {name}"))
        // Kernels that were compiled for the real processor need not run on valgrind's.
        .env("POCL_CACHE_DIR", folder)
        .env_remove("VALGRIND_OPTS")
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .status()
        .ok()?;
    assert!(status.success(), "{way} {name} under valgrind: {status}");
    let text = std::fs::read_to_string(file).expect("valgrind's counts");
    Some(parse(&text, &this.display().to_string()))
}

/// What this process does when valgrind counts it.
pub fn repeat(what: &str) {
    let bench = Bench::new().expect("the device");
    let (way, name) = what.split_once(' ').expect("a way and an operation");
    let operations = bench.operations().expect("the operations");
    let operation = operations.into_iter().find(|one| one.name == name).expect("the operation");
    run(&bench, TIMES, if way == "raw" { operation.raw } else { operation.safe });
}

/// Reads callgrind's format: names are given in full once, and by number from then on; a line of
/// numbers is a cost of the current function, but for the one after `calls=`, which is the callee's.
fn parse(text: &str, executable: &str) -> Counts {
    let mut names: HashMap<(&str, &str), &str> = HashMap::new();
    let mut counts = Counts { own: 0, driver_calls: 0 };
    let (mut is_own, mut calls_driver, mut is_callees) = (false, false, false);
    for line in text.lines() {
        if let Some((key, value)) = line.split_once('=') {
            let kind = match key {
                "ob" | "cob" => "ob",
                "fn" | "cfn" => "fn",
                "calls" => {
                    is_callees = true;
                    let calls = value.split(' ').next().and_then(|calls| calls.parse::<u64>().ok());
                    if calls_driver {
                        counts.driver_calls += calls.expect("a number of calls");
                    }
                    continue;
                }
                _ => continue,
            };
            let (number, name) = value.split_once(' ').unwrap_or((value, ""));
            if !name.is_empty() {
                names.insert((kind, number), name);
            }
            let name = names.get(&(kind, number)).copied().unwrap_or_default();
            match key {
                "ob" => is_own = name == executable,
                "fn" => calls_driver = is_own && name.contains("cl3::runtime::OpenCl::cl"),
                _ => {}
            }
        } else if line.starts_with(|first: char| first.is_ascii_digit() || "+-*".contains(first)) {
            let cost = line.split(' ').nth(1).and_then(|cost| cost.parse::<u64>().ok());
            if is_own && !is_callees {
                counts.own += cost.unwrap_or(0);
            }
            is_callees = false;
        }
    }
    counts
}
