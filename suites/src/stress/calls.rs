//! Calls of the public functions with random arguments, valid and not. No call may panic, hang or end the
//! process; its result does not matter.

mod lasting;

use std::hint;

use clmatrix::Partition;
use clmatrix::memory::{
    AddressingMode, AnyMemoryObject, BufferMap, FilterMode, HostRect, Image, ImageBufferRegion,
    ImageCopy, ImageMap, ImageRegion, MemoryObject, MigrationFlags, PendingMap, Rect, Sampler,
    SvmMap, enqueue_migrate_mem_objects,
};

use super::*;
use lasting::Part;

/// The most objects of a kind that a thread keeps.
const MOST: usize = 6;

/// The number of kinds of calls.
pub const KINDS: usize = 30;

type Kind<T> = (&'static str, fn(&mut T) -> Result<()>);

macro_rules! kinds {
    ($($kind:ident)*) => { [$((stringify!($kind), Self::$kind)),*] };
}

/// The objects of another context, which no command accepts.
pub struct Stranger {
    queue: CommandQueue,
    buffer: Buffer,
    event: Event,
}

impl Stranger {
    pub fn new(context: &Context) -> Result<Self> {
        let queue = CommandQueue::new(context)?;
        let buffer = Buffer::from_slice(context, MemFlags::READ_WRITE, &[0; 64])?;
        let event = enqueue_marker(&queue)?;
        queue.finish()?;
        Ok(Self { queue, buffer, event })
    }
}

/// A thread with its objects.
pub struct Calls<'w> {
    world: &'w World,
    stranger: &'w Stranger,
    values: Values,
    /// The first one stays as long as the thread.
    kernels: Vec<Kernel>,
    /// Programs of binaries.
    programs: Vec<Program>,
    parts: Vec<Part>,
    queues: Vec<CommandQueue>,
    buffers: Vec<Buffer>,
    /// Buffers in host memory.
    hosts: Vec<Buffer>,
    images: Vec<Image>,
    svms: Vec<SvmAllocation>,
    pooled: Vec<PooledBuffer>,
    pooled_svms: Vec<PooledSvm>,
    samplers: Vec<Sampler>,
    events: Vec<Event>,
    gates: Vec<UserEvent>,
    transfers: Vec<PendingTransfer<Vec<u8>>>,
    maps: Vec<BufferMap<u8, MapReadWrite>>,
    pending_maps: Vec<PendingMap<BufferMap<u32, MapRead>>>,
    image_maps: Vec<ImageMap<u8, MapReadWrite>>,
    pending_image_maps: Vec<PendingMap<ImageMap<[u32; 4], MapWriteInvalidate>>>,
    svm_maps: Vec<SvmMap<u8, MapReadWrite>>,
    /// For each kind of calls, the number of those that were accepted, and of those that were refused.
    pub results: [[usize; 2]; KINDS],
    prints: bool,
}

impl<'w> Calls<'w> {
    pub fn new(world: &'w World, stranger: &'w Stranger, seed: u64, thread: usize) -> Result<Self> {
        let queue = || CommandQueue::new(&world.context);
        // The next use of a map that was dropped waits for it, maybe behind a gate of the thread that waits: other
        // threads' commands come between.
        let is_shared = !world.driver.unmaps_ended_maps_only;
        let buffers = world.shared.iter().filter_map(|object| match &object.handle {
            Handle::Buffer(buffer) => is_shared.then(|| buffer.clone()),
            _ => None,
        });
        Ok(Self {
            world,
            stranger,
            values: Values(numbers(seed, thread)),
            kernels: vec![world.program.kernel("k")?],
            programs: vec![],
            parts: vec![],
            queues: vec![queue()?, queue()?],
            buffers: buffers.collect(),
            hosts: vec![],
            images: vec![],
            svms: vec![],
            pooled: vec![],
            pooled_svms: vec![],
            samplers: vec![],
            events: vec![],
            gates: vec![],
            transfers: vec![],
            maps: vec![],
            pending_maps: vec![],
            image_maps: vec![],
            pending_image_maps: vec![],
            svm_maps: vec![],
            results: [[0; 2]; KINDS],
            prints: env::var_os("CLMATRIX_STRESS_TRACE").is_some(),
        })
    }

    /// The kinds of calls, with their names.
    pub const ALL: [Kind<Self>; KINDS] = kinds! {
        queue_calls gate_calls event_calls new_buffer buffer_fill buffer_copy buffer_host_copy buffer_transfer
        buffer_map end_map new_image image_commands image_buffer_copy image_map svm_calls svm_commands pool_calls
        sampler_calls launch other_calls use_host_memory return_host_memory launch_and_drop new_part part_commands
        build_binary poll_transfer await_transfer poll_map await_map
    };

    /// Makes a random call.
    pub fn call(&mut self) {
        let number = self.values.below(KINDS);
        let (name, call) = Self::ALL[number];
        if self.prints {
            eprintln!("{name}");
        }
        let result = call(self);
        self.results[number][usize::from(result.is_err())] += 1;
        if self.prints
            && let Err(error) = result
        {
            eprintln!("  {error}");
        }
        self.forget_old();
    }

    /// Drops the oldest objects.
    fn forget_old(&mut self) {
        fn shorten<T>(all: &mut Vec<T>) {
            if all.len() > MOST {
                all.remove(0);
            }
        }
        let maps = self.pending_maps.len().max(self.pending_image_maps.len());
        if [self.transfers.len(), self.gates.len(), maps].iter().any(|len| *len > MOST) {
            self.may_block();
        }
        if self.kernels.len() > MOST {
            self.kernels.remove(1);
        }
        shorten(&mut self.programs);
        shorten(&mut self.parts);
        shorten(&mut self.buffers);
        shorten(&mut self.hosts);
        shorten(&mut self.images);
        shorten(&mut self.svms);
        shorten(&mut self.pooled);
        shorten(&mut self.pooled_svms);
        shorten(&mut self.samplers);
        shorten(&mut self.events);
        shorten(&mut self.transfers);
        shorten(&mut self.maps);
        shorten(&mut self.pending_maps);
        shorten(&mut self.image_maps);
        shorten(&mut self.pending_image_maps);
        shorten(&mut self.svm_maps);
    }

    fn open_gates(&self) {
        for gate in &self.gates {
            // It may be open.
            _ = gate.set_complete();
        }
    }

    /// Lets all commands of the thread run, which a call that blocks may wait for.
    fn may_block(&mut self) {
        self.open_gates();
        for queue in &self.queues {
            queue.flush().expect("a flush of a valid queue");
        }
    }

    /// Lets all commands run if the next use of a map that is dropped waits for it.
    fn may_leave_maps(&mut self) {
        if self.world.driver.unmaps_ended_maps_only {
            self.may_block();
        }
    }

    fn some_queue(&mut self) -> CommandQueue {
        if self.values.one_in(40) {
            return self.stranger.queue.clone();
        }
        let queue = self.values.pick(&self.queues).expect("there are queues");
        queue.clone()
    }

    fn some_buffer(&mut self) -> Buffer {
        if self.values.one_in(40) {
            return self.stranger.buffer.clone();
        }
        match self.values.below(5) {
            0 => self.values.pick(&self.pooled).map(|pooled| (**pooled).clone()),
            1 => self.values.pick(&self.hosts).cloned(),
            _ => self.values.pick(&self.buffers).cloned(),
        }
        .unwrap_or_else(|| self.stranger.buffer.clone())
    }

    /// Returns up to two events, of commands and user events.
    fn wait_list(&mut self) -> Vec<Event> {
        let mut events = vec![];
        if self.values.one_in(3) {
            events.extend(self.values.pick(&self.events).cloned());
        }
        if self.values.one_in(4) {
            events.extend(self.values.pick(&self.gates).map(|gate| (**gate).clone()));
        }
        if self.values.one_in(60) {
            events.push(self.stranger.event.clone());
        }
        events
    }

    /// Keeps the event of a command, if it was accepted.
    fn keep(&mut self, event: Result<Event>) -> Result<()> {
        self.events.push(event?);
        Ok(())
    }

    fn queue_calls(&mut self) -> Result<()> {
        match self.values.below(6) {
            0 => {
                let may_be_out_of_order = self.world.driver.has_out_of_order_queues();
                let mut properties = QueueProperties::empty();
                properties.set(QueueProperties::PROFILING, self.values.one_in(3));
                let is_out_of_order = self.values.one_in(3) && may_be_out_of_order;
                properties.set(QueueProperties::OUT_OF_ORDER, is_out_of_order);
                self.queues.push(CommandQueue::with_properties(&self.world.context, properties)?);
            }
            1 if self.queues.len() > 1 => {
                let index = self.values.below(self.queues.len());
                drop(self.queues.remove(index));
            }
            2 => {
                self.may_block();
                self.some_queue().finish()?;
            }
            nth @ 3..=4 => {
                let (queue, wait_for) = (self.some_queue(), self.wait_list());
                let order = queue.after(&wait_for);
                let event = if nth == 3 { enqueue_barrier(order) } else { enqueue_marker(order) };
                self.keep(event)?;
            }
            _ => {
                if self.world.driver.flush_blocks {
                    self.may_block();
                }
                self.some_queue().flush()?;
            }
        }
        Ok(())
    }

    fn gate_calls(&mut self) -> Result<()> {
        if self.values.one_in(3) {
            let Some(gate) = self.values.pick(&self.gates) else { return Ok(()) };
            return gate.set_complete();
        }
        let gate = UserEvent::new(&self.world.context)?;
        if self.world.driver.flush_blocks {
            gate.set_complete()?;
        }
        self.gates.push(gate);
        Ok(())
    }

    fn event_calls(&mut self) -> Result<()> {
        let Some(event) = self.values.pick(&self.events).cloned() else { return Ok(()) };
        match self.values.below(5) {
            0 => {
                self.may_block();
                event.wait()
            }
            1 => event.status().map(drop),
            2 => event.profile().map(drop),
            3 => event.on_complete(drop),
            _ => event.reference_count().map(drop),
        }
    }

    fn new_buffer(&mut self) -> Result<()> {
        let (flags, size) = (self.values.flags(), self.values.size());
        let buffer = match self.values.below(4) {
            0 => {
                let data = vec![self.values.byte(); self.values.below(300)];
                Buffer::from_slice(&self.world.context, flags, &data)?
            }
            1 => {
                let start = self.values.below(8) * 512;
                self.some_buffer()
                    .sub_buffer_with_flags(start..start.saturating_add(size), flags)?
            }
            2 => self.some_buffer().sub_buffer(self.values.range())?,
            _ => Buffer::new(&self.world.context, flags, size)?,
        };
        self.buffers.push(buffer);
        Ok(())
    }

    fn buffer_fill(&mut self) -> Result<()> {
        let (queue, buffer, wait_for) = (self.some_queue(), self.some_buffer(), self.wait_list());
        let (byte, range) = (self.values.byte(), self.values.range());
        let order = queue.after(&wait_for);
        let event = match self.values.below(4) {
            0 => enqueue_fill(order, &buffer, &byte, range),
            1 => enqueue_fill(order, &buffer, &[byte; 16], range),
            2 => enqueue_fill(order, &buffer, &[byte; 3], range),
            _ => enqueue_fill(order, &buffer, &u32::from(byte), ..),
        };
        self.keep(event)
    }

    fn buffer_copy(&mut self) -> Result<()> {
        let (queue, wait_for) = (self.some_queue(), self.wait_list());
        let (dst, src) = (self.some_buffer(), self.some_buffer());
        let event = if self.values.one_in(2) {
            let rect = Rect::new(self.values.region())
                .src_origin(self.values.origin())
                .dst_origin(self.values.origin())
                .src_pitches([self.values.len()])
                .dst_pitches([self.values.len()]);
            enqueue_copy(queue.after(&wait_for), &dst, &src, rect)
        } else {
            enqueue_copy(queue.after(&wait_for), &dst, &src, self.values.linear())
        };
        self.keep(event)
    }

    fn buffer_host_copy(&mut self) -> Result<()> {
        self.may_block();
        let (queue, buffer, wait_for) = (self.some_queue(), self.some_buffer(), self.wait_list());
        let mut host = vec![self.values.byte(); self.values.below(600)];
        let order = queue.after(&wait_for);
        let event = match self.values.below(4) {
            0 => enqueue_copy(order, &mut host, &buffer, self.values.linear()),
            1 => enqueue_copy(order, &buffer, &host, self.values.linear()),
            number => {
                let rect = HostRect::new(self.values.region())
                    .buffer_origin(self.values.origin())
                    .host_origin(self.values.origin())
                    .buffer_pitches([self.values.len()]);
                match number {
                    2 => enqueue_copy(order, &mut host, &buffer, rect),
                    _ => enqueue_copy(order, &buffer, &host, rect),
                }
            }
        };
        self.keep(event)
    }

    fn buffer_transfer(&mut self) -> Result<()> {
        if self.values.one_in(3) && !self.transfers.is_empty() {
            self.may_block();
            let index = self.values.below(self.transfers.len());
            let transfer = self.transfers.remove(index);
            if self.values.one_in(2) {
                transfer.wait()?;
            }
            return Ok(());
        }
        let (queue, buffer, wait_for) = (self.some_queue(), self.some_buffer(), self.wait_list());
        let host = vec![self.values.byte(); self.values.below(600)];
        let part = self.values.linear();
        self.transfers.push(if self.values.one_in(2) {
            enqueue_copy(queue.after(&wait_for), host, &buffer, part)?
        } else {
            enqueue_copy(queue.after(&wait_for), &buffer, host, part)?
        });
        Ok(())
    }

    fn buffer_map(&mut self) -> Result<()> {
        let (queue, buffer, wait_for) = (self.some_queue(), self.some_buffer(), self.wait_list());
        let range = self.values.range();
        if self.values.one_in(2) {
            self.may_block();
            let mut map = buffer.map_read_write(queue.after(&wait_for), range)?;
            map.fill(self.values.byte());
            self.maps.push(map);
        } else {
            self.pending_maps.push(buffer.map_async(queue.after(&wait_for), MapRead, range)?);
        }
        Ok(())
    }

    /// Ends the last map of a kind.
    fn end_map(&mut self) -> Result<()> {
        let (queue, wait_for) = (self.some_queue(), self.wait_list());
        let order = queue.after(&wait_for);
        let unmapped = match self.values.below(7) {
            0 => self.maps.pop().map(|map| map.unmap()),
            1 => self.maps.pop().map(|map| map.unmap_on(order)),
            2 => self.image_maps.pop().map(|map| map.unmap_on(order)),
            3 => {
                // The map may be the last handle to its memory, whose drop waits.
                self.may_block();
                self.svm_maps.pop().map(|map| map.unmap_on(order))
            }
            4 => {
                self.may_block();
                let map = self.pending_maps.pop().map(PendingMap::wait).transpose()?;
                map.map(|map| {
                    // Reads all of it.
                    hint::black_box(map.iter().fold(0, |all, word| all ^ word));
                    map.unmap_on(order)
                })
            }
            5 => {
                self.may_block();
                let map = self.pending_image_maps.pop().map(PendingMap::wait).transpose()?;
                map.map(|mut map| {
                    map.pixels_mut().fill([7; 4]);
                    map.unmap_on(order)
                })
            }
            _ => {
                self.may_leave_maps();
                drop(self.pending_maps.pop());
                drop(self.pending_image_maps.pop());
                None
            }
        };
        unmapped.map_or(Ok(()), |event| self.keep(event))
    }

    fn new_image(&mut self) -> Result<()> {
        let (format, flags) = (self.values.format(), self.values.flags());
        let mut shape = vec![0; self.values.below(5)];
        shape.fill_with(|| self.values.len());
        let pixels = shape.iter().copied().fold(1, usize::saturating_mul);
        if self.world.driver.throws_without_memory && pixels > 1 << 24 {
            shape.truncate(1);
        }
        let buffer = self.values.one_in(4).then(|| self.some_buffer());
        let data = vec![self.values.byte(); 16 * 24];
        let mut builder = Image::builder(&self.world.context, format).flags(flags).shape(&shape);
        if self.values.one_in(4) {
            builder = builder.array();
        }
        if self.values.one_in(8) {
            builder = builder.copy_from(&data);
        }
        if let Some(buffer) = &buffer {
            builder = builder.buffer(buffer);
        }
        self.images.push(builder.build()?);
        Ok(())
    }

    fn image_commands(&mut self) -> Result<()> {
        let Some(image) = self.values.pick(&self.images).cloned() else { return Ok(()) };
        let (queue, wait_for) = (self.some_queue(), self.wait_list());
        let origin = self.values.origin();
        let part = if self.values.one_in(3) {
            ImageRegion::new(self.values.region()).origin(origin)
        } else {
            ImageRegion::default()
        };
        let order = queue.after(&wait_for);
        let event = match self.values.below(6) {
            0 => enqueue_fill(order, &image, [1.0_f32; 4], part),
            1 => enqueue_fill(order, &image, [1_u32; 4], part),
            2 => enqueue_fill(order, &image, 0.5_f32, part),
            3 => {
                let Some(other) = self.values.pick(&self.images).cloned() else { return Ok(()) };
                let part = ImageCopy::new(self.values.region()).src_origin(origin);
                enqueue_copy(order, &other, &image, part)
            }
            number => {
                self.may_block();
                let size = image.size();
                let len = if self.values.one_in(3) { self.values.below(600) } else { size };
                let mut host = vec![self.values.byte(); len];
                match number {
                    4 => enqueue_copy(order, &mut host, &image, part),
                    _ => enqueue_copy(order, &image, &host, part),
                }
            }
        };
        self.keep(event)
    }

    fn image_buffer_copy(&mut self) -> Result<()> {
        let Some(image) = self.values.pick(&self.images).cloned() else { return Ok(()) };
        let (queue, buffer, wait_for) = (self.some_queue(), self.some_buffer(), self.wait_list());
        let mut part = if self.values.one_in(2) {
            ImageBufferRegion::new(self.values.region()).origin(self.values.origin())
        } else {
            ImageBufferRegion::default()
        };
        if self.values.one_in(2) {
            part = part.offset(self.values.size());
        }
        let event = if self.values.one_in(2) {
            enqueue_copy(queue.after(&wait_for), &buffer, &image, part)
        } else {
            enqueue_copy(queue.after(&wait_for), &image, &buffer, part)
        };
        self.keep(event)
    }

    fn image_map(&mut self) -> Result<()> {
        let Some(image) = self.values.pick(&self.images).cloned() else { return Ok(()) };
        let (queue, wait_for) = (self.some_queue(), self.wait_list());
        let part = if self.values.one_in(3) {
            ImageRegion::new(self.values.region()).origin(self.values.origin())
        } else {
            ImageRegion::default()
        };
        if self.values.one_in(2) {
            self.may_block();
            let mut map = image.map_read_write(queue.after(&wait_for), part)?;
            map.pixels_mut().fill(self.values.byte());
            self.image_maps.push(map);
        } else {
            let map = image.map_async(queue.after(&wait_for), MapWriteInvalidate, part)?;
            self.pending_image_maps.push(map);
        }
        Ok(())
    }

    fn svm_calls(&mut self) -> Result<()> {
        let (queue, wait_for) = (self.some_queue(), self.wait_list());
        match self.values.below(5) {
            0 if !self.svms.is_empty() => {
                let index = self.values.below(self.svms.len());
                let svm = self.svms.remove(index);
                self.keep(svm.enqueue_release(queue.after(&wait_for)).map_err(Error::from))
            }
            1 => {
                self.may_block();
                self.values.pick(&self.svms).map_or(Ok(()), |svm| svm.bind_to_queue(&queue))
            }
            2 => {
                self.may_block();
                self.values.pick(&self.svms).map_or(Ok(()), |svm| svm.unbind_from_queue())
            }
            _ => {
                let alignment = if self.values.one_in(4) { self.values.size() } else { 0 };
                let (size, flags) = (self.values.size(), self.values.svm_flags());
                self.svms.push(SvmAllocation::new(&self.world.context, size, alignment, flags)?);
                Ok(())
            }
        }
    }

    fn svm_commands(&mut self) -> Result<()> {
        self.may_block();
        let (queue, wait_for) = (self.some_queue(), self.wait_list());
        let Some(svm) = self.values.pick(&self.svms) else { return Ok(()) };
        let order = queue.after(&wait_for);
        let event = match self.values.below(6) {
            0 => enqueue_fill(order, svm, &self.values.byte(), self.values.range()),
            1 => {
                let Some(other) = self.values.pick(&self.svms) else { return Ok(()) };
                enqueue_copy(order, other, svm, self.values.linear())
            }
            2 => {
                let (flags, mut range) = (self.values.flags(), self.values.range());
                if self.world.driver.fills_aligned_memory_only {
                    range.0 = Bound::Unbounded;
                }
                self.buffers.push(svm.as_buffer(flags, range)?);
                return Ok(());
            }
            3 => {
                let mut host = vec![0; self.values.below(600)];
                enqueue_copy(order, &mut host, svm, self.values.linear())
            }
            4 => {
                let mut access = svm.access::<u8, _>(MapReadWrite, self.values.range())?;
                access.fill(self.values.byte());
                return Ok(());
            }
            _ => {
                let mut map = svm.map_read_write(order, self.values.range())?;
                map.fill(self.values.byte());
                self.svm_maps.push(map);
                return Ok(());
            }
        };
        self.keep(event)
    }

    fn pool_calls(&mut self) -> Result<()> {
        let (queue, size) = (self.some_queue(), self.values.size());
        match self.values.below(8) {
            0 => {
                self.may_block();
                self.world.free_held();
            }
            1 => self.pooled.push(self.world.parts.allocate(size)?),
            2 => self.pooled.push(self.world.parts.allocate_on(&queue, size)?),
            3 => {
                let Some(block) = self.pooled.pop() else { return Ok(()) };
                let wait_for = self.wait_list();
                self.keep(block.enqueue_release(queue.after(&wait_for)))?;
            }
            4 => {
                if let Some(block) = self.pooled.last_mut() {
                    block.bind_to_queue(&queue)?;
                }
            }
            5 => {
                self.may_block();
                if let Some(block) = self.pooled.last_mut() {
                    block.unbind_from_queue()?;
                }
            }
            6 => {
                if let Some(pool) = &self.world.svm_pool {
                    self.pooled_svms.push(pool.allocate_on(&queue, size)?);
                }
            }
            _ => self.pooled.push(self.world.pool.allocate_on(&queue, size)?),
        }
        let bin = self.values.size() as u32;
        _ = self.world.pool.alloc_size(bin);
        Ok(())
    }

    fn sampler_calls(&mut self) -> Result<()> {
        let modes = [AddressingMode::Clamp, AddressingMode::Repeat, AddressingMode::None];
        let mode = modes[self.values.below(3)];
        let filter = if self.values.one_in(2) { FilterMode::Linear } else { FilterMode::Nearest };
        let normalized = self.values.one_in(2);
        self.samplers.push(Sampler::new(&self.world.context, normalized, mode, filter)?);
        Ok(())
    }

    /// Launches the kernel on bytes of a buffer, or with a wrong number of arguments or work items.
    fn launch(&mut self) -> Result<()> {
        let (queue, buffer, wait_for) = (self.some_queue(), self.some_buffer(), self.wait_list());
        if self.world.driver.mistakes_maps || buffer.flags().contains(MemFlags::READ_ONLY) {
            return Ok(());
        }
        let byte = self.values.byte();
        let items = if self.values.one_in(20) { 0 } else { buffer.size().min(256) };
        let is_short = self.values.one_in(20);
        let local = self.values.one_in(4).then(|| self.values.below(9));
        let kernel = self.values.below(self.kernels.len());
        let mut launch = self.kernels[kernel].launch();
        launch.arg(&buffer).arg(0_u32).global(items);
        if !is_short {
            launch.arg(byte);
        }
        if let Some(local) = local {
            launch.local(local);
        }
        // SAFETY: the arguments are those that the kernel declares, or too few. The kernel changes as many
        // bytes as there are work items, and the buffer has as many.
        let event = unsafe { launch.enqueue(queue.after(&wait_for)) };
        self.keep(event)
    }

    fn other_calls(&mut self) -> Result<()> {
        let (queue, buffer, wait_for) = (self.some_queue(), self.some_buffer(), self.wait_list());
        match self.values.below(6) {
            0 => {
                let other = self.some_buffer();
                let objects: [&dyn AnyMemoryObject; 2] = [&buffer, &other];
                let (objects, order) = (&objects[..self.values.below(3)], queue.after(&wait_for));
                self.keep(enqueue_migrate_mem_objects(order, objects, MigrationFlags::empty()))
            }
            1 => self.values.pick(&self.events).map_or(Ok(()), |event| buffer.record_use(event)),
            2 => buffer.record_use(&enqueue_marker(&queue)?),
            3 => {
                let device = self.world.context.default_device();
                self.kernels[0].work_group_info(device)?;
                let units = self.values.below(3) as u32;
                for part in device.partition(Partition::Equally(units))? {
                    assert!(self.kernels[0].work_group_info(&part).is_err(), "not in the context");
                }
                Ok(())
            }
            4 => {
                let name = ["", "a.h", "../a.h"][self.values.below(3)];
                let builder = Program::builder(&self.world.context).header(name, "#define A 1");
                builder.source("#include \"a.h\"\nkernel void k() { A; }").build().map(drop)
            }
            _ => {
                let source = ["", "\0", "kernel void k() {}\0"][self.values.below(3)];
                Program::build(&self.world.context, source).map(drop)
            }
        }
    }
}

impl Drop for Calls<'_> {
    fn drop(&mut self) {
        // The fields are dropped next, and each queue flushes itself.
        self.open_gates();
    }
}
