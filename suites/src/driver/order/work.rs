//! Commands on common objects, such that the bytes tell their order.

use std::{array, slice};

use crate::driver::{events::finish, prelude::*};

// The places of the first of two objects of each class of memory that `Operands` have.
pub const HOST: usize = 0;
pub const BUFFER: usize = 2;
pub const IMAGE: usize = 4;
pub const SVM: usize = 6;

/// A place with its object.
type Placed = (usize, *mut c_void);

/// The bytes of each place.
type Contents = [[u8; SIZE]; 8];

/// The findings, and the call and the rule of new ones.
pub type Told<'a> = (&'a Findings, &'a str, &'a str);

/// The bytes at the start of an object that the host changes and looks at through a map: a row of an image,
/// since there may be gaps between rows.
const ROW: usize = 32;

/// Returns the classes of memory that a command reads, or maps, and writes.
pub fn memory(kind: Kind) -> [Option<usize>; 2] {
    match kind {
        Kind::ReadBuffer | Kind::ReadRect => [Some(BUFFER), Some(HOST)],
        Kind::WriteBuffer | Kind::WriteRect => [Some(HOST), Some(BUFFER)],
        Kind::CopyBuffer | Kind::CopyRect | Kind::Kernel => [Some(BUFFER), Some(BUFFER)],
        Kind::FillBuffer => [None, Some(BUFFER)],
        Kind::MapBuffer | Kind::UnmapBuffer | Kind::Migrate => [Some(BUFFER), None],
        Kind::ReadImage => [Some(IMAGE), Some(HOST)],
        Kind::WriteImage => [Some(HOST), Some(IMAGE)],
        Kind::CopyImage => [Some(IMAGE), Some(IMAGE)],
        Kind::ImageToBuffer => [Some(IMAGE), Some(BUFFER)],
        Kind::BufferToImage => [Some(BUFFER), Some(IMAGE)],
        Kind::FillImage => [None, Some(IMAGE)],
        Kind::MapImage | Kind::UnmapImage => [Some(IMAGE), None],
        Kind::SvmCopy => [Some(SVM), Some(SVM)],
        Kind::SvmFill => [None, Some(SVM)],
        Kind::SvmMap | Kind::SvmUnmap | Kind::SvmMigrate => [Some(SVM), None],
        Kind::Marker | Kind::Barrier | Kind::SvmFree => [None, None],
    }
}

/// Returns a command that fills memory of the kind's class, and one that copies such memory.
pub fn fill_and_copy(kind: Kind) -> [Kind; 2] {
    match kind.needs() {
        Needs::Nothing => [Kind::FillBuffer, Kind::CopyBuffer],
        Needs::Images => [Kind::FillImage, Kind::CopyImage],
        Needs::Svm | Needs::SvmMigration => [Kind::SvmFill, Kind::SvmCopy],
    }
}

/// A command with its objects.
#[derive(Clone, Copy)]
struct Step {
    kind: Kind,
    /// The place that the command reads, or maps, and the one that it writes.
    places: [Option<usize>; 2],
    operands: Operands,
}

impl Step {
    /// A command in one of four roles: it reads the first or the second object, also of host memory, and writes the
    /// other one.
    fn new(kind: Kind, operands: Operands, role: usize) -> Self {
        let side = |class| if class == HOST { role / 2 } else { role % 2 };
        let [from, to] = memory(kind);
        let places = [from.map(|it| it + side(it)), to.map(|it| it + 1 - side(it))];
        let both = [operands, operands.reversed()];
        let operands = Operands { host: both[role / 2].host, ..both[role % 2] };
        Self { kind, places, operands }
    }

    /// Does to the bytes what the command does to the objects. The host inverts a row of a map before it is
    /// unmapped.
    fn run(&self, contents: &mut Contents) {
        let [from, to] = self.places;
        let is_unmap = self.kind.map().is_some();
        let fill = || array::from_fn(|index| FILL[index % FILL.len()]);
        if let Some(place) = if is_unmap { from } else { to } {
            let mut bytes = from.map_or_else(fill, |from| contents[from]);
            let inverted = if is_unmap { ROW } else { SIZE };
            if is_unmap || self.kind == Kind::Kernel {
                bytes[..inverted].iter_mut().for_each(|byte| *byte = !*byte);
            }
            contents[place] = bytes;
        }
    }

    /// Returns whether the command may use the objects of an earlier one, which has not run when both are
    /// enqueued.
    fn may_follow(&self, earlier: &Self) -> bool {
        let uses = |step: &Self, place| step.places.contains(&place);
        let ([from, _], [its, written]) = (self.places, earlier.places);
        let [is_unmap, its_unmap] = [self, earlier].map(|step| step.kind.map().is_some());
        let [is_map, its_map] = [self, earlier].map(|step| step.kind.unmap().is_some());
        // 5.5.2: a region that is mapped for writing is neither used by commands nor mapped again.
        let is_mapped = its_map && uses(self, its)
            || is_unmap && uses(earlier, from)
            || its_unmap && is_map && its == from;
        // 5.2.2: the bytes for a write are there when it is enqueued.
        let is_late = written == from && from.is_some_and(|place| place < BUFFER);
        !is_mapped && !is_late
    }
}

/// Commands in the order in which they are to run.
pub struct Work {
    /// The names of the commands, such as `clEnqueueFillBuffer before clEnqueueCopyBuffer`.
    pub name: String,
    steps: Vec<Step>,
    operands: Operands,
    queue: *mut c_void,
    pub initial: Contents,
    /// The bytes afterwards.
    pub contents: Contents,
}

impl Work {
    /// Creates objects for the commands, and begins the maps that commands end. The bytes tell the order of each command
    /// and the one before it, as far as they can. Returns nothing if commands must not use common objects.
    pub fn new(bench: &Bench, kinds: &[Kind]) -> Option<Self> {
        let operands = bench.operands(kinds);
        let byte = |place: usize, index: usize| (place * 29 + 7) as u8 ^ index as u8;
        let initial: Contents = array::from_fn(|place| array::from_fn(|index| byte(place, index)));
        let (mut before, mut contents, mut steps) = (initial, initial, Vec::<Step>::new());
        for kind in kinds {
            let differences = |step: &Step| {
                let (mut right, mut swapped) = (contents, before);
                step.run(&mut right);
                [step].into_iter().chain(steps.last()).for_each(|step| step.run(&mut swapped));
                right.iter().zip(swapped).filter(|(one, other)| *one != other).count()
            };
            let step = (0..4)
                .map(|role| Step::new(*kind, operands, role))
                .filter(|step| steps.iter().all(|earlier| step.may_follow(earlier)))
                .max_by_key(differences)?;
            before = contents;
            step.run(&mut contents);
            steps.push(step);
        }
        let names: Vec<_> = kinds.iter().map(|kind| kind.function()).collect();
        let (name, queue) = (names.join(" before "), bench.queue);
        let mut work = Self { name, steps, operands, queue, initial, contents };
        for (place, object) in work.objects() {
            work.transfer((place, object), &mut work.initial[place].clone(), true);
        }
        finish(queue);
        for Step { kind, operands, .. } in &mut work.steps {
            kind.prepare(operands, queue);
            if kind.map().is_some() {
                // SAFETY: the map has ended, and has at least `ROW` bytes.
                let row = unsafe { slice::from_raw_parts_mut(operands.mapped.cast::<u8>(), ROW) };
                row.iter_mut().for_each(|byte| *byte = !*byte);
            }
        }
        Some(work)
    }

    /// The places that the commands use, with their objects. The first ones are read by the host without a call.
    fn objects(&self) -> Vec<Placed> {
        let Operands { host, buffers, images, svm, .. } = self.operands;
        let all = [host, buffers, images, svm].into_iter().flatten().enumerate();
        let is_used = |place| self.steps.iter().any(|step| step.places.contains(&Some(place)));
        all.filter(|(place, _)| is_used(*place)).collect()
    }

    /// Writes an object, or reads it, by a call that blocks.
    fn transfer(&self, (place, object): Placed, bytes: &mut [u8; SIZE], writes: bool) {
        let bytes: *mut c_void = bytes.as_mut_ptr().cast();
        let svm = if writes { [bytes, object] } else { [object, bytes] };
        if place < BUFFER {
            // SAFETY: both have `SIZE` bytes, and no command uses them now.
            return unsafe { ptr::copy_nonoverlapping(svm[0].cast::<u8>(), svm[1].cast(), SIZE) };
        }
        let reads = [Kind::ReadBuffer, Kind::ReadImage, Kind::SvmCopy];
        let writing = [Kind::WriteBuffer, Kind::WriteImage, Kind::SvmCopy];
        let (images, host) = ([object; 2], [bytes; 2]);
        let mut operands = Operands { buffers: images, images, svm, host, ..self.operands };
        let call = Call::on(self.queue).blocking();
        let kinds = if writes { writing } else { reads };
        kinds[place / 2 - 1].enqueue_without_event(&mut operands, call);
    }

    /// Enqueues one of the commands.
    #[track_caller]
    pub fn enqueue(&mut self, step: usize, call: Call<'_>) -> Object {
        self.steps[step].kind.enqueue(&mut self.steps[step].operands, call)
    }

    /// Enqueues one of the commands without an event.
    #[track_caller]
    pub fn enqueue_without_event(&mut self, step: usize, call: Call<'_>) {
        self.steps[step].kind.enqueue_without_event(&mut self.steps[step].operands, call);
    }

    /// Overwrites the host memory of the last command, if that is a write.
    pub fn overwrite(&mut self) {
        let from = self.steps.last().and_then(|step| step.places[0]);
        if let Some(place) = from.filter(|place| *place < BUFFER) {
            self.contents[place] = [0xee; SIZE];
            let host = (place, self.operands.host[place]);
            self.transfer(host, &mut [0xee; SIZE], true);
        }
    }

    /// Checks that no read has begun: the host memory is as it was.
    pub fn check_unread(&self, told: Told<'_>) {
        for (place, host) in self.objects().into_iter().filter(|(place, _)| *place < BUFFER) {
            // SAFETY: the host memory has `SIZE` bytes; a driver that is right does not write it yet.
            let found = unsafe { slice::from_raw_parts(host.cast::<u8>(), SIZE) };
            compare(found, &self.initial[place], (place, "before"), told);
        }
    }

    /// Ends maps, and checks all bytes. All commands have ended.
    pub fn check(&mut self, told: Told<'_>) {
        for Step { kind, places, operands } in &mut self.steps {
            if let ([Some(place), _], Some(unmap)) = (*places, kind.unmap()) {
                // SAFETY: the map has ended, and has at least `ROW` bytes.
                let row = unsafe { slice::from_raw_parts(operands.mapped.cast::<u8>(), ROW) };
                compare(row, &self.contents[place], (place, "in its map"), told);
                unmap.enqueue_without_event(operands, Call::on(self.queue));
            }
        }
        finish(self.queue);
        for (place, object) in self.objects() {
            let mut found = [0; SIZE];
            self.transfer((place, object), &mut found, false);
            compare(&found, &self.contents[place], (place, "afterwards"), told);
        }
    }
}

/// Adds a finding for the first byte that differs.
fn compare(found: &[u8], expected: &[u8], (place, when): (usize, &str), told: Told<'_>) {
    let memory = ["host memory", "buffer", "image", "SVM allocation"][place / 2];
    let (number, (findings, call, rule)) = (place % 2 + 1, told);
    if let Some(n) = (0..found.len()).find(|n| found[*n] != expected[*n]) {
        let [found, expected] = [found[n], expected[n]];
        let answer =
            format!("byte {n} of {memory} {number} {when} is {found:#x}, not {expected:#x}");
        findings.add(call, rule, answer);
    }
}
