//! Accesses of local memory that wait for each other, by one group of work items that go in step.

use clmatrix::Event;

use super::super::clock::Budget;
use super::super::finding::MeasureResult;
use super::super::sampling::{Rounds, sample, steps_for};
use super::super::series::Point;
use super::super::workbench::Workbench;
use clmatrix::launch::{Kernel, LocalMemory};
use clmatrix::memory::Buffer;

/// Each work item reads one item over and over. It is always 0, which the compiler cannot know.
const SOURCE: &str = "
#define FOUR(step) step step step step
kernel void chase(uint steps, ITEM zero, local ITEM *memory, global const uint *starts,
                  global uint *taken, global uint *kept) {
    uint i = get_local_id(0), start = starts[i], at = start, step = 0;
    memory[start] = zero;
    barrier(CLK_LOCAL_MEM_FENCE);
    for (; step < steps; step++) { FOUR(FOUR(at = start + (uint)memory[at];)) }
    taken[i] = step;
    kept[i] = at;
}";

/// Accesses of a step.
const ACCESSES: f64 = 16.0;
/// Iterations of the kernel's loop at most; rusticl ends any loop after 65,535.
// quirk: RUSTICL-2
const MOST_STEPS: u32 = 30_000;
/// The nanoseconds of a sample: long beside a launch.
const SAMPLE: f64 = 200e3;
const ROUNDS: Rounds = Rounds { least: 5, most: 15 };

/// The items that are read.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Item {
    One,
    Four,
    Eight,
}

impl Item {
    pub fn size(self) -> usize {
        match self {
            Self::One => 1,
            Self::Four => 4,
            Self::Eight => 8,
        }
    }

    fn name(self) -> &'static str {
        match self {
            Self::One => "uchar",
            Self::Four => "uint",
            Self::Eight => "ulong",
        }
    }
}

/// The item that each work item reads.
pub(super) struct Pattern {
    pub item: Item,
    pub starts: Vec<u32>,
}

impl Pattern {
    /// Returns a pattern in which each work item reads the `stride`-th item after the one before.
    pub fn strided(item: Item, lanes: u32, stride: u32) -> Self {
        Self { item, starts: (0..lanes).map(|lane| lane * stride).collect() }
    }

    /// Returns the bytes of local memory of this pattern.
    pub fn bytes(&self) -> usize {
        self.starts.iter().max().map_or(0, |last| (*last as usize + 1) * self.item.size())
    }
}

/// Samples the nanoseconds per access of each pattern, by its number.
pub(super) fn time_each(
    bench: &Workbench,
    budget: &Budget,
    patterns: &[Pattern],
) -> MeasureResult<Vec<Point>> {
    let lanes = patterns.iter().map(|pattern| pattern.starts.len()).max().unwrap_or_default();
    let mut chases = Vec::new();
    for item in [Item::One, Item::Four, Item::Eight] {
        if patterns.iter().any(|pattern| pattern.item == item) {
            chases.push(Chase::new(bench, item, lanes)?);
        }
    }
    let mut time = |number: usize, steps| {
        let pattern = &patterns[number];
        let chase = chases.iter_mut().find(|chase| chase.item == pattern.item);
        chase.expect("there is one of each").time(pattern, steps)
    };
    let steps = steps_for(budget, SAMPLE, MOST_STEPS, |steps| time(0, steps))?;
    let numbers: Vec<u32> = (0..).take(patterns.len()).collect();
    sample(budget, ROUNDS, &numbers, |number| {
        Ok(time(number as usize, steps)? / (f64::from(steps) * ACCESSES))
    })
}

/// The kernel for one type of items.
struct Chase<'a> {
    bench: &'a Workbench<'a>,
    item: Item,
    kernel: Kernel,
    starts: Buffer,
    taken: Buffer,
    kept: Buffer,
}

impl<'a> Chase<'a> {
    fn new(bench: &'a Workbench<'a>, item: Item, lanes: usize) -> MeasureResult<Self> {
        let kernel = bench.kernel(SOURCE, &format!("-DITEM={}", item.name()), "chase")?;
        let numbers = || bench.buffer(lanes * size_of::<u32>());
        Ok(Self { bench, item, kernel, starts: numbers()?, taken: numbers()?, kept: numbers()? })
    }

    fn time(&mut self, pattern: &Pattern, steps: u32) -> MeasureResult<f64> {
        let bench = self.bench;
        self.starts.write(&bench.queue, &pattern.starts)?;
        let time = bench.command_time(|| self.launch(pattern, steps))?;
        bench.check_steps(&self.taken, pattern.starts.len(), steps)?;
        Ok(time)
    }

    fn launch(&mut self, pattern: &Pattern, steps: u32) -> MeasureResult<Event> {
        let mut launch = self.kernel.launch();
        launch.arg(steps);
        match self.item {
            Item::One => launch.arg(0_u8),
            Item::Four => launch.arg(0_u32),
            Item::Eight => launch.arg(0_u64),
        };
        launch.arg(LocalMemory::bytes(pattern.bytes())).arg_read(&self.starts);
        launch.arg(&self.taken).arg(&self.kept);
        launch.global(pattern.starts.len()).local(pattern.starts.len());
        // SAFETY: the arguments are those that the kernel declares, local memory reaches to the last
        // item that is read, and each work item has its number in all buffers.
        Ok(unsafe { launch.enqueue(&self.bench.queue) }?)
    }
}
