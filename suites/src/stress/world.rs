//! The objects that all threads use.

use clmatrix::cl3::command_queue::CL_QUEUE_OUT_OF_ORDER_EXEC_MODE_ENABLE;
use clmatrix::pool::{ImmediateAllocator, MemoryPool, SlabAllocator, SvmAllocator, SvmPool};

use super::*;
use crate::support::on_device::region_offset;

/// A kernel that adds a number to bytes.
pub const ADD: &str = "kernel void k(global uchar *x, uint start, uchar value) {
    x[start + get_global_id(0)] += value;
}";

/// The bytes of a cell of the objects that are shared.
const CELL: usize = 64;

/// A context with the objects of all threads.
pub struct World {
    pub context: Context,
    pub program: Program,
    pub queues: Vec<CommandQueue>,
    pub shared: Vec<Object>,
    /// A pool whose allocator has the first queue.
    pub pool: MemoryPool,
    /// A pool that hands out parts of larger buffers.
    pub parts: MemoryPool,
    /// `None` without shared virtual memory.
    pub svm_pool: Option<SvmPool>,
    pub blocks: Arc<LiveBlocks>,
    pub driver: Driver,
    /// The offsets of regions in buffers are multiples of it, in bytes.
    pub region_alignment: usize,
}

impl World {
    pub fn new(ctx_factory: CtxFactory, driver: Driver) -> Result<Self> {
        let context = ctx_factory()?;
        let program = Program::build(&context, ADD)?;
        let queues = new_queues(&context, driver)?;
        let size = LANES * CELLS * CELL;
        let buffer = || Buffer::new(&context, MemFlags::READ_WRITE, size).map(Handle::Buffer);
        let (second, svm_pool) = match SvmAllocation::builder(&context).size(size).build() {
            Ok(svm) => {
                let allocator = SvmAllocator::new(&context, 0, SvmFlags::READ_WRITE, None)?;
                (Handle::Svm(svm), Some(SvmPool::new(allocator)?))
            }
            Err(error) if error.class() == Class::Unsupported => (buffer()?, None),
            Err(error) => return Err(error),
        };
        let shared = [buffer()?, second].map(|handle| Object {
            block: None,
            handle,
            drop_blocks: false,
            cell: CELL,
            lanes: None,
            had_dropped_map: false,
            number: 0,
        });
        for object in &shared {
            let memory = object.handle.memory();
            either!(memory, memory => enqueue_fill(&queues[0], memory, &0_u8, ..))?;
        }
        queues[0].finish()?;
        let allocator = || ImmediateAllocator::new(&queues[0], MemFlags::READ_WRITE);
        let (pool, parts) = (allocator()?, allocator()?);
        Ok(Self {
            program,
            shared: shared.into(),
            pool: MemoryPool::new(pool)?,
            parts: MemoryPool::new(SlabAllocator::new(parts, 1 << 20))?,
            svm_pool,
            blocks: Arc::default(),
            driver,
            region_alignment: region_offset(context.default_device(), 1)?,
            queues,
            context,
        })
    }

    /// Flushes a queue, so that commands of other queues can wait for its commands.
    pub fn flush(&self, queue: &CommandQueue) -> Result<()> {
        if self.driver.flush_blocks { Ok(()) } else { queue.flush() }
    }

    pub fn free_held(&self) {
        self.pool.free_held();
        self.parts.free_held();
        if let Some(pool) = &self.svm_pool {
            pool.free_held();
        }
    }
}

/// Makes two in-order queues, and an out-of-order queue if the device has them and they work.
pub fn new_queues(context: &Context, driver: Driver) -> Result<Vec<CommandQueue>> {
    let mut queues = vec![CommandQueue::new(context)?, CommandQueue::new(context)?];
    let device = context.default_device().clone();
    let properties = device.opencl3().queue_on_host_properties().map_err(unanswered)?;
    if properties & CL_QUEUE_OUT_OF_ORDER_EXEC_MODE_ENABLE != 0 && driver.has_out_of_order_queues()
    {
        queues.push(CommandQueue::with_properties(context, QueueProperties::OUT_OF_ORDER)?);
    }
    Ok(queues)
}

impl Drop for World {
    fn drop(&mut self) {
        // quirk: INTEL-4
        for queue in &self.queues {
            _ = queue.finish();
        }
    }
}
