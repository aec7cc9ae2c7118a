//! The kinds of memory that a pool hands out, for tests of both.

use std::ffi::c_void;
use std::fmt::Debug;
use std::hash::Hash;
use std::ops::DerefMut;
use std::ptr;

use clmatrix::Kernel;
use clmatrix::cl3::command_queue as cl3;
use clmatrix::memory::{MemoryObject, SvmPointer};

use super::*;

/// Makes a function a test, with a case for each kind of memory, named as rstest names cases. The function may have
/// more fixtures.
///
/// ```text
/// of_each_kind!(a_test, platform: Platform);
///
/// fn a_test<K: Kind>(on_device: OnDevice, platform: Platform) -> Result<()> {
/// ```
macro_rules! of_each_kind {
    ($test:ident $(, $fixture:ident: $type:ident)*) => {
        mod $test {
            use super::*;

            #[clmatrix_harness::test]
            fn case_1_of_buffers(on_device: OnDevice $(, $fixture: $type)*) -> Result<()> {
                super::$test::<Buffer>(on_device $(, $fixture)*)
            }

            #[clmatrix_harness::test(requires(svm))]
            fn case_2_of_svm(on_device: OnDevice $(, $fixture: $type)*) -> Result<()> {
                super::$test::<SvmAllocation>(on_device $(, $fixture)*)
            }
        }
    };
}

pub(crate) use of_each_kind;

/// The rule by which the pool orders the owners of a block.
pub const BARRIER: &str = "clEnqueueBarrierWithWaitList on the queue of a block's new owner did not hold back the \
                           command after it until the command of the former owner was complete (OpenCL 3.0, 5.12)";

/// The rule for a block that has had one owner since it was filled.
pub const FILLED: &str = "a block holds the value of its last fill";

/// For the tests that have more cases than [`of_each_kind`] makes.
pub const BUFFERS: PhantomData<Buffer> = PhantomData;
pub const SVM: PhantomData<SvmAllocation> = PhantomData;

/// The bytes of most requests, and of the block for such a request.
pub const SIZE: usize = 4096;
pub const BLOCK: usize = 4351;

/// A kind of memory, with what the tests do to it. Contents are numbers of 32 bits.
pub trait Kind: Memory + Clone + Debug + Eq + Hash {
    /// An allocator for the queue, if there is one.
    fn allocator(
        context: &Context,
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
        context: &Context,
        queue: Option<&CommandQueue>,
    ) -> Result<Box<dyn Allocator<Memory = Self>>> {
        Ok(match queue {
            Some(queue) => Box::new(ImmediateAllocator::new(queue, MemFlags::READ_WRITE)?),
            None => Box::new(DeferredAllocator::new(context, MemFlags::READ_WRITE)?),
        })
    }

    fn id(&self) -> usize {
        self.as_raw().addr()
    }

    fn fill_unseen(&self, queue: &CommandQueue, value: u32, gate: Option<&Event>) -> Event {
        let (pattern, size) = ((&raw const value).cast(), MemoryObject::size(self));
        unseen(queue, gate, |queue, count, events| {
            // SAFETY: the handles are alive and of one context, the buffer is as large, and the pattern is copied.
            unsafe {
                cl3::enqueue_fill_buffer(queue, self.as_raw(), pattern, 4, 0, size, count, events)
            }
        })
    }

    alike!(MemoryObject);
}

impl Kind for SvmAllocation {
    fn allocator(
        context: &Context,
        queue: Option<&CommandQueue>,
    ) -> Result<Box<dyn Allocator<Memory = Self>>> {
        Ok(Box::new(SvmAllocator::new(context, 0, SvmFlags::READ_WRITE, queue)?))
    }

    fn id(&self) -> usize {
        self.svm_ptr().addr()
    }

    fn fill_unseen(&self, queue: &CommandQueue, value: u32, gate: Option<&Event>) -> Event {
        let (pattern, size) = ((&raw const value).cast(), SvmPointer::size(self));
        unseen(queue, gate, |queue, count, events| {
            // SAFETY: the handles are alive and of one context, the memory is as large, and the pattern is copied.
            unsafe {
                cl3::enqueue_svm_mem_fill(queue, self.svm_ptr(), pattern, 4, size, count, events)
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

/// A handle of the driver.
type Raw = *mut c_void;

/// Enqueues a command that waits for the gate, by cl3.
fn unseen(
    queue: &CommandQueue,
    gate: Option<&Event>,
    enqueue: impl FnOnce(Raw, u32, *const Raw) -> std::result::Result<Raw, i32>,
) -> Event {
    let wait_for = gate.map_or(ptr::null_mut(), Event::as_raw);
    let events = if gate.is_some() { &raw const wait_for } else { ptr::null() };
    let event =
        enqueue(queue.as_raw(), gate.is_some().into(), events).expect("the driver takes it");
    // SAFETY: the driver has just created the event on this queue, with one reference.
    unsafe { queue.event_from_raw(event) }.expect("an event")
}

/// A pool for the queue, if there is one.
pub fn pool<K: Kind>(
    on_device: &OnDevice,
    queue: Option<&CommandQueue>,
    options: PoolOptions,
) -> Result<Pool<K>> {
    Pool::with_options(K::allocator(&on_device.context, queue)?, options)
}

/// A pool for the queue of `on_device`.
pub fn pool_of<K: Kind>(on_device: &OnDevice) -> Result<Pool<K>> {
    pool(on_device, Some(&on_device.queue), PoolOptions::new())
}

/// A pool of one block: every queue has to wait for the last use of it.
pub fn one_block<K: Kind>(on_device: &OnDevice) -> Result<Pool<K>> {
    pool(on_device, Some(&on_device.queue), PoolOptions::new().limit(BLOCK))
}

/// The block `id`, which the pool hands out again.
#[track_caller]
pub fn again<K: Kind>(pool: &Pool<K>, queue: &CommandQueue, id: usize) -> Result<Pooled<K>> {
    let block = pool.allocate_on(queue, SIZE)?;
    assert_eq!(block.id(), id);
    Ok(block)
}

/// The block `id` again, filled with 2 in a way that this crate cannot see.
#[track_caller]
pub fn refilled<K: Kind>(pool: &Pool<K>, queue: &CommandQueue, id: usize) -> Result<Pooled<K>> {
    let block = again(pool, queue, id)?;
    block.fill_unseen(queue, 2, None).wait()?;
    Ok(block)
}

/// Returns whether the pool hands out this block for `size` bytes.
pub fn is_free<K: Kind>(pool: &Pool<K>, size: usize, id: usize) -> Result<bool> {
    // One more than the pool holds, so that it hands out each that it can.
    let blocks = (0..=pool.held_blocks()).map(|_| pool.allocate(size));
    let blocks: Vec<_> = blocks.collect::<Result<_>>()?;
    Ok(blocks.iter().any(|block| block.id() == id))
}
