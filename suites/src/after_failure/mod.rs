//! After a failed command, no command overtakes the commands that still run.
//!
//! On PoCL 3.1, commands behind a failed command in its in-order queue do not wait for the commands
//! before it: markers, maps and frees overtake them. Maps and frees of the library must still be correct.
// quirk: POCL-1, OCLGRIND-1, NVIDIA-1

mod chain;
mod frees;
mod late;
mod maps;
mod race;
mod recorded_use;

use std::cell::Cell;
use std::sync::atomic::{AtomicU32, Ordering::Relaxed};
use std::time::{Duration, Instant};

use clmatrix::launch::KernelArg;
use clmatrix::memory::{Buffer, MemFlags, enqueue_fill_buffer};
use clmatrix::{CommandQueue, Event, Launcher, Result, UserEvent};

use crate::support::gate::{fail, gate, meanwhile, open};
use crate::support::on_device::OnDevice;

/// The elements of the memory that the slow kernel writes.
const LEN: usize = 1 << 12;

/// The content of the memory before.
const OLD: u32 = 1;

const WAIT_LIST_FAILED: &str = "CL_EXEC_STATUS_ERROR_FOR_EVENTS_IN_WAIT_LIST";

/// Where something is enqueued.
#[derive(Clone, Copy, Debug)]
enum On {
    /// On the queue of the slow kernel.
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

/// The reason why the slow kernel does not end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum By {
    /// Its own work.
    Work,
    /// A gate, until all else has been enqueued.
    Gate,
}

/// How long the kernel is to work.
const LONG: Duration = Duration::from_millis(20);

/// The rounds that have taken long in this process, which has one device.
static LONG_ROUNDS: AtomicU32 = AtomicU32::new(0);

/// A kernel that takes its time and then writes a value that no other command has written.
struct Slow {
    kernel: Launcher,
    /// Rounds for each element; rusticl ends any loop after 65,535.
    // quirk: RUSTICL-2
    rounds: u32,
    /// The value that it wrote last.
    written: u32,
}

impl Slow {
    /// Finds out how much the device has to do for it to take its time.
    fn new(on: &OnDevice) -> Result<Self> {
        // `one` is 1 and `zero` is 0, which the compiler must not know.
        let source = "kernel void k(global uint *x, uint value, uint rounds, uint one, uint zero) {
            for (uint i = 0; i < rounds; i++) value = (value * one) ^ zero;
            x[get_global_id(0)] = value;
        }";
        let mut slow = Self { kernel: on.launcher(source, "")?, rounds: 0, written: OLD };
        let anything = Buffer::new(&on.context, MemFlags::READ_WRITE, 4 * LEN)?;
        // The first time, it may have to be compiled.
        slow.enqueue(&on.queue, &anything, None)?.wait()?;
        slow.rounds = LONG_ROUNDS.load(Relaxed);
        if slow.rounds > 0 {
            return Ok(slow);
        }
        for rounds in (4..24).map(|doublings| 1 << doublings) {
            slow.rounds = rounds;
            let begin = Instant::now();
            slow.enqueue(&on.queue, &anything, None)?.wait()?;
            if begin.elapsed() > LONG {
                break;
            }
        }
        LONG_ROUNDS.store(slow.rounds, Relaxed);
        Ok(slow)
    }

    /// Enqueues the kernel, which writes a value of its own to all `LEN` elements of `memory`.
    fn enqueue<M>(
        &mut self,
        queue: &CommandQueue,
        memory: &M,
        gate: Option<&Event>,
    ) -> Result<Event>
    where
        for<'a> &'a M: KernelArg<'a>,
    {
        self.written += 1;
        let mut launch = self.kernel.launch();
        launch.arg(memory).arg(self.written).arg(self.rounds).arg(1_u32).arg(0_u32);
        if let Some(gate) = gate {
            launch.wait_for(gate);
        }
        // SAFETY: the arguments are what the kernel declares, and all memory here has `LEN` elements.
        unsafe { launch.global(LEN).enqueue(queue) }
    }
}

/// A queue on which a command has failed behind a slow kernel that has not ended.
struct Failed {
    /// The queue.
    queue: CommandQueue,
    /// The kernel.
    slow: Event,
    /// The event that the kernel waits for.
    gate: Cell<Option<UserEvent>>,
    /// The value that the kernel writes.
    value: u32,
}

/// Has `memory` written by a slow kernel on a new queue, and a command there fail meanwhile, or
/// whatever else `after` does there.
fn behind_a_slow_kernel<M>(
    on: &OnDevice,
    by: By,
    memory: &M,
    mut after: impl FnMut(&CommandQueue) -> Result<()>,
) -> Result<Failed>
where
    for<'a> &'a M: KernelArg<'a>,
{
    let mut kernel = Slow::new(on)?;
    loop {
        let queue = on.another_queue();
        let gate = (by == By::Gate).then(|| gate(&on.context));
        let slow = kernel.enqueue(&queue, memory, gate.as_deref())?;
        after(&queue)?;
        if !is_over(&slow)? {
            if by == By::Work {
                queue.flush()?;
            }
            return Ok(Failed { queue, slow, gate: Cell::new(gate), value: kernel.written });
        }
        kernel.rounds *= 2;
    }
}

/// A fill of other memory that fails.
fn fails(on: &OnDevice, queue: &CommandQueue) -> Result<()> {
    let gate = gate(&on.context);
    let elsewhere = Buffer::new(&on.context, MemFlags::READ_WRITE, 16)?;
    enqueue_fill_buffer(queue, &elsewhere, &OLD, .., &gate)?;
    // Before any thread waits for it.
    // quirk: POCL-10
    fail(&gate);
    Ok(())
}

fn is_over(event: &Event) -> Result<bool> {
    Ok(event.status()?.has_ended())
}

impl Failed {
    /// Does what has to wait for the kernel.
    fn meanwhile<T>(&self, work: impl FnOnce() -> T) -> T {
        match self.gate.take() {
            Some(gate) => meanwhile(&gate, open, work),
            None => work(),
        }
    }
}
