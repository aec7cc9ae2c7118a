//! Tests whose workers are stopped, so that their stacks are taken.

use std::sync::{Barrier, Mutex};
use std::thread;

use clmatrix::memory::{Buffer, MemFlags, enqueue_copy};
use clmatrix::{CommandQueue, UserEvent};
use clmatrix_harness::CtxFactory;

/// Waits in the driver for a command that is never submitted.
#[clmatrix_harness::test(timeout = "2s")]
#[ignore = "reaches its time limit"]
fn waits_in_the_driver(ctx_factory: CtxFactory) -> clmatrix::Result<()> {
    let context = ctx_factory()?;
    let queue = CommandQueue::new(&context)?;
    let buffer = Buffer::from_slice(&context, MemFlags::READ_WRITE, &[1_u8; 16])?;
    let never = UserEvent::new(&context)?;
    let copy = enqueue_copy(queue.after(&never), vec![0_u8; 16], &buffer, ..)?;
    copy.wait()?;
    Ok(())
}

/// Takes a lock after the other thread has taken it.
fn take_the_lock_of_the_other(own: &Mutex<()>, others: &Mutex<()>, both_are_taken: &Barrier) {
    let _own = own.lock();
    both_are_taken.wait();
    let _others = others.lock();
}

#[clmatrix_harness::test(timeout = "2s")]
#[ignore = "reaches its time limit"]
fn two_threads_wait_for_each_other() {
    let (first, second, both_are_taken) = (Mutex::new(()), Mutex::new(()), Barrier::new(2));
    thread::scope(|scope| {
        let other = || take_the_lock_of_the_other(&second, &first, &both_are_taken);
        let other = thread::Builder::new().name("other".to_owned()).spawn_scoped(scope, other);
        other.expect("a thread starts");
        take_the_lock_of_the_other(&first, &second, &both_are_taken);
    });
}

/// A process can have one tracer only.
#[clmatrix_harness::test(timeout = "2s")]
#[ignore = "reaches its time limit"]
fn is_traced_by_its_child() {
    // SAFETY: the child makes system calls only. The parent sets no pointers.
    unsafe {
        // Some systems allow tracing by ancestors alone, unless a process permits others.
        libc::prctl(libc::PR_SET_PTRACER, libc::PR_SET_PTRACER_ANY);
        if libc::fork() == 0 {
            libc::ptrace(libc::PTRACE_SEIZE, libc::getppid(), 0, 0);
            loop {
                libc::pause();
            }
        }
    }
    loop {
        thread::park();
    }
}

/// Has more than 16 MiB on its stack.
#[clmatrix_harness::test]
#[ignore = "needs RUST_MIN_STACK"]
fn uses_much_stack() {
    fn deeper(depth: u32) -> usize {
        let ballast = std::hint::black_box([1_u8; 1 << 10]);
        usize::from(ballast[0]) + if depth > 0 { deeper(depth - 1) } else { 0 }
    }
    assert_eq!(deeper(16 << 10), (16 << 10) + 1);
}

/// Calls an address without code.
#[clmatrix_harness::test]
#[ignore = "crashes"]
fn calls_null() {
    let null: *const () = std::hint::black_box(std::ptr::null());
    // SAFETY: none, on purpose: this is the crash. The reference is never looked at.
    unsafe {
        let null: *const fn() = (&raw const null).cast();
        let null = null.cast::<usize>().read();
        #[cfg(target_arch = "x86_64")]
        std::arch::asm!("call {}", in(reg) null);
        #[cfg(target_arch = "aarch64")]
        std::arch::asm!("blr {}", in(reg) null);
    }
}
