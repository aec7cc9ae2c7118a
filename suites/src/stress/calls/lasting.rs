//! Calls about objects that outlive others, or that others outlive: host memory, kernels, sub-devices, programs of
//! binaries, and futures.

use std::pin::Pin;
use std::task::{Context as Task, Poll, Waker};

use super::*;
use crate::support::task::block_on;

/// The bytes of memory that only one call uses.
const SIZE: usize = 64;

const RW: MemFlags = MemFlags::READ_WRITE;

/// Objects on sub-devices, in a context of their own.
pub struct Part {
    /// A queue for each device of the context.
    queues: Vec<CommandQueue>,
    buffer: Buffer,
    kernel: Option<Kernel>,
    /// The last command.
    last: Option<Event>,
}

impl Calls<'_> {
    pub(super) fn use_host_memory(&mut self) -> Result<()> {
        let memory = vec![self.values.byte(); self.values.below(3000)];
        let flags = self.values.flags();
        self.hosts.push(Buffer::using_host_memory(&self.world.context, flags, memory)?);
        Ok(())
    }

    /// Takes the memory of a buffer back, after commands of other calls, or after one of its own.
    pub(super) fn return_host_memory(&mut self) -> Result<()> {
        if self.hosts.is_empty() || self.world.driver.events_keep_buffers {
            self.use_host_memory()?;
        }
        self.may_block();
        let (queue, byte) = (self.some_queue(), self.values.byte());
        let buffer = self.hosts.pop().expect("there is one");
        _ = enqueue_fill(&queue, &buffer, &byte, ..);
        buffer.into_host_memory::<Vec<u8>>(&queue).map(drop).map_err(|refused| {
            // Other handles may be dropped until the next call.
            let buffer = refused.memory.unwrap_or_else(|_| panic!("{}", refused.error));
            self.hosts.push(buffer);
            refused.error
        })
    }

    /// Launches a kernel, and drops its memory.
    pub(super) fn launch_and_drop(&mut self) -> Result<()> {
        let context = &self.world.context;
        let memory = match self.values.below(4) {
            0 => Handle::Buffer(Buffer::new(context, RW, SIZE)?),
            1 => Handle::Buffer(Buffer::using_host_memory(context, RW, vec![0_u8; SIZE])?),
            2 if self.world.svm_pool.is_some() => {
                // The drop waits.
                self.may_block();
                Handle::Svm(SvmAllocation::new(context, SIZE, 0, SvmFlags::READ_WRITE)?)
            }
            _ => Handle::PooledBuffer(self.world.pool.allocate(SIZE)?),
        };
        let (queue, wait_for) = (self.some_queue(), self.wait_list());
        let (byte, kernel) = (self.values.byte(), self.values.below(self.kernels.len()));
        let (order, kernel) = (queue.after(&wait_for), &mut self.kernels[kernel]);
        let event = memory.memory().add(order, kernel, byte, 0..SIZE);
        self.keep(event)
    }

    /// Makes objects on a sub-device, or on all parts of a device.
    pub(super) fn new_part(&mut self) -> Result<()> {
        let device = self.world.context.default_device();
        let partition = [Partition::Equally(1), Partition::ByCounts(&[1, 1])];
        let mut devices = device.partition(partition[self.values.below(2)])?;
        if self.values.one_in(2) {
            let index = self.values.below(devices.len());
            devices = vec![devices.swap_remove(index)];
        }
        let context = Context::new(&devices)?;
        let queue = |device| CommandQueue::on_device(&context, device, QueueProperties::empty());
        let queues = devices.iter().map(queue).collect::<Result<_>>()?;
        let buffer = Buffer::from_slice(&context, RW, &[7_u8; SIZE])?;
        let kernel = self.values.one_in(8).then(|| Program::build(&context, ADD)?.kernel("k"));
        let kernel = kernel.transpose()?;
        self.parts.push(Part { queues, buffer, kernel, last: None });
        Ok(())
    }

    pub(super) fn part_commands(&mut self) -> Result<()> {
        if self.parts.is_empty() {
            self.new_part()?;
        }
        let (own, byte) = ((self.some_queue(), self.some_buffer()), self.values.byte());
        let index = self.values.below(self.parts.len());
        let Part { queues, buffer, kernel, last } = &mut self.parts[index];
        let queue = self.values.pick(queues).expect("there are queues");
        let order = queue.after(&*last);
        let event = match (self.values.below(8), kernel) {
            (0, _) => enqueue_fill(order, &own.1, &byte, ..)?,
            (1, _) => enqueue_fill(&own.0, &*buffer, &byte, ..)?,
            (2, _) => {
                self.transfers.push(enqueue_copy(order, &*buffer, vec![byte; SIZE], ..)?);
                return Ok(());
            }
            (3, _) => {
                self.maps.push(buffer.map_read_write(order, ..)?);
                return Ok(());
            }
            (4, _) => enqueue_copy(order, &mut [0_u8; SIZE], &*buffer, ..)?,
            (5.., Some(kernel)) => Memory::Buffer(buffer).add(order, kernel, byte, 0..SIZE)?,
            _ => enqueue_fill(order, &*buffer, &byte, ..)?,
        };
        *last = Some(event);
        Ok(())
    }

    /// Builds a program of the binary of another, with a kernel that later launches use.
    pub(super) fn build_binary(&mut self) -> Result<()> {
        let program = match self.values.pick(&self.programs) {
            Some(program) if self.values.one_in(2) => program,
            _ => &self.world.program,
        };
        let binaries = program.binaries()?;
        let strange = self.values.one_in(10).then(|| self.stranger.queue.context());
        let context = strange.as_ref().unwrap_or(&self.world.context);
        let binary: &[u8] = if self.values.one_in(20) { &[] } else { &binaries[0] };
        // SAFETY: the driver has made the binary for the device of both contexts, or it is empty.
        let program = unsafe { Program::build_binary(context, binary) }?;
        self.kernels.push(program.kernel("k")?);
        self.programs.push(program);
        Ok(())
    }

    /// Removes a transfer, or enqueues one.
    fn some_transfer(&mut self) -> Result<PendingTransfer<Vec<u8>>> {
        if !self.transfers.is_empty() && self.values.one_in(2) {
            let index = self.values.below(self.transfers.len());
            return Ok(self.transfers.swap_remove(index));
        }
        let (queue, buffer, wait_for) = (self.some_queue(), self.some_buffer(), self.wait_list());
        let host = vec![self.values.byte(); buffer.size().min(600)];
        Ok(enqueue_copy(queue.after(&wait_for), host, &buffer, ..)?)
    }

    /// Polls a transfer once, and drops it, at once or later.
    pub(super) fn poll_transfer(&mut self) -> Result<()> {
        let mut transfer = self.some_transfer()?;
        if self.world.driver.one_thread {
            // So that no thread is needed, also where its queue is no longer one of the thread's.
            self.may_block();
            transfer.event().wait()?;
        }
        match Pin::new(&mut transfer).poll(&mut Task::from_waker(Waker::noop())) {
            Poll::Ready(result) => drop(result?),
            Poll::Pending if self.values.one_in(2) => self.transfers.push(transfer),
            Poll::Pending => {
                self.may_block();
                drop(transfer);
            }
        }
        Ok(())
    }

    pub(super) fn await_transfer(&mut self) -> Result<()> {
        let transfer = self.some_transfer()?;
        self.may_block();
        block_on(transfer)?;
        Ok(())
    }

    fn some_pending_map(&mut self) -> Result<PendingMap<BufferMap<u8, MapReadWrite>>> {
        let (queue, buffer, wait_for) = (self.some_queue(), self.some_buffer(), self.wait_list());
        if self.values.one_in(2) {
            return buffer.map_async(queue.after(&wait_for), MapReadWrite, ..);
        }
        buffer.map_async(queue.after(&wait_for), MapReadWrite, self.values.range())
    }

    /// Asks a map once for its status, and drops it.
    pub(super) fn poll_map(&mut self) -> Result<()> {
        let map = self.some_pending_map()?;
        self.may_leave_maps();
        map.event().status().map(drop)
    }

    pub(super) fn await_map(&mut self) -> Result<()> {
        let map = self.some_pending_map()?;
        self.may_block();
        map.wait()?.fill(self.values.byte());
        Ok(())
    }
}
