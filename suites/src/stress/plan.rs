//! The commands of a thread, which depend on the seed and the number of the thread only.

use super::*;

/// The number of memory objects that a thread has for itself.
pub const OWN: usize = 5;
/// The number of memory objects that all threads use.
pub const SHARED: usize = 2;
/// The number of lanes of a memory object. The order of the commands on a lane is determined.
pub const LANES: usize = 4;
/// The number of cells of a lane. Commands use whole cells.
pub const CELLS: usize = 16;
/// The number of maps, of transfers and of user events that a thread can have at once.
pub const MAPS: usize = 4;
pub const TRANSFERS: usize = 2;
pub const GATES: usize = 2;

/// Cells of a memory object.
#[derive(Clone, Debug)]
pub struct Place {
    /// Below `OWN`, an object of the thread; from there on, an object that is shared.
    pub object: usize,
    pub lane: usize,
    pub cells: Range<usize>,
    /// True if the command uses a region of the lane, which is dropped at once.
    pub as_region: bool,
}

/// How an object is made.
#[derive(Clone, Copy, Debug)]
pub enum Kind {
    Buffer,
    /// Freed at once.
    Svm,
    /// Freed on a queue.
    SvmOnQueue,
    /// From a pool, for any queue.
    Pooled,
    /// From a pool, for the queue of the command.
    PooledOnQueue,
    /// A part of a larger buffer of a pool.
    PooledPart,
    PooledSvm,
    PooledSvmOnQueue,
}

const KINDS: [Kind; 8] = [
    Kind::Buffer,
    Kind::Svm,
    Kind::SvmOnQueue,
    Kind::Pooled,
    Kind::PooledOnQueue,
    Kind::PooledPart,
    Kind::PooledSvm,
    Kind::PooledSvmOnQueue,
];

/// The mode of a map.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Mode {
    Read,
    ReadWrite,
    Invalidate,
}

/// How a map ends.
#[derive(Clone, Copy, Debug)]
pub enum End {
    /// By an unmap on the queue of the map.
    Unmap,
    /// By an unmap on the queue of the command.
    UnmapElsewhere,
    Drop,
}

/// A map to be made.
#[derive(Clone, Debug)]
pub struct MapRequest {
    pub place: Place,
    /// True if the map is of the whole object.
    pub whole: bool,
    pub mode: Mode,
    /// The byte that is written to all of it.
    pub value: u8,
    pub blocks: bool,
}

/// The work of a command.
#[derive(Clone, Debug)]
pub enum Action {
    Fill(Place, u8),
    // A kernel adds the number to each byte.
    Launch(Place, u8),
    Copy { from: Place, to: Place },
    Read { from: Place, blocks: bool, slot: usize },
    Write { to: Place, value: u8, blocks: bool, slot: usize },
    EndTransfer { slot: usize, by_drop: bool },
    Map { request: MapRequest, slot: usize },
    // Waits for a map that does not block.
    WaitForMap { slot: usize },
    EndMap { slot: usize, end: End },
    // Drops an object and makes another one, with so many bytes per cell.
    Renew { object: usize, kind: Kind, cell: usize, value: u8 },
    // Replaces a handle by its clone; of pooled memory, by a clone of what it holds.
    KeepClone { object: usize },
    // Makes a user event, which later commands wait for.
    Gate { slot: usize },
    // Sets a user event.
    Open { slot: usize },
    Marker,
    Barrier,
    Flush,
    Finish,
    // Frees what the pools hold.
    FreeHeld,
    // Replaces host memory that no command uses.
    Host { len: usize },
}

/// A command with the queue that it is for, and the user event that it waits for.
#[derive(Clone, Debug)]
pub struct Command {
    pub queue: usize,
    pub gate: Option<usize>,
    pub action: Action,
}

/// Returns the random numbers of a thread.
pub fn numbers(seed: u64, thread: usize) -> Rng {
    // Seeds that follow each other have nothing in common.
    let seed = Rng::with_seed(seed).u64(..).wrapping_add(thread as u64);
    Rng::with_seed(seed)
}

/// The commands of one thread.
pub struct Plan {
    pub rng: Rng,
    pub queues: usize,
}

impl Plan {
    /// Returns the next command.
    pub fn next(&mut self) -> Command {
        let queue = self.rng.usize(..self.queues);
        let gate = (self.rng.u8(..4) == 0).then(|| self.rng.usize(..GATES));
        Command { queue, gate, action: self.action() }
    }

    fn action(&mut self) -> Action {
        match self.rng.u8(..100) {
            0..12 => Action::Fill(self.place(), self.rng.u8(..)),
            12..28 => Action::Launch(self.place(), self.rng.u8(1..)),
            28..36 => Action::Copy { from: self.place(), to: self.place() },
            36..42 => {
                let (from, blocks) = (self.place(), self.rng.u8(..3) == 0);
                Action::Read { from, blocks, slot: self.rng.usize(..TRANSFERS) }
            }
            42..48 => {
                let (to, value, blocks) = (self.place(), self.rng.u8(..), self.rng.u8(..3) == 0);
                Action::Write { to, value, blocks, slot: self.rng.usize(..TRANSFERS) }
            }
            48..52 => {
                let (slot, by_drop) = (self.rng.usize(..TRANSFERS), self.rng.bool());
                Action::EndTransfer { slot, by_drop }
            }
            52..65 => {
                let (place, whole) = (self.place(), self.rng.u8(..4) == 0);
                let mode = [Mode::Read, Mode::Read, Mode::ReadWrite, Mode::Invalidate];
                let mode = mode[self.rng.usize(..4)];
                let (value, blocks) = (self.rng.u8(..), self.rng.u8(..3) == 0);
                let request = MapRequest { place, whole, mode, value, blocks };
                Action::Map { request, slot: self.rng.usize(..MAPS) }
            }
            65..70 => Action::WaitForMap { slot: self.rng.usize(..MAPS) },
            70..80 => {
                let end = [End::Unmap, End::UnmapElsewhere, End::Drop][self.rng.usize(..3)];
                Action::EndMap { slot: self.rng.usize(..MAPS), end }
            }
            80..85 => {
                let (object, kind) = (self.rng.usize(..OWN), KINDS[self.rng.usize(..KINDS.len())]);
                // On most devices a lane begins where a region may.
                let cell = [32, 64, 256][self.rng.usize(..3)];
                Action::Renew { object, kind, cell, value: self.rng.u8(..) }
            }
            85..86 => Action::KeepClone { object: self.rng.usize(..OWN) },
            86..90 => Action::Gate { slot: self.rng.usize(..GATES) },
            90..94 => Action::Open { slot: self.rng.usize(..GATES) },
            94 => Action::Marker,
            95 => Action::Barrier,
            96 => Action::Flush,
            97 => Action::Finish,
            98 if self.rng.u8(..4) == 0 => Action::FreeHeld,
            _ => Action::Host { len: self.rng.usize(1..20_000) },
        }
    }

    fn place(&mut self) -> Place {
        let object = self.rng.usize(..OWN + SHARED);
        let lane = self.rng.usize(..LANES);
        let start = self.rng.usize(..CELLS);
        let cells = start..self.rng.usize(start + 1..=CELLS);
        Place { object, lane, cells, as_region: self.rng.u8(..4) == 0 }
    }
}

/// True if two ranges have an element in common.
pub fn overlap(a: &Range<usize>, b: &Range<usize>) -> bool {
    a.start < b.end && b.start < a.end
}
