//! The C functions of the driver, called as they are. cl3 adds an event to each command, asks for the
//! size of an answer itself, and begins with an error code of its own.

use std::cell::Cell;

use clmatrix::cl3::{OpenClRuntime, load_library};

use super::prelude::*;

/// An error code that no driver returns: a call that creates an object must replace it.
pub const UNWRITTEN: cl_int = 0x5a5a;

/// The functions of the loader.
///
/// # Safety
///
/// The caller calls a function with arguments that OpenCL allows: valid handles, and pointers to as many bytes as
/// the function and its commands use.
pub unsafe fn loaded() -> &'static OpenClRuntime {
    load_library().as_ref().expect("the device under test was found through the loader")
}

/// Calls a C function, and returns its result.
macro_rules! cl {
    ($function:ident($($argument:expr),* $(,)?)) => {
        $crate::plain_calls::api::loaded()
            .$function($($argument),*)
            .expect(concat!("the loader has ", stringify!($function)))
    };
}

/// Calls a C function with valid arguments, which must succeed.
macro_rules! ok {
    ($function:ident($($argument:expr),* $(,)?)) => {{
        let code = $crate::plain_calls::api::cl!($function($($argument),*));
        $crate::plain_calls::api::succeeds(stringify!($function), code)
    }};
}

/// Enqueues a command without a wait list and without an event, which must succeed. The last three arguments are left
/// out.
macro_rules! enqueued {
    ($function:ident($($argument:expr),* $(,)?)) => {
        $crate::plain_calls::api::ok!($function($($argument,)* 0, std::ptr::null(), std::ptr::null_mut()))
    };
}

/// Calls a C function with valid arguments, which must create an object of this class and write CL_SUCCESS. The
/// last argument, the place of the error code, is left out.
macro_rules! created {
    ($class:ident $function:ident($($argument:expr),* $(,)?)) => {{
        let mut code = $crate::plain_calls::api::UNWRITTEN;
        let object = $crate::plain_calls::api::cl!($function($($argument,)* &raw mut code));
        $crate::plain_calls::api::succeeds(stringify!($function), code);
        assert!(!object.is_null(), "{} returned null and CL_SUCCESS", stringify!($function));
        $crate::plain_calls::object::Object::new($crate::plain_calls::object::Class::$class, object)
    }};
}

/// The name of an error code.
pub fn code_name(code: cl_int) -> &'static str {
    if code == UNWRITTEN { "no error code" } else { error_text(code) }
}

thread_local! {
    /// The setting of the calls of this thread, which the messages of those that fail have. A new bench has none.
    pub static SETTING: Cell<&'static str> = const { Cell::new("") };
}

/// Panics unless a call with valid arguments has succeeded, or the thread panics already.
#[track_caller]
pub fn succeeds(function: &str, code: cl_int) {
    if let (Err(answer), false) = (accepted(code), thread::panicking()) {
        let call = format!("{function} {}", SETTING.get());
        panic!("{}: the driver returned {answer}", call.trim_end());
    }
}

/// The pointer to a list; null where it is empty.
pub fn pointer<T>(list: &[T]) -> *const T {
    if list.is_empty() { ptr::null() } else { list.as_ptr() }
}

/// The result of a check: the driver's answer if it breaks the rule.
pub type Checked = Result<(), String>;

/// Returns the error code of a call with valid arguments, by its name, unless the call has succeeded.
pub fn accepted(code: cl_int) -> Checked {
    if code == CL_SUCCESS { Ok(()) } else { Err(format!("{} for a valid call", code_name(code))) }
}

/// Returns the broken rule of a call, unless the call has returned one of the codes that OpenCL names.
pub fn one_of(found: cl_int, named: &[cl_int], call: impl Display, rule: impl Display) -> Checked {
    let names: Vec<_> = named.iter().map(|code| code_name(*code)).collect();
    let (names, answer) = (names.join(" or "), code_name(found));
    let broken = || format!("{call}: {names}: {rule}; the driver: {answer}");
    named.contains(&found).then_some(()).ok_or_else(broken)
}

/// Calls clFinish.
pub fn finish(queue: cl_command_queue) {
    // SAFETY: the queue is valid.
    unsafe { ok!(clFinish(queue)) };
}

/// Calls clFlush.
pub fn flush(queue: cl_command_queue) {
    // SAFETY: the queue is valid.
    unsafe { ok!(clFlush(queue)) };
}

/// Calls clWaitForEvents, and returns its code.
pub fn wait(list: &[cl_event]) -> cl_int {
    // SAFETY: the events are valid.
    unsafe { cl!(clWaitForEvents(list.len() as u32, list.as_ptr())) }
}

/// Sets an argument of a kernel to a value that suits it.
#[track_caller]
pub fn set<T>(kernel: cl_kernel, index: u32, value: T) {
    // SAFETY: the callers have values of the kernels' types.
    let code =
        unsafe { cl!(clSetKernelArg(kernel, index, size_of::<T>(), (&raw const value).cast())) };
    succeeds(&format!("clSetKernelArg(argument {index})"), code);
}

/// The offset, the number of work items and the size of a group, by dimension; empty for null.
pub type Range<'a> = [&'a [usize]; 3];

/// Calls clEnqueueNDRangeKernel without an event, and returns its code.
pub fn launch(kernel: &Object, queue: *mut c_void, range: Range<'_>, waits: &[cl_event]) -> cl_int {
    launch_with(kernel, queue, range, waits, ptr::null_mut())
}

/// Calls clEnqueueNDRangeKernel, which must succeed, and returns its event.
pub fn launched(
    kernel: &Object,
    queue: cl_command_queue,
    range: Range<'_>,
    waits: &[cl_event],
) -> Object {
    let mut event = ptr::null_mut();
    let code = launch_with(kernel, queue, range, waits, &raw mut event);
    succeeds("clEnqueueNDRangeKernel", code);
    assert!(!event.is_null(), "clEnqueueNDRangeKernel: CL_SUCCESS, and no event");
    // SAFETY: the driver has just created the event.
    unsafe { Object::new(Class::Event, event) }
}

fn launch_with(
    kernel: &Object,
    queue: cl_command_queue,
    range: Range<'_>,
    waits: &[cl_event],
    event: *mut cl_event,
) -> cl_int {
    // Behind the last dimension lie sizes that a driver must not read.
    let padded = range.map(|sizes| [sizes, &[77; 3]].concat());
    let pointer = |n: usize| if range[n].is_empty() { ptr::null() } else { padded[n].as_ptr() };
    let (offset, size, local) = (pointer(0), padded[1].as_ptr(), pointer(2));
    let (dims, (n, list), kernel) = (range[1].len() as u32, wait_list(waits), kernel.raw());
    // SAFETY: queue, kernel and events are valid; the callers have set arguments that suit, or the driver must refuse
    // the launch.
    unsafe { cl!(clEnqueueNDRangeKernel(queue, kernel, dims, offset, size, local, n, list, event)) }
}

/// A constant of OpenCL with its name.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Named<T> {
    /// The name, such as `CL_MEM_SIZE`.
    pub name: &'static str,
    /// The value.
    pub value: T,
}

/// A constant of OpenCL, or flags such as `A | B`, with the name; or an array of several.
macro_rules! named {
    ($($constant:ident)|+) => {
        $crate::plain_calls::api::Named { name: stringify!($($constant)|+), value: $($constant)|+ }
    };
    ($($($constant:ident)|+);+) => {
        [$($crate::plain_calls::api::named!($($constant)|+)),+]
    };
}

pub(crate) use {cl, created, enqueued, named, ok};
