//! Queries of objects: each answer follows from how the object was made, or from another answer.

mod device;
mod image;
mod kernel;
mod memory;
mod objects;
mod program;
mod references;
mod sampler;
mod versions;

use std::ffi::CString;
use std::fmt::{Display, LowerHex};

use bytemuck::Pod;
use clmatrix::cl3::{command_queue::*, context::*, device::*, error_codes::*, event::*, kernel::*};
use clmatrix::cl3::{memory::*, platform::*, program::*, sampler::*};
use clmatrix_harness::skip;

use super::bench::no_image;
use super::prelude::*;
use crate::support::on_device::soon;

/// The numbers that drivers return.
trait Number: Pod + Display + LowerHex + PartialEq {}

impl<T: Pod + Display + LowerHex + PartialEq> Number for T {}

/// An object whose answers a test checks.
struct Asked<'a> {
    findings: &'a Findings,
    subject: Subject,
    /// The object in words, such as `a 2D image`.
    object: String,
}

impl<'a> Asked<'a> {
    fn new(findings: &'a Findings, subject: Subject, object: impl Into<String>) -> Self {
        Self { findings, subject, object: object.into() }
    }

    /// Adds a broken rule of one query.
    fn add(&self, query: Named<u32>, rule: impl Display, answer: impl Display) {
        let call = format!("{}({}) of {}", self.subject.function(), query.name, self.object);
        self.findings.add(call, format_args!("{rule} ({})", section(self.subject)), answer);
    }

    /// Returns an answer, which follows a rule. The driver gives its size alone; writes the same to more space and
    /// to its own size; and refuses less.
    fn answer(&self, query: Named<u32>, rule: &str) -> Option<Vec<u8>> {
        let (mut size, mut answer) = (usize::MAX, None);
        // SAFETY: the object is valid; the driver writes the size alone.
        let code = unsafe { self.subject.call(query.value, 0, ptr::null_mut(), &raw mut size) };
        if code != CL_SUCCESS || size > 1 << 24 {
            let rule = format!("{rule}; without space, CL_SUCCESS and the size");
            self.add(query, rule, format_args!("{}, {size:#x}", code_name(code)));
            return None;
        }
        let less = size.checked_sub(1).map(|less| (less, CL_INVALID_VALUE));
        for (space, wanted) in [(size + 64, CL_SUCCESS), (size, CL_SUCCESS)].into_iter().chain(less)
        {
            let (mut bytes, mut needed) = (vec![0xa5_u8; space + 16], size);
            let place = if space == size { ptr::null_mut() } else { &raw mut needed };
            let pointer = bytes.as_mut_ptr().cast();
            // SAFETY: the object is valid; the space has as many bytes, and more.
            let code = unsafe { self.subject.call(query.value, space, pointer, place) };
            let is_behind = bytes[space..].iter().any(|byte| *byte != 0xa5);
            bytes.truncate(size);
            let is_read = code == CL_SUCCESS;
            let first = answer.as_ref().filter(|first| is_read && **first != bytes);
            if code != wanted {
                let rule = format!("{} for {space} bytes of space, of {size}", code_name(wanted));
                self.add(query, rule, code_name(code));
            }
            if is_read && needed != size {
                let rule = format!("the same size with {space} bytes of space and without, {size}");
                self.add(query, rule, format_args!("{needed} bytes"));
            }
            if is_behind {
                let rule = format!("nothing behind the space of {space} bytes");
                self.add(query, rule, "bytes are written there");
            }
            if let Some(first) = first {
                let rule = format!("the same answer each time, in bytes {first:x?}");
                self.add(query, rule, format_args!("{bytes:x?}"));
            }
            if is_read && needed != size {
                return None;
            }
            if space >= size {
                answer = Some(bytes);
            }
        }
        answer
    }

    /// Returns the number of 4 or 8 bytes; 0 where the answer has others.
    fn number(&self, query: Named<u32>, size: usize) -> u64 {
        let rule = format_args!("a number of {size} bytes");
        let mut bytes = self.check(query, rule, |found: &[u8]| found.len() == size);
        bytes.resize(8, 0);
        bytemuck::pod_read_unaligned(&bytes)
    }

    /// Checks a rule of the numbers that the driver returns, and returns them.
    fn check<T: Number>(
        &self,
        query: Named<u32>,
        rule: impl Display,
        holds: impl FnOnce(&[T]) -> bool,
    ) -> Vec<T> {
        let rule = rule.to_string();
        let Some(bytes) = self.answer(query, &rule) else { return Vec::new() };
        let numbers = bytes.chunks_exact(size_of::<T>()).map(bytemuck::pod_read_unaligned);
        let numbers: Vec<T> = numbers.collect();
        if bytes.len() % size_of::<T>() != 0 || !holds(&numbers) {
            let answer = format_args!("{} in {} bytes", shown(&numbers), bytes.len());
            self.add(query, rule, answer);
        }
        numbers
    }

    /// Checks that the answer is this list of numbers.
    fn list<T: Number>(&self, query: Named<u32>, expected: &[T]) {
        self.check(query, shown(expected), |found: &[T]| found == expected);
    }

    /// Checks that the answer is this number.
    fn is<T: Number>(&self, query: Named<u32>, expected: T) {
        self.list(query, &[expected]);
    }

    /// Checks that the answer is this constant.
    fn constant<T: Number>(&self, query: Named<u32>, expected: Named<T>) {
        let Named { name, value } = expected;
        self.check(query, format_args!("{name} = {value:#x}"), |found: &[T]| found == [value]);
    }

    /// Checks that the answer is this handle or pointer.
    fn pointer(&self, query: Named<u32>, expected: *mut c_void) {
        let given = format!("{expected:p}, which follows from what the object was made of");
        let rule = if expected.is_null() { "null" } else { &given };
        self.check(query, rule, |found: &[usize]| found == [expected as usize]);
    }

    /// Checks a rule of the text that the driver returns, and returns it without its terminator.
    fn read(
        &self,
        query: Named<u32>,
        rule: impl Display,
        holds: impl FnOnce(&str) -> bool,
    ) -> String {
        let rule = format!("{rule}, and a terminator at the end alone");
        let Some(bytes) = self.answer(query, &rule) else { return String::new() };
        let text = bytes.strip_suffix(&[0]).map(String::from_utf8_lossy).unwrap_or_default();
        if !bytes.ends_with(&[0]) || text.contains('\0') || !holds(&text) {
            self.add(query, rule, format_args!("`{}`", bytes.escape_ascii()));
        }
        text.into_owned()
    }

    /// Checks that the answer is this text.
    fn text(&self, query: Named<u32>, expected: &str) {
        self.read(query, format_args!("`{expected}`"), |found| found == expected);
    }

    /// Checks that the driver refuses the query with this error code.
    fn refuses(&self, query: Named<u32>, expected: i32) {
        let answer = match self.subject.bytes(query.value) {
            Err(code) if code == expected => return,
            Err(code) => code_name(code).to_owned(),
            Ok(bytes) => format!("CL_SUCCESS and {} bytes", bytes.len()),
        };
        self.add(query, code_name(expected), answer);
    }
}

fn shown<T: Number>(numbers: &[T]) -> String {
    let shown: Vec<_> = numbers.iter().map(|number| format!("{number} = {number:#x}")).collect();
    format!("[{}]", shown.join(", "))
}

/// The section of the OpenCL 3.0 API specification with the table of the queries.
fn section(subject: Subject) -> &'static str {
    match subject {
        Subject::Platform(_) => "4.1",
        Subject::Device(_) => "4.2",
        Subject::Context(_) => "4.4",
        Subject::Queue(_) => "5.1",
        Subject::Image(_) => "5.3.7",
        Subject::Memory(_) => "5.5.5",
        Subject::Sampler(_) => "5.7.2",
        Subject::Program(_) | Subject::Build(..) => "5.8.9",
        Subject::Kernel(_) | Subject::Argument(..) | Subject::WorkGroup(..) => "5.9.4",
        Subject::Event(_) => "5.11",
        Subject::Profile(_) => "5.14",
    }
}

/// Checks answers: each is a check of [`Asked`], a query and its argument.
macro_rules! answers {
    ($asked:expr; $($check:ident $query:ident $expected:expr),+ $(,)?) => {
        $($asked.$check(named!($query), $expected);)+
    };
}

/// Creates an object of this class.
macro_rules! object {
    ($class:ident $function:ident($($argument:expr),* $(,)?)) => {
        Object::new(Class::$class, created!($function($($argument),*)))
    };
}

use {answers, object};
