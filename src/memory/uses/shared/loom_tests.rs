//! Every order in which threads can get in each other's way, tried by loom: `cargo xtask loom`.
//!
//! What is shown: from the time that a map knows what it has to come after until it has been unmapped,
//! the driver is not asked for a command on its bytes; and whoever waits is woken.

use std::sync::Arc;

use loom::cell::UnsafeCell;
use loom::model::Builder;
use loom::thread;

use super::*;
use crate::memory::uses::Entered;

#[derive(Clone, Debug)]
struct Fake(usize);

const QUEUE: usize = 8;
const OTHER: usize = 16;

/// A queue that may reorder its commands.
const LOOSE: usize = 24;

impl Queue for Fake {
    fn key(&self) -> usize {
        self.0
    }

    fn is_in_order(&self) -> bool {
        self.0 != LOOSE
    }

    fn orders_what_follows(&self) -> bool {
        self.is_in_order()
    }

    fn fails_without_mark(&self) -> bool {
        false
    }
}

/// An object, and what the driver and the host do with its bytes.
struct Object {
    shared: Shared<Fake, ()>,
    /// Looked at while the driver is asked, and changed while the bytes are mapped: loom complains
    /// where one happens during the other.
    bytes: UnsafeCell<u32>,
}

const BYTES: Range<usize> = 0..8;

/// Others of the same object, that nothing else touches.
const OTHER_BYTES: Range<usize> = 8..16;

impl Object {
    fn new() -> loom::sync::Arc<Self> {
        let shared = Shared::default();
        for key in [QUEUE, OTHER, LOOSE] {
            shared.lock().introduce(&shared.issuing, Fake(key));
        }
        let object = Self { shared, bytes: UnsafeCell::new(0) };
        // The next one is usual.
        assert!(object.command(QUEUE));
        loom::sync::Arc::new(object)
    }

    /// A command on [`BYTES`]. `false` where they are mapped.
    fn command(&self, key: usize) -> bool {
        self.command_on(key, &BYTES, || {
            // SAFETY: loom checks that nobody changes it meanwhile.
            self.bytes.with(|bytes| assert!(unsafe { *bytes } <= 3));
        })
    }

    /// As `memory::command` does. `false` where the bytes are mapped.
    fn command_on(&self, key: usize, range: &Range<usize>, ask: impl FnOnce()) -> bool {
        let Shared { issuing, .. } = &self.shared;
        let usual = self.shared.enter_usual(key, range, Access::Write);
        let entered = match usual {
            Some(slot) => Ok(Entered::OnQueue(slot)),
            None => self.shared.lock().enter_command(issuing, key, range, Access::Write, false),
        };
        let Ok(entered) = entered else { return false };
        ask();
        match entered {
            Entered::OnQueue(slot) => self.shared.was_issued(slot),
            Entered::Alone(id) => self.shared.tell(|table| table.set_running(id, Arc::new(()))),
            Entered::Not => unreachable!("it was entered"),
        }
        true
    }

    /// As `memory::map` does. `false` where the bytes are mapped.
    fn map(&self, key: usize, range: Range<usize>, access: Access) -> bool {
        let Shared { issuing, .. } = &self.shared;
        let map = self.shared.lock().enter_map(issuing, key, &range, access, false);
        let Ok(map) = map else { return false };
        if map.must_wait {
            let before = self.shared.before_map(map.id, key, &range, access);
            let Before { queues, running } = before.expect("nothing is lost");
            for (queue, commands) in queues {
                self.shared.lock().queue_was_idle(queue.key(), commands);
            }
            running.iter().for_each(|(id, _)| self.shared.tell(|table| table.remove(*id)));
        }
        match access {
            // SAFETY: loom checks that nobody looks at it meanwhile.
            Access::Write => self.bytes.with_mut(|bytes| unsafe { *bytes += 1 }),
            // SAFETY: loom checks that nobody changes it meanwhile.
            Access::Read => self.bytes.with(|bytes| assert!(unsafe { *bytes } <= 3)),
        }
        if !self.shared.tell(|table| table.was_unmapped(map.id)) {
            // It is known by its event, and ends at once.
            self.shared.tell(|table| table.remove(map.id));
        }
        true
    }
}

/// Runs each of these in a thread, in every order; the last one in this thread.
fn explore<const N: usize>(threads: [fn(&Object); N]) {
    let mut builder = Builder::new();
    // Few bugs need more than two threads to be interrupted at the wrong time, and with three
    // threads there is no end to all orders.
    builder.preemption_bound = (N > 2).then_some(3);
    builder.check(move || {
        let object = Object::new();
        let [others @ .., last] = &threads[..] else { return };
        let handles: Vec<_> = others
            .iter()
            .map(|&work| {
                let object = loom::sync::Arc::clone(&object);
                thread::spawn(move || work(&object))
            })
            .collect();
        last(&object);
        handles.into_iter().for_each(|handle| handle.join().expect("it ends"));
        // Nothing is left.
        assert!(!object.shared.lock().has_maps());
        assert!(object.command(QUEUE) && object.map(OTHER, BYTES, Access::Write));
    });
}

#[test]
fn a_map_and_a_command_of_its_queue() {
    explore([
        |object| {
            object.command(QUEUE);
        },
        |object| {
            object.map(QUEUE, BYTES, Access::Write);
        },
    ]);
}

/// What another queue does between the command and the map makes its commands the usual ones.
#[test]
fn a_map_and_a_command_that_is_usual_no_more() {
    explore([
        |object| {
            object.command(QUEUE);
        },
        |object| {
            object.command_on(OTHER, &OTHER_BYTES, || ());
            object.map(QUEUE, BYTES, Access::Write);
        },
    ]);
}

#[test]
fn a_map_and_commands_of_which_both_are_usual() {
    explore([
        |object| {
            object.command(QUEUE);
        },
        |object| {
            object.command_on(OTHER, &OTHER_BYTES, || ());
        },
        |object| {
            object.map(QUEUE, BYTES, Access::Write);
        },
    ]);
}

#[test]
fn a_map_and_a_command_of_another_queue() {
    explore([
        |object| {
            object.command(QUEUE);
            object.command(QUEUE);
        },
        |object| {
            object.map(OTHER, BYTES, Access::Write);
        },
    ]);
}

#[test]
fn a_map_and_a_command_of_a_queue_without_order() {
    explore([
        |object| {
            object.command(LOOSE);
        },
        |object| {
            object.map(LOOSE, BYTES, Access::Write);
        },
    ]);
}

#[test]
fn a_map_and_commands_of_two_queues() {
    explore([
        |object| {
            object.command(QUEUE);
        },
        |object| {
            object.command(LOOSE);
        },
        |object| {
            object.map(OTHER, BYTES, Access::Write);
        },
    ]);
}

#[test]
fn a_map_and_commands_of_one_queue() {
    explore([
        |object| {
            object.command(QUEUE);
        },
        |object| {
            object.command(QUEUE);
        },
        |object| {
            object.map(OTHER, BYTES, Access::Write);
        },
    ]);
}

#[test]
fn two_maps_that_wait_and_a_command() {
    explore([
        |object| {
            object.command(QUEUE);
        },
        |object| {
            object.map(OTHER, BYTES, Access::Read);
        },
        |object| {
            object.map(QUEUE, BYTES, Access::Read);
        },
    ]);
}

#[test]
fn maps_that_exclude_each_other_and_a_command() {
    explore([
        |object| {
            object.command(QUEUE);
        },
        |object| {
            object.map(OTHER, BYTES, Access::Write);
        },
        |object| {
            object.map(QUEUE, BYTES, Access::Write);
        },
    ]);
}
