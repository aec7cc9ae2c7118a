//! A map of a thread, from the call until the unmap.

use std::mem;

use clmatrix::cl3::error_codes::CL_INVALID_VALUE;

use super::*;

/// A map of cells of an object.
pub struct Map {
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

enum MapState {
    Pending(Pending),
    /// Mapped, with its bytes.
    Ready(Box<dyn Mapped>, Vec<u8>),
    Ended,
}

impl Map {
    fn writes(&self) -> bool {
        self.mode != Mode::Read
    }

    pub fn has_ended(&self) -> bool {
        matches!(self.state, MapState::Ended)
    }

    /// True if a command that uses `used` of the object `object` must be refused.
    pub fn excludes(&self, object: u64, used: &Place, writes: bool) -> bool {
        let overlaps =
            |place: &Place| place.lane == used.lane && overlap(&place.cells, &used.cells);
        self.object == object && (writes || self.writes()) && self.places.iter().any(overlaps)
    }

    /// True if this map begins at the same byte as one of the bytes of `place` would.
    fn begins_at(&self, place: &Place, thread: &ThreadState<'_>) -> bool {
        let first = &self.places[0];
        self.object == thread.object(place).number
            && (first.lane, first.cells.start) == (place.lane, place.cells.start)
    }

    /// Enqueues a map; `None` if it was refused.
    pub fn new(
        thread: &mut ThreadState<'_>,
        route: &Route,
        request: MapRequest,
    ) -> Result<Option<Self>> {
        let MapRequest { place, whole, mode, value, blocks } = request;
        if blocks {
            thread.open_gates()?;
        }
        let places: Vec<Place> = if whole {
            (0..LANES).map(|lane| Place { lane, cells: 0..CELLS, ..place.clone() }).collect()
        } else {
            vec![place.clone()]
        };
        let uses: Vec<Use> =
            places.iter().map(|place| (place.clone(), mode != Mode::Read)).collect();
        if thread.world.driver.finds_maps_by_address
            && thread.maps.iter().flatten().any(|map| map.begins_at(&places[0], thread))
        {
            return Ok(None);
        }
        let order = route.queue.after(route.gate.as_ref().filter(|_| !blocks));
        let result = if whole {
            let object = thread.object(&place);
            object.handle.memory().map(order, mode, 0..LANES * CELLS * object.cell, blocks)
        } else {
            let view = thread.view(&place)?;
            view.memory().map(order, mode, view.bytes.clone(), blocks)
        };
        let Some(new) = thread.accepted(&uses, result)? else { return Ok(None) };
        let object = thread.object(&place);
        let mut map = Self {
            block: object.block.clone(),
            state: MapState::Ended,
            object: object.number,
            places,
            mode,
            value,
            queue: route.queue.clone(),
            drop_blocks: object.drop_blocks,
        };
        match new {
            NewMap::Pending(pending) => map.state = MapState::Pending(pending),
            NewMap::Ready(mapped) => map.begin(thread, mapped)?,
        }
        Ok(Some(map))
    }

    /// The index of the object, if it is still there.
    fn object_in(&self, thread: &ThreadState<'_>) -> Option<usize> {
        thread.objects.iter().position(|object| object.number == self.object)
    }

    /// The places of the map, if its object is still there.
    fn places_in(&self, thread: &ThreadState<'_>) -> Vec<Place> {
        let Some(object) = self.object_in(thread) else { return vec![] };
        self.places.iter().map(|place| Place { object, ..place.clone() }).collect()
    }

    pub fn wait(&mut self, thread: &mut ThreadState<'_>) -> Result<()> {
        match mem::replace(&mut self.state, MapState::Ended) {
            MapState::Pending(pending) => {
                thread.open_gates()?;
                self.begin(thread, pending()?)
            }
            state => {
                self.state = state;
                Ok(())
            }
        }
    }

    /// Checks the bytes of a map and what came before it, and writes if the map does.
    fn begin(&mut self, thread: &mut ThreadState<'_>, mut mapped: Box<dyn Mapped>) -> Result<()> {
        let mut start = 0;
        for place in self.places_in(thread) {
            let end = start + thread.in_lane(&place).len();
            let Some(lane) = thread.lane(&place) else { break };
            for link in lane.before(self.writes()) {
                if overlap(&link.cells, &place.cells) {
                    assert!(link.event.status()?.has_ended(), "a map overtook a command");
                }
            }
            if self.mode != Mode::Invalidate
                && let Some(expected) = thread.known(&place)
            {
                assert_same(&mapped.bytes()[start..end], &expected, "a map");
            }
            if self.writes() {
                thread.set(&place, Some(&vec![self.value; end - start]));
            }
            start = end;
        }
        mapped.write(self.value);
        let bytes = mapped.bytes().to_vec();
        self.state = MapState::Ready(mapped, bytes);
        Ok(())
    }

    /// Unmaps, or drops the guard.
    pub fn end(mut self, thread: &mut ThreadState<'_>, route: &Route, end: End) -> Result<()> {
        if self.drop_blocks {
            thread.open_gates()?;
        }
        if !matches!(end, End::Drop) || thread.world.driver.unmaps_ended_maps_only {
            self.wait(thread)?;
        }
        if let MapState::Ready(mapped, bytes) = &self.state {
            assert_same(mapped.bytes(), bytes, "mapped bytes");
        }
        self.block = None;
        let gate = route.gate.as_ref().filter(|_| !self.drop_blocks);
        let queue = match end {
            End::UnmapElsewhere => route.queue.clone(),
            End::Unmap | End::Drop => self.queue.clone(),
        };
        let (event, is_on_bytes) = match mem::replace(&mut self.state, MapState::Ended) {
            MapState::Ready(mapped, _) if !matches!(end, End::Drop) => {
                (mapped.unmap_on(queue.after(gate)), true)
            }
            state => {
                if matches!(state, MapState::Pending(_)) && self.mode == Mode::Invalidate {
                    self.places_in(thread).iter().for_each(|place| thread.set(place, None));
                }
                drop(state);
                if let Some(object) = self.object_in(thread) {
                    thread.objects[object].had_dropped_map = true;
                }
                // The drop has no event of its own.
                (enqueue_marker(&self.queue), false)
            }
        };
        let event = match event {
            Ok(event) => event,
            Err(error)
                if thread.world.driver.refuses_unmaps && error.code() == CL_INVALID_VALUE =>
            {
                let object = self.object_in(thread);
                return object.map_or(Ok(()), |object| thread.replace_object(object));
            }
            Err(error) => return Err(error),
        };
        for place in self.places_in(thread) {
            let cells = if is_on_bytes { place.cells.clone() } else { 0..0 };
            let link = Link { event: event.clone(), queue: queue.clone(), cells };
            if let Some(lane) = thread.lane(&place) {
                lane.add(self.writes(), link);
            }
        }
        Ok(())
    }
}
