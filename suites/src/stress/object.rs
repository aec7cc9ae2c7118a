//! A memory object with the bytes that it must have.

use super::*;

/// Memory of one thread, or of all.
pub struct Object {
    /// Dropped before the memory.
    pub block: Option<Arc<LiveBlock>>,
    pub handle: Handle,
    /// True if the drop of the last handle or map waits for the commands on the memory.
    pub drop_blocks: bool,
    /// The bytes of a cell.
    pub cell: usize,
    /// The order of the commands on each lane; `None` for objects of all threads.
    pub lanes: Option<[Lane; LANES]>,
    /// True if a map of it was dropped instead of unmapped, so that the result of the unmap is unknown.
    pub had_dropped_map: bool,
    /// Differs from the number of every other object of the thread.
    pub number: u64,
}

impl Object {
    /// The bytes of a place, from the start of the object.
    pub fn bytes(&self, place: &Place) -> Range<usize> {
        let lane = place.lane * CELLS;
        (lane + place.cells.start) * self.cell..(lane + place.cells.end) * self.cell
    }

    pub fn lane_bytes(&self, lane: usize) -> Range<usize> {
        lane * CELLS * self.cell..(lane + 1) * CELLS * self.cell
    }
}

/// The commands on a lane, and its bytes after them.
pub struct Lane {
    pub bytes: Vec<u8>,
    /// False if the bytes cannot be known.
    pub is_known: bool,
    /// The last command that writes, and the unmaps since then, which nothing orders after it.
    writers: Vec<Link>,
    /// The commands after that command that read.
    readers: Vec<Link>,
}

/// A command on a lane.
#[derive(Clone)]
pub struct Link {
    pub event: Event,
    pub queue: CommandQueue,
    pub cells: Range<usize>,
}

impl Link {
    /// True if commands of `queue` run after this one by themselves.
    pub fn is_before_all_on(&self, queue: &CommandQueue) -> bool {
        self.queue == *queue && queue.is_in_order()
    }
}

impl Lane {
    /// A lane of which one command has written all bytes.
    pub fn new(bytes: Vec<u8>, writer: Link) -> Self {
        Self { bytes, is_known: true, writers: vec![writer], readers: vec![] }
    }

    /// The commands that come before another command.
    pub fn before(&self, writes: bool) -> impl Iterator<Item = &Link> {
        let readers = if writes { &self.readers[..] } else { &[] };
        self.writers.iter().chain(readers)
    }

    /// Enters a command that comes after those of [`before`](Self::before).
    pub fn record(&mut self, writes: bool, link: Link) {
        if writes {
            self.readers.clear();
            self.writers.clear();
        }
        self.add(writes, link);
    }

    /// Enters a command that waits for none on other cells, as an unmap does.
    pub fn add(&mut self, writes: bool, link: Link) {
        if writes { &mut self.writers } else { &mut self.readers }.push(link);
    }
}

/// The blocks that pools have handed out.
#[derive(Debug, Default)]
pub struct LiveBlocks(Mutex<Vec<(usize, Range<usize>)>>);

/// A block that a pool has handed out, until all handles to it are about to be dropped.
#[derive(Debug)]
pub struct LiveBlock {
    blocks: Arc<LiveBlocks>,
    block: (usize, Range<usize>),
}

impl LiveBlocks {
    /// Adds a block.
    ///
    /// # Panics
    /// If a part of it has been handed out before.
    pub fn add(self: &Arc<Self>, memory: Memory<'_>) -> Arc<LiveBlock> {
        let block = match memory {
            Memory::Buffer(buffer) => {
                let whole = buffer.parent().map_or(buffer.as_raw(), |parent| parent.as_raw());
                (whole.addr(), buffer.offset()..buffer.offset() + buffer.size())
            }
            Memory::Svm(svm) => {
                let start = svm.svm_ptr().addr();
                (0, start..start + svm.size())
            }
        };
        let mut blocks = self.0.lock().unwrap();
        let is_taken =
            |other: &&(usize, Range<usize>)| other.0 == block.0 && overlap(&other.1, &block.1);
        if let Some(other) = blocks.iter().find(is_taken) {
            panic!("a pool hands out {block:x?} although {other:x?} is in use");
        }
        blocks.push(block.clone());
        Arc::new(LiveBlock { blocks: Arc::clone(self), block })
    }
}

impl Drop for LiveBlock {
    fn drop(&mut self) {
        if let Ok(mut blocks) = self.blocks.0.lock() {
            blocks.retain(|block| *block != self.block);
        }
    }
}
