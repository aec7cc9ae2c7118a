//! Workaround for drivers whose in-order queues lose their order once a command fails.
//!
//! On PoCL 3.1 and Oclgrind 21.10 later commands then start before earlier ones have finished; on
//! NVIDIA 580 they fail immediately. Only commands with a wait list can trigger it.
//!
//! - A marker is enqueued right before each such command. A wait for the queue also waits for its
//!   markers. A command that another thread enqueues between the two serves as a marker itself.
//! - PoCL may free a failed command while an event of its wait list still has to notify it. The
//!   command's event is therefore kept until the wait list has completed.
// quirk: POCL-1, POCL-3, OCLGRIND-1, NVIDIA-1

use std::mem;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

use cl3::types::{cl_command_queue, cl_event};

use crate::error::Result;
use crate::handle::{EventRef, Outcome, QueueRef};

/// A place in a queue.
struct Mark {
    /// Ends when all has that came before.
    before: EventRef,
    behind: Behind,
    /// The last field, so that it is released last: the events of some drivers do not keep their queue.
    // quirk: DRIVER-9
    queue: QueueRef,
}

/// What is right behind a mark.
enum Behind {
    /// Nothing that matters.
    Any,
    /// A command that is just being issued, with this wait list.
    Awaited(Vec<EventRef>),
    Command(Command),
}

/// A command that may fail.
struct Command {
    event: EventRef,
    /// Its wait list.
    after: Vec<EventRef>,
    /// Since when all that it had to wait for is known to have ended.
    over: Option<Instant>,
}

impl Command {
    /// How long a driver may take to notify dependent commands after an event's status has changed.
    const PATIENCE: Duration = Duration::from_millis(100);

    /// Whether the driver may still look at it, once all that came before it in its queue has ended.
    fn is_needed(&mut self) -> bool {
        if self.event.outcome() == Some(Outcome::Complete) {
            return false;
        }
        if self.after.iter().any(|event| event.outcome().is_none()) {
            return true;
        }
        self.over.get_or_insert_with(Instant::now).elapsed() < Self::PATIENCE
    }
}

impl Mark {
    fn is_needed(&mut self) -> bool {
        match &mut self.behind {
            Behind::Awaited(_) => true,
            Behind::Command(command) => self.before.outcome().is_none() || command.is_needed(),
            Behind::Any => self.before.outcome().is_none(),
        }
    }
}

/// Of all queues: those that are needed still, and perhaps some more.
static MARKS: Mutex<Vec<Mark>> = Mutex::new(Vec::new());

/// True if there are any: usually none, so that most need not look.
static ARE_THERE: AtomicBool = AtomicBool::new(false);

/// How many commands are just being issued behind a mark, and below that, how many ever were.
static ISSUING: AtomicU64 = AtomicU64::new(0);

const ONE: u64 = 1 << EVER;
const ONE_MORE_EVER: u64 = 1;
const EVER: u32 = 48;

/// Returns whether there may be marks.
#[inline]
pub(super) fn are_there() -> bool {
    ARE_THERE.load(Ordering::SeqCst)
}

fn lock() -> MutexGuard<'static, Vec<Mark>> {
    // Nothing panics while they are changed.
    MARKS.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Does something with those that are needed still.
fn with_current<T>(work: impl FnOnce(&mut Vec<Mark>) -> T) -> T {
    let mut marks = lock();
    let others: Vec<_> = marks.extract_if(.., |mark| !mark.is_needed()).collect();
    ARE_THERE.store(!marks.is_empty(), Ordering::SeqCst);
    let result = work(&mut marks);
    drop(marks);
    // A driver may wait before a queue goes.
    drop(others);
    result
}

fn push(
    queue: &QueueRef,
    behind: Behind,
    before: impl FnOnce() -> Result<EventRef>,
) -> Result<cl_event> {
    // SAFETY: the queue is alive while it is borrowed.
    let queue = unsafe { QueueRef::retain(queue.get()) }?;
    with_current(|marks| {
        // Before the driver is asked.
        ARE_THERE.store(true, Ordering::SeqCst);
        let before = before()?;
        let mark = before.get();
        marks.push(Mark { before, behind, queue });
        Ok(mark)
    })
}

/// Marks the place right before a command with this wait list, which is about to be issued.
///
/// It `waits` a moment for a queue that has nothing to do to notice that.
pub(super) fn begin(queue: &QueueRef, after: Vec<EventRef>, waits: bool) -> Result<cl_event> {
    ISSUING.fetch_add(ONE + ONE_MORE_EVER, Ordering::SeqCst);
    let last = || if waits { last_command(queue) } else { queue.last_command() };
    let mark = push(queue, Behind::Awaited(after), last);
    mark.inspect_err(|_| {
        ISSUING.fetch_sub(ONE, Ordering::SeqCst);
    })
}

/// How long a queue may take to notice that it has nothing to do.
const IDLE_WITHIN: Duration = Duration::from_micros(200);

/// Enqueues a marker and waits up to [`IDLE_WITHIN`] for it, which is enough if the queue is idle. PoCL
/// may crash if the completion of a marker and a failure reach the command after it at the same time.
// quirk: POCL-2
fn last_command(queue: &QueueRef) -> Result<EventRef> {
    // No flush: PoCL starts commands at once, and Oclgrind's clFlush would block.
    // quirk: OCLGRIND-2
    let marker = queue.last_command()?;
    let begin = Instant::now();
    while (marker.outcome().is_none() || marker.is_shared()) && begin.elapsed() < IDLE_WITHIN {
        thread::yield_now();
    }
    Ok(marker)
}

/// The command behind `mark` has been issued, or was not.
pub(super) fn end(mark: cl_event, command: Option<EventRef>) {
    ISSUING.fetch_sub(ONE, Ordering::SeqCst);
    if let Some(mark) = lock().iter_mut().rev().find(|found| found.before.get() == mark)
        && let Behind::Awaited(after) = mem::replace(&mut mark.behind, Behind::Any)
        && let Some(event) = command
    {
        mark.behind = Behind::Command(Command { event, after, over: None });
    }
}

/// What commands of the queue may overtake.
pub(super) fn of(queue: cl_command_queue) -> Result<Vec<EventRef>> {
    with_current(|marks| {
        let of_queue = marks.iter().filter(|mark| mark.queue.get() == queue);
        let pending = of_queue.filter(|mark| mark.before.outcome().is_none());
        pending.map(|mark| mark.before.try_clone()).collect()
    })
}

/// When the driver was about to be asked for a command without a wait list.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Moment(u64);

impl Moment {
    #[inline]
    pub(crate) fn now() -> Self {
        Self(ISSUING.load(Ordering::SeqCst))
    }

    /// Whether the command may have come between a mark and the command that this was made for.
    #[inline]
    pub(crate) fn was_disturbed(self) -> bool {
        (self.0 >> EVER) | (ISSUING.load(Ordering::SeqCst) ^ self.0) != 0
    }
}

/// Marks a command that has been issued, as what comes after it may overtake it.
pub(super) fn add(queue: &QueueRef, command: &EventRef) -> Result<()> {
    push(queue, Behind::Any, || command.try_clone()).map(drop)
}
