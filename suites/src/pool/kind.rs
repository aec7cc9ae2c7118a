//! The kinds of memory that a pool hands out, for tests of both.
//!
//! ```text
//! #[rstest]
//! #[clmatrix_harness::test]
//! #[case::of_buffers(BUFFERS)]
//! #[clmatrix_harness::test(requires(svm))]
//! #[case::of_svm(SVM)]
//! fn a_test<K: Kind>(on_device: OnDevice, #[case] _kind: PhantomData<K>) -> Result<()> {
//! ```

use std::ffi::c_void;
use std::fmt::Debug;
use std::hash::Hash;
use std::marker::PhantomData;
use std::ops::DerefMut;
use std::ptr;

use clmatrix::cl3::command_queue as cl3;
use clmatrix::memory::{
    Buffer, Linear, MemFlags, MemoryObject, Order, SvmAllocation, SvmFlags, SvmPointer,
    enqueue_copy, enqueue_fill,
};
use clmatrix::pool::{
    Allocator, DeferredAllocator, ImmediateAllocator, Memory, Pool, PoolOptions, SvmAllocator,
};
use clmatrix::{CommandQueue, Event, Kernel, Result, UserEvent};

use crate::support::gate::{open, waits};
use crate::support::on_device::OnDevice;
use crate::support::pattern::assert_elements;

/// The rule by which the pool orders the owners of a block.
pub const BARRIER: &str = "clEnqueueBarrierWithWaitList on the queue of a block's new owner did not hold back the \
                           command after it until the command of the former owner was complete (OpenCL 3.0, 5.12)";

/// The rule for a block that has had one owner since it was filled.
pub const FILLED: &str = "a block holds the value of its last fill";

pub const BUFFERS: PhantomData<Buffer> = PhantomData;
pub const SVM: PhantomData<SvmAllocation> = PhantomData;

/// A kind of memory, with what the tests do to it. Contents are numbers of 32 bits.
pub trait Kind: Memory + Clone + Debug + Eq + Hash {
    /// An allocator for the queue, if there is one.
    fn allocator(
        on_device: &OnDevice,
        queue: Option<&CommandQueue>,
    ) -> Result<Box<dyn Allocator<Memory = Self>>>;

    /// The driver's handle or the address, by which blocks are told apart.
    fn id(&self) -> usize;

    /// Fills it in a way that this crate cannot see.
    fn fill_unseen(&self, queue: &CommandQueue, value: u32, gate: Option<&Event>) -> Event;

    fn fill<'a>(&self, order: impl Into<Order<'a>>, value: u32) -> Result<Event>;

    fn record_use(&self, event: &Event) -> Result<()>;

    fn contents(&self, queue: &CommandQueue) -> Result<Vec<u32>>;

    /// Panics unless all numbers are `value`; `rule` says why they are.
    #[track_caller]
    fn assert_holds(&self, queue: &CommandQueue, value: u32, rule: &str) -> Result<()> {
        let found = self.contents(queue)?;
        assert_elements(&found, &vec![value; found.len()], rule);
        Ok(())
    }

    /// Copies bytes from the host to this offset.
    fn write(&self, queue: &CommandQueue, offset: usize, bytes: &[u8]) -> Result<()>;

    fn read(&self, queue: &CommandQueue, bytes: &mut [u8]) -> Result<()>;

    /// Launches a kernel of one argument, with a work item for each number.
    fn launch<'a>(&self, kernel: &mut Kernel, order: impl Into<Order<'a>>) -> Result<Event>;

    fn map(&self, queue: &CommandQueue) -> Result<Box<dyn DerefMut<Target = [u32]>>>;
}

/// Methods that are the same for all kinds.
macro_rules! alike {
    ($methods:ident) => {
        fn fill<'a>(&self, order: impl Into<Order<'a>>, value: u32) -> Result<Event> {
            enqueue_fill(order, self, &value, ..)
        }

        fn record_use(&self, event: &Event) -> Result<()> {
            $methods::record_use(self, event)
        }

        fn contents(&self, queue: &CommandQueue) -> Result<Vec<u32>> {
            let mut found = vec![0; $methods::size(self) / 4];
            enqueue_copy(queue, &mut found, self, ..)?;
            Ok(found)
        }

        fn write(&self, queue: &CommandQueue, offset: usize, bytes: &[u8]) -> Result<()> {
            enqueue_copy(queue, self, bytes, Linear::default().dst_offset(offset)).map(drop)
        }

        fn read(&self, queue: &CommandQueue, bytes: &mut [u8]) -> Result<()> {
            enqueue_copy(queue, bytes, self, ..).map(drop)
        }

        fn launch<'a>(&self, kernel: &mut Kernel, order: impl Into<Order<'a>>) -> Result<Event> {
            // SAFETY: the kernels of these tests use a number for each work item.
            unsafe { kernel.launch().arg(self).global($methods::size(self) / 4).enqueue(order) }
        }

        fn map(&self, queue: &CommandQueue) -> Result<Box<dyn DerefMut<Target = [u32]>>> {
            Ok(Box::new(self.map_read_write::<u32>(queue, ..)?))
        }
    };
}

impl Kind for Buffer {
    fn allocator(
        on_device: &OnDevice,
        queue: Option<&CommandQueue>,
    ) -> Result<Box<dyn Allocator<Memory = Self>>> {
        Ok(match queue {
            Some(queue) => Box::new(ImmediateAllocator::new(queue, MemFlags::READ_WRITE)?),
            None => Box::new(DeferredAllocator::new(&on_device.context, MemFlags::READ_WRITE)?),
        })
    }

    fn id(&self) -> usize {
        self.as_raw().addr()
    }

    fn fill_unseen(&self, queue: &CommandQueue, value: u32, gate: Option<&Event>) -> Event {
        unseen(queue, gate, |count, events| {
            let (pattern, size) = ((&raw const value).cast(), MemoryObject::size(self));
            // SAFETY: the handles are alive and of one context, the buffer is as large, and the pattern is
            // copied.
            unsafe {
                let (queue, buffer) = (queue.as_raw(), self.as_raw());
                cl3::enqueue_fill_buffer(queue, buffer, pattern, 4, 0, size, count, events)
            }
        })
    }

    alike!(MemoryObject);
}

impl Kind for SvmAllocation {
    fn allocator(
        on_device: &OnDevice,
        queue: Option<&CommandQueue>,
    ) -> Result<Box<dyn Allocator<Memory = Self>>> {
        let flags = SvmFlags::READ_WRITE;
        Ok(Box::new(SvmAllocator::new(&on_device.context, 0, flags, queue)?))
    }

    fn id(&self) -> usize {
        self.svm_ptr().addr()
    }

    fn fill_unseen(&self, queue: &CommandQueue, value: u32, gate: Option<&Event>) -> Event {
        unseen(queue, gate, |count, events| {
            let (pattern, size) = ((&raw const value).cast(), SvmPointer::size(self));
            // SAFETY: the handles are alive and of one context, the memory is as large, and the pattern is
            // copied.
            unsafe {
                let (queue, to) = (queue.as_raw(), self.svm_ptr());
                cl3::enqueue_svm_mem_fill(queue, to, pattern, 4, size, count, events)
            }
        })
    }

    alike!(SvmPointer);
}

/// Opens the gate while `work` waits for the commands of a block's former owner, which it must.
#[track_caller]
pub fn after_owner<T>(gate: &UserEvent, work: impl FnOnce() -> T) -> T {
    let rule = format!("{BARRIER}, or the wait list of that command did not (5.11)");
    waits(gate, open, &rule, work)
}

/// Enqueues a command that waits for the gate, by cl3.
fn unseen(
    queue: &CommandQueue,
    gate: Option<&Event>,
    enqueue: impl FnOnce(u32, *const *mut c_void) -> std::result::Result<*mut c_void, i32>,
) -> Event {
    let wait_for = gate.map_or(ptr::null_mut(), Event::as_raw);
    let events = if gate.is_some() { &raw const wait_for } else { ptr::null() };
    let event = enqueue(gate.is_some().into(), events).expect("the driver takes it");
    // SAFETY: the driver has just created the event on this queue, with one reference.
    unsafe { queue.event_from_raw(event) }.expect("an event")
}

/// A pool for the queue, if there is one.
pub fn pool<K: Kind>(
    on_device: &OnDevice,
    queue: Option<&CommandQueue>,
    options: PoolOptions,
) -> Result<Pool<K>> {
    Pool::with_options(K::allocator(on_device, queue)?, options)
}

/// Returns whether the pool hands out this block for `size` bytes.
pub fn is_free<K: Kind>(pool: &Pool<K>, size: usize, id: usize) -> Result<bool> {
    // One more than the pool holds, so that it hands out each that it can.
    let blocks = (0..=pool.held_blocks()).map(|_| pool.allocate(size));
    let blocks: Vec<_> = blocks.collect::<Result<_>>()?;
    Ok(blocks.iter().any(|block| block.id() == id))
}
