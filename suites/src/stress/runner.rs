//! A thread that runs its commands, and checks what it sees.

use std::cell::RefCell;
use std::mem;
use std::ops::Range;
use std::sync::Arc;

use clmatrix::cl3::error_codes::{
    CL_EXEC_STATUS_ERROR_FOR_EVENTS_IN_WAIT_LIST, CL_INVALID_COMMAND_QUEUE, CL_INVALID_OPERATION,
    CL_INVALID_VALUE,
};
use clmatrix::memory::{Buffer, MemFlags, PendingTransfer, SvmAllocation};
use clmatrix::{CommandQueue, Error, Event, Launcher, Result, UserEvent, wait_for_events};

use super::memory::{Handle, Mapped, Memory, NewMap, Pending};
use super::object::{Lane, Link, LiveBlock, Object};
use super::plan::{
    Action, CELLS, Command, End, GATES, Kind, LANES, MAPS, MapRequest, Mode, OWN, Place, TRANSFERS,
};
use super::world::{World, new_queues};
use crate::support::pattern::assert_same;

/// The state of a thread.
pub struct Thread<'w> {
    world: &'w World,
    /// The queues of all threads, and then the thread's own.
    queues: Vec<CommandQueue>,
    kernel: RefCell<Launcher>,
    objects: Vec<Object>,
    maps: [Option<Map>; MAPS],
    transfers: [Option<Transfer>; TRANSFERS],
    gates: [Option<UserEvent>; GATES],
    /// Host memory that no command uses, with its bytes.
    host: (Vec<u8>, u8),
    last_number: u64,
}

/// A map of cells of an object.
struct Map {
    /// Dropped before the map.
    block: Option<Arc<LiveBlock>>,
    state: MapState,
    object: u64,
    places: Vec<Place>,
    mode: Mode,
    /// The byte that is written to all of it.
    value: u8,
    queue: CommandQueue,
    /// True if the drop of the last handle to the memory blocks.
    drop_blocks: bool,
}

impl Map {
    fn writes(&self) -> bool {
        self.mode != Mode::Read
    }

    fn has_ended(&self) -> bool {
        matches!(self.state, MapState::Ended)
    }
}

enum MapState {
    Pending(Box<dyn Pending>),
    /// Mapped, with its bytes.
    Ready(Box<dyn Mapped>, Vec<u8>),
    Ended,
}

/// A transfer that owns its host memory.
struct Transfer {
    pending: PendingTransfer<Vec<u8>>,
    /// The bytes of the host memory afterwards; `None` if they cannot be known.
    expected: Option<Vec<u8>>,
}

/// The places that a command uses, each with whether it writes there.
type Uses = Vec<(Place, bool)>;

/// The memory of a place for one command: the object, or a region of it.
struct View<'a> {
    object: &'a Object,
    region: Option<Buffer>,
    bytes: Range<usize>,
}

impl View<'_> {
    fn memory(&self) -> Memory<'_> {
        match &self.region {
            Some(region) => Memory::Buffer(region),
            None => self.object.handle.memory(),
        }
    }
}

impl<'w> Thread<'w> {
    pub fn new(world: &'w World) -> Result<Self> {
        let mut queues = if world.driver.blocks_queues {
            new_queues(&world.context, world.queues[0].device(), world.driver)?
        } else {
            world.queues.clone()
        };
        queues.push(CommandQueue::new(&world.context)?);
        let mut this = Self {
            world,
            queues,
            kernel: RefCell::new(Launcher::create(&world.program, "k")?),
            objects: vec![],
            maps: Default::default(),
            transfers: Default::default(),
            gates: Default::default(),
            host: (vec![1; 1000], 1),
            last_number: 0,
        };
        for _ in 0..OWN {
            let object = this.new_object(Kind::Buffer, 32, 0, 0, None)?;
            this.objects.push(object);
        }
        Ok(this)
    }

    fn object(&self, place: &Place) -> &Object {
        match self.objects.get(place.object) {
            Some(object) => object,
            None => &self.world.shared[place.object - OWN],
        }
    }

    fn lane(&mut self, place: &Place) -> Option<&mut Lane> {
        let lanes = self.objects.get_mut(place.object)?.lanes.as_mut()?;
        Some(&mut lanes[place.lane])
    }

    /// The bytes of a place within its lane.
    fn in_lane(&self, place: &Place) -> Range<usize> {
        let cell = self.object(place).cell;
        place.cells.start * cell..place.cells.end * cell
    }

    fn view(&self, place: &Place) -> Result<View<'_>> {
        let object = self.object(place);
        Ok(match object.handle.memory() {
            Memory::Buffer(buffer) if place.as_region => View {
                object,
                region: Some(buffer.sub_region(object.lane_bytes(place.lane))?),
                bytes: self.in_lane(place),
            },
            _ => View { object, region: None, bytes: object.bytes(place) },
        })
    }

    /// Runs a command.
    ///
    /// # Panics
    /// If a check fails.
    pub fn run(&mut self, command: &Command) -> Result<()> {
        let queue = self.queues[command.queue].clone();
        let gate = command.gate.and_then(|slot| self.gates[slot].as_deref().cloned());
        match command.action.clone() {
            Action::Fill(place, value) => self.fill(&queue, gate, place, value)?,
            Action::Launch(place, value) => self.launch(&queue, gate, &place, value)?,
            Action::Copy { from, to } => self.copy(&queue, gate, &from, to)?,
            Action::Read { from, blocks: true, .. } => self.read(&queue, &from)?,
            Action::Read { from, slot, .. } => self.read_later(&queue, gate, &from, slot)?,
            Action::Write { to, value, blocks: true, .. } => self.write(&queue, &to, value)?,
            Action::Write { to, value, slot, .. } => {
                self.write_later(&queue, gate, &to, value, slot)?;
            }
            Action::EndTransfer { slot, by_drop } => {
                if let Some(transfer) = self.transfers[slot].take() {
                    self.end_transfer(transfer, by_drop)?;
                }
            }
            Action::Map { request, slot } => {
                if self.maps[slot].is_none() {
                    self.maps[slot] = self.map(&queue, gate, request)?;
                }
            }
            Action::WaitForMap { slot } => {
                if let Some(mut map) = self.maps[slot].take() {
                    self.wait_for_map(&mut map)?;
                    self.maps[slot] = Some(map).filter(|map| !map.has_ended());
                }
            }
            Action::EndMap { slot, end } => {
                if let Some(map) = self.maps[slot].take() {
                    self.end_map(map, &queue, gate, end)?;
                }
            }
            Action::Renew { object, kind, cell, value } => {
                let new = self.new_object(kind, cell, value, command.queue, gate)?;
                // A pool keeps its blocks.
                let old = &self.objects[object];
                if old.drop_blocks && !matches!(old.handle, Handle::PooledSvm(_)) {
                    self.open_gates()?;
                }
                self.objects[object] = new;
            }
            Action::KeepClone { object } => {
                let object = &mut self.objects[object];
                object.handle = object.handle.memory().cloned();
            }
            Action::Gate { slot } => {
                if self.gates[slot].is_none() {
                    self.gates[slot] = Some(UserEvent::new(&self.world.context)?);
                }
            }
            Action::Open { slot, fails } => self.open(slot, fails)?,
            Action::Marker => drop(queue.enqueue_marker(gate.as_ref())?),
            // A barrier that fails would fail all that comes after it.
            Action::Barrier => drop(queue.enqueue_barrier([])?),
            Action::Flush => self.world.flush(&queue)?,
            Action::Finish => {
                self.open_gates()?;
                queue.finish()?;
            }
            Action::FreeHeld => {
                self.open_gates()?;
                self.world.free_held();
            }
            Action::Host { len } => self.renew_host(len),
        }
        Ok(())
    }

    /// Ends everything that is under way, and checks all bytes.
    pub fn end(mut self) -> Result<()> {
        self.open_gates()?;
        for slot in 0..TRANSFERS {
            if let Some(transfer) = self.transfers[slot].take() {
                self.end_transfer(transfer, false)?;
            }
        }
        let queue = self.queues[0].clone();
        for slot in 0..MAPS {
            if let Some(map) = self.maps[slot].take() {
                self.end_map(map, &queue, None, End::Unmap)?;
            }
        }
        for object in 0..OWN {
            let place = Place { object, lane: 0, cells: 0..CELLS, as_region: false };
            let mode = Mode::Read;
            let request = MapRequest { place, whole: true, mode, value: 0, blocks: true };
            if let Some(map) = self.map(&queue, None, request)? {
                self.end_map(map, &queue, None, End::Unmap)?;
            }
        }
        self.renew_host(1);
        // quirk: INTEL-4
        self.queues.iter().try_for_each(CommandQueue::finish)
    }

    fn open(&mut self, slot: usize, fails: bool) -> Result<()> {
        let Some(gate) = self.gates[slot].take() else { return Ok(()) };
        if fails && self.world.failures { gate.set_failed(-5) } else { gate.set_complete() }
    }

    /// Sets all user events, before the thread waits for something.
    fn open_gates(&mut self) -> Result<()> {
        (0..GATES).try_for_each(|slot| self.open(slot, false))
    }

    fn new_object(
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
        let event = match handle.memory().fill(&queue, value, 0..size, &gate) {
            Ok(event) => Some(event),
            Err(error) if self.has_failed(&error) => None,
            Err(error) => return Err(error),
        };
        let lanes = std::array::from_fn(|_| {
            let mut lane = Lane::new(vec![value; CELLS * cell]);
            lane.is_known = event.is_some();
            if let Some(event) = &event {
                let (event, queue) = (event.clone(), queue.clone());
                lane.may_fail.extend(world.failures.then(|| event.clone()));
                lane.record(true, Link { event, queue, cells: 0..CELLS });
            }
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
            self.maps.iter().flatten().any(|map| {
                map.object == object.number
                    && (*writes || map.writes())
                    && map
                        .places
                        .iter()
                        .any(|place| place.lane == used.lane && overlap(&place.cells, &used.cells))
            })
        })
    }

    /// The events that a command has to wait for, so that the order on its lanes is determined. Their
    /// queues have been flushed.
    fn before(
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
                // In-order queues may lose their order after a failure.
                if link.is_before_all_on(queue) && !world.failures {
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
    fn enqueued<T>(
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
            self.record(place, *writes, link);
        }
        Ok(Some(done))
    }

    /// Enters a command on the lane of a place.
    fn record(&mut self, place: &Place, writes: bool, link: Link) {
        let failures = self.world.failures;
        if let Some(lane) = self.lane(place) {
            if failures {
                lane.may_fail.push(link.event.clone());
            }
            lane.record(writes, link);
        }
    }

    /// Forgets the order on a lane after a failure, when all commands on it have ended.
    fn reset(&mut self, place: &Place) -> Result<()> {
        self.open_gates()?;
        let Some(lane) = self.lane(place) else { return Ok(()) };
        let links: Vec<_> = lane.writer.take().into_iter().chain(lane.readers.drain(..)).collect();
        let events: Vec<_> = links.iter().map(|link| &link.event).chain(&lane.may_fail).collect();
        // They may have failed.
        _ = wait_for_events(events);
        lane.may_fail.clear();
        lane.is_known = false;
        Ok(())
    }

    /// Returns the result of a call, or `None` if it was refused because bytes are mapped.
    fn accepted<T>(&mut self, uses: &Uses, result: Result<T>) -> Result<Option<T>> {
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
            Err(error) if self.has_failed(&error) => {
                uses.iter().try_for_each(|(place, _)| self.reset(place))?;
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

    /// True if an error follows from a user event that failed: in a wait list, in the unmap of bytes
    /// that cannot be used any more, or on a queue that cannot.
    fn has_failed(&self, error: &Error) -> bool {
        let codes = [
            CL_EXEC_STATUS_ERROR_FOR_EVENTS_IN_WAIT_LIST,
            CL_INVALID_OPERATION,
            CL_INVALID_COMMAND_QUEUE,
        ];
        self.world.failures && codes.contains(&error.code())
    }

    /// The bytes of a place, if they are known.
    fn known(&mut self, place: &Place) -> Option<Vec<u8>> {
        let bytes = self.in_lane(place);
        self.lane(place).filter(|lane| lane.is_known).map(|lane| lane.bytes[bytes].to_vec())
    }

    /// Enters the bytes that a command writes; `None` if they are unknown.
    fn set(&mut self, place: &Place, new: Option<&[u8]>) {
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

    fn fill(
        &mut self,
        queue: &CommandQueue,
        gate: Option<Event>,
        mut place: Place,
        value: u8,
    ) -> Result<()> {
        if self.lane(&place).is_some_and(|lane| !lane.is_known) {
            place.cells = 0..CELLS;
        }
        let uses = vec![(place.clone(), true)];
        let wait_for = self.before(queue, &uses, gate)?;
        let view = self.view(&place)?;
        let result = view.memory().fill(queue, value, view.bytes.clone(), &wait_for);
        drop(view);
        if self.enqueued(queue, &uses, result, |event| event)?.is_some() {
            let len = self.in_lane(&place).len();
            self.set(&place, Some(&vec![value; len]));
        }
        Ok(())
    }

    fn launch(
        &mut self,
        queue: &CommandQueue,
        gate: Option<Event>,
        place: &Place,
        value: u8,
    ) -> Result<()> {
        if self.world.driver.mistakes_maps && (place.object >= OWN || place.as_region) {
            return Ok(());
        }
        // A kernel counts as a use of all the memory that it is given.
        let lanes = match self.view(place)?.region {
            Some(_) => place.lane..place.lane + 1,
            None => 0..LANES,
        };
        let uses = lanes.map(|lane| (Place { lane, cells: 0..CELLS, ..place.clone() }, true));
        let uses: Uses = uses.collect();
        let wait_for = self.before(queue, &uses, gate)?;
        let view = self.view(place)?;
        let mut kernel = self.kernel.borrow_mut();
        let result = view.memory().add(queue, &mut kernel, value, view.bytes.clone(), &wait_for);
        drop((view, kernel));
        if self.enqueued(queue, &uses, result, |event| event)?.is_some() {
            let mut bytes = self.known(place);
            bytes.iter_mut().flatten().for_each(|byte| *byte = byte.wrapping_add(value));
            self.set(place, bytes.as_deref());
        }
        Ok(())
    }

    fn copy(
        &mut self,
        queue: &CommandQueue,
        gate: Option<Event>,
        from: &Place,
        mut to: Place,
    ) -> Result<()> {
        if (to.object, to.lane) == (from.object, from.lane) {
            to.lane = (to.lane + 1) % LANES;
        }
        let (cell, to_cell) = (self.object(from).cell, self.object(&to).cell);
        if cell != to_cell {
            return Ok(());
        }
        let count = from.cells.len().min(to.cells.len());
        let shorter = |place: &Place| Place {
            cells: place.cells.start..place.cells.start + count,
            ..place.clone()
        };
        let (from, to) = (shorter(from), shorter(&to));
        let uses = vec![(from.clone(), false), (to.clone(), true)];
        let wait_for = self.before(queue, &uses, gate)?;
        let (source, target) = (self.view(&from)?, self.view(&to)?);
        let offsets = (source.bytes.start, target.bytes.start);
        let result = source.memory().copy(queue, target.memory(), offsets, count * cell, &wait_for);
        drop((source, target));
        let Some(result) = result else { return Ok(()) };
        if self.enqueued(queue, &uses, result, |event| event)?.is_some() {
            let bytes = self.known(&from);
            self.set(&to, bytes.as_deref());
        }
        Ok(())
    }

    fn read(&mut self, queue: &CommandQueue, from: &Place) -> Result<()> {
        self.open_gates()?;
        let uses = vec![(from.clone(), false)];
        let wait_for = self.before(queue, &uses, None)?;
        let view = self.view(from)?;
        let mut found = vec![0; view.bytes.len()];
        let result = view.memory().read(queue, &mut found, view.bytes.start, &wait_for);
        drop(view);
        if self.enqueued(queue, &uses, result, |event| event)?.is_some()
            && let Some(expected) = self.known(from)
        {
            assert_same(&found, &expected, "a read");
        }
        Ok(())
    }

    fn read_later(
        &mut self,
        queue: &CommandQueue,
        gate: Option<Event>,
        from: &Place,
        slot: usize,
    ) -> Result<()> {
        if self.transfers[slot].is_some() {
            return Ok(());
        }
        let uses = vec![(from.clone(), false)];
        let wait_for = self.before(queue, &uses, gate)?;
        let view = self.view(from)?;
        let host = vec![0; view.bytes.len()];
        let result = view.memory().read_later(queue, host, view.bytes.start, &wait_for);
        drop(view);
        let pending = self.enqueued(queue, &uses, result, PendingTransfer::event)?;
        let expected = self.known(from);
        self.transfers[slot] = pending.map(|pending| Transfer { pending, expected });
        Ok(())
    }

    fn write(&mut self, queue: &CommandQueue, to: &Place, value: u8) -> Result<()> {
        self.open_gates()?;
        let uses = vec![(to.clone(), true)];
        let wait_for = self.before(queue, &uses, None)?;
        let view = self.view(to)?;
        let host = vec![value; view.bytes.len()];
        let result = view.memory().write(queue, &host, view.bytes.start, &wait_for);
        drop(view);
        if self.enqueued(queue, &uses, result, |event| event)?.is_some() {
            self.set(to, Some(&host));
        }
        Ok(())
    }

    fn write_later(
        &mut self,
        queue: &CommandQueue,
        gate: Option<Event>,
        to: &Place,
        value: u8,
        slot: usize,
    ) -> Result<()> {
        if self.transfers[slot].is_some() {
            return Ok(());
        }
        let uses = vec![(to.clone(), true)];
        let wait_for = self.before(queue, &uses, gate)?;
        let view = self.view(to)?;
        let host = vec![value; view.bytes.len()];
        let result = view.memory().write_later(queue, host.clone(), view.bytes.start, &wait_for);
        drop(view);
        if let Some(pending) = self.enqueued(queue, &uses, result, PendingTransfer::event)? {
            self.set(to, Some(&host));
            self.transfers[slot] = Some(Transfer { pending, expected: Some(host) });
        }
        Ok(())
    }

    fn end_transfer(&mut self, transfer: Transfer, by_drop: bool) -> Result<()> {
        self.open_gates()?;
        if by_drop {
            return Ok(());
        }
        let found = match transfer.pending.wait() {
            Ok(found) => found,
            Err(failed) if self.has_failed(&failed.error) => return Ok(()),
            Err(failed) => return Err(failed.into()),
        };
        if let Some(expected) = transfer.expected {
            assert_same(&found, &expected, "the memory of a transfer");
        }
        Ok(())
    }

    fn map(
        &mut self,
        queue: &CommandQueue,
        gate: Option<Event>,
        request: MapRequest,
    ) -> Result<Option<Map>> {
        let MapRequest { place, whole, mode, value, blocks } = request;
        if blocks {
            self.open_gates()?;
        }
        let places: Vec<Place> = if whole {
            (0..LANES).map(|lane| Place { lane, cells: 0..CELLS, ..place.clone() }).collect()
        } else {
            vec![place.clone()]
        };
        let uses: Uses = places.iter().map(|place| (place.clone(), mode != Mode::Read)).collect();
        let wait_for: Vec<Event> = gate.filter(|_| !blocks).into_iter().collect();
        let result = if whole {
            let object = self.object(&place);
            let all = 0..LANES * CELLS * object.cell;
            object.handle.memory().map(queue, mode, all, blocks, &wait_for)
        } else {
            let view = self.view(&place)?;
            view.memory().map(queue, mode, view.bytes.clone(), blocks, &wait_for)
        };
        let Some(new) = self.accepted(&uses, result)? else { return Ok(None) };
        let object = self.object(&place);
        let mut map = Map {
            block: object.block.clone(),
            state: MapState::Ended,
            object: object.number,
            places,
            mode,
            value,
            queue: queue.clone(),
            drop_blocks: object.drop_blocks,
        };
        match new {
            NewMap::Pending(pending) => map.state = MapState::Pending(pending),
            NewMap::Ready(mapped) => self.begin_map(&mut map, mapped)?,
        }
        Ok(Some(map))
    }

    /// The place of a map in its object, if the object is still there.
    fn find(&self, map: &Map, place: &Place) -> Option<Place> {
        let object = self.objects.iter().position(|object| object.number == map.object)?;
        Some(Place { object, ..place.clone() })
    }

    fn wait_for_map(&mut self, map: &mut Map) -> Result<()> {
        match mem::replace(&mut map.state, MapState::Ended) {
            MapState::Pending(pending) => {
                self.open_gates()?;
                match pending.wait() {
                    Ok(mapped) => self.begin_map(map, mapped),
                    // The bytes can be used again.
                    Err(error) if self.has_failed(&error) => Ok(()),
                    Err(error) => Err(error),
                }
            }
            state => {
                map.state = state;
                Ok(())
            }
        }
    }

    /// Checks the bytes of a map and what came before it, and writes if the map does.
    fn begin_map(&mut self, map: &mut Map, mut mapped: Box<dyn Mapped>) -> Result<()> {
        let mut start = 0;
        for place in &map.places {
            let Some(place) = self.find(map, place) else { break };
            let end = start + self.in_lane(&place).len();
            let Some(lane) = self.lane(&place) else { break };
            for link in lane.before(map.writes()) {
                if overlap(&link.cells, &place.cells) {
                    assert!(link.event.status()?.has_ended(), "a map overtook a command");
                }
            }
            lane.look_for_failures()?;
            if map.mode != Mode::Invalidate
                && let Some(expected) = self.known(&place)
            {
                assert_same(&mapped.bytes()[start..end], &expected, "a map");
            }
            if map.writes() {
                self.set(&place, Some(&vec![map.value; end - start]));
            }
            start = end;
        }
        mapped.write(map.value);
        let bytes = mapped.bytes().to_vec();
        map.state = MapState::Ready(mapped, bytes);
        Ok(())
    }

    fn end_map(
        &mut self,
        mut map: Map,
        queue: &CommandQueue,
        gate: Option<Event>,
        end: End,
    ) -> Result<()> {
        if map.drop_blocks {
            self.open_gates()?;
        }
        let world = self.world;
        // After a failure, the unmap by a drop has no known end.
        let end = if world.failures && map.writes() { End::Unmap } else { end };
        if !matches!(end, End::Drop) || world.driver.unmaps_ended_maps_only {
            self.wait_for_map(&mut map)?;
            if map.has_ended() {
                return self.reset_map(&map);
            }
        }
        if let MapState::Ready(mapped, bytes) = &map.state {
            assert_same(mapped.bytes(), bytes, "mapped bytes");
        }
        map.block = None;
        let gate: Vec<Event> = gate.filter(|_| !map.drop_blocks).into_iter().collect();
        let state = mem::replace(&mut map.state, MapState::Ended);
        let (event, queue, is_on_bytes) = match (state, end) {
            (MapState::Ready(mapped, _), End::Unmap) => {
                (mapped.unmap(None, &gate), map.queue.clone(), true)
            }
            (MapState::Ready(mapped, _), End::UnmapElsewhere) => {
                (mapped.unmap(Some(queue), &gate), queue.clone(), true)
            }
            (state, _) => {
                if matches!(state, MapState::Pending(_)) && map.mode == Mode::Invalidate {
                    for place in &map.places {
                        if let Some(place) = self.find(&map, place) {
                            self.set(&place, None);
                        }
                    }
                }
                drop(state);
                if let Some(object) = self.objects.iter_mut().find(|it| it.number == map.object) {
                    object.had_dropped_map = true;
                }
                // The drop has no event of its own.
                (map.queue.enqueue_marker([]), map.queue.clone(), false)
            }
        };
        let event = match event {
            Ok(event) => event,
            Err(error) if self.has_failed(&error) => {
                self.open_gates()?;
                _ = queue.finish();
                return self.reset_map(&map);
            }
            Err(error) if self.world.driver.refuses_unmaps && error.code() == CL_INVALID_VALUE => {
                let object = self.objects.iter().position(|object| object.number == map.object);
                return object.map_or(Ok(()), |object| self.replace_object(object));
            }
            Err(error) => return Err(error),
        };
        for place in &map.places {
            let Some(place) = self.find(&map, place) else { break };
            let cells = if is_on_bytes { place.cells.clone() } else { 0..0 };
            let link = Link { event: event.clone(), queue: queue.clone(), cells };
            self.record(&place, map.writes(), link);
        }
        Ok(())
    }

    /// Forgets the order on the lanes of a map after a failure.
    fn reset_map(&mut self, map: &Map) -> Result<()> {
        for place in &map.places {
            if let Some(place) = self.find(map, place) {
                self.reset(&place)?;
            }
        }
        Ok(())
    }

    /// Replaces an object whose bytes cannot be used any more.
    fn replace_object(&mut self, object: usize) -> Result<()> {
        self.open_gates()?;
        self.objects[object] = self.new_object(Kind::Buffer, 32, 0, 0, None)?;
        Ok(())
    }

    fn renew_host(&mut self, len: usize) {
        let (memory, value) = &self.host;
        assert_same(memory, &vec![*value; memory.len()], "host memory that no command uses");
        let value = value.wrapping_add(1);
        self.host = (vec![value; len], value);
    }
}

fn overlap(a: &Range<usize>, b: &Range<usize>) -> bool {
    a.start < b.end && b.start < a.end
}
