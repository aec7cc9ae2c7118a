//! Tests that pass and leave objects of the driver behind, or none.

use std::ffi::c_void;
use std::mem;
use std::ptr::null_mut;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;
use std::time::Duration;

use clmatrix::cache::FirstArgCache;
use clmatrix::cl3::context::set_context_destructor_callback;
use clmatrix::cl3::event::retain_event;
use clmatrix::cl3::types::cl_context;
use clmatrix::memory::{Buffer, MemFlags, enqueue_fill};
use clmatrix::{CommandQueue, Context, Error, Program, Result, UserEvent, enqueue_marker};
use clmatrix_harness::CtxFactory;

const SOURCE: &str = "kernel void k() {}";

#[clmatrix_harness::test]
fn leaks_a_context(ctx_factory: CtxFactory) -> Result<()> {
    mem::forget(ctx_factory()?);
    Ok(())
}

#[clmatrix_harness::test]
fn leaks_a_queue(ctx_factory: CtxFactory) -> Result<()> {
    let context = ctx_factory()?;
    mem::forget(CommandQueue::new(&context)?);
    Ok(())
}

#[clmatrix_harness::test]
fn leaks_a_buffer(ctx_factory: CtxFactory) -> Result<()> {
    let context = ctx_factory()?;
    mem::forget(Buffer::new(&context, MemFlags::READ_WRITE, 64)?);
    Ok(())
}

/// The event of the library has a reference to its context; the driver's may have none.
#[clmatrix_harness::test]
fn leaks_an_event(ctx_factory: CtxFactory) -> Result<()> {
    let context = ctx_factory()?;
    let event = UserEvent::new(&context)?;
    // SAFETY: the event is alive.
    unsafe { retain_event(event.as_raw()) }.expect("a reference");
    event.set_complete()
}

#[clmatrix_harness::test]
fn leaks_a_program(ctx_factory: CtxFactory) -> Result<()> {
    let context = ctx_factory()?;
    mem::forget(Program::build(&context, SOURCE)?);
    Ok(())
}

#[clmatrix_harness::test]
fn leaks_two_contexts(ctx_factory: CtxFactory) -> Result<()> {
    mem::forget([ctx_factory()?, ctx_factory()?]);
    Ok(())
}

#[clmatrix_harness::test]
fn leaks_nothing(ctx_factory: CtxFactory) -> Result<()> {
    let context = ctx_factory()?;
    let queue = CommandQueue::new(&context)?;
    let _program = Program::build(&context, SOURCE)?;
    let buffer = Buffer::new(&context, MemFlags::READ_WRITE, 64)?;
    enqueue_fill(&queue, &buffer, &1_u8, ..)?;
    let event = enqueue_marker(&queue)?;
    event.wait()
}

#[clmatrix_harness::test]
fn caches_a_value_for_a_context(ctx_factory: CtxFactory) -> Result<()> {
    static ANSWERS: FirstArgCache<(), u32> = FirstArgCache::new();
    ANSWERS.get_or_compute(&ctx_factory()?, &(), || 42).map(drop)
}

#[clmatrix_harness::test]
fn releases_a_buffer_later(ctx_factory: CtxFactory) -> Result<()> {
    let buffer = Buffer::new(&ctx_factory()?, MemFlags::READ_WRITE, 64)?;
    thread::spawn(move || {
        thread::sleep(Duration::from_millis(5));
        drop(buffer);
    });
    Ok(())
}

/// The number of contexts that have been destroyed after a call of [`count_end`].
static ENDED: AtomicUsize = AtomicUsize::new(0);

/// Counts the end of the context.
fn count_end(context: &Context) -> Result<()> {
    unsafe extern "C" fn ended(_: cl_context, _: *mut c_void) {
        ENDED.fetch_add(1, Ordering::SeqCst);
    }
    set_context_destructor_callback(context.as_raw(), Some(ended), null_mut())
        .map_err(|code| Error::from_call("clSetContextDestructorCallback", code))
}

#[clmatrix_harness::test(requires(opencl = "3.0"), fresh_context)]
fn a_released_context_ends_before_the_next(ctx_factory: CtxFactory) -> Result<()> {
    count_end(&ctx_factory()?)?;
    let next = ctx_factory()?;
    count_end(&next)?;
    assert_eq!(ENDED.load(Ordering::SeqCst), 1);
    Ok(())
}

#[clmatrix_harness::test(requires(opencl = "3.0"))]
fn contexts_have_ended_before_the_next_test() {
    assert_eq!(ENDED.load(Ordering::SeqCst), 2);
}
