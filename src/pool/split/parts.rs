//! Parts of roots, from the driver and back.

use std::mem;
use std::sync::Arc;
use std::time::Instant;

use super::Split;
use super::ranges::Place;
use super::root::{Queues, Taken};
use crate::error::Result;
use crate::memory::uses::KnownQueue;
use crate::pool::block::{Block, BoundTo, Reserved};
use crate::pool::freeing::OutOfSight;
use crate::pool::memory::Memory;
use crate::pool::order::{MOST, State, Target, is_ordered, wait_on};
use crate::pool::shared::Shared;

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
            let taken = split.state.lock().take(size, &tried);
            let Some(taken) = taken else { break };
            // What still goes on in a root often concerns all of its free bytes.
            tried.push(taken.place.root);
            let mut part = self.look_at(split, taken, size, &out)?;
            match self.state_of_part(&mut part, queue) {
                State::Ready => return Ok(Some(part.hand_out(size, target))),
                State::After(events) if later.is_none() && queue.is_some() => {
                    later = Some((part, events));
                }
                State::After(_) | State::InUse => {}
            }
        }
        let (Some(queue), Some((part, events))) = (queue, later) else { return Ok(None) };
        if let Err(error) = wait_on(queue, events) {
            log::warn!("{error}: a region of a memory pool is not used again");
            return Ok(None);
        }
        Ok(Some(part.hand_out(size, target)))
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
        let added = split.state.lock().add(memory, reserved, size);
        // One without room is dropped here.
        let Ok(taken) = added else { return Ok(None) };
        let mut part = self.look_at(split, taken, size, &out)?;
        match self.state_of_part(&mut part, self.queue_of(target)) {
            State::Ready => Ok(Some(part.hand_out(size, target))),
            State::After(_) | State::InUse => Ok(None),
        }
    }

    /// Has the driver make a part of bytes that have been taken.
    fn look_at<'a>(
        self: &Arc<Self>,
        split: &'a Split<M>,
        taken: Taken<M>,
        size: usize,
        out: &'a OutOfSight<'a>,
    ) -> Result<Looked<'a, M>> {
        let Taken { place, queues, memory, is_new } = taken;
        let mut looked = Looked { split, out, place, queues, block: None };
        let part = memory.part(place.start, size.max(1));
        drop(memory);
        let memory = part?;
        let (pool, place) = (Arc::clone(self), Some(Box::new(place)));
        let reserved = Reserved { pool, bytes: looked.place.len, place, freeing: None };
        let (bin, queue) = (self.binning.bin(size), BoundTo::Nothing);
        let block =
            Block { memory, reserved, bin, requested: size, queue, is_new, held_since: None };
        looked.block = Some(Box::new(block));
        Ok(looked)
    }

    /// What has to end before a part can be used on `queue`. Nobody else has a handle to it.
    fn state_of_part(&self, looked: &mut Looked<'_, M>, queue: Option<&KnownQueue>) -> State {
        let Some(block) = &mut looked.block else { return State::InUse };
        if !self.options.is_ordered {
            return State::Ready;
        }
        let others = looked.queues.iter().filter(|bound| !is_ordered(bound, queue));
        for bound in others {
            if let Err(error) = block.record_queue(bound) {
                log::warn!("{error}: bytes of a memory pool are not used again");
                return State::InUse;
            }
        }
        let key = queue.map_or(0, |queue| queue.get().addr());
        if block.memory.uses().are_all_on(key) { State::Ready } else { self.order(block, queue) }
    }
}

/// A part that is looked at, and free again when this is dropped.
#[derive(Debug)]
struct Looked<'a, M: Memory> {
    split: &'a Split<M>,
    out: &'a OutOfSight<'a>,
    place: Place,
    queues: Queues,
    /// There is none until the driver has made it, and none when it has been handed out.
    block: Option<Box<Block<M>>>,
}

impl<M: Memory> Looked<'_, M> {
    fn hand_out(mut self, size: usize, target: &Target) -> Box<Block<M>> {
        let mut block = self.block.take().expect("it has been made");
        block.hand_out(size, target.bound());
        self.split.state.lock().hand_out(&self.place, size);
        // Dropping it would make the bytes free.
        drop(mem::take(&mut self.queues));
        mem::forget(self);
        block
    }
}

impl<M: Memory> Drop for Looked<'_, M> {
    fn drop(&mut self) {
        // The driver's object goes before its bytes are free.
        drop(self.block.take());
        let queues = mem::take(&mut self.queues);
        let back = self.split.state.lock().put_back(self.place, queues);
        if back.is_unused {
            self.out.is_of_use(true);
        }
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

impl<M: Memory> Split<M> {
    fn take_back(&self, part: Box<Block<M>>, now: Option<Instant>) {
        let Some(root) = part.reserved.place.as_ref().map(|place| place.root) else { return };
        let requested = part.requested;
        if part.memory.is_sole_part() {
            self.free(part);
        } else {
            let out = self.state.lock().lay_aside(root, part);
            drop(out);
        }
        let out = self.state.lock().was_dropped(root, requested, now);
        drop(out);
    }

    /// Frees the bytes of parts that were laid aside.
    fn tidy(&self) {
        let parts = self.state.lock().take_from_aside();
        parts.into_iter().for_each(|part| self.free(part));
    }

    /// Frees the bytes of a part to which there are no other handles.
    fn free(&self, part: Box<Block<M>>) {
        let queues = part.bound().into_iter().collect();
        let Some(place) = part.reserved.place.as_deref().copied() else { return };
        // The driver's object goes before its bytes are free.
        drop(part);
        let out = self.state.lock().free(place, queues);
        drop(out);
    }
}
