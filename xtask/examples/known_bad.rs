//! Tests that are wrong on purpose, which `cargo xtask sanitize` runs first: a sanitizer that does
//! not catch these would find nothing in the suites either, without any notice.
//!
//! They go through the same workers as the suites do. Without a sanitizer most of them pass.

use std::hint::black_box;
use std::mem::forget;
use std::process::ExitCode;
use std::ptr::null;

use clmatrix::cl3::command_queue::enqueue_read_buffer;
use clmatrix::cl3::types::CL_TRUE;
use clmatrix::memory::{Buffer, MemFlags};
use clmatrix::{CommandQueue, Result};
use clmatrix_harness::ctx_factory;
use clmatrix_runner::target::Target;

/// Bytes of each allocation here: all of them are on the heap, and none is of a size that an
/// allocator would round up far.
const SIZE: usize = 64;

#[clmatrix_harness::test(once)]
fn nothing_is_wrong() {
    assert_eq!(black_box(vec![1_u8; SIZE]).len(), SIZE);
}

#[clmatrix_harness::test(once)]
fn reads_past_the_end() {
    let bytes = black_box(vec![1_u8; SIZE]);
    // SAFETY: it is not: this is the byte after the last one. This is what has to be caught.
    black_box(unsafe { bytes.as_ptr().add(SIZE).read() });
}

#[clmatrix_harness::test(once)]
fn leaks() {
    forget(black_box(vec![1_u8; SIZE]));
}

/// The driver is not instrumented, but its `memcpy` is the sanitizer's.
#[clmatrix_harness::test]
fn lets_the_driver_write_past_the_end() -> Result<()> {
    let context = ctx_factory()()?;
    let queue = CommandQueue::new(&context)?;
    let buffer = Buffer::from_slice(&context, MemFlags::READ_WRITE, &[1_u8; SIZE])?;
    let mut bytes = black_box(vec![0_u8; SIZE / 2]);
    let (from, to) = (buffer.as_raw(), bytes.as_mut_ptr().cast());
    // SAFETY: it is not: there is room for half of this. This is what has to be caught.
    let read =
        unsafe { enqueue_read_buffer(queue.as_raw(), from, CL_TRUE, 0, SIZE, to, 0, null()) };
    read.expect("the driver takes the sizes as they are");
    black_box(&bytes);
    Ok(())
}

// The expansion of `command!`, which insists on `cfg(test)`, for rstest's cases, of which there are none here.
fn main() -> ExitCode {
    clmatrix_cli::main(Target {
        home: "known_bad",
        package: "xtask",
        version: "0",
        name: "known_bad",
        config: None,
    })
}
