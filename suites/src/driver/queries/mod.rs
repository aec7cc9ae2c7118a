//! Queries of objects: each answer follows from how the object was made, or from another answer.

mod device;
mod kernel;
mod memory;
mod objects;
mod program;
mod references;
mod sampler;

use std::fmt::LowerHex;
use std::ops::RangeInclusive;

use super::prelude::*;

/// A byte that the driver is to replace.
const UNTOUCHED: u8 = 0xa5;

/// The constant of a query.
type Query = Named<u32>;

/// The numbers that drivers return.
trait Number: Pod + Display + LowerHex + PartialEq {}

impl<T: Pod + Display + LowerHex + PartialEq> Number for T {}

/// An object whose answers a test checks.
struct Asked<'a> {
    bench: &'a Bench,
    subject: Subject,
    /// The object in words, such as `a 2D image`.
    object: String,
}

impl Bench {
    /// An object whose broken rules the bench gets, and its name.
    fn asked(&self, subject: Subject, object: impl Into<String>) -> Asked<'_> {
        Asked { bench: self, subject, object: object.into() }
    }

    /// The device under test.
    fn asked_device(&self) -> Asked<'_> {
        self.asked(Subject::Device(self.device), "the device")
    }
}

impl Asked<'_> {
    /// Returns whether the device has at least this version, such as `[3, 0]`; an empty list stands for all versions.
    fn has(&self, version: &[u32]) -> bool {
        version <= &[self.bench.version.major, self.bench.version.minor][..]
    }

    /// Adds a broken rule of one query unless it `holds`.
    fn expect(&self, holds: bool, query: Query, rule: impl Display, answer: impl Display) {
        let [function, section] = self.subject.names();
        let call = format_args!("{function}({}) of {}", query.name, self.object);
        self.bench.check(holds, call, format_args!("{rule} ({section})"), answer);
    }

    /// Returns an answer. The driver gives its size alone; writes the same to more space and to its own size; and
    /// refuses less.
    fn answer(&self, query: Query) -> Option<Vec<u8>> {
        let (mut size, mut answer) = (usize::MAX, None::<Vec<u8>>);
        // SAFETY: the object is valid; the driver writes the size alone.
        let code = unsafe { self.subject.call(query.value, 0, ptr::null_mut(), &raw mut size) };
        if code != CL_SUCCESS || size > 1 << 24 {
            let answer = format_args!("{}, {size:#x}", code_name(code));
            self.expect(false, query, "without space, CL_SUCCESS and the size", answer);
            return None;
        }
        for space in [size + 64, size, size.saturating_sub(1)] {
            let wanted = if space < size { CL_INVALID_VALUE } else { CL_SUCCESS };
            let (mut bytes, mut needed) = (vec![UNTOUCHED; space + 16], size);
            let place = if space == size { ptr::null_mut() } else { &raw mut needed };
            let to = bytes.as_mut_ptr().cast();
            // SAFETY: the object is valid; the space has as many bytes, and more.
            let code = unsafe { self.subject.call(query.value, space, to, place) };
            let is_behind = bytes[space..].iter().any(|byte| *byte != UNTOUCHED);
            let rule = format_args!("nothing behind the space of {space} bytes");
            self.expect(!is_behind, query, rule, "bytes are written there");
            let rule = format!("{} for {space} bytes of space, of {size}", code_name(wanted));
            self.expect(code == wanted, query, rule, code_name(code));
            if code == CL_SUCCESS && space >= size {
                let rule = format_args!("the same size with space and without, {size}");
                self.expect(needed == size, query, rule, format_args!("{needed} bytes"));
                bytes.truncate(size);
                let first = answer.get_or_insert_with(|| bytes.clone());
                let rule = "the same answer as the first time, the hexadecimal bytes";
                let again = format_args!("{bytes:02x?} the next time");
                self.expect(*first == bytes, query, format_args!("{rule} {first:02x?}"), again);
            }
        }
        answer
    }

    /// Returns the number of 4 or 8 bytes; 0 where there is no answer.
    fn number(&self, query: Query, size: usize) -> u64 {
        let mut bytes = self.answer(query).unwrap_or_default();
        let answer = format!("{bytes:x?} in {} bytes", bytes.len());
        self.expect(bytes.len() == size, query, format_args!("a number of {size} bytes"), answer);
        bytes.resize(8, 0);
        bytemuck::pod_read_unaligned(&bytes)
    }

    /// Checks a rule of the numbers that the driver returns.
    fn check<T: Number>(&self, query: Query, rule: impl Display, holds: impl Fn(&[T]) -> bool) {
        let Some(bytes) = self.answer(query) else { return };
        let numbers = bytes.chunks_exact(size_of::<T>()).map(bytemuck::pod_read_unaligned);
        let numbers: Vec<T> = numbers.collect();
        let holds = bytes.len().is_multiple_of(size_of::<T>()) && holds(&numbers);
        let answer = format_args!("{} in {} bytes", shown(&numbers), bytes.len());
        self.expect(holds, query, rule, answer);
    }

    /// Checks that the answer is this list of numbers.
    fn list<T: Number>(&self, query: Query, expected: &[T]) {
        self.check(query, shown(expected), |found: &[T]| found == expected);
    }

    /// Checks that the answer is this number.
    fn is<T: Number>(&self, query: Query, expected: T) {
        self.list(query, &[expected]);
    }

    /// Checks that the answer is a number in this range.
    fn within<T: Number + PartialOrd>(&self, query: Query, range: RangeInclusive<T>) {
        let rule = format_args!("{} to {}", range.start(), range.end());
        self.check(query, rule, |found: &[T]| matches!(found, [n] if range.contains(n)));
    }

    /// Checks that the answer is this constant.
    fn constant<T: Number>(&self, query: Query, expected: Named<T>) {
        let Named { name, value } = expected;
        self.check(query, format_args!("{name} = {value:#x}"), |found: &[T]| found == [value]);
    }

    /// Checks that the answer is this handle or pointer.
    fn pointer(&self, query: Query, expected: *mut c_void) {
        let given = format!("{expected:p}, which follows from what the object was made of");
        let rule = if expected.is_null() { "null" } else { &given };
        self.check(query, rule, |found: &[usize]| found == [expected as usize]);
    }

    /// Checks a rule of the text that the driver returns, without its terminator.
    fn read(&self, query: Query, rule: impl Display, holds: impl Fn(&str) -> bool) {
        let Some(bytes) = self.answer(query) else { return };
        let text = bytes.strip_suffix(&[0]).map(String::from_utf8_lossy).unwrap_or_default();
        let holds = bytes.ends_with(&[0]) && !text.contains('\0') && holds(&text);
        let rule = format_args!("{rule}, and a terminator at the end alone");
        self.expect(holds, query, rule, format_args!("`{}`", bytes.escape_ascii()));
    }

    /// Checks that the answer is this text.
    fn text(&self, query: Query, expected: &str) {
        self.read(query, format_args!("`{expected}`"), |found| found == expected);
    }

    /// Checks that the driver refuses the query with this error code.
    fn refuses(&self, query: Query, expected: i32) {
        let answer = self.subject.bytes(query.value);
        let (code, size) = answer.map_or_else(|code| (code, 0), |all| (CL_SUCCESS, all.len()));
        let answer = format_args!("{} and {size} bytes", code_name(code));
        self.expect(code == expected, query, code_name(expected), answer);
    }
}

fn shown<T: Number>(numbers: &[T]) -> String {
    let shown: Vec<_> = numbers.iter().map(|number| format!("{number} = {number:#x}")).collect();
    format!("[{}]", shown.join(", "))
}

/// Checks answers: each is a check of [`Asked`], a query and its argument. A list such as `[3, 0]` before them is the
/// first version that has the query; devices of older versions are not asked.
macro_rules! answers {
    ($asked:expr; $($([$($n:literal),+])? $check:ident $query:ident $expected:expr),+ $(,)?) => {{
        let asked = &$asked;
        $(if asked.has(&[$($($n),+)?]) { asked.$check(named!($query), $expected); })+
    }};
}

use answers;
