//! Nanoseconds until the next block is there, where the one before may still be in use.

use clmatrix::memory::{Buffer, MemFlags, enqueue_fill};
use clmatrix::pool::{ImmediateAllocator, MemoryPool, PoolOptions};
use clmatrix::{CommandQueue, Context};

use crate::device::Subject;
use crate::ours;
use crate::report::Report;
use crate::time::{nanoseconds, quantile};

const SIZES: [(&str, usize); 2] = [("4 KiB", 4 << 10), ("1 MiB", 1 << 20)];

const ROUNDS: usize = 21;

/// How many blocks are filled one after the other. They are waited for at the end, which does not count.
const FILLS: usize = 64;

/// Where what is filled comes from.
enum From {
    One(Buffer),
    /// Allocated for the queue on which it is filled.
    Pool(MemoryPool),
    /// Allocated for none.
    PoolOfNone(MemoryPool),
}

struct Case {
    name: &'static str,
    from: From,
    /// They take turns.
    queues: Vec<CommandQueue>,
}

impl Case {
    fn all(context: &Context, size: usize) -> [Self; 4] {
        let queue = || ours::queue(context);
        let pool_for = |queues: &[CommandQueue]| {
            let allocator = ImmediateAllocator::new(&queues[0], MemFlags::READ_WRITE);
            From::Pool(MemoryPool::new(allocator.expect("an allocator")).expect("a pool"))
        };
        let buffer = Buffer::new(context, MemFlags::READ_WRITE, size).expect("memory");
        let of_none = From::PoolOfNone(ours::pool(context, PoolOptions::new()));
        let (own, two) = (vec![queue()], vec![queue(), queue()]);
        [
            Self { name: "one buffer, no pool", from: From::One(buffer), queues: vec![queue()] },
            Self { name: "pool for the queue", from: pool_for(&own), queues: own },
            Self { name: "pool for two queues in turn", from: pool_for(&two), queues: two },
            Self { name: "pool for no queue", from: of_none, queues: vec![queue()] },
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
    enqueue_fill(queue, buffer, &7_u32, .., []).expect("a fill");
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
    let [small, large] = SIZES.map(|(name, _)| name);
    report.table(&["ns per fill, drop and allocate", small, large]);
    for (nth, case) in cases[0].iter().enumerate() {
        let cells: Vec<_> =
            times.iter().map(|times| format!("{:.0}", quantile(&times[nth], 0.5))).collect();
        report.row(case.name, &cells);
    }
}
