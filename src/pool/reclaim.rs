//! New blocks from the allocator, and what is done when memory has run out.

use std::cell::Cell;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Instant;

use cl3::error_codes::{CL_INVALID_BUFFER_SIZE, CL_MEM_OBJECT_ALLOCATION_FAILURE};

use super::block::{Block, Reserved};
use super::memory::Memory;
use super::order::Target;
use super::shared::{CALL, Shared};
use super::split::{RemovedRoot, Split};
use super::thread_number::thread_number;
use crate::error::{Class, Error, Result};

/// A block, or the error that says that memory has run out.
pub(super) type OrOutOfMemory<T> = std::result::Result<T, Error>;

/// What the pool has freed for somebody.
#[derive(Default)]
struct Freed {
    blocks: usize,
    bytes: usize,
}

impl Freed {
    fn add<M: Memory>(&mut self, largest: &Largest<M>) {
        self.blocks += 1;
        self.bytes += match largest {
            Largest::Block(block) => block.reserved.bytes,
            Largest::Root(root) => root.bytes(),
        };
    }
}

/// What was held.
enum Largest<M: Memory> {
    Block(Box<Block<M>>),
    Root(RemovedRoot<M>),
}

impl<M: Memory> Largest<M> {
    /// Frees it, and returns when its bytes are there for others: as long as commands may use them, drivers
    /// keep them, and to ask for new ones would be in vain.
    fn free(self) {
        let result = match self {
            Self::Block(block) if block.memory.is_sole() => {
                block.wait_until_unused().and_then(|()| block.memory.be_freed_at_once())
            }
            Self::Root(root) => root.wait_until_unused(),
            Self::Block(_) => Ok(()),
        };
        if let Err(error) = result {
            log::warn!("{error}: memory that a pool frees may become available late");
        }
    }
}

impl<M: Memory> Shared<M> {
    /// How large a new block is for `size` bytes. Refuses what no device can allocate, which freeing
    /// memory would not help.
    pub fn size_of_new(&self, size: usize) -> Result<usize> {
        let most = self.allocator.max_size().unwrap_or(usize::MAX).min(isize::MAX as usize);
        if size > most {
            let why =
                format!("{size} bytes; the context's devices allocate at most {most} at once");
            return Err(Error::refused(CALL, CL_INVALID_BUFFER_SIZE, why));
        }
        // All that will ever be asked for of its bin fits into `most`, too.
        Ok(self.binning.size(self.binning.bin(size)).min(most))
    }

    /// Asks the allocator.
    pub fn try_new(
        self: &Arc<Self>,
        size: usize,
        size_of_new: usize,
        target: &Target,
    ) -> Result<OrOutOfMemory<Box<Block<M>>>> {
        if let Some(part) = self.part_of_new_root(size, target)? {
            // Raises the peaks.
            self.statistics();
            return Ok(Ok(part));
        }
        let (memory, reserved) = match self.ask(size_of_new)? {
            Ok(memory) => memory,
            Err(error) => return Ok(Err(error)),
        };
        let (bin, queue) = (self.binning.bin(size), target.bound());
        let tracker = Arc::clone(memory.tracker());
        let mut block = Block { memory, tracker, reserved, bin, queue, is_new: true, below: None };
        block.hand_out(size, target.bound());
        let block = Box::new(block);
        self.shelves.add(thread_number(), &block);
        // Raises the peaks.
        self.statistics();
        Ok(Ok(block))
    }

    /// Memory from the allocator.
    pub fn ask(self: &Arc<Self>, bytes: usize) -> Result<OrOutOfMemory<(M, Reserved<M>)>> {
        let Some(reserved) = self.reserve(bytes) else {
            let why = format!("the pool's limit is {} bytes", self.options.limit);
            return Ok(Err(Error::refused(CALL, CL_MEM_OBJECT_ALLOCATION_FAILURE, why)));
        };
        let why = match self.allocator.allocate(bytes) {
            // The allocator may be anybody's.
            Ok(Some(memory)) if memory.size() >= bytes => return Ok(Ok((memory, reserved))),
            Ok(Some(_)) => {
                format!("the allocator returned less than the requested {bytes} bytes")
            }
            Ok(None) => format!("the allocator returned no memory for {bytes} bytes"),
            Err(error) if error.class() == Class::OutOfMemory => return Ok(Err(error)),
            Err(error) => return Err(error),
        };
        Err(Error::refused(CALL, CL_INVALID_BUFFER_SIZE, why))
    }

    /// Memory has run out: the user's hook first, then the held blocks, the largest first. When the
    /// allocator was asked, blocks had been freed `times_freed` times.
    pub fn after_reclaiming(
        self: &Arc<Self>,
        size: usize,
        size_of_new: usize,
        target: &Target,
        times_freed: u64,
        mut error: Error,
    ) -> Result<Box<Block<M>>> {
        let mut freed = Freed::default();
        if size_of_new > self.options.limit && self.split_for(size).is_none() {
            // Nothing that could be freed makes room for that.
            return Err(self.out_of_memory(size, size_of_new, &freed, &error));
        }
        let was_called = self.call_hook();
        if let Some(block) = self.reuse(size, target)? {
            return Ok(block);
        }
        let attempt = || match self.try_new(size, size_of_new, target)? {
            Ok(block) => Ok(Some(block)),
            Err(again) => {
                error = again;
                Ok(None)
            }
        };
        let free = |largest: Largest<M>| {
            freed.add(&largest);
            largest.free();
        };
        let take = || self.take_largest();
        match self.freeing.until(was_called, times_freed, attempt, take, free)? {
            Some(block) => Ok(block),
            None => Err(self.out_of_memory(size, size_of_new, &freed, &error)),
        }
    }

    /// Calls the user's hook, if there is one, and says so. Where memory runs out in a hook, none is
    /// called for that: it would never come to an end.
    fn call_hook(&self) -> bool {
        thread_local!(static IS_IN_HOOK: Cell<bool> = const { Cell::new(false) });
        struct Leave;
        impl Drop for Leave {
            fn drop(&mut self) {
                IS_IN_HOOK.set(false);
            }
        }
        let Some(reclaim) = &self.options.reclaim else { return false };
        if IS_IN_HOOK.replace(true) {
            return false;
        }
        let _leave = Leave;
        reclaim();
        true
    }

    fn out_of_memory(
        &self,
        size: usize,
        size_of_new: usize,
        freed: &Freed,
        error: &Error,
    ) -> Error {
        let statistics = self.statistics();
        let why = format!(
            "{size} bytes were asked for, which takes a block of {size_of_new}; {} blocks that were \
             held have been freed, with {} bytes, and {} are held; {} are active with {} bytes; {} \
             bytes are managed in all ({error})",
            freed.blocks,
            freed.bytes,
            statistics.held_blocks,
            statistics.active_blocks,
            statistics.active_bytes,
            statistics.managed_bytes,
        );
        Error::refused(CALL, error.code(), why)
    }

    /// Frees what has been held for too long.
    pub fn trim_idle(&self) {
        if let Some(age) = self.options.idle_age {
            let now = Instant::now();
            let is_young = |since: Instant| now.saturating_duration_since(since) < age;
            let sweep = || self.shelves.sweep(|block| block.reserved.since.is_none_or(is_young));
            self.free_all(sweep);
            let idle = || self.split.as_ref().and_then(|split| split.take_idle(is_young));
            while self.freeing.free(idle, drop) {}
        }
    }

    /// Frees all that is held.
    pub fn free_held(&self) {
        self.free_all(|| self.shelves.drain());
        self.free_all(|| self.split.as_ref().map_or_else(Vec::new, Split::drain));
    }

    /// Frees what has been taken out, for which others in need of memory wait.
    fn free_all<B>(&self, take: impl FnOnce() -> Vec<B>) {
        self.freeing.free(|| Some(take()).filter(|blocks| !blocks.is_empty()), drop);
    }

    /// The same, and from now on nothing is held.
    pub fn stop_holding(&self) {
        self.free_all(|| self.shelves.stop_holding());
        self.free_all(|| self.split.as_ref().map_or_else(Vec::new, Split::stop_holding));
    }

    /// Takes out one of the largest that are held.
    fn take_largest(&self) -> Option<Largest<M>> {
        let block = || self.shelves.take_largest().map(Largest::Block);
        let Some(split) = &self.split else { return block() };
        let root = || split.take_unused().map(Largest::Root);
        // A block is as large as its bin allows, so no root of that bin is larger.
        match self.shelves.highest() >= Some(self.binning.bin(split.root_size)) {
            true => block().or_else(root),
            false => root().or_else(block),
        }
    }

    /// Frees held blocks, the largest first, until no more than `bytes` are managed.
    pub fn trim_to(&self, bytes: usize) {
        while self.reserved.load(Ordering::Relaxed) > bytes
            && self.freeing.free(|| self.take_largest(), drop)
        {}
    }
}
