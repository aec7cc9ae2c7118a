//! What PoCL (3.1) needs where a command may fail, which only one with a wait list does:
//!
//! - What comes after a command that failed does not wait for what came before it. So there is a
//!   marker before each such command: what waits for the queue waits for the markers, too.
//! - A command that failed may be freed while what came before it will still tell it of its end.
//!   So its event is kept until then.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};

use cl3::types::{cl_command_queue, cl_event};

use crate::error::Result;
use crate::handle::{EventRef, QueueRef};

/// A place in a queue right before a command that may fail.
struct Mark {
    queue: usize,
    /// Ends when all has that came before.
    before: EventRef,
    command: Option<EventRef>,
}

/// Those of all queues that matter still, and perhaps some more.
static MARKS: Mutex<Vec<Mark>> = Mutex::new(Vec::new());

/// Whether there are any: usually none, so that most need not look.
static ARE_THERE: AtomicBool = AtomicBool::new(false);

/// Whether there may be marks.
#[inline]
pub(super) fn are_there() -> bool {
    ARE_THERE.load(Ordering::SeqCst)
}

fn lock() -> MutexGuard<'static, Vec<Mark>> {
    // Nothing panics while they are changed.
    MARKS.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Those that matter still.
fn current() -> MutexGuard<'static, Vec<Mark>> {
    let mut marks = lock();
    // The driver gives up its reference to an event when all have been told of its end.
    marks.retain(|mark| mark.before.outcome().is_none() || mark.before.is_shared());
    ARE_THERE.store(!marks.is_empty(), Ordering::SeqCst);
    marks
}

/// Does `issue`, which has `queue` given a command that may fail and gives its event.
pub(super) fn around(
    queue: &QueueRef,
    issue: impl FnOnce() -> Result<cl_event>,
) -> Result<cl_event> {
    let id = {
        let mut marks = current();
        // Before the command is there.
        ARE_THERE.store(true, Ordering::SeqCst);
        let before = queue.last_command()?;
        let id = before.get();
        marks.push(Mark { queue: queue.get().addr(), before, command: None });
        id
    };
    let event = issue()?;
    if !event.is_null() {
        // SAFETY: the driver has just made it.
        let command = unsafe { EventRef::retain(event) };
        if let Some(mark) = lock().iter_mut().find(|mark| mark.before.get() == id) {
            mark.command = command.ok();
        }
    }
    Ok(event)
}

/// What commands of the queue may overtake.
pub(super) fn of(queue: cl_command_queue) -> Result<Vec<EventRef>> {
    let marks = current();
    let of_queue = marks.iter().filter(|mark| mark.queue == queue.addr());
    of_queue.map(|mark| mark.before.try_clone()).collect()
}
