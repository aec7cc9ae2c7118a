//! Tests that go wrong. A worker gets them in this order.

use std::fs::{File, TryLockError};
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::thread;
use std::time::Duration;

use clmatrix_harness::CtxFactory;

use crate::{FOLDER, ROLE, SLEEPER};

fn lock_path(name: &str) -> PathBuf {
    Path::new(&std::env::var_os(FOLDER).expect("the folder of locks")).join(name)
}

fn lock(name: &str) -> File {
    let file = File::create(lock_path(name)).expect("the file of the lock");
    file.lock().expect("a lock");
    file
}

/// Waits for ever, with a lock that shows that this process runs.
pub fn sleep_with_lock(name: &str) -> ! {
    let _lock = lock(name);
    loop {
        thread::sleep(Duration::from_secs(1000));
    }
}

/// Starts a process that does not end by itself, and waits until it has its lock.
fn start_a_process() {
    let mut sleeper = Command::new(std::env::current_exe().expect("this executable has a path"));
    sleeper.env(ROLE, SLEEPER).stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
    std::mem::forget(sleeper.spawn().expect("a process"));
    let has_lock = || {
        let file = File::open(lock_path("sleeper"));
        file.is_ok_and(|file| matches!(file.try_lock_shared(), Err(TryLockError::WouldBlock)))
    };
    while !has_lock() {
        thread::sleep(Duration::from_millis(10));
    }
}

/// Makes the driver real: a fault strikes in a process that has a context.
fn use_the_device(ctx_factory: CtxFactory) {
    std::mem::forget(ctx_factory().expect("a context"));
}

/// A test that passes, and says so.
macro_rules! neighbour {
    ($name:ident) => {
        #[clmatrix_harness::test]
        fn $name(ctx_factory: CtxFactory) {
            use_the_device(ctx_factory);
            println!(concat!("output of ", stringify!($name)));
            eprintln!(concat!("error of ", stringify!($name)));
        }
    };
}

neighbour!(passes_1);

#[clmatrix_harness::test]
fn panics(ctx_factory: CtxFactory) {
    use_the_device(ctx_factory);
    panic!("on purpose");
}

#[clmatrix_harness::test]
fn panics_on_a_thread(ctx_factory: CtxFactory) {
    use_the_device(ctx_factory);
    let ended = thread::spawn(|| panic!("on purpose")).join();
    let message = ended.expect_err("it panics");
    panic!("the thread said: {}", message.downcast_ref::<&str>().expect("a text"));
}

#[clmatrix_harness::test]
fn accesses_memory_that_is_not_there(ctx_factory: CtxFactory) {
    use_the_device(ctx_factory);
    // SAFETY: none, on purpose: this is the crash.
    unsafe { std::ptr::null_mut::<u8>().wrapping_add(8).write_volatile(1) }
}

neighbour!(passes_2);

#[clmatrix_harness::test]
fn overflows_its_stack(ctx_factory: CtxFactory) {
    fn deeper(depth: u64) -> u64 {
        let frame = std::hint::black_box([depth; 64]);
        if depth == u64::MAX {
            return depth;
        }
        deeper(depth + 1) + frame[depth as usize % 64]
    }
    use_the_device(ctx_factory);
    std::hint::black_box(deeper(0));
}

#[clmatrix_harness::test]
fn aborts(ctx_factory: CtxFactory) {
    use_the_device(ctx_factory);
    std::process::abort();
}

#[clmatrix_harness::test]
fn exits(ctx_factory: CtxFactory) {
    use_the_device(ctx_factory);
    std::process::exit(0);
}

#[clmatrix_harness::test(timeout = "3s")]
fn waits_for_ever(ctx_factory: CtxFactory) {
    use_the_device(ctx_factory);
    loop {
        std::hint::spin_loop();
    }
}

neighbour!(passes_3);

/// Writes 100 MB.
#[clmatrix_harness::test]
fn floods(ctx_factory: CtxFactory) {
    use_the_device(ctx_factory);
    let block = "a line that is written a million times\n".repeat(2500);
    (0..1025)
        .for_each(|_| std::io::stdout().write_all(block.as_bytes()).expect("the runner reads"));
}

#[clmatrix_harness::test]
fn closes_its_streams(ctx_factory: CtxFactory) {
    use_the_device(ctx_factory);
    for file in [1, 2] {
        // SAFETY: the test uses none of them afterwards.
        unsafe { libc::close(file) };
    }
}

neighbour!(passes_4);

#[clmatrix_harness::test]
fn leaves_a_process(ctx_factory: CtxFactory) {
    use_the_device(ctx_factory);
    start_a_process();
}

#[clmatrix_harness::test]
#[ignore = "it needs a runner that is killed"]
fn waits_with_a_process(ctx_factory: CtxFactory) {
    use_the_device(ctx_factory);
    // Not in a resumed run.
    if !lock_path("worker").exists() {
        start_a_process();
        sleep_with_lock("worker");
    }
}
