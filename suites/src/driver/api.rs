//! The C functions of the driver, called as they are. cl3 adds an event to each command, asks for the
//! size of an answer itself, and begins with an error code of its own.

use std::cell::Cell;

use clmatrix::cl3::error_codes::{CL_SUCCESS, error_text};
use clmatrix::cl3::types::cl_int;
use clmatrix::cl3::{OpenClRuntime, load_library};

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
        $crate::driver::api::loaded()
            .$function($($argument),*)
            .expect(concat!("the loader has ", stringify!($function)))
    };
}

/// Calls a C function with valid arguments, which must succeed.
macro_rules! ok {
    ($function:ident($($argument:expr),* $(,)?)) => {
        $crate::driver::api::succeeds(stringify!($function), $crate::driver::api::cl!($function($($argument),*)))
    };
}

/// Enqueues a command without a wait list and without an event, and returns the code of the call. The last three
/// arguments are left out.
macro_rules! enqueue {
    ($function:ident($($argument:expr),* $(,)?)) => {
        $crate::driver::api::cl!($function($($argument,)* 0, std::ptr::null(), std::ptr::null_mut()))
    };
}

/// Enqueues a command likewise, which must succeed.
macro_rules! enqueued {
    ($function:ident($($argument:expr),* $(,)?)) => {
        $crate::driver::api::succeeds(
            stringify!($function),
            $crate::driver::api::enqueue!($function($($argument),*)),
        )
    };
}

/// Calls a C function with valid arguments, which must create an object and write CL_SUCCESS. The
/// last argument, the place of the error code, is left out.
macro_rules! created {
    ($function:ident($($argument:expr),* $(,)?)) => {{
        let mut code = $crate::driver::api::UNWRITTEN;
        let object = $crate::driver::api::cl!($function($($argument,)* &raw mut code));
        $crate::driver::api::succeeds(stringify!($function), code);
        assert!(!object.is_null(), "{} returned null and CL_SUCCESS", stringify!($function));
        object
    }};
}

pub(crate) use {cl, created, enqueue, enqueued, ok};

/// The name of an error code.
pub fn code_name(code: cl_int) -> &'static str {
    if code == UNWRITTEN { "no error code" } else { error_text(code) }
}

thread_local! {
    /// The setting of the calls of this thread.
    static SETTING: Cell<&'static str> = const { Cell::new("") };
}

/// The setting of the calls of a thread, which the messages of those that fail have, until it is dropped.
pub struct In(());

impl In {
    pub fn setting(text: &'static str) -> Self {
        SETTING.set(text);
        Self(())
    }
}

impl Drop for In {
    fn drop(&mut self) {
        SETTING.set("");
    }
}

/// Panics unless a call with valid arguments has succeeded.
#[track_caller]
pub fn succeeds(function: &str, code: cl_int) {
    let (name, setting) = (code_name(code), SETTING.get());
    let blank = if setting.is_empty() { "" } else { " " };
    assert!(
        code == CL_SUCCESS,
        "{function}{blank}{setting}: the driver returned {name} for a valid call"
    );
}

/// Returns the error code of a call with valid arguments, by its name, unless the call has succeeded.
pub fn accepted(code: cl_int) -> Result<(), String> {
    if code == CL_SUCCESS { Ok(()) } else { Err(format!("{} for a valid call", code_name(code))) }
}

/// A constant of OpenCL with its name.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Named<T> {
    /// The name, such as `CL_MEM_SIZE`.
    pub name: &'static str,
    /// The value.
    pub value: T,
}

/// A constant of OpenCL, or flags such as `A | B`, with the name.
macro_rules! named {
    ($($constant:ident)|+) => {
        $crate::driver::api::Named { name: stringify!($($constant)|+), value: $($constant)|+ }
    };
}

pub(crate) use named;
