//! Tests that reach their time limits.

use std::thread;
use std::time::{Duration, Instant};

use clmatrix::memory::{Buffer, MemFlags, enqueue_fill};
use clmatrix::{CommandQueue, Result, UserEvent};
use clmatrix_harness::{CtxFactory, ctx_factory};
use rstest::rstest;

#[rstest]
#[clmatrix_harness::test]
#[ignore = "reaches its time limit"]
fn never_ends(ctx_factory: CtxFactory, #[values(1, 2, 3, 4, 5, 6)] _number: u32) {
    let _context = ctx_factory().expect("a context");
    loop {
        thread::park();
    }
}

/// Waits for a fill behind a user event, on a driver that may not end it.
#[rstest]
#[clmatrix_harness::test]
fn waits_for_a_gate(
    ctx_factory: CtxFactory,
    #[values(1, 2, 3, 4, 5, 6, 7, 8)] _number: u32,
) -> Result<()> {
    let context = ctx_factory()?;
    let (queue, gate) = (CommandQueue::new(&context)?, UserEvent::new(&context)?);
    let buffer = Buffer::new(&context, MemFlags::READ_WRITE, 4)?;
    let filled = enqueue_fill(queue.after(&gate), &buffer, &1_u32, ..)?;
    gate.set_complete()?;
    filled.wait()
}

/// Uses the processor for longer than a test may wait on such a driver.
#[clmatrix_harness::test]
fn works_for_long(ctx_factory: CtxFactory) {
    let _context = ctx_factory().expect("a context");
    let begin = Instant::now();
    while begin.elapsed() < Duration::from_secs(3) {
        std::hint::spin_loop();
    }
}
