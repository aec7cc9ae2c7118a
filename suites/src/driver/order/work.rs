//! Commands on common objects, such that the bytes tell their order.

use std::{array, slice};

use Kind::*;

use crate::driver::{events::finish, prelude::*};

// The classes of memory, as the places of the first of two objects that `Operands` have of each.
const HOST: usize = 0;
const BUFFER: usize = 2;
const IMAGE: usize = 4;
const SVM: usize = 6;

/// The commands that write, read, fill and copy buffers, images, and shared virtual memory.
const COMMANDS: [[Kind; 4]; 3] = [
    [WriteBuffer, ReadBuffer, FillBuffer, CopyBuffer],
    [WriteImage, ReadImage, FillImage, CopyImage],
    [SvmCopy, SvmCopy, SvmFill, SvmCopy],
];

/// The bytes of each place.
type Contents = [[u8; SIZE]; 8];

/// The findings, and the call and the rule of new ones.
pub type Told<'a> = (&'a Findings, &'a str, &'a str);

/// The bytes at the start of an object that the host changes and looks at through a map: a row of an image,
/// since there may be gaps between rows.
const ROW: usize = 32;

/// Returns the class of memory of a kind of command.
fn class(kind: Kind) -> usize {
    match kind.needs() {
        Needs::Nothing => BUFFER,
        Needs::Images => IMAGE,
        Needs::Svm | Needs::SvmMigration => SVM,
    }
}

/// Returns the classes of memory that a command reads, or maps, and writes.
fn memory(kind: Kind) -> [Option<usize>; 2] {
    let own = Some(class(kind));
    match kind {
        Marker | Barrier | SvmFree => [None, None],
        ReadBuffer | ReadRect | ReadImage => [own, Some(HOST)],
        WriteBuffer | WriteRect | WriteImage => [Some(HOST), own],
        FillBuffer | FillImage | SvmFill => [None, own],
        ImageToBuffer => [own, Some(BUFFER)],
        BufferToImage => [Some(BUFFER), own],
        CopyBuffer | CopyRect | Kernel | CopyImage | SvmCopy => [own, own],
        MapBuffer | UnmapBuffer | Migrate | MapImage | UnmapImage => [own, None],
        SvmMap | SvmUnmap | SvmMigrate => [own, None],
    }
}

/// Returns a command that fills memory of the kind's class, and one that copies such memory.
pub fn fill_and_copy(kind: Kind) -> [Kind; 2] {
    let [.., fill, copy] = COMMANDS[class(kind) / 2 - 1];
    [fill, copy]
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
            if is_unmap || self.kind == Kernel {
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
    pub queue: *mut c_void,
    pub initial: Contents,
    /// The bytes afterwards.
    pub contents: Contents,
    /// The memory objects that the test has released.
    pub released: Vec<*mut c_void>,
}

impl Work {
    /// Creates objects for the commands, and begins the maps that commands end. The bytes tell the order of each command
    /// and the one before it, as far as they can. Returns nothing if commands must not use common objects.
    pub fn new(bench: &Bench, kinds: &[Kind]) -> Option<Self> {
        Self::prepared(bench, kinds, bench.queue)
    }

    /// The same, prepared by commands of this queue.
    pub fn prepared(bench: &Bench, kinds: &[Kind], queue: *mut c_void) -> Option<Self> {
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
        let name = names.join(" before ");
        let mut work = Self { name, steps, operands, queue, initial, contents, released: vec![] };
        for place in work.places() {
            work.transfer(place, &mut work.initial[place].clone(), true);
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

    fn object(&self, place: usize) -> *mut c_void {
        let Operands { host, buffers, images, svm, .. } = self.operands;
        [host, buffers, images, svm][place / 2][place % 2]
    }

    /// Returns the memory objects that the first command reads, or maps, and writes.
    pub fn memory_objects(&self) -> [Option<*mut c_void>; 2] {
        let of_object = |place: &usize| (BUFFER..SVM).contains(place);
        self.steps[0].places.map(|place| place.filter(of_object).map(|place| self.object(place)))
    }

    /// The places that the commands use.
    fn places(&self) -> Vec<usize> {
        let is_used = |place| self.steps.iter().any(|step| step.places.contains(&Some(place)));
        let is_there = |place| !self.released.contains(&self.object(place));
        (0..8).filter(|place| is_used(*place) && is_there(*place)).collect()
    }

    /// Writes an object, or reads it, by a call that blocks.
    fn transfer(&self, place: usize, bytes: &mut [u8; SIZE], writes: bool) {
        let (object, bytes): (_, *mut c_void) = (self.object(place), bytes.as_mut_ptr().cast());
        let svm = if writes { [bytes, object] } else { [object, bytes] };
        if place < BUFFER {
            // SAFETY: both have `SIZE` bytes, and no command uses them now.
            return unsafe { ptr::copy_nonoverlapping(svm[0].cast::<u8>(), svm[1].cast(), SIZE) };
        }
        let (images, host) = ([object; 2], [bytes; 2]);
        let mut operands = Operands { buffers: images, images, svm, host, ..self.operands };
        let kind = COMMANDS[place / 2 - 1][usize::from(!writes)];
        kind.enqueue_without_event(&mut operands, Call::on(self.queue).blocking());
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

    /// Checks that no read has begun: the host memory is as it was.
    pub fn check_unread(&self, told: Told<'_>) {
        for place in self.places().into_iter().filter(|place| *place < BUFFER) {
            // SAFETY: the host memory has `SIZE` bytes; a driver that is right does not write it yet.
            let found = unsafe { slice::from_raw_parts(self.object(place).cast::<u8>(), SIZE) };
            compare(found, &self.initial[place], (place, "before"), told);
        }
    }

    /// Ends maps, and checks all bytes of objects that are there. All commands have ended.
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
        for place in self.places() {
            let mut found = [0; SIZE];
            self.transfer(place, &mut found, false);
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
