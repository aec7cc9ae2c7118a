//! Kernels that move contents which differ from all others, and kernels that check them.

use clmatrix::Event;

use super::finding::{MeasureResult, NotMeasurable};
use super::workbench::Workbench;
use clmatrix::launch::Kernel;
use clmatrix::memory::{Buffer, enqueue_fill};

/// Each work item has `PER_ITEM` elements. The elements of a work group lie side by side, and neighbours use
/// neighbouring ones at a time. The content of an element follows from its place.
const SOURCE: &str = "
#define LANES get_local_size(0)
#define FIRST (get_group_id(0) * (LANES * PER_ITEM) + get_local_id(0))
#define CONTENT(place, seed) ((uint)(place) * 0x9E3779B1u + (seed))

kernel void copy(global const uint4 *restrict from, global uint4 *restrict to) {
    const size_t first = FIRST, lanes = LANES;
    uint4 elements[PER_ITEM];
    #pragma unroll
    for (int i = 0; i < PER_ITEM; ++i) elements[i] = from[first + i * lanes];
    #pragma unroll
    for (int i = 0; i < PER_ITEM; ++i) to[first + i * lanes] = elements[i];
}

kernel void write(global uint4 *to, uint seed) {
    const size_t first = FIRST, lanes = LANES;
    #pragma unroll
    for (int i = 0; i < PER_ITEM; ++i)
        to[first + i * lanes] = (uint4)(CONTENT(first + i * lanes, seed));
}

// Counts the work items whose elements have another sum than their contents should have, or those whose elements have
// it: the kind of which there should be none.
kernel void read(global const uint4 *from, uint seed, uint differ, global uint *wrong) {
    const size_t first = FIRST, lanes = LANES;
    uint4 sum = (uint4)(0u);
    uint expected = 0;
    #pragma unroll
    for (int i = 0; i < PER_ITEM; ++i) sum += from[first + i * lanes];
    #pragma unroll
    for (int i = 0; i < PER_ITEM; ++i) expected += CONTENT(first + i * lanes, seed);
    if (any(sum != (uint4)(expected)) != differ) atomic_inc(wrong);
}
";

/// The size of an element, in bytes.
pub(super) const ELEMENT: usize = 16;

/// Returns the content of all four numbers of the element at `place`.
pub(super) fn content(place: usize, seed: u32) -> u32 {
    (place as u32).wrapping_mul(0x9E37_79B1).wrapping_add(seed)
}

/// The kernels, for a number of elements of each work item.
pub(super) struct Contents<'b> {
    bench: &'b Workbench<'b>,
    pub per_item: usize,
    /// The number of work items of a group.
    lanes: usize,
    copy: Kernel,
    read: Kernel,
    write: Kernel,
    /// The number of work items that read a wrong value.
    wrong: Buffer,
}

impl<'b> Contents<'b> {
    pub fn new(bench: &'b Workbench<'b>, per_item: usize) -> MeasureResult<Self> {
        /// Large enough to keep a device busy with few groups, and small enough for most devices.
        const LANES: usize = 256;
        let program = bench.program(SOURCE, &format!("-DPER_ITEM={per_item}"))?;
        let mut lanes = LANES;
        let mut kernel = |name: &'static str| -> MeasureResult<Kernel> {
            let launcher = program.kernel(name)?;
            lanes = lanes.min(launcher.work_group_info(&bench.device)?.max_size.max(1));
            Ok(launcher)
        };
        let (copy, read, write) = (kernel("copy")?, kernel("read")?, kernel("write")?);
        Ok(Self { bench, per_item, lanes, copy, read, write, wrong: bench.buffer(4)? })
    }

    /// Returns the bytes of a work group. Only whole groups are moved.
    pub fn group(&self) -> usize {
        self.lanes * self.per_item * ELEMENT
    }

    /// Copies this number of bytes.
    pub fn copy(&mut self, from: &Buffer, to: &Buffer, bytes: usize) -> MeasureResult<Event> {
        let items = self.items(bytes, &[from, to]);
        let mut launch = self.copy.launch();
        launch.arg_read(from).arg(to).global(items).local(self.lanes);
        // SAFETY: both buffers have the elements of all work items, and they are two.
        Ok(unsafe { launch.enqueue(&self.bench.queue) }?)
    }

    /// Writes this number of bytes.
    pub fn write(&mut self, to: &Buffer, seed: u32, bytes: usize) -> MeasureResult<Event> {
        let items = self.items(bytes, &[to]);
        let mut launch = self.write.launch();
        launch.arg(to).arg(seed).global(items).local(self.lanes);
        // SAFETY: the buffer has the elements of all work items.
        Ok(unsafe { launch.enqueue(&self.bench.queue) }?)
    }

    /// Reads this number of bytes.
    pub fn read(&mut self, from: &Buffer, seed: u32, bytes: usize) -> MeasureResult<Event> {
        self.read_expecting(false, from, seed, bytes)
    }

    /// Reads this number of bytes. No work item's sum should differ, or each should.
    fn read_expecting(
        &mut self,
        differ: bool,
        from: &Buffer,
        seed: u32,
        bytes: usize,
    ) -> MeasureResult<Event> {
        let items = self.items(bytes, &[from]);
        let mut launch = self.read.launch();
        launch
            .arg_read(from)
            .arg(seed)
            .arg(u32::from(differ))
            .arg(&self.wrong)
            .global(items)
            .local(self.lanes);
        // SAFETY: the buffer has the elements of all work items, and there is a number to count in.
        Ok(unsafe { launch.enqueue(&self.bench.queue) }?)
    }

    /// Fails unless this number of bytes has the contents of `seed`, as the reading kernel sees them.
    pub fn check(
        &mut self,
        from: &Buffer,
        seed: u32,
        bytes: usize,
        what: &str,
    ) -> MeasureResult<()> {
        match self.wrong(false, from, seed, bytes)? {
            0 => Ok(()),
            wrong => {
                let all = bytes / (ELEMENT * self.per_item);
                Err(NotMeasurable::new(format!("{what} is wrong in {wrong} of {all} places")))
            }
        }
    }

    /// Fails unless [`check`](Self::check) finds wrong bytes.
    pub fn check_check(&mut self, from: &Buffer, seed: u32, bytes: usize) -> MeasureResult<()> {
        let all = bytes / (ELEMENT * self.per_item);
        match self.wrong(true, from, seed, bytes)? {
            0 => Ok(()),
            wrong => {
                Err(NotMeasurable::new(format!("{wrong} of {all} work items read wrong bytes")))
            }
        }
    }

    /// Returns the number of work items that read a wrong value.
    fn wrong(
        &mut self,
        differ: bool,
        from: &Buffer,
        seed: u32,
        bytes: usize,
    ) -> MeasureResult<u32> {
        let queue = &self.bench.queue;
        enqueue_fill(queue, &self.wrong, &0_u32, ..)?;
        self.read_expecting(differ, from, seed, bytes)?;
        let mut wrong = [0];
        self.wrong.read(queue, &mut wrong)?;
        Ok(wrong[0])
    }

    fn items(&self, bytes: usize, buffers: &[&Buffer]) -> usize {
        assert!(bytes.is_multiple_of(self.group()) && buffers.iter().all(|of| of.size() >= bytes));
        bytes / (ELEMENT * self.per_item)
    }
}
