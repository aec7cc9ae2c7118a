//! Tests that look at their contexts, and tests whose results depend on them.

use std::ffi::c_void;
use std::mem;
use std::ptr::null_mut;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;
use std::time::Duration;

use clmatrix::cl3::context::set_context_destructor_callback;
use clmatrix::cl3::types::cl_context;
use clmatrix::memory::{Buffer, MemFlags, enqueue_fill};
use clmatrix::{CommandQueue, Context, Error, Result};
use clmatrix_harness::{CtxFactory, ctx_factory};
use rstest::rstest;

use super::abort_on_a_foreign_thread;

#[rstest]
#[clmatrix_harness::test]
fn fills_a_buffer(
    ctx_factory: CtxFactory,
    #[values(1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12)] number: u8,
) -> Result<()> {
    let context = ctx_factory()?;
    let queue = CommandQueue::new(&context)?;
    let buffer = Buffer::new(&context, MemFlags::READ_WRITE, 64)?;
    enqueue_fill(&queue, &buffer, &number, ..)?.wait()
}

/// Makes a context and prints its address.
fn context(ctx_factory: CtxFactory) -> Result<Context> {
    let context = ctx_factory()?;
    println!("{:p}", context.as_raw());
    Ok(context)
}

#[clmatrix_harness::test]
fn has_a_context(ctx_factory: CtxFactory) -> Result<()> {
    context(ctx_factory).map(drop)
}

#[clmatrix_harness::test]
fn has_two_contexts(ctx_factory: CtxFactory) -> Result<()> {
    drop(context(ctx_factory)?);
    context(ctx_factory).map(drop)
}

#[clmatrix_harness::test(fresh_context)]
fn has_a_fresh_context(ctx_factory: CtxFactory) -> Result<()> {
    context(ctx_factory).map(drop)
}

#[clmatrix_harness::test]
fn leaves_a_queue(ctx_factory: CtxFactory) -> Result<()> {
    let context = context(ctx_factory)?;
    mem::forget(CommandQueue::new(&context)?);
    Ok(())
}

#[clmatrix_harness::test]
fn follows_a_queue(ctx_factory: CtxFactory) -> Result<()> {
    context(ctx_factory).map(drop)
}

#[rstest]
#[clmatrix_harness::test]
fn has_many_contexts(ctx_factory: CtxFactory, #[values(1, 2)] _number: u32) -> Result<()> {
    let contexts: Result<Vec<Context>> = (0..8).map(|_| ctx_factory()).collect();
    contexts.map(drop)
}

/// The address of a context that lives; 0 if there is none.
static MARKED: AtomicUsize = AtomicUsize::new(0);

#[clmatrix_harness::test(requires(opencl = "3.0"))]
fn marks_its_context(ctx_factory: CtxFactory) -> Result<()> {
    extern "C" fn ended(_: cl_context, _: *mut c_void) {
        MARKED.store(0, Ordering::SeqCst);
    }
    let context = ctx_factory()?;
    MARKED.store(context.as_raw().addr(), Ordering::SeqCst);
    set_context_destructor_callback(context.as_raw(), Some(ended), null_mut())
        .map_err(|code| Error::from_call("clSetContextDestructorCallback", code))
}

/// Returns whether a new context of the test is marked, and prints that.
fn is_marked(ctx_factory: CtxFactory) -> bool {
    let context = ctx_factory().expect("a context");
    let is_marked = context.as_raw().addr() == MARKED.load(Ordering::SeqCst);
    println!("marked: {is_marked}");
    is_marked
}

#[clmatrix_harness::test]
fn fails_in_a_marked_context(ctx_factory: CtxFactory) {
    assert!(!is_marked(ctx_factory), "the context is marked");
}

#[clmatrix_harness::test]
fn aborts_in_a_marked_context(ctx_factory: CtxFactory) {
    if is_marked(ctx_factory) {
        std::process::abort();
    }
}

#[clmatrix_harness::test]
fn crashes_in_a_marked_context(ctx_factory: CtxFactory) {
    if is_marked(ctx_factory) {
        abort_on_a_foreign_thread();
        thread::sleep(Duration::from_secs(20));
    }
}

#[clmatrix_harness::test]
fn needs_a_marked_context(ctx_factory: CtxFactory) {
    assert!(is_marked(ctx_factory), "the context is not marked");
}

#[clmatrix_harness::test]
fn precedes_failures(ctx_factory: CtxFactory) -> Result<()> {
    context(ctx_factory).map(drop)
}

#[clmatrix_harness::test]
fn fails_and_leaves_nothing(ctx_factory: CtxFactory) {
    let context = context(ctx_factory).expect("a context");
    let queue = CommandQueue::new(&context).expect("a queue");
    panic!("{:p}", queue.as_raw());
}

#[clmatrix_harness::test]
fn fails_and_leaves_a_queue(ctx_factory: CtxFactory) {
    let context = context(ctx_factory).expect("a context");
    mem::forget(CommandQueue::new(&context).expect("a queue"));
    panic!("it leaves a queue");
}

#[clmatrix_harness::test]
fn follows_failures(ctx_factory: CtxFactory) -> Result<()> {
    context(ctx_factory).map(drop)
}
