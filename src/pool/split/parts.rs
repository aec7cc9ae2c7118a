//! Parts of roots, from the driver and back.

use std::sync::Arc;
use std::time::Instant;

use super::Split;
use super::lending::{self, Part};
use super::ranges::Place;
use super::root::Whole;
use crate::error::Result;
use crate::pool::block::{Block, BoundTo, Reserved};
use crate::pool::memory::Memory;
use crate::pool::order::{MOST, State, Target};
use crate::pool::shared::Shared;
use crate::queue::CommandQueue;

impl<M: Memory> Shared<M> {
    /// The roots, if parts of them are for so many bytes.
    pub fn split_for(&self, size: usize) -> Option<&Split<M>> {
        let has_room = |split: &&Split<M>| split.state.lock().has_room(split.root_size, size);
        self.split.as_ref().filter(has_room)
    }

    /// Free bytes of a root, if there are any that will do.
    pub fn reuse_part(
        self: &Arc<Self>,
        size: usize,
        target: &Target,
    ) -> Result<Option<Box<Block<M>>>> {
        let Some(split) = self.split_for(size) else { return Ok(None) };
        split.tidy();
        let out = self.freeing.begin();
        let queue = self.queue_of(target);
        let (mut tried, mut later) = (Vec::new(), None);
        while tried.len() < MOST {
            let memory = |whole: &Whole<M>| Arc::clone(&whole.memory);
            let taken = split.state.lock().take(size, &tried, memory);
            let Some((place, note, memory)) = taken else { break };
            // What still goes on in a root often concerns all of its free bytes.
            tried.push(place.root);
            let mut looked = Looked { roots: split, out: &out, place, note, part: None };
            self.make_part(&mut looked, memory, size)?;
            match self.state_of_part(&mut looked, queue) {
                State::Ready => return Ok(Some(hand_out(looked, size, target))),
                State::After(events) if later.is_none() && queue.is_some() => {
                    later = Some((looked, events));
                }
                State::After(_) | State::InUse => {}
            }
        }
        let (Some(queue), Some((looked, events))) = (queue, later) else { return Ok(None) };
        if let Err(error) = queue.order_after(&events) {
            log::warn!("{error}: a sub-buffer of a memory pool is freed instead of reused");
            return Ok(None);
        }
        Ok(Some(hand_out(looked, size, target)))
    }

    /// Asks the allocator for a root, and takes its first bytes. Gives nothing where no root can be had, and
    /// where parts are not for so many bytes.
    pub fn part_of_new_root(
        self: &Arc<Self>,
        size: usize,
        target: &Target,
    ) -> Result<Option<Box<Block<M>>>> {
        let Some(split) = self.split_for(size) else { return Ok(None) };
        let Ok((memory, reserved)) = self.ask(split.root_size)? else { return Ok(None) };
        let out = self.freeing.begin();
        let (bytes, alignment) = (reserved.bytes, memory.alignment_of_parts());
        let memory = Arc::new(memory);
        let whole = Whole { memory: Arc::clone(&memory), reserved };
        let added = split.state.lock().add(whole, bytes, alignment, size);
        // One without room is dropped here, and its bytes are for others.
        let Ok(place) = added else {
            out.is_of_use(true);
            return Ok(None);
        };
        let note = ();
        let mut looked = Looked { roots: split, out: &out, place, note, part: None };
        self.make_part(&mut looked, memory, size)?.is_new = true;
        match self.state_of_part(&mut looked, self.queue_of(target)) {
            State::Ready => Ok(Some(hand_out(looked, size, target))),
            State::After(_) | State::InUse => Ok(None),
        }
    }

    /// Has the driver make a part of bytes of this memory that have been taken.
    fn make_part<'l>(
        self: &Arc<Self>,
        looked: &'l mut Looked<'_, M>,
        memory: Arc<M>,
        size: usize,
    ) -> Result<&'l mut Block<M>> {
        let place = looked.place;
        let part = memory.part(place.start, size.max(1));
        // The root goes before its bytes are reserved no more, also where it goes meanwhile.
        drop(memory);
        let memory = part?;
        let (pool, bytes, place) = (Arc::clone(self), place.len, Some(Box::new(place)));
        let reserved = Reserved { pool, bytes, place, since: None };
        let (bin, queue) = (self.binning.bin(size), BoundTo::Nothing);
        let tracker = Arc::clone(memory.tracker());
        let block = Block { memory, tracker, reserved, bin, queue, is_new: false, below: None };
        Ok(looked.part.insert(Box::new(block)))
    }

    /// What has to end before a part can be used on `queue`. Nobody else has a handle to it.
    fn state_of_part(&self, looked: &mut Looked<'_, M>, queue: Option<&CommandQueue>) -> State {
        let Some(block) = &mut looked.part else { return State::InUse };
        if !self.options.is_ordered {
            return State::Ready;
        }
        if block.tracker.is_used_only_on(queue) { State::Ready } else { self.order(block, queue) }
    }
}

/// Gives a part back to its root.
#[cold]
pub(in crate::pool) fn give_back<M: Memory>(part: Box<Block<M>>) {
    // The part may be the last that has the pool.
    let pool = Arc::clone(part.pool());
    let now = pool.options.idle_age.map(|_| Instant::now());
    if let Some(split) = &pool.split {
        split.take_back(part, now);
    }
}

fn hand_out<M: Memory>(looked: Looked<'_, M>, size: usize, target: &Target) -> Box<Block<M>> {
    looked.hand_out(size, |block| block.hand_out(size, target.bound()))
}

/// What the driver has made of bytes of a root.
type Looked<'a, M> = lending::Looked<'a, Whole<M>, Box<Block<M>>, ()>;

impl<M: Memory> Part for Box<Block<M>> {
    type Note = ();

    fn place(&self) -> Place {
        **self.reserved.place.as_ref().expect("it is a part")
    }

    fn requested(&self) -> usize {
        self.memory.size()
    }

    fn is_sole(&self) -> bool {
        self.memory.is_sole_part()
    }

    fn note(&self) {}
}
