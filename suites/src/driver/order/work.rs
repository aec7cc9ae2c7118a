//! Commands on common objects, their statuses, and the bytes that they leave.

use std::collections::BTreeMap;
use std::ops::RangeInclusive;

use super::*;

/// The classes of memory, and the commands that write and read each; the host does so to its own.
const CLASSES: [(&str, [Kind; 2]); 4] = [
    ("host memory, or a map", [Kind::Marker; 2]),
    ("a buffer", [Kind::WriteBuffer, Kind::ReadBuffer]),
    ("an image", [Kind::WriteImage, Kind::ReadImage]),
    ("an SVM allocation", [Kind::SvmCopy; 2]),
];

/// The bytes of an object that commands use: all, or few at its start.
pub type Bytes = fn(Kind) -> Span;

/// An object, behind the index of its class.
type Place = (usize, *mut c_void);

/// One or two commands. The second one reads what the first one writes, and writes what that one reads.
pub struct Work<'a> {
    pub bench: &'a Bench,
    /// The commands in words, such as `clEnqueueFillBuffer before clEnqueueCopyBuffer`.
    pub name: String,
    /// The rule that makes the last one wait. The name, or this, has the section.
    pub rule: &'static str,
    /// The bytes that the commands use.
    pub bytes: Bytes,
    /// The commands with their operands.
    pub steps: Vec<(Kind, Operands)>,
    /// The events of the commands that have been enqueued with one.
    pub events: Vec<Object>,
    /// The statuses that the test has seen, that of the last command first.
    pub seen: Vec<cl_int>,
    /// The bytes that the commands leave, if each one runs when the one before it has ended.
    pub expected: BTreeMap<Place, [u8; SIZE]>,
}

impl<'a> Work<'a> {
    /// Creates objects for commands on these bytes, runs these once, and begins the maps that they end.
    pub fn new<const N: usize>(bench: &'a Bench, kinds: [Kind; N], bytes: Bytes) -> Self {
        let first = bench.operands(&kinds);
        let [was, is] = [kinds.first(), kinds.last()].map(|kind| *kind.unwrap_or(&Kind::Marker));
        let second = match [was.map(), was.unmap(), is.map(), is.unmap()].map(|it| it.is_some()) {
            // 5.5.2: a region that is mapped for writing is neither used by commands nor mapped again.
            [_, true, ..] | [_, _, true, _] | [true, .., true] => bench.operands(&kinds),
            [true, ..] => first,
            // 5.2.2: the bytes for a write are there when it is enqueued.
            _ => Operands { host: first.host, ..first.reversed() },
        };
        let steps: Vec<_> = kinds.into_iter().zip([first, second]).collect();
        let all = steps.iter().flat_map(|(_, o)| (0..).zip([o.host, o.buffers, o.images, o.svm]));
        let places = all.flat_map(|(class, pair)| pair.map(|raw| ((class, raw), [0; SIZE])));
        let expected = places.filter(|((_, raw), _)| !raw.is_null()).collect();
        let name = kinds.map(Kind::function).join(" before ");
        let (rule, events, seen) = ("each one waits for what is before it", vec![], vec![]);
        let mut work = Self { bench, name, rule, bytes, steps, events, seen, expected };
        work.prepare();
        for (kind, operands) in &mut work.steps {
            kind.enqueue_without_event(operands, Call::on(bench.queue).of(bytes(*kind)));
            finish(bench.queue);
        }
        work.expected = work.contents();
        work.prepare();
        work
    }

    /// Writes the bytes before the commands, and begins maps.
    fn prepare(&mut self) {
        for (index, place) in self.expected.keys().enumerate() {
            self.transfer(*place, std::array::from_fn(|n| (index * 29 + 7) as u8 ^ n as u8), true);
        }
        for (kind, operands) in &mut self.steps {
            kind.prepare(operands, self.bench.queue);
            if kind.map().is_some() {
                copy_start(*kind, self.bytes, operands.host[0], operands.mapped);
            }
        }
    }

    /// Writes bytes to an object, or returns those that it has.
    fn transfer(&self, (class, raw): Place, mut bytes: [u8; SIZE], writes: bool) -> [u8; SIZE] {
        let host = bytes.as_mut_ptr().cast();
        let pair = if writes { [host, raw] } else { [raw, host] };
        if class == 0 {
            // SAFETY: both have `SIZE` bytes, and no command uses them now.
            unsafe { ptr::copy_nonoverlapping(pair[0].cast::<u8>(), pair[1].cast(), SIZE) };
        } else {
            let none = self.bench.no_operands();
            let mut all = Operands { buffers: pair, images: pair, svm: pair, host: pair, ..none };
            let kind = CLASSES[class].1[usize::from(!writes)];
            kind.enqueue_without_event(&mut all, Call::on(self.bench.queue));
            finish(self.bench.queue);
        }
        bytes
    }

    /// Ends maps, and returns all bytes. All commands on them have ended, or wait for a gate.
    pub fn contents(&mut self) -> BTreeMap<Place, [u8; SIZE]> {
        for (kind, operands) in &mut self.steps {
            if kind.unmap().is_some() {
                copy_start(*kind, self.bytes, operands.mapped, operands.host[0]);
            }
            kind.finish(operands, self.bench.queue);
        }
        let read = |place| (place, self.transfer(place, [0; SIZE], false));
        self.expected.keys().copied().map(read).collect()
    }

    /// Checks all bytes. All commands on them have ended, or wait for a gate.
    pub fn check(&mut self) {
        for (place, found) in self.contents() {
            let result = same(&found, &self.expected[&place], CLASSES[place.0].0);
            self.bench.check_result(result, &self.name, self.rule);
        }
    }

    /// Enqueues one of the commands. Returns its event, or null if it has none.
    #[track_caller]
    pub fn enqueue(&mut self, step: usize, call: Call<'_>, has_event: bool) -> *mut c_void {
        let (kind, operands) = &mut self.steps[step];
        let call = call.of((self.bytes)(*kind));
        if !has_event {
            kind.enqueue_without_event(operands, call);
            return ptr::null_mut();
        }
        self.events.push(kind.enqueue(operands, call));
        self.events[self.events.len() - 1].raw()
    }

    /// Checks statuses that are new: that they are in a range and behind those that the test has seen, and that the last
    /// command has not ended before the first one. Returns whether all have ended.
    pub fn check_statuses(&mut self, range: RangeInclusive<cl_int>, when: &str) -> bool {
        let found: Vec<_> = self.events.iter().rev().map(|event| status(event.raw())).collect();
        let seen = std::mem::replace(&mut self.seen, found.clone());
        if found != seen {
            let names = |of: &[cl_int]| -> Vec<_> { of.iter().map(|n| status_name(*n)).collect() };
            let (names, earlier) = (names(&found).join(" behind "), names(&seen).join(" behind "));
            let next = format!("{earlier} is followed by later statuses only (5.11)");
            let is_next = found.iter().zip(&seen).all(|(new, old)| new <= old);
            self.bench.check(is_next, &self.name, next, &names);
            let is_early = found[0] <= CL_COMPLETE && found[found.len() - 1] > CL_COMPLETE;
            let is_right = !is_early && found.iter().all(|status| range.contains(status));
            self.bench.check(is_right, &self.name, self.rule, format_args!("{names} {when}"));
        }
        found.iter().all(|status| *status <= CL_COMPLETE)
    }
}

/// Checks the new statuses of all commands. Returns whether all have ended.
pub fn check_all(all: &mut [Work<'_>], range: RangeInclusive<cl_int>, when: &str) -> bool {
    // The minimum asks for the statuses of all.
    all.iter_mut().map(|work| work.check_statuses(range.clone(), when)).min() != Some(false)
}

/// Copies the bytes at the start of a map, from it or to it: at most a row of an image, since there may be gaps between
/// rows.
fn copy_start(kind: Kind, bytes: Bytes, from: *mut c_void, to: *mut c_void) {
    let of_pixel = if kind.needs() == Needs::Images { FILL.len() } else { 1 };
    let size = (bytes(kind).region[0] * of_pixel).min(SHAPE[0] * FILL.len());
    // SAFETY: the map has ended; both have the bytes, which no command uses now.
    unsafe { ptr::copy_nonoverlapping(from.cast::<u8>(), to.cast(), size) };
}
