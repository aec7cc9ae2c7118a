//! The objects of a thread, and the order of the commands on them.

use std::ops::Range;

use clmatrix::cl3::error_codes::CL_INVALID_OPERATION;
use clmatrix::memory::{Buffer, MemFlags, SvmAllocation};
use clmatrix::{CommandQueue, Event, Result, UserEvent};

use super::map::Map;
use super::memory::{Handle, Memory};
use super::object::{Lane, Link, Object};
use super::plan::{CELLS, GATES, Kind, LANES, MAPS, OWN, Place};
use super::world::{World, new_queues};

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

/// The places that a command uses, each with whether it writes there.
pub type Uses = Vec<(Place, bool)>;

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
            let object = this.new_object(Kind::Buffer, 32, 0, 0, None)?;
            this.objects.push(object);
        }
        Ok(this)
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
        queue: usize,
        gate: Option<Event>,
    ) -> Result<Object> {
        let world = self.world;
        let size = LANES * CELLS * cell;
        let queue = self.queues[queue].clone();
        let in_order = if queue.is_in_order() { &queue } else { &self.queues[0] };
        let handle = match (kind, &world.svm_pool) {
            (Kind::Buffer, _) | (Kind::Svm | Kind::SvmOnQueue, None) => {
                Handle::Buffer(Buffer::new(&world.context, MemFlags::READ_WRITE, size)?)
            }
            (Kind::Svm, Some(_)) => {
                Handle::Svm(SvmAllocation::builder(&world.context).size(size).build()?)
            }
            (Kind::SvmOnQueue, Some(_)) => Handle::Svm(
                SvmAllocation::builder(&world.context).size(size).queue(in_order).build()?,
            ),
            (Kind::PooledSvm, Some(pool)) => Handle::PooledSvm(pool.allocate(size)?),
            (Kind::PooledSvmOnQueue, Some(pool)) => {
                Handle::PooledSvm(pool.allocate_on(&queue, size)?)
            }
            (Kind::PooledPart, _) if !world.driver.mistakes_maps => {
                Handle::PooledBuffer(world.parts.allocate_on(&queue, size)?)
            }
            // For the queue of the pool's allocator.
            (Kind::Pooled, _) if queue == world.queues[0] => {
                Handle::PooledBuffer(world.pool.allocate(size)?)
            }
            _ => Handle::PooledBuffer(world.pool.allocate_on(&queue, size)?),
        };
        let block = match &handle {
            Handle::PooledBuffer(_) | Handle::PooledSvm(_) => {
                Some(world.blocks.add(handle.memory()))
            }
            Handle::Buffer(_) | Handle::Svm(_) => None,
        };
        let gate: Vec<Event> = gate.into_iter().collect();
        let event = handle.memory().fill(&queue, value, 0..size, &gate)?;
        let lanes = std::array::from_fn(|_| {
            let mut lane = Lane::new(vec![value; CELLS * cell]);
            let (event, queue) = (event.clone(), queue.clone());
            lane.record(true, Link { event, queue, cells: 0..CELLS });
            lane
        });
        self.last_number += 1;
        let drop_blocks = !matches!(kind, Kind::SvmOnQueue)
            && matches!(handle, Handle::Svm(_) | Handle::PooledSvm(_));
        Ok(Object {
            block,
            handle,
            drop_blocks,
            cell,
            lanes: Some(lanes),
            had_dropped_map: false,
            number: self.last_number,
        })
    }

    /// True if a map of this thread keeps a command away.
    fn is_mapped(&self, uses: &Uses) -> bool {
        uses.iter().any(|(used, writes)| {
            let Some(object) = self.objects.get(used.object) else { return false };
            self.maps.iter().flatten().any(|map| map.excludes(object.number, used, *writes))
        })
    }

    /// The events that a command has to wait for, so that the order on its lanes is determined. Their
    /// queues have been flushed.
    pub fn before(
        &mut self,
        queue: &CommandQueue,
        uses: &Uses,
        gate: Option<Event>,
    ) -> Result<Vec<Event>> {
        let world = self.world;
        let mut events: Vec<Event> = gate.into_iter().collect();
        for (place, writes) in uses {
            let Some(lane) = self.lane(place) else { continue };
            for link in lane.before(*writes) {
                if link.is_before_all_on(queue) {
                    continue;
                }
                if link.queue != *queue {
                    world.flush(&link.queue)?;
                }
                events.push(link.event.clone());
            }
        }
        Ok(events)
    }

    /// Enters a command on its lanes, and returns it if it has been enqueued: it must be refused if
    /// its bytes are mapped, and only then.
    pub fn enqueued<T>(
        &mut self,
        queue: &CommandQueue,
        uses: &Uses,
        result: Result<T>,
        event: impl Fn(&T) -> &Event,
    ) -> Result<Option<T>> {
        let Some(done) = self.accepted(uses, result)? else { return Ok(None) };
        for (place, writes) in uses {
            let (event, queue) = (event(&done).clone(), queue.clone());
            let link = Link { event, queue, cells: place.cells.clone() };
            if let Some(lane) = self.lane(place) {
                lane.record(*writes, link);
            }
        }
        Ok(Some(done))
    }

    /// Returns the result of a call, or `None` if it was refused because bytes are mapped.
    pub fn accepted<T>(&mut self, uses: &Uses, result: Result<T>) -> Result<Option<T>> {
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
    fn may_be_closed(&self, uses: &Uses) -> bool {
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
        self.objects[object] = self.new_object(Kind::Buffer, 32, 0, 0, None)?;
        Ok(())
    }
}
