//! Nanoseconds until the next block is allocated, while the one before may still be in use.

use clmatrix::memory::{Buffer, MemFlags, enqueue_fill};
use clmatrix::pool::{ImmediateAllocator, MemoryPool, PoolOptions};
use clmatrix::{CommandQueue, Context};

use crate::device::{self, Subject};
use crate::ours;
use crate::report::{Limit, Report};
use crate::time::{nanoseconds, quantile};

const SIZES: [(&str, usize); 2] = [("4 KiB", 4 << 10), ("1 MiB", 1 << 20)];

const ROUNDS: usize = 101;

/// Blocks that are filled in a round. The wait for the fills at its end does not count.
const FILLS: usize = 64;

const TWO_QUEUES: &str = "two queues in turn, pool";

/// Limit of a pool that hands blocks from queue to queue, of the time without a pool. On PoCL.
const ACROSS_QUEUES: Limit = Limit { at_most: 1.5, aim: None };

/// The source of the memory that is filled.
enum From {
    One(Buffer),
    /// Allocated for the queue on which it is filled.
    Pool(MemoryPool),
    /// Allocated for no queue.
    PoolOfNone(MemoryPool),
}

struct Case {
    name: &'static str,
    from: From,
    /// They take turns.
    queues: Vec<CommandQueue>,
}

impl Case {
    /// The cases. A case without a pool is the base of those after it.
    fn all(context: &Context, size: usize) -> [Self; 5] {
        let queue = || ours::queue(context);
        let pool_for = |queues: &[CommandQueue]| {
            let allocator = ImmediateAllocator::new(&queues[0], MemFlags::READ_WRITE);
            From::Pool(MemoryPool::new(allocator.expect("an allocator")).expect("a pool"))
        };
        let no_pool =
            || From::One(Buffer::new(context, MemFlags::READ_WRITE, size).expect("memory"));
        let of_none = From::PoolOfNone(ours::pool(context, PoolOptions::new()));
        let (own, two) = (vec![queue()], vec![queue(), queue()]);
        [
            Self { name: "no pool", from: no_pool(), queues: vec![queue()] },
            Self { name: "pool for the queue", from: pool_for(&own), queues: own },
            Self { name: "pool for no queue", from: of_none, queues: vec![queue()] },
            Self {
                name: "two queues in turn, no pool",
                from: no_pool(),
                queues: vec![queue(), queue()],
            },
            Self { name: TWO_QUEUES, from: pool_for(&two), queues: two },
        ]
    }

    /// Nanoseconds per fill, with the drop of what was filled and the next allocation.
    fn round(&self, size: usize) -> f64 {
        let taken = nanoseconds(|| {
            for queue in self.queues.iter().cycle().take(FILLS) {
                match &self.from {
                    From::One(buffer) => fill(queue, buffer),
                    From::Pool(pool) => {
                        fill(queue, &pool.allocate_on(queue, size).expect("memory"))
                    }
                    From::PoolOfNone(pool) => fill(queue, &pool.allocate(size).expect("memory")),
                }
            }
        });
        self.queues.iter().for_each(|queue| queue.finish().expect("it ends"));
        taken / FILLS as f64
    }
}

fn fill(queue: &CommandQueue, buffer: &Buffer) {
    enqueue_fill(queue, buffer, &7_u32, ..).expect("a fill");
}

pub fn report(subject: &Subject, report: &mut Report) {
    eprintln!("uses");
    let context = subject.context();
    let cases = SIZES.map(|(_, size)| Case::all(&context, size));
    let mut times = cases.each_ref().map(|cases| cases.each_ref().map(|_| Vec::new()));
    for round in 0..=ROUNDS {
        for ((cases, (_, size)), times) in cases.iter().zip(SIZES).zip(&mut times) {
            // The first round is not counted.
            for (case, times) in cases.iter().zip(times) {
                let taken = case.round(size);
                times.extend((round > 0).then_some(taken));
            }
        }
    }
    report.table(&["ns per fill, drop and allocate", "ns", "of no pool", "limit"]);
    let is_pocl = subject.platform_name == device::POCL;
    for ((cases, (size, _)), times) in cases.iter().zip(SIZES).zip(&times) {
        let mut no_pool = f64::NAN;
        for (case, times) in cases.iter().zip(times) {
            let time = quantile(times, 0.25);
            if let From::One(_) = case.from {
                no_pool = time;
            }
            let (name, ratio) = (format!("{size}, {}", case.name), time / no_pool);
            let limit = (is_pocl && case.name == TWO_QUEUES).then_some(ACROSS_QUEUES);
            let [limit, _] = report.check(&name, ratio, limit);
            report.row(&name, &[format!("{time:.0}"), format!("{ratio:.2}"), limit]);
        }
    }
}
