//! GB/s between host and device.

use std::process::Command;
use std::ptr;
use std::time::Instant;

use clmatrix::cl3::command_queue as cl;
use clmatrix::memory::{
    Buffer, MapReadWrite, MemFlags, MemoryObject, enqueue_copy, enqueue_map_buffer,
};

use crate::Bench;

const SIZE: usize = 256 << 20;
/// The share of the raw call's speed that the safe call reaches.
const OF_RAW: f64 = 0.97;
/// The share of PyOpenCL's speed that transfers from pinned memory reach.
const OF_PYOPENCL: f64 = 0.9;
const RUNS: usize = 15;

/// Seconds that `work` takes.
fn seconds(work: impl FnOnce()) -> f64 {
    let start = Instant::now();
    work();
    start.elapsed().as_secs_f64()
}

fn median(mut values: Vec<f64>) -> f64 {
    values.sort_by(f64::total_cmp);
    values[values.len() / 2]
}

fn gb_per_s(seconds: f64) -> f64 {
    SIZE as f64 / seconds / 1e9
}

/// Blocking transfers of pageable memory, safe and raw in turns.
pub fn against_raw(bench: &Bench) -> bool {
    println!("\nBlocking transfer of 256 MiB, GB/s        raw    safe   ratio  limit");
    let queue = &bench.queue;
    let buffer = Buffer::new(&bench.context, MemFlags::READ_WRITE, SIZE).expect("a buffer");
    let mut data = vec![1_u8; SIZE];
    let (raw_queue, raw) = (queue.get(), buffer.as_raw());
    let mut good = true;
    for name in ["write", "read"] {
        let mut times = [Vec::new(), Vec::new()];
        // The first one of all takes the memory.
        for run in 0..=RUNS {
            let at = data.as_mut_ptr();
            let unsafely = || {
                seconds(|| {
                    // SAFETY: the handles are valid, and there are `SIZE` bytes.
                    let event = unsafe {
                        match name {
                            "write" => cl::enqueue_write_buffer(
                                raw_queue,
                                raw,
                                1,
                                0,
                                SIZE,
                                at.cast(),
                                0,
                                ptr::null(),
                            ),
                            _ => cl::enqueue_read_buffer(
                                raw_queue,
                                raw,
                                1,
                                0,
                                SIZE,
                                at.cast(),
                                0,
                                ptr::null(),
                            ),
                        }
                    };
                    drop(clmatrix::Event::new(event.expect("a transfer")));
                })
            };
            let first = unsafely();
            let second = seconds(|| {
                let event = match name {
                    "write" => enqueue_copy(queue, &buffer, &data[..], .., []),
                    _ => enqueue_copy(queue, &mut data[..], &buffer, .., []),
                };
                drop(event.expect("a transfer"));
            });
            if run > 0 {
                times[0].push(first);
                times[1].push(second);
            }
        }
        let [raw, safe] = times.map(|times| gb_per_s(median(times)));
        let ratio = safe / raw;
        let within = ratio >= OF_RAW;
        let missed = if within { "" } else { "  LESS THAN EXPECTED" };
        println!("  {name:<35} {raw:7.2} {safe:7.2} {ratio:7.3} {OF_RAW:6.2}{missed}");
        good &= within;
    }
    good
}

/// Transfers from and to mapped pinned memory, beside pageable memory and PyOpenCL.
pub fn pinned(bench: &Bench) -> bool {
    println!("\nTransfer of 256 MiB, GB/s            pageable  pinned  PyOpenCL, pinned");
    let queue = &bench.queue;
    let flags = MemFlags::READ_WRITE | MemFlags::ALLOC_HOST_PTR;
    let pinned = Buffer::new(&bench.context, flags, SIZE).expect("pinned memory");
    let mut pinned =
        enqueue_map_buffer::<u8, _>(queue, &pinned, MapReadWrite, .., []).expect("a map");
    pinned.fill(1);
    let buffer = Buffer::new(&bench.context, MemFlags::READ_WRITE, SIZE).expect("a buffer");
    let mut pageable = vec![1_u8; SIZE];
    let time = |name: &str, host: &mut [u8]| {
        let run = || {
            seconds(|| {
                let event = match name {
                    "write" => enqueue_copy(queue, &buffer, &*host, .., []),
                    _ => enqueue_copy(queue, &mut *host, &buffer, .., []),
                };
                drop(event.expect("a transfer"));
            })
        };
        let mut run = run;
        run();
        gb_per_s(median((0..RUNS).map(|_| run()).collect()))
    };
    let ours =
        ["write", "read"].map(|name| (name, time(name, &mut pageable), time(name, &mut pinned)));
    let python = pyopencl();
    let mut good = true;
    for ((name, pageable, pinned), place) in ours.into_iter().zip(0..) {
        print!("  {name:<35} {pageable:7.2} {pinned:7.2}");
        match &python {
            Some(theirs) => {
                let ratio = pinned / theirs[place];
                let within = ratio >= OF_PYOPENCL;
                let missed = if within { "" } else { "  LESS THAN EXPECTED" };
                println!("  {:7.2}, ratio {ratio:.2} (limit {OF_PYOPENCL}){missed}", theirs[place]);
                good &= within;
            }
            None => println!("  (python3 has no pyopencl)"),
        }
    }
    good
}

/// What PyOpenCL reaches, writing and reading; `None` where `python3` does not have it.
fn pyopencl() -> Option<[f64; 2]> {
    let script = include_str!("pinned.py");
    let output = Command::new("python3").args(["-c", script]).output().ok()?;
    let text = String::from_utf8(output.stdout).ok()?;
    let mut figures = text.split_whitespace().map_while(|figure| figure.parse().ok());
    Some([figures.next()?, figures.next()?])
}
