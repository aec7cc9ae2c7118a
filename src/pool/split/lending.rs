//! How parts go and come back, under the lock for a moment each time.

use std::mem;
use std::time::Instant;

use super::Roots;
use super::ranges::{Note, Place};
use crate::pool::freeing::OutOfSight;

/// What roots need to know of a part that comes back.
pub(in crate::pool) trait Part {
    /// What is known of its bytes.
    type Note: Note;

    /// Where it is.
    fn place(&self) -> Place;

    /// How many bytes of it were asked for.
    fn requested(&self) -> usize;

    /// Returns whether nobody else has a handle to it.
    fn is_sole(&self) -> bool;

    /// What is to be known of its bytes.
    fn note(&self) -> Self::Note;
}

/// Bytes that are looked at, and free again when this is dropped.
#[derive(Debug)]
pub(super) struct Looked<'a, W, P, N: Note> {
    pub roots: &'a Roots<W, P, N>,
    pub out: &'a OutOfSight<'a>,
    pub place: Place,
    pub note: N,
    /// There is none until the driver has made it, and none when it has been handed out.
    pub part: Option<P>,
}

impl<W, P, N: Note> Looked<'_, W, P, N> {
    /// The part is in use, for `requested` bytes; `prepare` is told of it.
    pub fn hand_out(mut self, requested: usize, prepare: impl FnOnce(&mut P)) -> P {
        let mut part = self.part.take().expect("it has been made");
        prepare(&mut part);
        self.roots.state.lock().hand_out(&self.place, requested);
        // Dropping it would make the bytes free.
        drop(mem::take(&mut self.note));
        mem::forget(self);
        part
    }
}

impl<W, P, N: Note> Drop for Looked<'_, W, P, N> {
    fn drop(&mut self) {
        // The driver's object goes before its bytes are free.
        drop(self.part.take());
        let note = mem::take(&mut self.note);
        let back = self.roots.state.lock().put_back(self.place, note);
        if back.is_unused {
            self.out.is_of_use(true);
        }
    }
}

impl<W, P: Part> Roots<W, P, P::Note> {
    /// A part is not in use any more.
    pub fn take_back(&self, part: P, now: Option<Instant>) {
        let (root, requested) = (part.place().root, part.requested());
        if part.is_sole() {
            self.free(part);
        } else {
            let out = self.state.lock().lay_aside(root, part);
            drop(out);
        }
        let out = self.state.lock().was_dropped(root, requested, now);
        drop(out);
    }

    /// Frees the bytes of parts that were laid aside.
    pub fn tidy(&self) {
        let parts = self.state.lock().take_from_aside(P::is_sole);
        parts.into_iter().for_each(|part| self.free(part));
    }

    /// Frees the bytes of a part to which there are no other handles.
    fn free(&self, part: P) {
        let (place, note) = (part.place(), part.note());
        // The driver's object goes before its bytes are free.
        drop(part);
        let out = self.state.lock().free(place, note);
        drop(out);
    }
}

#[cfg(all(test, loom))]
mod loom_tests;
