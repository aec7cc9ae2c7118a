//! A thread that runs its commands, and checks what it sees.

use std::cell::RefCell;

use clmatrix::memory::PendingTransfer;
use clmatrix::{CommandQueue, Event, Kernel, Result, UserEvent, enqueue_barrier, enqueue_marker};

use super::map::Map;
use super::memory::Handle;
use super::plan::{
    Action, CELLS, Command, End, LANES, MAPS, MapRequest, Mode, OWN, Place, TRANSFERS,
};
use super::state::{ThreadState, Uses};
use super::world::World;
use crate::support::pattern::assert_same;

/// A thread.
pub struct Thread<'w> {
    state: ThreadState<'w>,
    kernel: RefCell<Kernel>,
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

impl<'w> Thread<'w> {
    pub fn new(world: &'w World) -> Result<Self> {
        Ok(Self {
            state: ThreadState::new(world)?,
            kernel: RefCell::new(world.program.kernel("k")?),
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
                if self.state.maps[slot].is_none() {
                    self.state.maps[slot] = Map::new(&mut self.state, &queue, gate, request)?;
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
                    map.end(&mut self.state, &queue, gate, end)?;
                }
            }
            Action::Renew { object, kind, cell, value } => {
                let new = self.state.new_object(kind, cell, value, command.queue, gate)?;
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
            Action::Marker => drop(enqueue_marker(queue.after(gate.as_ref()))?),
            // Without a gate, which would hold back all that comes after it.
            Action::Barrier => drop(enqueue_barrier(&queue)?),
            Action::Flush => self.state.world.flush(&queue)?,
            Action::Finish => {
                self.state.open_gates()?;
                queue.finish()?;
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
        for slot in 0..TRANSFERS {
            if let Some(transfer) = self.transfers[slot].take() {
                self.end_transfer(transfer, false)?;
            }
        }
        let queue = self.state.queues[0].clone();
        for slot in 0..MAPS {
            if let Some(map) = self.state.maps[slot].take() {
                map.end(&mut self.state, &queue, None, End::Unmap)?;
            }
        }
        for object in 0..OWN {
            let place = Place { object, lane: 0, cells: 0..CELLS, as_region: false };
            let mode = Mode::Read;
            let request = MapRequest { place, whole: true, mode, value: 0, blocks: true };
            if let Some(map) = Map::new(&mut self.state, &queue, None, request)? {
                map.end(&mut self.state, &queue, None, End::Unmap)?;
            }
        }
        self.renew_host(1);
        // quirk: INTEL-4
        self.state.queues.iter().try_for_each(CommandQueue::finish)
    }

    fn fill(
        &mut self,
        queue: &CommandQueue,
        gate: Option<Event>,
        mut place: Place,
        value: u8,
    ) -> Result<()> {
        if self.state.lane(&place).is_some_and(|lane| !lane.is_known) {
            place.cells = 0..CELLS;
        }
        let uses = vec![(place.clone(), true)];
        let wait_for = self.state.before(queue, &uses, gate)?;
        let view = self.state.view(&place)?;
        let result = view.memory().fill(queue, value, view.bytes.clone(), &wait_for);
        drop(view);
        if self.state.enqueued(queue, &uses, result, |event| event)?.is_some() {
            let len = self.state.in_lane(&place).len();
            self.state.set(&place, Some(&vec![value; len]));
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
        if self.state.world.driver.mistakes_maps && (place.object >= OWN || place.as_region) {
            return Ok(());
        }
        // A kernel counts as a use of all the memory that it is given.
        let lanes = match self.state.view(place)?.region {
            Some(_) => place.lane..place.lane + 1,
            None => 0..LANES,
        };
        let uses = lanes.map(|lane| (Place { lane, cells: 0..CELLS, ..place.clone() }, true));
        let uses: Uses = uses.collect();
        let wait_for = self.state.before(queue, &uses, gate)?;
        let view = self.state.view(place)?;
        let mut kernel = self.kernel.borrow_mut();
        let result = view.memory().add(queue, &mut kernel, value, view.bytes.clone(), &wait_for);
        drop((view, kernel));
        if self.state.enqueued(queue, &uses, result, |event| event)?.is_some() {
            let mut bytes = self.state.known(place);
            bytes.iter_mut().flatten().for_each(|byte| *byte = byte.wrapping_add(value));
            self.state.set(place, bytes.as_deref());
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
        let (cell, to_cell) = (self.state.object(from).cell, self.state.object(&to).cell);
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
        let wait_for = self.state.before(queue, &uses, gate)?;
        let (source, target) = (self.state.view(&from)?, self.state.view(&to)?);
        let offsets = (source.bytes.start, target.bytes.start);
        let result = source.memory().copy(queue, target.memory(), offsets, count * cell, &wait_for);
        drop((source, target));
        let Some(result) = result else { return Ok(()) };
        if self.state.enqueued(queue, &uses, result, |event| event)?.is_some() {
            let bytes = self.state.known(&from);
            self.state.set(&to, bytes.as_deref());
        }
        Ok(())
    }

    fn read(&mut self, queue: &CommandQueue, from: &Place) -> Result<()> {
        self.state.open_gates()?;
        let uses = vec![(from.clone(), false)];
        let wait_for = self.state.before(queue, &uses, None)?;
        let view = self.state.view(from)?;
        let mut found = vec![0; view.bytes.len()];
        let result = view.memory().read(queue, &mut found, view.bytes.start, &wait_for);
        drop(view);
        if self.state.enqueued(queue, &uses, result, |event| event)?.is_some()
            && let Some(expected) = self.state.known(from)
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
        let wait_for = self.state.before(queue, &uses, gate)?;
        let view = self.state.view(from)?;
        let host = vec![0; view.bytes.len()];
        let result = view.memory().read_later(queue, host, view.bytes.start, &wait_for);
        drop(view);
        let pending = self.state.enqueued(queue, &uses, result, PendingTransfer::event)?;
        let expected = self.state.known(from);
        self.transfers[slot] = pending.map(|pending| Transfer { pending, expected });
        Ok(())
    }

    fn write(&mut self, queue: &CommandQueue, to: &Place, value: u8) -> Result<()> {
        self.state.open_gates()?;
        let uses = vec![(to.clone(), true)];
        let wait_for = self.state.before(queue, &uses, None)?;
        let view = self.state.view(to)?;
        let host = vec![value; view.bytes.len()];
        let result = view.memory().write(queue, &host, view.bytes.start, &wait_for);
        drop(view);
        if self.state.enqueued(queue, &uses, result, |event| event)?.is_some() {
            self.state.set(to, Some(&host));
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
        let wait_for = self.state.before(queue, &uses, gate)?;
        let view = self.state.view(to)?;
        let host = vec![value; view.bytes.len()];
        let result = view.memory().write_later(queue, host.clone(), view.bytes.start, &wait_for);
        drop(view);
        if let Some(pending) = self.state.enqueued(queue, &uses, result, PendingTransfer::event)? {
            self.state.set(to, Some(&host));
            self.transfers[slot] = Some(Transfer { pending, expected: Some(host) });
        }
        Ok(())
    }

    fn end_transfer(&mut self, transfer: Transfer, by_drop: bool) -> Result<()> {
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
