//! The objects of a thread, and the order of the commands on them.

use clmatrix::cl3::error_codes::CL_INVALID_OPERATION;

use super::*;

/// The objects of a thread, its maps and its user events.
pub struct ThreadState<'w> {
    pub world: &'w World,
    /// The queues of all threads, and then the thread's own.
    pub queues: Vec<CommandQueue>,
    pub objects: Vec<Object>,
    pub maps: [Option<Map>; MAPS],
    pub gates: [Option<UserEvent>; GATES],
    last_number: u64,
}

/// The queue of a command, and the user event that it waits for, if there is one.
pub struct Route {
    pub queue: CommandQueue,
    pub gate: Option<Event>,
}

/// A place that a command uses, with whether it writes there.
pub type Use = (Place, bool);

/// The memory of a place for one command: the object, or a region of it.
pub struct View<'a> {
    object: &'a Object,
    pub region: Option<Buffer>,
    pub bytes: Range<usize>,
}

impl View<'_> {
    pub fn memory(&self) -> Memory<'_> {
        match &self.region {
            Some(region) => Memory::Buffer(region),
            None => self.object.handle.memory(),
        }
    }
}

impl<'w> ThreadState<'w> {
    pub fn new(world: &'w World) -> Result<Self> {
        let mut queues = if world.driver.blocks_queues {
            new_queues(&world.context, world.driver)?
        } else {
            world.queues.clone()
        };
        queues.push(CommandQueue::new(&world.context)?);
        let mut this = Self {
            world,
            queues,
            objects: vec![],
            maps: Default::default(),
            gates: Default::default(),
            last_number: 0,
        };
        for _ in 0..OWN {
            let object = this.new_buffer()?;
            this.objects.push(object);
        }
        Ok(this)
    }

    /// The first queue, at once.
    pub fn first_route(&self) -> Route {
        Route { queue: self.queues[0].clone(), gate: None }
    }

    fn new_buffer(&mut self) -> Result<Object> {
        self.new_object(Kind::Buffer, 32, 0, &self.first_route())
    }

    pub fn object(&self, place: &Place) -> &Object {
        match self.objects.get(place.object) {
            Some(object) => object,
            None => &self.world.shared[place.object - OWN],
        }
    }

    pub fn lane(&mut self, place: &Place) -> Option<&mut Lane> {
        let lanes = self.objects.get_mut(place.object)?.lanes.as_mut()?;
        Some(&mut lanes[place.lane])
    }

    /// The bytes of a place within its lane.
    pub fn in_lane(&self, place: &Place) -> Range<usize> {
        let cell = self.object(place).cell;
        place.cells.start * cell..place.cells.end * cell
    }

    pub fn view(&self, place: &Place) -> Result<View<'_>> {
        let object = self.object(place);
        Ok(match object.handle.memory() {
            Memory::Buffer(buffer) if self.is_region(place) => View {
                object,
                region: Some(buffer.sub_buffer(object.lane_bytes(place.lane))?),
                bytes: self.in_lane(place),
            },
            _ => View { object, region: None, bytes: object.bytes(place) },
        })
    }

    /// True if a command uses a region, which has to begin at a multiple of the device's alignment.
    fn is_region(&self, place: &Place) -> bool {
        let start = self.object(place).lane_bytes(place.lane).start;
        place.as_region && start.is_multiple_of(self.world.region_alignment)
    }

    pub fn open(&mut self, slot: usize) -> Result<()> {
        self.gates[slot].take().map_or(Ok(()), |gate| gate.set_complete())
    }

    /// Sets all user events, before the thread waits for something.
    pub fn open_gates(&mut self) -> Result<()> {
        (0..GATES).try_for_each(|slot| self.open(slot))
    }

    pub fn new_object(
        &mut self,
        kind: Kind,
        cell: usize,
        value: u8,
        route: &Route,
    ) -> Result<Object> {
        let (world, queue, size) = (self.world, &route.queue, LANES * CELLS * cell);
        let in_order = if queue.is_in_order() { queue } else { &self.queues[0] };
        let svm = SvmAllocation::builder(&world.context).size(size);
        let handle = match (kind, &world.svm_pool) {
            (Kind::Svm, Some(_)) => Handle::Svm(svm.build()?),
            (Kind::SvmOnQueue, Some(_)) => Handle::Svm(svm.queue(in_order).build()?),
            (Kind::Buffer | Kind::Svm | Kind::SvmOnQueue, _) => {
                Handle::Buffer(Buffer::new(&world.context, MemFlags::READ_WRITE, size)?)
            }
            (Kind::PooledSvm, Some(pool)) => Handle::PooledSvm(pool.allocate(size)?),
            (Kind::PooledSvmOnQueue, Some(pool)) => {
                Handle::PooledSvm(pool.allocate_on(queue, size)?)
            }
            (Kind::PooledPart, _) if !world.driver.mistakes_maps => {
                Handle::PooledBuffer(world.parts.allocate_on(queue, size)?)
            }
            // For the queue of the pool's allocator.
            (Kind::Pooled, _) if *queue == world.queues[0] => {
                Handle::PooledBuffer(world.pool.allocate(size)?)
            }
            _ => Handle::PooledBuffer(world.pool.allocate_on(queue, size)?),
        };
        let is_pooled = matches!(handle, Handle::PooledBuffer(_) | Handle::PooledSvm(_));
        let block = is_pooled.then(|| world.blocks.add(handle.memory()));
        let order = queue.after(&route.gate);
        let event =
            either!(handle.memory(), memory => enqueue_fill(order, memory, &value, 0..size))?;
        let lanes = std::array::from_fn(|_| {
            let (event, queue) = (event.clone(), queue.clone());
            Lane::new(vec![value; CELLS * cell], Link { event, queue, cells: 0..CELLS })
        });
        self.last_number += 1;
        Ok(Object {
            block,
            drop_blocks: !matches!(kind, Kind::SvmOnQueue) && handle.is_svm(),
            handle,
            cell,
            lanes: Some(lanes),
            had_dropped_map: false,
            number: self.last_number,
        })
    }

    /// True if a map of this thread keeps a command away.
    fn is_mapped(&self, uses: &[Use]) -> bool {
        uses.iter().any(|(used, writes)| {
            let Some(object) = self.objects.get(used.object) else { return false };
            self.maps.iter().flatten().any(|map| map.excludes(object.number, used, *writes))
        })
    }

    /// The events that a command has to wait for, so that the order on its lanes is determined. Their
    /// queues have been flushed.
    fn before(&mut self, route: &Route, uses: &[Use]) -> Result<Vec<Event>> {
        let world = self.world;
        let mut events: Vec<Event> = route.gate.iter().cloned().collect();
        for (place, writes) in uses {
            let Some(lane) = self.lane(place) else { continue };
            for link in lane.before(*writes) {
                if link.is_before_all_on(&route.queue) {
                    continue;
                }
                if link.queue != route.queue {
                    world.flush(&link.queue)?;
                }
                events.push(link.event.clone());
            }
        }
        Ok(events)
    }

    /// Enqueues a command after the commands before it on its lanes, and enters it there. Returns false if it was
    /// refused: it must be if its bytes are mapped, and only then.
    pub fn enqueue(
        &mut self,
        route: &Route,
        uses: &[Use],
        command: impl FnOnce(&Self, Order<'_>) -> Result<Result<Event>>,
    ) -> Result<bool> {
        let wait_for = self.before(route, uses)?;
        let result = command(self, route.queue.after(&wait_for))?;
        let Some(event) = self.accepted(uses, result)? else { return Ok(false) };
        for (place, writes) in uses {
            if let Some(lane) = self.lane(place) {
                let (event, queue) = (event.clone(), route.queue.clone());
                lane.record(*writes, Link { event, queue, cells: place.cells.clone() });
            }
        }
        Ok(true)
    }

    /// Returns the result of a call, or `None` if it was refused because bytes are mapped.
    pub fn accepted<T>(&mut self, uses: &[Use], result: Result<T>) -> Result<Option<T>> {
        let is_mapped = self.is_mapped(uses);
        let is_shared = uses.iter().any(|(place, _)| place.object >= OWN);
        match result {
            Ok(_) if is_mapped => panic!("a command on mapped bytes was not refused"),
            Ok(done) => Ok(Some(done)),
            Err(error) if error.code() == CL_INVALID_OPERATION && (is_mapped || is_shared) => {
                Ok(None)
            }
            Err(error) if error.code() == CL_INVALID_OPERATION && self.may_be_closed(uses) => {
                uses.iter().try_for_each(|(place, _)| self.replace_object(place.object))?;
                Ok(None)
            }
            Err(error) => Err(error),
        }
    }

    /// True if the driver may have refused the unmap of a dropped map, after which the bytes stay closed.
    fn may_be_closed(&self, uses: &[Use]) -> bool {
        self.world.driver.refuses_unmaps
            && uses.iter().any(|(place, _)| self.object(place).had_dropped_map)
    }

    /// The bytes of a place, if they are known.
    pub fn known(&mut self, place: &Place) -> Option<Vec<u8>> {
        let bytes = self.in_lane(place);
        self.lane(place).filter(|lane| lane.is_known).map(|lane| lane.bytes[bytes].to_vec())
    }

    /// Enters the bytes that a command writes; `None` if they are unknown.
    pub fn set(&mut self, place: &Place, new: Option<&[u8]>) {
        let bytes = self.in_lane(place);
        let Some(lane) = self.lane(place) else { return };
        match new {
            Some(new) => {
                lane.bytes[bytes].copy_from_slice(new);
                lane.is_known |= place.cells == (0..CELLS);
            }
            None => lane.is_known = false,
        }
    }

    /// Replaces an object whose bytes cannot be used any more.
    pub fn replace_object(&mut self, object: usize) -> Result<()> {
        self.open_gates()?;
        self.objects[object] = self.new_buffer()?;
        Ok(())
    }
}
