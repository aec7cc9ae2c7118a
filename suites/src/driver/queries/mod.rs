//! Queries of objects: each answer follows from how the object was made, or from another answer.

/// Checks answers of a [`Subject`] with a name: each is a check of [`Asked`], a query and its argument. A condition in
/// brackets before them decides whether the driver is asked.
macro_rules! answers {
    ($bench:expr, $subject:ident($($of:expr),+), $name:expr;
        $($([$condition:expr])? $check:ident $query:ident $expected:expr),+ $(,)?) => {{
        let asked = Asked(&$bench, Subject::$subject($($of),+), &$name);
        $(if true $(&& $condition)? { asked.$check(named!($query), $expected); })+
    }};
}

mod device;
mod kernel;
mod memory;
mod objects;
mod program;

use std::{fmt::LowerHex, ops::RangeInclusive};

use super::prelude::*;

/// A byte that the driver is to replace.
const UNTOUCHED: u8 = 0xa5;

/// The constant of a query.
type Query = Named<u32>;

/// The numbers that drivers return.
trait Number: Pod + Display + LowerHex + PartialEq {}

impl<T: Pod + Display + LowerHex + PartialEq> Number for T {}

/// An object whose answers a test checks, and its name in words. The bench gets the broken rules.
struct Asked<'a>(&'a Bench, Subject, &'a str);

impl Asked<'_> {
    /// Adds a broken rule of one query unless it `holds`.
    fn expect(&self, holds: bool, query: Query, rule: impl Display, answer: impl Display) {
        let ([function, section], object) = (self.1.names(), self.2);
        let call = format_args!("{function}({}) of {object}", query.name);
        self.0.check(holds, call, format_args!("{rule} ({section})"), answer);
    }

    /// Returns an answer. The driver gives its size alone; writes the same to more space and to its own size; and
    /// refuses less.
    fn answer(&self, query: Query) -> Option<Vec<u8>> {
        let (mut size, mut answer) = (usize::MAX, None::<Vec<u8>>);
        // SAFETY: the object is valid; the driver writes the size alone.
        let code = unsafe { self.1.call(query.value, 0, ptr::null_mut(), &raw mut size) };
        if code != CL_SUCCESS || size > 1 << 24 {
            let found = format!("{}, {size:#x}", code_name(code));
            self.expect(false, query, "without space, CL_SUCCESS and the size", found);
            return None;
        }
        for space in [size + 64, size, size.saturating_sub(1)] {
            let wanted = if space < size { CL_INVALID_VALUE } else { CL_SUCCESS };
            let (mut bytes, mut needed) = (vec![UNTOUCHED; space + 16], size);
            let place = if space == size { ptr::null_mut() } else { &raw mut needed };
            // SAFETY: the object is valid; the space has as many bytes, and more.
            let code = unsafe { self.1.call(query.value, space, bytes.as_mut_ptr().cast(), place) };
            let behind = bytes.split_off(space).iter().filter(|byte| **byte != UNTOUCHED).count();
            let holds = code == wanted && behind == 0 && (needed == size || space < size);
            let wanted = code_name(wanted);
            let rule = format!("{wanted} for {space} bytes of space, of {size}, none behind it");
            let found = format!("{}, size {needed}, {behind} bytes behind it", code_name(code));
            self.expect(holds, query, rule, found);
            if code == CL_SUCCESS && space >= size {
                bytes.truncate(size);
                let first = answer.get_or_insert_with(|| bytes.clone());
                let rule = format_args!("as the first time, the hexadecimal bytes {first:02x?}");
                self.expect(*first == bytes, query, rule, format_args!("{bytes:02x?}"));
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

    /// Checks the numbers that the driver returns by a rule, in words and as a function.
    fn check<T: Number>(&self, query: Query, (rule, holds): (impl Display, impl Fn(&[T]) -> bool)) {
        let Some(bytes) = self.answer(query) else { return };
        let found = bytes.chunks_exact(size_of::<T>()).map(bytemuck::pod_read_unaligned);
        let found: Vec<T> = found.collect();
        let holds = bytes.len().is_multiple_of(size_of::<T>()) && holds(&found);
        self.expect(holds, query, rule, format_args!("{} in {} bytes", shown(&found), bytes.len()));
    }

    /// Checks that the answer is this list of numbers.
    fn list<T: Number>(&self, query: Query, expected: &[T]) {
        self.check(query, (shown(expected), |found: &[T]| found == expected));
    }

    /// Checks that the answer is this number.
    fn is<T: Number>(&self, query: Query, expected: T) {
        self.list(query, &[expected]);
    }

    /// Checks that the answer is a number in this range.
    fn within<T: Number + PartialOrd>(&self, query: Query, range: RangeInclusive<T>) {
        let rule = format!("{} to {}", range.start(), range.end());
        self.check(query, (rule, |found: &[T]| matches!(found, [n] if range.contains(n))));
    }

    /// Checks that the answer is this constant.
    fn constant<T: Number>(&self, query: Query, Named { name, value }: Named<T>) {
        self.check(query, (format!("{name} = {value:#x}"), |found: &[T]| found == [value]));
    }

    /// Checks that the answer is this handle or pointer.
    fn pointer(&self, query: Query, expected: *mut c_void) {
        let given = format!("{expected:p}, which follows from what the object was made of");
        let rule = if expected.is_null() { "null" } else { &given };
        self.check(query, (rule, |found: &[usize]| found == [expected as usize]));
    }

    /// Checks the text that the driver returns, without its terminator, by a rule, in words and as a function.
    fn read(&self, query: Query, (rule, holds): (impl Display, impl Fn(&str) -> bool)) {
        let Some(bytes) = self.answer(query) else { return };
        let text = bytes.strip_suffix(&[0]).map(String::from_utf8_lossy).unwrap_or_default();
        let holds = bytes.ends_with(&[0]) && !text.contains('\0') && holds(&text);
        let rule = format_args!("{rule}, and a terminator at the end alone");
        self.expect(holds, query, rule, format_args!("`{}`", bytes.escape_ascii()));
    }

    /// Checks that the answer is this text.
    fn text(&self, query: Query, expected: &str) {
        self.read(query, (format!("`{expected}`"), |found: &str| found == expected));
    }

    /// Checks that the driver refuses the query with this error code.
    fn refuses(&self, query: Query, expected: i32) {
        let answer = self.1.bytes(query.value);
        let (code, size) = answer.map_or_else(|code| (code, 0), |all| (CL_SUCCESS, all.len()));
        let found = format!("{} and {size} bytes", code_name(code));
        self.expect(code == expected, query, code_name(expected), found);
    }

    /// Checks a reference count before and after a second reference to this object is released.
    fn counted(&self, query: Query, (class, raw): (Class, *mut c_void)) {
        let (mut before, mut after) = (0_u32, 0_u32);
        // A thread of the driver may keep an object for a moment after its last command. The tests check many objects.
        let holds = (0..250).any(|attempt| {
            thread::sleep(Duration::from_millis(attempt.min(2)));
            let second = Object::retained(class, raw);
            before = self.1.value(query);
            second.release();
            after = self.1.value(query);
            before > 1 && after == before - 1
        });
        let rule = "at least 2 with a second reference, and one less when that is released";
        self.expect(holds, query, rule, format_args!("{before}, and then {after}"));
    }
}

fn shown<T: Number>(numbers: &[T]) -> String {
    let shown: Vec<_> = numbers.iter().map(|number| format!("{number} = {number:#x}")).collect();
    format!("[{}]", shown.join(", "))
}
