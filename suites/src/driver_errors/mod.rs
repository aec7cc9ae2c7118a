//! Invalid calls of the memory chapter, and the error codes that OpenCL names for them (OpenCL 3.0
//! API, chapter 5).
//!
//! The calls go through cl3, because the library refuses them before a driver sees them. Each case
//! breaks one rule of a call that is valid otherwise: a driver may report any rule that a call
//! breaks. The case `valid` of each group is the call that the others change.

mod buffer;
mod command;
mod context;
mod events;
mod fill;
mod handles;
mod image;
mod image_commands;
mod images;
mod kinds;
mod map;
mod migrate;
mod objects;
mod pipe;
mod prelude;
mod query;
mod rect;
mod sampler;
mod sub_buffer;
mod svm;
mod wait_list;

use clmatrix::cl3::error_codes::{CL_SUCCESS, error_text};
use clmatrix::cl3::types::cl_int;

/// The result of a cl3 call: a value, or the code of an error.
pub type Answer<T> = Result<T, cl_int>;

/// The code of a call.
pub fn code<T>(answer: Answer<T>) -> cl_int {
    answer.err().unwrap_or(CL_SUCCESS)
}

/// The code of a call that creates an object, which is released.
pub fn creation_code<T>(created: Answer<T>, release: unsafe fn(T) -> Answer<()>) -> cl_int {
    code(created.map(|object| {
        // SAFETY: nothing else has the object.
        unsafe { release(object) }.expect("the driver releases what it created");
    }))
}

/// Checks the code that the driver returned.
#[track_caller]
pub fn assert_code(found: cl_int, expected: cl_int) {
    assert_one_of(found, &[expected]);
}

/// Checks the code that the driver returned where the specification names several.
#[track_caller]
pub fn assert_one_of(found: cl_int, expected: &[cl_int]) {
    let named: Vec<_> = expected.iter().map(|code| error_text(*code)).collect();
    let (name, named) = (error_text(found), named.join(" or "));
    assert!(expected.contains(&found), "the driver returned {name}, where OpenCL names {named}");
}
