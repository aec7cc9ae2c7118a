//! The rules under a lock, and who waits there until the driver has been asked.

use std::ops::Range;

use super::Access;
use super::issuing::{Issuing, Slot};
use super::lock::{Condvar, Mutex, MutexGuard};
use super::table::{Before, Queue, Refusal, Table};

/// The rules under a lock.
#[derive(Debug)]
pub(super) struct Shared<Q, E> {
    table: Mutex<Table<Q, E>>,
    pub issuing: Issuing,
    /// Notified when a command has been issued.
    issued: Condvar,
}

impl<Q, E> Default for Shared<Q, E> {
    fn default() -> Self {
        Self { table: Mutex::default(), issuing: Issuing::default(), issued: Condvar::default() }
    }
}

impl<Q: Queue, E> Shared<Q, E> {
    #[inline]
    pub(super) fn lock(&self) -> MutexGuard<'_, Table<Q, E>> {
        // Nothing panics in the middle of a change to the table.
        self.table.lock()
    }

    /// Tells maps that wait for what was being issued.
    #[inline]
    pub(super) fn tell<T>(&self, change: impl FnOnce(&mut Table<Q, E>) -> T) -> T {
        let mut table = self.lock();
        let result = change(&mut table);
        let is_awaited = table.waiting > 0;
        drop(table);
        // A system call.
        if is_awaited {
            self.issued.notify_all();
        }
        result
    }

    /// Enters a command that the driver is about to be asked for, if it is a usual one.
    #[inline]
    pub(super) fn enter_usual(
        &self,
        key: usize,
        range: &Range<usize>,
        access: Access,
    ) -> Option<Slot> {
        self.issuing.begin_usual(key, range, access, |slot| self.tell_of(slot))
    }

    /// A command of an in-order queue has been issued, or has not been taken.
    #[inline]
    pub(super) fn was_issued(&self, slot: Slot) {
        if self.issuing.end(slot) {
            self.tell_of(slot);
        }
    }

    #[cold]
    fn tell_of(&self, slot: Slot) {
        let table = self.lock();
        // Who still has to wait will say so again.
        self.issuing.let_be(slot);
        drop(table);
        self.issued.notify_all();
    }

    /// What an entered map has to come after, once other threads have issued what they are just
    /// issuing on its bytes: it keeps away what is new.
    pub(super) fn before_map(
        &self,
        id: u64,
        key: usize,
        range: &Range<usize>,
        access: Access,
    ) -> std::result::Result<Before<Q, E>, Refusal> {
        let mut table = self.lock();
        while table.is_being_issued(&self.issuing, range, access) {
            table.waiting += 1;
            table = self.issued.wait(table);
            table.waiting -= 1;
        }
        table.before_map(id, key, range, access)
    }
}

#[cfg(all(test, loom))]
mod loom_tests;
