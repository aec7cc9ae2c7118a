//! After a failed command, maps and frees still wait for the commands on their bytes.
//!
//! On PoCL 3.1 and Oclgrind, commands behind a failed command in its in-order queue do not wait for the
//! commands before it. The library follows each command by its own event instead.
//!
//! OpenCL does not promise that other queues of a context can be used after a command has failed (OpenCL
//! 3.0, 5.11). The known drivers allow it, and these tests rely on it.
// quirk: POCL-1, OCLGRIND-1, NVIDIA-1

mod chain;
mod frees;
mod maps;

use std::cell::Cell;
use std::thread;
use std::time::Duration;

use clmatrix::memory::{Buffer, MemFlags, enqueue_fill};
use clmatrix::{CommandQueue, Event, Result, UserEvent};

use crate::support::gate::{fail, gate, meanwhile, open};
use crate::support::on_device::OnDevice;

/// The elements of the memory that the gated fill writes.
const LEN: usize = 1 << 12;

/// The content of the memory before.
const OLD: u32 = 1;

/// The content of the memory after the gated fill.
const NEW: u32 = 7;

const WAIT_LIST_FAILED: &str = "CL_EXEC_STATUS_ERROR_FOR_EVENTS_IN_WAIT_LIST";

/// Where something is enqueued.
#[derive(Clone, Copy, Debug)]
enum On {
    /// On the queue of the gated fill.
    Same,
    Another,
}

impl On {
    fn of<'a>(self, on: &'a OnDevice, failed: &'a Failed) -> &'a CommandQueue {
        match self {
            Self::Same => &failed.queue,
            Self::Another => &on.queue,
        }
    }
}

/// A queue on which a command has failed behind a fill that has not run.
struct Failed {
    queue: CommandQueue,
    /// The fill.
    filled: Event,
    /// The event that the fill waits for.
    gate: Cell<Option<UserEvent>>,
    /// The event of the command that has failed. PoCL still uses it as long as the fill has not run, and
    /// shortly after.
    // quirk: POCL-3
    _failed: Event,
}

/// The time in which a thread of PoCL tells the failed command that the fill has ended.
const TELLING: Duration = Duration::from_millis(50);

impl Drop for Failed {
    fn drop(&mut self) {
        thread::sleep(TELLING);
    }
}

/// Fills `memory` with `NEW` behind a gate on a new queue, and has `fails` enqueue a command there
/// behind the gate that it gets, which then fails.
fn behind_a_gated_fill(
    on: &OnDevice,
    fill: impl FnOnce(&CommandQueue, &Event) -> Result<Event>,
    fails: impl FnOnce(&CommandQueue, &Event) -> Result<Event>,
) -> Result<Failed> {
    let queue = on.another_queue();
    let (opened, closed) = (gate(&on.context), gate(&on.context));
    let filled = fill(&queue, &opened)?;
    let failed = fails(&queue, &closed)?;
    // Before any thread waits for it.
    // quirk: POCL-10
    fail(&closed);
    Ok(Failed { queue, filled, gate: Cell::new(Some(opened)), _failed: failed })
}

/// Enqueues a fill of other memory.
fn fill_elsewhere(on: &OnDevice, queue: &CommandQueue, gate: &Event) -> Result<Event> {
    let elsewhere = Buffer::new(&on.context, MemFlags::READ_WRITE, 16)?;
    enqueue_fill(queue.after(gate), &elsewhere, &OLD, ..)
}

impl Failed {
    /// Does what has to wait for the fill, and opens the gate meanwhile.
    fn meanwhile<T>(&self, work: impl FnOnce() -> T) -> T {
        match self.gate.take() {
            Some(gate) => meanwhile(&gate, open, work),
            None => work(),
        }
    }
}
