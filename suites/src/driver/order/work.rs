//! Commands on common objects, and the bytes that they leave.

use std::array;
use std::collections::BTreeSet;

use super::*;
use crate::support::pattern::same;

/// The classes of memory, and the commands that write and read each; the host does so to its own.
const CLASSES: [(&str, [Kind; 2]); 4] = [
    ("host memory", [Kind::Marker; 2]),
    ("a buffer", [Kind::WriteBuffer, Kind::ReadBuffer]),
    ("an image", [Kind::WriteImage, Kind::ReadImage]),
    ("an SVM allocation", [Kind::SvmCopy; 2]),
];

/// The bytes at the start of an object that the host changes and looks at through a map: a row of an image,
/// since there may be gaps between rows.
const ROW: usize = 32;

/// The bytes of an object, or of a map, with the object and a name.
type Bytes = (*mut c_void, &'static str, Vec<u8>);

/// One or two commands. The second one reads what the first one writes, and writes what that one reads.
pub struct Work {
    /// The names of the commands, such as `clEnqueueFillBuffer before clEnqueueCopyBuffer`.
    pub name: String,
    /// The commands with their operands.
    pub steps: Vec<(Kind, Operands)>,
    /// The objects, with the indices of their classes.
    objects: BTreeSet<(usize, *mut c_void)>,
    queue: *mut c_void,
    /// The bytes that the commands leave, if each one runs when the one before it has ended.
    expected: Vec<Bytes>,
}

impl Work {
    /// Creates objects for the commands, runs these once, and begins the maps that they end.
    pub fn new<const N: usize>(bench: &Bench, kinds: [Kind; N]) -> Self {
        let first = bench.operands(&kinds);
        let [was_unmap, is_unmap] = [0, N - 1].map(|n| kinds[n].map().is_some());
        let [was_map, is_map] = [0, N - 1].map(|n| kinds[n].unmap().is_some());
        // 5.5.2: a region that is mapped for writing is neither used by commands nor mapped again.
        let second = if was_map || is_unmap || was_unmap && is_map {
            bench.operands(&kinds)
        } else if was_unmap {
            first
        } else {
            // 5.2.2: the bytes for a write are there when it is enqueued.
            Operands { host: first.host, ..first.reversed() }
        };
        let steps: Vec<_> = kinds.into_iter().zip([first, second]).collect();
        let classes = steps.iter().map(|(_, of)| [of.host, of.buffers, of.images, of.svm]);
        let pairs = classes.flat_map(|pairs| pairs.into_iter().enumerate());
        let objects = pairs.flat_map(|(class, pair)| pair.map(|raw| (class, raw)));
        let objects = objects.filter(|(_, raw)| !raw.is_null()).collect();
        let (name, queue) = (kinds.map(Kind::function).join(" before "), bench.queue);
        let mut work = Self { name, steps, objects, queue, expected: vec![] };
        work.prepare();
        for (kind, operands) in &mut work.steps {
            kind.enqueue_without_event(operands, Call::on(queue));
            finish(queue);
        }
        work.expected = work.bytes();
        work.prepare();
        work
    }

    /// Writes the bytes before the commands, and begins maps.
    fn prepare(&mut self) {
        for (index, (class, raw)) in self.objects.iter().enumerate() {
            let mut bytes = array::from_fn(|n| (index * 29 + 7) as u8 ^ n as u8);
            self.transfer(*class, *raw, &mut bytes, true);
        }
        for (kind, operands) in &mut self.steps {
            kind.prepare(operands, self.queue);
            if kind.map().is_some() {
                // SAFETY: the map has ended, and has at least `ROW` bytes.
                let row = unsafe { &mut *operands.mapped.cast::<[u8; ROW]>() };
                *row = row.map(|byte| !byte);
            }
        }
    }

    /// Writes an object, or reads it.
    fn transfer(&self, class: usize, raw: *mut c_void, bytes: &mut [u8; SIZE], writes: bool) {
        let bytes: *mut c_void = bytes.as_mut_ptr().cast();
        let svm = if writes { [bytes, raw] } else { [raw, bytes] };
        if class == 0 {
            // SAFETY: both have `SIZE` bytes, and no command uses them now.
            return unsafe { ptr::copy_nonoverlapping(svm[0].cast::<u8>(), svm[1].cast(), SIZE) };
        }
        let (images, host) = ([raw; 2], [bytes; 2]);
        let mut operands = Operands { buffers: images, images, svm, host, ..self.steps[0].1 };
        let kind = CLASSES[class].1[usize::from(!writes)];
        kind.enqueue_without_event(&mut operands, Call::on(self.queue));
        finish(self.queue);
    }

    /// Ends maps, and returns all bytes. All commands have ended.
    fn bytes(&mut self) -> Vec<Bytes> {
        let mut all = Vec::new();
        for (kind, operands) in &mut self.steps {
            if let Some(unmap) = kind.unmap() {
                // SAFETY: the map has ended, and has at least `ROW` bytes.
                let row = unsafe { *operands.mapped.cast::<[u8; ROW]>() };
                all.push((operands.mapped, "a map", row.to_vec()));
                unmap.enqueue_without_event(operands, Call::on(self.queue));
            }
        }
        finish(self.queue);
        for (class, raw) in self.objects.iter().copied() {
            let mut bytes = [0; SIZE];
            self.transfer(class, raw, &mut bytes, false);
            all.push((raw, CLASSES[class].0, bytes.to_vec()));
        }
        all
    }

    /// Does not look at an object any more.
    pub fn forget(&mut self, object: *mut c_void) {
        self.objects.retain(|(_, raw)| *raw != object);
        self.expected.retain(|(raw, ..)| *raw != object);
    }

    /// Enqueues one of the commands.
    #[track_caller]
    pub fn enqueue(&mut self, step: usize, call: Call<'_>) -> Object {
        self.steps[step].0.enqueue(&mut self.steps[step].1, call)
    }

    /// Checks all bytes. All commands have ended.
    pub fn check(&mut self, bench: &Bench, call: &str, rule: &str) {
        for ((_, name, found), (.., expected)) in self.bytes().iter().zip(&self.expected) {
            bench.check_result(same(found, expected, name), call, rule);
        }
    }
}
