//! Commands on common objects, such that the bytes tell their order.

use std::ffi::c_void;
use std::fmt::{self, Display, Formatter};
use std::{array, ptr, slice};

use super::super::api::ok;
use super::super::bench::Bench;
use super::super::command::{Call, FILL, Kind, Operands, SIZE};
use super::super::findings::Findings;
use super::super::object::Object;

/// The classes of memory. [`Operands`] have two objects of each.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Memory {
    Host,
    Buffer,
    Image,
    Svm,
}

use Memory::{Buffer, Host, Image, Svm};

/// An object of [`Operands`]: its class, and which of the two it is.
type Place = (Memory, usize);

/// Bytes of an object: the one that they were in at first, or none for those of a fill; whether they are
/// inverted; whether the first [`ROW`] of them are inverted once more.
type Bytes = (Option<Place>, bool, bool);

/// The bytes of all objects.
type Contents = [[Bytes; 2]; 4];

/// The bytes at the start of an object that the host changes and looks at through a map: a row of an image,
/// since there may be gaps between rows.
const ROW: usize = 32;

/// Returns the classes of memory that a command reads, or maps, and writes.
pub fn memory(kind: Kind) -> [Option<Memory>; 2] {
    match kind {
        Kind::ReadBuffer | Kind::ReadRect => [Some(Buffer), Some(Host)],
        Kind::WriteBuffer | Kind::WriteRect => [Some(Host), Some(Buffer)],
        Kind::CopyBuffer | Kind::CopyRect | Kind::Kernel => [Some(Buffer), Some(Buffer)],
        Kind::FillBuffer => [None, Some(Buffer)],
        Kind::MapBuffer | Kind::UnmapBuffer | Kind::Migrate => [Some(Buffer), None],
        Kind::ReadImage => [Some(Image), Some(Host)],
        Kind::WriteImage => [Some(Host), Some(Image)],
        Kind::CopyImage => [Some(Image), Some(Image)],
        Kind::ImageToBuffer => [Some(Image), Some(Buffer)],
        Kind::BufferToImage => [Some(Buffer), Some(Image)],
        Kind::FillImage => [None, Some(Image)],
        Kind::MapImage | Kind::UnmapImage => [Some(Image), None],
        Kind::SvmCopy => [Some(Svm), Some(Svm)],
        Kind::SvmFill => [None, Some(Svm)],
        Kind::SvmMap | Kind::SvmUnmap | Kind::SvmMigrate => [Some(Svm), None],
        Kind::Marker | Kind::Barrier | Kind::SvmFree => [None, None],
    }
}

/// Returns different bytes for each object.
fn initial() -> Contents {
    [Host, Buffer, Image, Svm].map(|memory| [0, 1].map(|side| (Some((memory, side)), false, false)))
}

/// Returns the bytes themselves. Two objects differ everywhere.
fn bytes((origin, is_inverted, has_inverted_row): Bytes) -> [u8; SIZE] {
    let first = origin.map(|(memory, side)| (memory as u8 * 2 + side as u8) * 29 + 7);
    array::from_fn(|index| {
        let byte = first.map_or(FILL[index % FILL.len()], |first| first ^ index as u8);
        if is_inverted ^ (has_inverted_row && index < ROW) { !byte } else { byte }
    })
}

/// The objects that operands have. The first ones are read by the host without a call.
fn objects(operands: &Operands) -> impl Iterator<Item = (Place, *mut c_void)> + use<> {
    let Operands { buffers, images, svm, host, .. } = *operands;
    [(Host, host), (Buffer, buffers), (Image, images), (Svm, svm)]
        .into_iter()
        .flat_map(|(memory, pair)| [((memory, 0), pair[0]), ((memory, 1), pair[1])])
        .filter(|(_, object)| !object.is_null())
}

/// Writes an object, or reads it, by a call that blocks.
fn transfer(
    (memory, object): (Memory, *mut c_void),
    bytes: &mut [u8; SIZE],
    operands: &Operands,
    queue: *mut c_void,
    writes: bool,
) {
    let bytes: *mut c_void = bytes.as_mut_ptr().cast();
    let copied = if writes { [bytes, object] } else { [object, bytes] };
    let kind = match (memory, writes) {
        // SAFETY: both have `SIZE` bytes, and no command uses them now.
        (Host, _) => unsafe {
            return ptr::copy_nonoverlapping(copied[0].cast::<u8>(), copied[1].cast(), SIZE);
        },
        (Buffer, true) => Kind::WriteBuffer,
        (Buffer, false) => Kind::ReadBuffer,
        (Image, true) => Kind::WriteImage,
        (Image, false) => Kind::ReadImage,
        (Svm, _) => Kind::SvmCopy,
    };
    let (objects, host) = ([object; 2], [bytes; 2]);
    let mut operands =
        Operands { buffers: objects, images: objects, svm: copied, host, ..*operands };
    kind.enqueue_without_event(&mut operands, Call::on(queue).blocking());
}

/// A command with its objects.
#[derive(Clone, Copy)]
struct Step {
    kind: Kind,
    /// The command reads the second buffer, image or allocation, and writes the first one.
    is_reversed: bool,
    /// The same of host memory.
    is_host_reversed: bool,
    /// The set of objects: the first one, or one of its own where the command must not share objects with
    /// earlier ones.
    set: usize,
}

impl Step {
    /// The place that the command reads, or maps, and the one that it writes.
    fn places(&self) -> [Option<Place>; 2] {
        let mut sides = [0, 1].into_iter();
        memory(self.kind).map(|memory| {
            let side = sides.next().unwrap_or_default();
            let is_reversed =
                |memory| [self.is_reversed, self.is_host_reversed][usize::from(memory == Host)];
            memory.map(|memory| (memory, side ^ usize::from(is_reversed(memory))))
        })
    }

    /// The operands in these roles.
    fn operands(&self, operands: Operands) -> Operands {
        let reversed = operands.reversed();
        let host = if self.is_host_reversed { reversed.host } else { operands.host };
        Operands { host, ..if self.is_reversed { reversed } else { operands } }
    }

    /// Does to the bytes what the command does to the objects. The host inverts a row of a map before it is
    /// unmapped.
    fn run(&self, contents: &mut Contents) {
        let [from, to] = self.places();
        let is_unmap = self.kind.map().is_some();
        let (origin, is_inverted, has_inverted_row) =
            from.map_or((None, false, false), |(memory, side)| contents[memory as usize][side]);
        if let Some((memory, side)) = if is_unmap { from } else { to } {
            contents[memory as usize][side] =
                (origin, is_inverted ^ (self.kind == Kind::Kernel), has_inverted_row ^ is_unmap);
        }
    }

    /// Returns whether the command may use the objects of an earlier one, which has not run when both are
    /// enqueued.
    fn may_follow(&self, earlier: &Self) -> bool {
        let [its, mine] = [earlier.places(), self.places()];
        let uses =
            |places: [_; 2], place: Option<Place>| place.is_some() && places.contains(&place);
        let is_map = |kind: Kind| kind.unmap().is_some();
        // 5.5.2: a region that is mapped for writing is neither used by commands nor mapped again.
        let is_mapped = is_map(earlier.kind) && uses(mine, its[0])
            || self.kind.map().is_some() && uses(its, mine[0])
            || earlier.kind.map().is_some() && is_map(self.kind) && its[0] == mine[0];
        // 5.2.2: the bytes for a write are there when it is enqueued.
        let is_late = matches!(its[1], Some((Host, _))) && mine[0] == its[1];
        !is_mapped && !is_late
    }

    /// Returns how many objects have other bytes if the command runs before the last of `steps`, and whether
    /// both use the same object.
    fn evidence(&self, steps: &[Self]) -> (usize, bool) {
        let Some((previous, before)) = steps.split_last() else { return (0, false) };
        let after = |last: [&Self; 2]| {
            let mut contents = initial();
            before.iter().chain(last).for_each(|step| step.run(&mut contents));
            contents.concat()
        };
        let orders = after([previous, self]).into_iter().zip(after([self, previous]));
        let mut places = self.places().into_iter().flatten();
        let is_shared = places.any(|place| previous.places().contains(&Some(place)));
        (orders.filter(|(one, other)| one != other).count(), is_shared)
    }
}

/// Chooses the objects of commands, such that the bytes tell the order of each and the one before it.
fn cast(kinds: &[Kind]) -> Vec<Step> {
    let mut steps: Vec<Step> = Vec::new();
    for kind in kinds {
        let shared: Vec<_> = steps.iter().filter(|step| step.set == 0).copied().collect();
        let set = 1 + steps.iter().map(|step| step.set).max().unwrap_or_default();
        let alone = Step { kind: *kind, is_reversed: false, is_host_reversed: false, set };
        let step = [[false, false], [false, true], [true, false], [true, true]]
            .map(|[is_reversed, is_host_reversed]| Step {
                is_reversed,
                is_host_reversed,
                set: 0,
                ..alone
            })
            .into_iter()
            .filter(|step| shared.iter().all(|earlier| step.may_follow(earlier)))
            .max_by_key(|step| step.evidence(&shared));
        steps.push(step.unwrap_or(alone));
    }
    steps
}

/// Commands in the order in which they are to run.
pub struct Work {
    steps: Vec<Step>,
    operands: Vec<Operands>,
    /// The sets of objects, with the bytes that are in them afterwards.
    sets: Vec<(Operands, Contents)>,
}

impl Work {
    /// Creates objects for the commands, and begins the maps that commands end.
    pub fn new(bench: &Bench, kinds: &[Kind]) -> Self {
        let steps = cast(kinds);
        let last = steps.iter().map(|step| step.set).max().unwrap_or_default();
        let new_set = |set| {
            let of_set = steps.iter().filter(|step| step.set == set);
            let operands = bench.operands(&of_set.map(|step| step.kind).collect::<Vec<_>>());
            for ((memory, side), object) in objects(&operands) {
                let mut bytes = bytes(initial()[memory as usize][side]);
                transfer((memory, object), &mut bytes, &operands, bench.queue, true);
            }
            (operands, initial())
        };
        let mut sets: Vec<_> = (0..=last).map(new_set).collect();
        let begin = |step: &Step| {
            let (operands, contents) = &mut sets[step.set];
            let mut operands = step.operands(*operands);
            step.kind.prepare(&mut operands, bench.queue);
            if step.kind.map().is_some() {
                // SAFETY: the map has ended, and has at least `ROW` bytes.
                let row = unsafe { slice::from_raw_parts_mut(operands.mapped.cast::<u8>(), ROW) };
                row.iter_mut().for_each(|byte| *byte = !*byte);
            }
            step.run(contents);
            operands
        };
        let operands = steps.iter().map(begin).collect();
        Self { steps, operands, sets }
    }

    /// Enqueues one of the commands.
    #[track_caller]
    pub fn enqueue(&mut self, step: usize, call: Call<'_>) -> Object {
        self.steps[step].kind.enqueue(&mut self.operands[step], call)
    }

    /// Enqueues one of the commands without an event.
    #[track_caller]
    pub fn enqueue_without_event(&mut self, step: usize, call: Call<'_>) {
        self.steps[step].kind.enqueue_without_event(&mut self.operands[step], call);
    }

    /// Expects that no command has run.
    pub fn undo(&mut self) {
        self.sets.iter_mut().for_each(|(_, contents)| *contents = initial());
    }

    /// Overwrites the host memory of the last command, if that is a write.
    pub fn overwrite(&mut self) {
        let Some(step) = self.steps.last() else { return };
        let (operands, contents) = &mut self.sets[step.set];
        if let [Some((Host, side)), _] = step.places() {
            contents[Host as usize][side].1 ^= true;
            let mut bytes = bytes(contents[Host as usize][side]);
            transfer((Host, operands.host[side]), &mut bytes, operands, ptr::null_mut(), true);
        }
    }

    /// Checks that no read has begun: the host memory is as it was.
    pub fn check_unread(&self, findings: &Findings, call: &str, rule: &str) {
        for step in &self.steps {
            if let [_, Some(place @ (Host, side))] = step.places() {
                let host = self.sets[step.set].0.host[side];
                // SAFETY: the host memory has `SIZE` bytes; a driver that is right does not use it yet.
                let found = unsafe { slice::from_raw_parts(host.cast::<u8>(), SIZE) };
                let expected = bytes(initial()[Host as usize][side]);
                compare(found, &expected, (place, "before"), findings, call, rule);
            }
        }
    }

    /// Ends maps, and checks all bytes. All commands have ended.
    pub fn check(&mut self, bench: &Bench, findings: &Findings, call: &str, rule: &str) {
        for (step, operands) in self.steps.iter().zip(&mut self.operands) {
            let ([Some(place), _], Some(unmap)) = (step.places(), step.kind.unmap()) else {
                continue;
            };
            // SAFETY: the map has ended, and has at least `ROW` bytes.
            let row = unsafe { slice::from_raw_parts(operands.mapped.cast::<u8>(), ROW) };
            let expected = bytes(self.sets[step.set].1[place.0 as usize][place.1]);
            compare(row, &expected, (place, "through its map"), findings, call, rule);
            unmap.enqueue_without_event(operands, Call::on(bench.queue));
        }
        // SAFETY: the queue is valid.
        unsafe { ok!(clFinish(bench.queue)) };
        for (operands, expected) in &self.sets {
            for (place @ (memory, side), object) in objects(operands) {
                let mut found = [0; SIZE];
                transfer((memory, object), &mut found, operands, bench.queue, false);
                let expected = bytes(expected[memory as usize][side]);
                compare(&found, &expected, (place, "afterwards"), findings, call, rule);
            }
        }
    }
}

/// The names of the commands, such as `clEnqueueFillBuffer before clEnqueueCopyBuffer`.
impl Display for Work {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        let names: Vec<_> = self.steps.iter().map(|step| step.kind.function()).collect();
        f.write_str(&names.join(" before "))
    }
}

/// Adds a finding for the first byte that differs.
fn compare(
    found: &[u8],
    expected: &[u8],
    ((memory, side), when): (Place, &str),
    findings: &Findings,
    call: &str,
    rule: &str,
) {
    let mut both = found.iter().zip(expected).enumerate();
    if let Some((index, (found, expected))) = both.find(|(_, (found, expected))| found != expected)
    {
        let place = format_args!("{memory:?} {}", side + 1);
        let answer =
            format_args!("byte {index} of {place} {when} is {found:#x}, not {expected:#x}");
        findings.add(call, rule, answer);
    }
}
