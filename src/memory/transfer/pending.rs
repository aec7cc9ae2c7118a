//! Transfers that do not block: they own their host memory until they have ended.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::task::{Context, Poll, Waker};
use std::{fmt, io, ptr, thread, time};

use cl3::error_codes::CL_OUT_OF_HOST_MEMORY;
use parking_lot::{Condvar, Mutex, MutexGuard};

use super::error::TransferError;
use super::host::HostCommand;
use super::host_memory::DriverOwned;
use super::host_memory::sealed::Stable;
use super::host_ptr::HostPtr;
use crate::driver::Driver;
use crate::error::{Error, Result};
use crate::event::{Event, Status};
use crate::memory::command::{check_not_failed, enqueue};
use crate::order::Order;
use crate::wait_list::WaitList;

/// A transfer in progress, with the host memory that it reads or writes (PyOpenCL's
/// `is_blocking=False` and `NannyEvent`).
///
/// [`wait`](Self::wait) returns the memory, and so does `.await`, in any executor: one thread for all transfers that
/// have been polled wakes the task. A drop waits, too, and waits forever for a command behind an event that never
/// ends. If the transfer is forgotten, the memory is never freed.
///
/// ```
/// use clmatrix::memory::{Buffer, MemFlags};
///
/// # fn main() -> clmatrix::Result<()> {
/// # let context = clmatrix::create_some_context()?;
/// # let queue = clmatrix::CommandQueue::new(&context)?;
/// let buffer = Buffer::from_slice(&context, MemFlags::READ_WRITE, &[1_u32, 2, 3])?;
/// let transfer = buffer.read_async(&queue, vec![0_u32; 3])?;
/// // ... something else meanwhile ...
/// assert_eq!(transfer.wait()?, [1, 2, 3]);
/// # Ok(())
/// # }
/// ```
#[must_use = "dropped, it waits"]
#[doc(alias = "NannyEvent")]
pub struct PendingTransfer<H> {
    /// `None` once returned.
    memory: Option<DriverOwned<H>>,
    call: &'static str,
    event: Event,
    /// The waker, once the transfer has been polled.
    waker: Option<SharedWaker>,
}

/// The result of a call that takes host memory: the transfer, or the error with the memory.
pub type Transfer<H> = std::result::Result<PendingTransfer<H>, TransferError<Option<H>>>;

impl<H: Stable> PendingTransfer<H> {
    /// Enqueues the command that `plan` makes for the place of `memory`.
    pub(crate) fn enqueue<C: HostCommand>(
        order: &Order<'_>,
        memory: H,
        plan: impl FnOnce(HostPtr) -> Result<C>,
    ) -> Transfer<H> {
        let mut memory = DriverOwned::new(memory);
        let mut is_submitted = false;
        let enqueued = plan(HostPtr::of(memory.as_mut())).and_then(|command| {
            let submit = |arguments| {
                // SAFETY: the handles are alive and of one context; the memory stays where it is and is
                // not touched until the command has ended, or for good.
                let event = unsafe { command.submit(arguments) };
                is_submitted = event.is_ok();
                event
            };
            let event = enqueue(command.call(), order, &[command.accessed()], submit)?;
            Ok((command.call(), event))
        });
        match enqueued {
            Ok((call, event)) => Ok(Self { memory: Some(memory), call, event, waker: None }),
            // The end of the command is unknown.
            Err(error) if is_submitted => Err(TransferError::new(error, None)),
            Err(error) => Err(TransferError::new(error, Some(*memory.end()))),
        }
    }
}

impl<H> PendingTransfer<H> {
    /// Returns the transfer's event, for wait lists and profiling.
    pub fn event(&self) -> &Event {
        &self.event
    }

    /// Waits until the transfer has ended, and returns the host memory.
    ///
    /// # Errors
    /// With the memory: CL_EXEC_STATUS_ERROR_FOR_EVENTS_IN_WAIT_LIST where the transfer failed, or a command that it
    /// waited for. Without: the driver's errors where the driver does not report whether it still uses the memory,
    /// which is never freed then.
    pub fn wait(mut self) -> std::result::Result<H, TransferError<Option<H>>> {
        let memory = self.memory.take().expect("a transfer that was ready is not waited for");
        self.end(memory)
    }

    fn end(&self, memory: DriverOwned<H>) -> std::result::Result<H, TransferError<Option<H>>> {
        self.event.wait_until_ended().map_err(|error| TransferError::new(error, None::<H>))?;
        let memory = *memory.end();
        match check_not_failed(self.call, &self.event) {
            Ok(()) => Ok(memory),
            Err(error) => Err(TransferError::new(error, Some(memory))),
        }
    }

    /// Makes the thread wake the task when the command has ended. Returns whether it has.
    fn watch(&mut self, waker: &Waker) -> Result<bool> {
        if let Some(current) = &self.waker {
            let mut current = current.lock();
            current.iter_mut().for_each(|current| current.clone_from(waker));
            return Ok(current.is_none());
        }
        self.event.flush_queue(ptr::null_mut())?;
        // The callback owns nothing: it must not drop the last handle to a queue. Without callbacks, the thread polls.
        _ = self.event.when_ended(|_| {
            let _added = ADDED.lock();
            HAS_ENDED.store(true, Ordering::Release);
            CHANGED.notify_one();
        });
        let waker = Arc::new(Mutex::new(Some(waker.clone())));
        let task = Task { event: self.event.clone(), waker: Arc::clone(&waker) };
        // The last call: the thread may be in the driver from here on, and Oclgrind takes calls of one thread at a time.
        // quirk: OCLGRIND-10
        add(task).map_err(|error| {
            let reason = format!("no thread can wait for the transfer: {error}");
            Error::refused(self.call, CL_OUT_OF_HOST_MEMORY, reason)
        })?;
        self.waker = Some(waker);
        Ok(false)
    }
}

/// A task that waits for a transfer.
struct Task {
    event: Event,
    waker: SharedWaker,
}

/// `None` once the thread has taken it: the waker may own the task.
type SharedWaker = Arc<Mutex<Option<Waker>>>;

/// The tasks that have been polled since the thread's last look; `None` without a thread.
static ADDED: Mutex<Option<Vec<Task>>> = Mutex::new(None);
/// True if a command has ended since then.
static HAS_ENDED: AtomicBool = AtomicBool::new(false);
static CHANGED: Condvar = Condvar::new();

fn add(task: Task) -> io::Result<()> {
    let mut added = ADDED.lock();
    if added.is_none() {
        thread::Builder::new().name("transfers".to_owned()).spawn(wake_tasks)?;
    }
    added.get_or_insert_default().push(task);
    CHANGED.notify_one();
    Ok(())
}

/// Wakes tasks until there are none. Polls all of them from time to time: drivers do not call back for all commands
/// that have failed.
fn wake_tasks() {
    let mut tasks: Vec<Task> = Vec::new();
    let mut added = ADDED.lock();
    loop {
        tasks.append(added.get_or_insert_default());
        MutexGuard::unlocked(&mut added, || {
            tasks.extract_if(.., |task| task.has_ended()).for_each(Task::wake)
        });
        let has_none = |added: &mut Option<Vec<_>>| added.as_ref().is_none_or(Vec::is_empty);
        if tasks.is_empty() && has_none(&mut added) {
            *added = None;
            return;
        }
        let is_idle = |added: &mut Option<_>| has_none(added) && !HAS_ENDED.load(Ordering::Acquire);
        CHANGED.wait_while_for(&mut added, is_idle, time::Duration::from_millis(50));
        HAS_ENDED.store(false, Ordering::Release);
    }
}

impl Task {
    /// Returns whether the command has ended, or the driver does not report it.
    fn has_ended(&self) -> bool {
        // quirk: OCLGRIND-2
        if self.event.queue_state().is_some_and(|queue| queue.driver.contains(Driver::FLUSH_BLOCKS))
        {
            let _ = self.event.wait_until_ended();
        }
        self.event.status().map_or(true, Status::has_ended)
    }

    fn wake(self) {
        let _printed_panic = catch_unwind(AssertUnwindSafe(|| {
            // The event first: its release is a call of the driver.
            // quirk: OCLGRIND-10
            drop(self.event);
            let waker = self.waker.lock().take();
            waker.map(Waker::wake)
        }));
    }
}

/// # Panics
/// A poll panics if the transfer has been ready before.
impl<H> Future for PendingTransfer<H> {
    type Output = std::result::Result<H, TransferError<Option<H>>>;

    fn poll(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Self::Output> {
        let this = self.get_mut();
        if this.event.outcome().is_none() {
            match this.watch(context.waker()) {
                Ok(false) => return Poll::Pending,
                Ok(true) => {}
                Err(error) => log::warn!("{error}; the task blocks"),
            }
        }
        let memory = this.memory.take().expect("a future is not polled after it was ready");
        Poll::Ready(this.end(memory))
    }
}

impl<H> Drop for PendingTransfer<H> {
    fn drop(&mut self) {
        if let Some(memory) = self.memory.take()
            && let Err(returned) = self.end(memory)
        {
            log::error!("{}", returned.error);
        }
    }
}

impl<'a, H> From<&'a PendingTransfer<H>> for WaitList<'a> {
    fn from(transfer: &'a PendingTransfer<H>) -> Self {
        transfer.event().into()
    }
}

impl<H> fmt::Debug for PendingTransfer<H> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("PendingTransfer").field("event", self.event()).finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use std::panic::{AssertUnwindSafe, catch_unwind};
    use std::sync::Arc;

    use cl3::types::cl_event;

    use super::{HostCommand, PendingTransfer};
    use crate::memory::buffer::Buffer;
    use crate::memory::command::AccessedRange;
    use crate::memory::flags::MemFlags;
    use crate::memory::track::Access;
    use crate::order::Order;
    use crate::queue::Arguments;

    /// A command after which a logger, or other code that is notified of it, panics.
    struct Panicking<'a>(&'a Buffer);

    impl HostCommand for Panicking<'_> {
        fn call(&self) -> &'static str {
            "clEnqueueWriteBuffer"
        }

        fn accessed(&self) -> AccessedRange<'_> {
            self.0.accessed(&(0..16), Access::Write)
        }

        unsafe fn submit(&self, _: Arguments) -> Result<cl_event, i32> {
            panic!("the driver has it");
        }
    }

    #[test]
    fn a_panic_leaves_the_memory_to_the_driver() -> crate::Result<()> {
        let context = crate::create_some_context()?;
        let queue = crate::CommandQueue::new(&context)?;
        let buffer = Buffer::new(&context, MemFlags::READ_WRITE, 16)?;
        let memory: Arc<[u32]> = Arc::new([7; 4]);
        let given = Arc::clone(&memory);
        let enqueue = || {
            let plan = |_| Ok(Panicking(&buffer));
            PendingTransfer::enqueue(&Order::from(&queue), given, plan).is_ok()
        };
        assert!(catch_unwind(AssertUnwindSafe(enqueue)).is_err());
        assert_eq!(Arc::strong_count(&memory), 2, "it was dropped");
        Ok(())
    }
}
