//! A thread that runs its commands, and checks what it sees.

use super::*;

/// A thread.
pub struct Thread<'w> {
    state: ThreadState<'w>,
    kernel: Kernel,
    transfers: [Option<Transfer>; TRANSFERS],
    /// Host memory that no command uses, with its bytes.
    host: (Vec<u8>, u8),
}

/// A transfer that owns its host memory.
struct Transfer {
    pending: PendingTransfer<Vec<u8>>,
    /// The bytes of the host memory afterwards; `None` if they cannot be known.
    expected: Option<Vec<u8>>,
}

/// Keeps a transfer that has begun, and returns its event.
fn begin(
    slot: &mut Option<Transfer>,
    pending: PendingTransfer<Vec<u8>>,
    expected: Option<Vec<u8>>,
) -> Event {
    let event = pending.event().clone();
    *slot = Some(Transfer { pending, expected });
    event
}

impl<'w> Thread<'w> {
    pub fn new(world: &'w World) -> Result<Self> {
        Ok(Self {
            state: ThreadState::new(world)?,
            kernel: world.program.kernel("k")?,
            transfers: Default::default(),
            host: (vec![1; 1000], 1),
        })
    }

    /// Runs a command.
    ///
    /// # Panics
    /// If a check fails.
    pub fn run(&mut self, command: &Command) -> Result<()> {
        let queue = self.state.queues[command.queue].clone();
        let gate = command.gate.and_then(|slot| self.state.gates[slot].as_deref().cloned());
        let mut route = Route { queue, gate };
        if let Action::Read { blocks: true, .. } | Action::Write { blocks: true, .. } =
            command.action
        {
            self.state.open_gates()?;
            route.gate = None;
        }
        match command.action.clone() {
            Action::Fill(place, value) => self.fill(&route, place, value)?,
            Action::Launch(place, value) => self.launch(&route, &place, value)?,
            Action::Copy { from, to } => self.copy(&route, &from, to)?,
            Action::Read { from, blocks: true, .. } => self.read(&route, &from)?,
            Action::Write { to, value, blocks: true, .. } => self.write(&route, &to, value)?,
            Action::Read { slot, .. } | Action::Write { slot, .. }
                if self.transfers[slot].is_some() => {}
            Action::Read { from, slot, .. } => self.read_later(&route, &from, slot)?,
            Action::Write { to, value, slot, .. } => self.write_later(&route, &to, value, slot)?,
            Action::EndTransfer { slot, by_drop } => self.end_transfer(slot, by_drop)?,
            Action::Map { request, slot } => {
                if self.state.maps[slot].is_none() {
                    self.state.maps[slot] = Map::new(&mut self.state, &route, request)?;
                }
            }
            Action::WaitForMap { slot } => {
                if let Some(mut map) = self.state.maps[slot].take() {
                    map.wait(&mut self.state)?;
                    self.state.maps[slot] = Some(map).filter(|map| !map.has_ended());
                }
            }
            Action::EndMap { slot, end } => {
                if let Some(map) = self.state.maps[slot].take() {
                    map.end(&mut self.state, &route, end)?;
                }
            }
            Action::Renew { object, kind, cell, value } => {
                let new = self.state.new_object(kind, cell, value, &route)?;
                // A pool keeps its blocks.
                let old = &self.state.objects[object];
                if old.drop_blocks && !matches!(old.handle, Handle::PooledSvm(_)) {
                    self.state.open_gates()?;
                }
                self.state.objects[object] = new;
            }
            Action::KeepClone { object } => {
                let object = &mut self.state.objects[object];
                object.handle = object.handle.memory().cloned();
            }
            Action::Gate { slot } => {
                if self.state.gates[slot].is_none() {
                    self.state.gates[slot] = Some(UserEvent::new(&self.state.world.context)?);
                }
            }
            Action::Open { slot } => self.state.open(slot)?,
            Action::Marker => drop(enqueue_marker(route.queue.after(&route.gate))?),
            // Without a gate, which would hold back all that comes after it.
            Action::Barrier => drop(enqueue_barrier(&route.queue)?),
            Action::Flush => self.state.world.flush(&route.queue)?,
            Action::Finish => {
                self.state.open_gates()?;
                route.queue.finish()?;
            }
            Action::FreeHeld => {
                self.state.open_gates()?;
                self.state.world.free_held();
            }
            Action::Host { len } => self.renew_host(len),
        }
        Ok(())
    }

    /// Ends everything that is under way, and checks all bytes.
    pub fn end(mut self) -> Result<()> {
        self.state.open_gates()?;
        (0..TRANSFERS).try_for_each(|slot| self.end_transfer(slot, false))?;
        let route = self.state.first_route();
        for slot in 0..MAPS {
            if let Some(map) = self.state.maps[slot].take() {
                map.end(&mut self.state, &route, End::Unmap)?;
            }
        }
        for object in 0..OWN {
            let place = Place { object, lane: 0, cells: 0..CELLS, as_region: false };
            let mode = Mode::Read;
            let request = MapRequest { place, whole: true, mode, value: 0, blocks: true };
            if let Some(map) = Map::new(&mut self.state, &route, request)? {
                map.end(&mut self.state, &route, End::Unmap)?;
            }
        }
        self.renew_host(1);
        // quirk: INTEL-4
        self.state.queues.iter().try_for_each(CommandQueue::finish)
    }

    fn fill(&mut self, route: &Route, mut place: Place, value: u8) -> Result<()> {
        if self.state.lane(&place).is_some_and(|lane| !lane.is_known) {
            place.cells = 0..CELLS;
        }
        let is_filled = self.state.enqueue(route, &[(place.clone(), true)], |state, order| {
            let view = state.view(&place)?;
            let bytes = view.bytes.clone();
            Ok(either!(view.memory(), memory => enqueue_fill(order, memory, &value, bytes)))
        })?;
        if is_filled {
            let len = self.state.in_lane(&place).len();
            self.state.set(&place, Some(&vec![value; len]));
        }
        Ok(())
    }

    fn launch(&mut self, route: &Route, place: &Place, value: u8) -> Result<()> {
        if self.state.world.driver.mistakes_maps && (place.object >= OWN || place.as_region) {
            return Ok(());
        }
        // A kernel counts as a use of all the memory that it is given.
        let lanes = match self.state.view(place)?.region {
            Some(_) => place.lane..place.lane + 1,
            None => 0..LANES,
        };
        let uses = lanes.map(|lane| (Place { lane, cells: 0..CELLS, ..place.clone() }, true));
        let uses: Vec<_> = uses.collect();
        let kernel = &mut self.kernel;
        let is_launched = self.state.enqueue(route, &uses, |state, order| {
            let view = state.view(place)?;
            Ok(view.memory().add(order, kernel, value, view.bytes.clone()))
        })?;
        if is_launched {
            let mut bytes = self.state.known(place);
            bytes.iter_mut().flatten().for_each(|byte| *byte = byte.wrapping_add(value));
            self.state.set(place, bytes.as_deref());
        }
        Ok(())
    }

    fn copy(&mut self, route: &Route, from: &Place, mut to: Place) -> Result<()> {
        if (to.object, to.lane) == (from.object, from.lane) {
            to.lane = (to.lane + 1) % LANES;
        }
        let (source, target) = (self.state.object(from), self.state.object(&to));
        // There are no copies between the kinds of memory.
        if source.cell != target.cell || source.handle.is_svm() != target.handle.is_svm() {
            return Ok(());
        }
        let count = from.cells.len().min(to.cells.len());
        let len = count * source.cell;
        let shorter = |place: &Place| Place {
            cells: place.cells.start..place.cells.start + count,
            ..place.clone()
        };
        let uses = [(shorter(from), false), (shorter(&to), true)];
        let [(from, _), (to, _)] = &uses;
        let is_copied = self.state.enqueue(route, &uses, |state, order| {
            let (source, target) = (state.view(from)?, state.view(to)?);
            let part = Linear::default().src_offset(source.bytes.start);
            let part = part.dst_offset(target.bytes.start).byte_count(len);
            Ok(match (source.memory(), target.memory()) {
                (Memory::Buffer(from), Memory::Buffer(to)) => enqueue_copy(order, to, from, part),
                (Memory::Svm(from), Memory::Svm(to)) => enqueue_copy(order, to, from, part),
                _ => unreachable!("both are of one kind"),
            })
        })?;
        if is_copied {
            let bytes = self.state.known(from);
            self.state.set(to, bytes.as_deref());
        }
        Ok(())
    }

    fn read(&mut self, route: &Route, from: &Place) -> Result<()> {
        let mut found = vec![0_u8; self.state.in_lane(from).len()];
        let is_read = self.state.enqueue(route, &[(from.clone(), false)], |state, order| {
            let view = state.view(from)?;
            let part = Linear::default().src_offset(view.bytes.start);
            Ok(either!(view.memory(), memory => enqueue_copy(order, &mut found, memory, part)))
        })?;
        if is_read && let Some(expected) = self.state.known(from) {
            assert_same(&found, &expected, "a read");
        }
        Ok(())
    }

    fn read_later(&mut self, route: &Route, from: &Place, slot: usize) -> Result<()> {
        let host = vec![0_u8; self.state.in_lane(from).len()];
        let expected = self.state.known(from);
        let transfer = &mut self.transfers[slot];
        self.state.enqueue(route, &[(from.clone(), false)], |state, order| {
            let view = state.view(from)?;
            let part = Linear::default().src_offset(view.bytes.start);
            let read = either!(view.memory(), memory => enqueue_copy(order, host, memory, part));
            Ok(read.map(|pending| begin(transfer, pending, expected)).map_err(Error::from))
        })?;
        Ok(())
    }

    fn write(&mut self, route: &Route, to: &Place, value: u8) -> Result<()> {
        let host = vec![value; self.state.in_lane(to).len()];
        let is_written = self.state.enqueue(route, &[(to.clone(), true)], |state, order| {
            let view = state.view(to)?;
            let part = Linear::default().dst_offset(view.bytes.start);
            Ok(either!(view.memory(), memory => enqueue_copy(order, memory, &host, part)))
        })?;
        if is_written {
            self.state.set(to, Some(&host));
        }
        Ok(())
    }

    fn write_later(&mut self, route: &Route, to: &Place, value: u8, slot: usize) -> Result<()> {
        let new = vec![value; self.state.in_lane(to).len()];
        let (host, expected) = (new.clone(), Some(new.clone()));
        let transfer = &mut self.transfers[slot];
        let is_written = self.state.enqueue(route, &[(to.clone(), true)], |state, order| {
            let view = state.view(to)?;
            let part = Linear::default().dst_offset(view.bytes.start);
            let write = either!(view.memory(), memory => enqueue_copy(order, memory, host, part));
            Ok(write.map(|pending| begin(transfer, pending, expected)).map_err(Error::from))
        })?;
        if is_written {
            self.state.set(to, Some(&new));
        }
        Ok(())
    }

    fn end_transfer(&mut self, slot: usize, by_drop: bool) -> Result<()> {
        let Some(transfer) = self.transfers[slot].take() else { return Ok(()) };
        self.state.open_gates()?;
        if by_drop {
            return Ok(());
        }
        let found = transfer.pending.wait()?;
        if let Some(expected) = transfer.expected {
            assert_same(&found, &expected, "the memory of a transfer");
        }
        Ok(())
    }

    fn renew_host(&mut self, len: usize) {
        let (memory, value) = &self.host;
        assert_same(memory, &vec![*value; memory.len()], "host memory that no command uses");
        let value = value.wrapping_add(1);
        self.host = (vec![value; len], value);
    }
}
