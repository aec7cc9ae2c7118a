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
mod query;
mod rect;
mod sampler;
mod sub_buffer;
mod svm;
mod wait_list;

use clmatrix::cl3::error_codes::{CL_SUCCESS, error_text};
use clmatrix::cl3::memory::release_mem_object;
use clmatrix::cl3::types::{cl_int, cl_mem};

/// The result of a cl3 call: a value, or the code of an error.
type Answer<T> = Result<T, cl_int>;

/// Checks the code that the driver returned.
#[track_caller]
fn assert_code(found: cl_int, expected: cl_int) {
    let (name, named) = (error_text(found), error_text(expected));
    assert!(found == expected, "the driver returned {name}, where OpenCL names {named}");
}

/// Checks the code that the driver returned where the specification names several.
#[track_caller]
fn assert_one_of(found: cl_int, expected: &[cl_int]) {
    let names: Vec<_> = expected.iter().map(|code| error_text(*code)).collect();
    let is_named = expected.contains(&found);
    assert!(is_named, "the driver returned {}, not one of {names:?}", error_text(found));
}

/// The code of a call that creates a memory object, which is released.
fn creation_code(created: Answer<cl_mem>) -> cl_int {
    match created {
        Ok(object) => {
            // SAFETY: nothing else has the object.
            unsafe { release_mem_object(object) }.expect("the driver releases what it created");
            CL_SUCCESS
        }
        Err(code) => code,
    }
}
