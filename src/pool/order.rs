//! Selects the held block for a request, and orders its next use after the earlier ones.

use std::sync::Arc;

use super::block::{Block, BoundTo};
use super::memory::Memory;
use super::shared::{CALL, Shared};
use super::shelf::{Candidate, Wanted};
use super::thread_number::thread_number;
use crate::error::Result;
use crate::event::Event;
use crate::memory::command::AccessedRange;
use crate::memory::track::Access;
use crate::queue::CommandQueue;

/// For whom a block is allocated.
#[derive(Debug)]
pub(super) enum Target {
    /// Somebody on the allocator's queue, or on none if it has none.
    Home,
    /// Somebody on this queue, which is not the allocator's.
    Other(CommandQueue),
}

impl Target {
    pub fn bound(&self) -> BoundTo {
        match self {
            Self::Home => BoundTo::Home,
            Self::Other(queue) => BoundTo::Other(queue.clone()),
        }
    }
}

/// What is known of a held block.
pub(super) enum State {
    /// It can be handed out at once.
    Ready,
    /// After these events.
    After(Vec<Event>),
    /// It has other handles, is mapped, or nobody can tell when it will not be used any more.
    InUse,
}

/// A held block that is looked at.
type Looked<'a, M> = Candidate<'a, Box<Block<M>>>;

/// The one that is handed out after some events, and the others.
type Choice<'a, M> = (Option<(Looked<'a, M>, Vec<Event>)>, Vec<Looked<'a, M>>);

/// How many held blocks are looked at.
pub(super) const MOST: usize = 8;

impl<M: Memory> Shared<M> {
    /// Whether a held block can be handed out at once for `size` bytes on the allocator's queue, as far as
    /// that can be told without asking the driver.
    #[inline]
    pub fn is_ready(&self, block: &Block<M>, size: usize) -> bool {
        block.reserved.bytes >= size
            && block.memory.is_sole()
            && (!self.options.is_ordered || block.tracker.is_used_only_on(self.home.as_ref()))
    }

    fn wanted(&self, size: usize) -> Wanted {
        let bin = self.binning.bin(size);
        let more = self.binning.size(bin) as u128 * u128::from(self.options.larger_percent) / 100;
        let at_most =
            self.binning.size(bin).saturating_add(usize::try_from(more).unwrap_or(usize::MAX));
        Wanted { bin, at_least: size, at_most, last_bin: self.binning.bin(at_most) }
    }

    /// The queue for which it is.
    pub fn queue_of<'a>(&'a self, target: &'a Target) -> Option<&'a CommandQueue> {
        match target {
            Target::Home => self.home.as_ref(),
            Target::Other(queue) => Some(queue),
        }
    }

    /// A held block for `size` bytes, if there is one that will do.
    pub fn reuse(self: &Arc<Self>, size: usize, target: &Target) -> Result<Option<Box<Block<M>>>> {
        if let Some(part) = self.reuse_part(size, target)? {
            return Ok(Some(part));
        }
        self.reuse_block(size, target)
    }

    /// The same for one that is no part of a root.
    fn reuse_block(
        self: &Arc<Self>,
        size: usize,
        target: &Target,
    ) -> Result<Option<Box<Block<M>>>> {
        let wanted = self.wanted(size);
        if let Target::Home = target {
            let ready = |block: &Box<_>| self.is_ready(block, size);
            let hand_out = |block: &mut Box<Block<M>>| block.hand_out(size, BoundTo::Home);
            if let Some(block) = self.shelves.take_any(thread_number(), &wanted, ready, hand_out) {
                return Ok(Some(block));
            }
        }
        let queue = self.queue_of(target);
        let out = self.freeing.begin();
        let candidates = self.shelves.candidates(thread_number(), &wanted, MOST);
        // Also where something unwinds.
        out.is_of_use(!candidates.is_empty());
        let (chosen, others) = self.choose(candidates, queue);
        let are_there_others = !others.is_empty();
        drop(others);
        let Some((candidate, events)) = chosen else { return Ok(None) };
        if let Some(queue) = queue
            && let Err(error) = queue.order_after(&events)
        {
            log::warn!("{error}: a block of a memory pool is freed instead of reused");
            return Ok(None);
        }
        let hand_out = |block: &mut Box<Block<M>>| block.hand_out(size, target.bound());
        let block = candidate.choose(hand_out);
        out.is_of_use(are_there_others);
        Ok(Some(block))
    }

    /// The first that is ready, or else one that is after some events, and the others.
    fn choose<'a>(
        &self,
        candidates: Vec<Looked<'a, M>>,
        queue: Option<&CommandQueue>,
    ) -> Choice<'a, M> {
        let (mut waiting, mut others) = (Vec::new(), Vec::new());
        let mut candidates = candidates.into_iter();
        while let Some(mut candidate) = candidates.next() {
            match self.state(&mut candidate, queue) {
                State::Ready => {
                    others.extend(candidates.chain(waiting.into_iter().map(|(block, _)| block)));
                    return (Some((candidate, Vec::new())), others);
                }
                State::After(events) => waiting.push((candidate, events)),
                State::InUse => others.push(candidate),
            }
        }
        let chosen = first_to_end(&waiting, queue.is_some()).map(|nth| waiting.swap_remove(nth));
        others.extend(waiting.into_iter().map(|(candidate, _)| candidate));
        (chosen, others)
    }

    /// What has to end before the block can be used on `queue`.
    fn state(&self, block: &mut Block<M>, queue: Option<&CommandQueue>) -> State {
        if !block.memory.is_sole() {
            return State::InUse;
        }
        if !self.options.is_ordered {
            return State::Ready;
        }
        self.order(block, queue)
    }

    /// The same for one that nobody else has a handle to.
    pub fn order(&self, block: &Block<M>, queue: Option<&CommandQueue>) -> State {
        let range = block.memory.in_tracker(block.reserved.bytes);
        match block.memory.tracker().pending(queue, &range) {
            Some(events) if events.is_empty() => State::Ready,
            Some(events) => State::After(events),
            None => State::InUse,
        }
    }
}

impl<M: Memory> Block<M> {
    /// Waits for the commands on it. It has no other handle.
    pub fn wait_until_unused(&self) -> Result<()> {
        self.memory.tracker().wait_until_idle(CALL)
    }

    /// Returns all of its bytes for a command that may write them.
    pub fn bytes(&self) -> AccessedRange<'_> {
        AccessedRange {
            tracker: self.memory.tracker(),
            context: self.memory.context().raw(),
            range: self.memory.in_tracker(self.reserved.bytes),
            access: Access::Write,
        }
    }
}

/// Returns the first candidate whose commands have all ended; without one, the first of all if
/// `may_wait`.
fn first_to_end<B>(waiting: &[(B, Vec<Event>)], may_wait: bool) -> Option<usize> {
    let has_ended =
        |(_, events): &(B, Vec<Event>)| events.iter().all(|event| event.known_outcome().is_some());
    let ended = waiting.iter().position(has_ended);
    ended.or_else(|| (may_wait && !waiting.is_empty()).then_some(0))
}
