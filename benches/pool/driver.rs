//! Nanoseconds per pair of a pool, beside the driver's.

use std::hint::black_box;
use std::ptr;

use clmatrix::Context;
use clmatrix::cl3::memory as cl;
use clmatrix::memory::MemFlags;
use clmatrix::pool::{Allocator, ImmediateAllocator, PoolOptions};

use crate::device::Subject;
use crate::ours;
use crate::report::Report;
use crate::source::Source;
use crate::time::{nanoseconds, quantile};

const SIZES: [(&str, usize); 3] = [("4 KiB", 4 << 10), ("1 MiB", 1 << 20), ("64 MiB", 64 << 20)];

const ROUNDS: usize = 21;

/// How long a round takes for each, if a pair takes no longer. Nanoseconds.
const ROUND: f64 = 1e6;

/// `clCreateBuffer` and `clReleaseMemObject`.
struct Driver<'c>(&'c Context);

struct DriverBuffer(cl::cl_mem);

// SAFETY: memory objects may be used from any thread (OpenCL 3.0, appendix A.2).
unsafe impl Send for DriverBuffer {}

impl Source for Driver<'_> {
    type Block = DriverBuffer;

    fn allocate(&self, size: usize) -> DriverBuffer {
        let flags = cl::CL_MEM_READ_WRITE;
        // SAFETY: the context is alive, and there is no host memory.
        let buffer = unsafe { cl::create_buffer(self.0.as_raw(), flags, size, ptr::null_mut()) };
        DriverBuffer(buffer.expect("memory"))
    }
}

impl Drop for DriverBuffer {
    fn drop(&mut self) {
        // SAFETY: it is released once.
        unsafe { cl::release_mem_object(self.0) }.expect("it is released");
    }
}

impl Source for ImmediateAllocator {
    type Block = <Self as Allocator>::Memory;

    fn allocate(&self, size: usize) -> Self::Block {
        Allocator::allocate(self, size).expect("memory").expect("more than 0 bytes")
    }
}

pub fn report(subject: &Subject, report: &mut Report) {
    let context = subject.context();
    let pool = ours::pool(&context, PoolOptions::new());
    let immediate = ImmediateAllocator::new(&ours::queue(&context), MemFlags::READ_WRITE);
    let immediate = immediate.expect("an allocator");
    let driver = Driver(&context);
    let head = ["ns per pair, hot", "a pool", "driver", "over", "immediate", "over"];
    report.table(&head);
    for (name, size) in SIZES {
        eprintln!("driver: {name}");
        let mut times = [const { Vec::new() }; 3];
        for round in 0..=ROUNDS {
            let taken = [pair(&pool, size), pair(&driver, size), pair(&immediate, size)];
            // The first round is not counted.
            for (times, taken) in times.iter_mut().zip(taken).filter(|_| round > 0) {
                times.push(taken);
            }
        }
        let [pool, driver, immediate] = times.map(|times| quantile(&times, 0.5));
        let over = |others: f64| format!("{:.0}", others / pool);
        let time = |time: f64| format!("{time:.0}");
        let cells = [time(pool), time(driver), over(driver), time(immediate), over(immediate)];
        report.row(name, &cells);
    }
}

/// Nanoseconds per pair, of as many as fit into a round.
fn pair(source: &impl Source, size: usize) -> f64 {
    let (mut pairs, mut chunk, mut taken) = (0, 1, 0.0);
    while taken < ROUND {
        taken += nanoseconds(|| {
            for _ in 0..chunk {
                drop(black_box(source.allocate(black_box(size))));
            }
        });
        pairs += chunk;
        chunk = pairs;
    }
    taken / f64::from(pairs)
}
