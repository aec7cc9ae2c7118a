//! Cycles through a buffer in which each place has the position of the next, so that each access waits for the one
//! before.

use std::cell::Cell;

use super::finding::MeasureResult;
use super::workbench::Workbench;
use clmatrix::launch::Kernel;
use clmatrix::memory::{Buffer, enqueue_fill};

/// The order of a cycle's nodes is the same in each run, and looks random: a bijection of numbers
/// below a power of two, taken again until the number is one of a node.
const SOURCE: &str = "
#define STEP at = next[at];
#define FOUR_STEPS STEP STEP STEP STEP

uint node(uint number, uint nodes, uint bits) {
    const uint mask = (1u << bits) - 1, upper = (bits + 1) / 2;
    do {
        number = (number * 0x9E3779B1u + 0x7F4A7C15u) & mask;
        number ^= number >> upper;
        number = (number * 0x85EBCA77u + 0x165667B1u) & mask;
        number ^= number >> upper;
        number = (number * 0xC2B2AE3Du + 0x27D4EB2Fu) & mask;
        number ^= number >> upper;
    } while (number >= nodes);
    return number;
}

// Each work item makes one node, of one place or of two.
kernel void lay(global uint *next, uint base, uint nodes, uint bits, uint stride, uint apart) {
    const uint number = get_global_id(0);
    const uint here = base + node(number, nodes, bits) * stride;
    const uint after = number + 1 == nodes ? 0 : number + 1;
    const uint there = base + node(after, nodes, bits) * stride;
    next[here] = apart ? here + apart : there;
    if (apart) next[here + apart] = there;
}

kernel void enter(global uint *at, uint base, uint nodes, uint bits, uint stride) {
    *at = base + node(0, nodes, bits) * stride;
}

// Reads all nodes, in the order of the cycle from one of them on.
kernel void touch(
    global const uint *next, uint base, uint nodes, uint bits, uint stride, uint first,
    global uint *found
) {
    uint number = first + get_global_id(0);
    if (number >= nodes) number -= nodes;
    if (next[base + node(number, nodes, bits) * stride] == 0xFFFFFFFFu) *found = 1;
}

// Sixteen steps at a time. The count depends on the values that are read, so no compiler counts ahead.
kernel void chase(
    global const uint *restrict next, global uint *where, uint end, uint loops, global uint *taken
) {
    uint at = *where, count = 0;
    for (uint loop = 0; loop < loops; ++loop) {
        FOUR_STEPS FOUR_STEPS FOUR_STEPS FOUR_STEPS
        count += at < end;
    }
    *where = at;
    *taken = count;
}
";

/// Steps of a loop of the kernel.
pub(super) const STEPS: u32 = 16;
/// Work items of a group. The size never changes, because PoCL compiles a kernel for each size.
// quirk: POCL-11
pub(super) const GROUP: u32 = 32;
/// Iterations of the kernel's loop at most; rusticl ends any loop after 65,535.
// quirk: RUSTICL-2
pub(super) const MOST_LOOPS: u32 = 60_000;

/// A cycle through evenly spaced elements of the buffer, in words of 4 bytes.
pub(super) struct Cycle {
    /// The first place.
    pub base: u32,
    /// The number of nodes, a multiple of [`GROUP`].
    pub nodes: u32,
    /// The distance of two nodes.
    pub stride: u32,
    /// The distance of a node's second place from its first; 0 without second places.
    pub apart: u32,
    /// The place from which to continue.
    at: Buffer,
    /// The number of the node from which to continue.
    number: Cell<u32>,
}

impl Cycle {
    fn bits(&self) -> u32 {
        self.nodes.next_power_of_two().trailing_zeros().max(1)
    }

    fn end(&self) -> u32 {
        self.base + self.nodes * self.stride
    }
}

pub(super) struct Chase<'b> {
    bench: &'b Workbench<'b>,
    next: Buffer,
    taken: Buffer,
    lay: Kernel,
    enter: Kernel,
    touch: Kernel,
    chase: Kernel,
    words: u32,
}

impl<'b> Chase<'b> {
    /// Creates a buffer of this number of words, and the kernels.
    pub fn new(bench: &'b Workbench<'b>, words: u32) -> MeasureResult<Self> {
        let program = bench.program(SOURCE, "")?;
        Ok(Self {
            bench,
            next: bench.buffer(words as usize * size_of::<u32>())?,
            taken: bench.buffer(size_of::<u32>())?,
            lay: program.kernel("lay")?,
            enter: program.kernel("enter")?,
            touch: program.kernel("touch")?,
            chase: program.kernel("chase")?,
            words,
        })
    }

    /// Lays a cycle in the buffer.
    pub fn lay(&mut self, base: u32, nodes: u32, stride: u32, apart: u32) -> MeasureResult<Cycle> {
        let at = self.bench.buffer(size_of::<u32>())?;
        let cycle = Cycle { base, nodes, stride, apart, at, number: Cell::new(0) };
        self.begin(&cycle)?;
        Ok(cycle)
    }

    /// Launches all kernels once, because PoCL compiles a kernel at its first launch.
    // quirk: POCL-11
    pub fn warm_up(&mut self) -> MeasureResult<()> {
        let cycle = self.lay(0, GROUP, 1, 0)?;
        self.touch(&cycle)?;
        self.walk(&cycle, 1)?;
        Ok(())
    }

    fn begin(&mut self, cycle: &Cycle) -> MeasureResult<()> {
        let last = u64::from(cycle.base)
            + u64::from(cycle.nodes - 1) * u64::from(cycle.stride)
            + u64::from(cycle.apart);
        assert!(
            cycle.nodes.is_multiple_of(GROUP)
                && cycle.apart < cycle.stride
                && last < u64::from(self.words)
        );
        let queue = &self.bench.queue;
        let &Cycle { base, nodes, stride, apart, .. } = cycle;
        let bits = cycle.bits();
        let mut lay = self.lay.launch();
        lay.arg(&self.next).arg(base).arg(nodes).arg(bits).arg(stride).arg(apart);
        // SAFETY: all places of the cycle are in the buffer, and each work item has its own.
        unsafe { lay.global(nodes as usize).local(GROUP as usize).enqueue(queue) }?;
        let mut enter = self.enter.launch();
        enter.arg(&cycle.at).arg(base).arg(nodes).arg(bits).arg(stride);
        // SAFETY: there is room for a place.
        unsafe { enter.global(1).local(1).enqueue(queue) }?;
        queue.finish()?;
        cycle.number.set(0);
        Ok(())
    }

    /// Reads all nodes of a cycle at once, so that caches are as after a walk through the whole cycle.
    pub fn touch(&mut self, cycle: &Cycle) -> MeasureResult<f64> {
        let &Cycle { base, nodes, stride, .. } = cycle;
        let mut touch = self.touch.launch();
        touch.arg_read(&self.next).arg(base).arg(nodes).arg(cycle.bits()).arg(stride);
        touch.arg(cycle.number.get()).arg(&self.taken).global(nodes as usize).local(GROUP as usize);
        self.bench.command_time(|| {
            // SAFETY: all places of the cycle are in the buffer, and none of them is what work
            // items would write for.
            Ok(unsafe { touch.enqueue(&self.bench.queue) }?)
        })
    }

    /// Continues along a cycle, and returns the nanoseconds of a step.
    pub fn walk(&mut self, cycle: &Cycle, loops: u32) -> MeasureResult<f64> {
        enqueue_fill(&self.bench.queue, &self.taken, &0_u32, ..)?;
        let mut chase = self.chase.launch();
        chase.arg_read(&self.next).arg(&cycle.at).arg(cycle.end()).arg(loops).arg(&self.taken);
        // SAFETY: all later places of a cycle are in the buffer.
        let start = || Ok(unsafe { chase.global(1).local(1).enqueue(&self.bench.queue) }?);
        let time = self.bench.command_time(start)?;
        self.bench.check_steps(&self.taken, 1, loops)?;
        let steps = u64::from(loops) * u64::from(STEPS);
        let nodes = if cycle.apart == 0 { steps } else { steps / 2 };
        let number = (u64::from(cycle.number.get()) + nodes) % u64::from(cycle.nodes);
        cycle.number.set(number as u32);
        Ok(time / steps as f64)
    }
}
