//! What PoCL (3.1) needs where a command may fail, which only one with a wait list does:
//!
//! - What comes after a command that failed does not wait for what came before it. So there is a
//!   marker before each such command: what waits for the queue waits for the markers, too.
//! - A command that failed may be freed while what came before it will still tell it of its end.
//!   So its event is kept until then.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};

use cl3::types::cl_command_queue;

use crate::error::Result;
use crate::handle::{EventRef, QueueRef};

/// A place in a queue right before a command that may fail.
struct Mark {
    id: u64,
    queue: usize,
    /// Ends when all has that came before.
    before: EventRef,
    command: Option<EventRef>,
}

struct Marks {
    last_id: u64,
    /// Those that matter still, and perhaps some more.
    marks: Vec<Mark>,
}

/// Of all queues.
static MARKS: Mutex<Marks> = Mutex::new(Marks { last_id: 0, marks: Vec::new() });

/// Whether there are any: usually none, so that most need not look.
static ARE_THERE: AtomicBool = AtomicBool::new(false);

/// Whether there may be marks.
#[inline]
pub(super) fn are_there() -> bool {
    ARE_THERE.load(Ordering::SeqCst)
}

fn lock() -> MutexGuard<'static, Marks> {
    // Nothing panics while they are changed.
    MARKS.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Those that matter still.
fn current() -> MutexGuard<'static, Marks> {
    let mut all = lock();
    // The driver gives up its reference to an event when all have been told of its end.
    all.marks.retain(|mark| mark.before.outcome().is_none() || mark.before.is_shared());
    ARE_THERE.store(!all.marks.is_empty(), Ordering::SeqCst);
    all
}

/// Marks the place right before a command that the driver is about to be asked for.
pub(super) fn before_command(queue: &QueueRef) -> Result<u64> {
    let mut all = current();
    // Before the command is there.
    ARE_THERE.store(true, Ordering::SeqCst);
    let before = queue.last_command()?;
    all.last_id += 1;
    let id = all.last_id;
    all.marks.push(Mark { id, queue: queue.get().addr(), before, command: None });
    Ok(id)
}

/// The command after the mark is there.
pub(super) fn keep_command(id: u64, command: EventRef) {
    if let Some(mark) = lock().marks.iter_mut().find(|mark| mark.id == id) {
        mark.command = Some(command);
    }
}

/// What commands of the queue may overtake.
pub(super) fn of(queue: cl_command_queue) -> Result<Vec<EventRef>> {
    let all = current();
    let of_queue = all.marks.iter().filter(|mark| mark.queue == queue.addr());
    of_queue.map(|mark| mark.before.try_clone()).collect()
}
