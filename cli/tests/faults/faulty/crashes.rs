//! Crashes of each kind, on the thread of the test and on one that it starts.

use std::alloc::{Layout, handle_alloc_error};
use std::thread;

use clmatrix_harness::CtxFactory;

use super::{overflow_the_stack, use_the_device, write_to_null};

/// Declares two tests that crash in the same way.
macro_rules! crashes {
    ($($name:ident: $crash:expr;)*) => {
        $(mod $name {
            use super::*;

            #[clmatrix_harness::test]
            #[ignore = "crashes"]
            fn here(ctx_factory: CtxFactory) {
                use_the_device(ctx_factory);
                $crash;
            }

            #[clmatrix_harness::test]
            #[ignore = "crashes"]
            fn on_a_thread(ctx_factory: CtxFactory) {
                use_the_device(ctx_factory);
                thread::spawn(|| $crash).join().expect("the process ends");
            }
        })*
    };
}

crashes! {
    abort: std::process::abort();
    null: write_to_null();
    overflow: overflow_the_stack();
    allocation: handle_alloc_error(Layout::new::<u64>());
}

/// The signal stack has 2 KiB beside the registers. That of the standard library has no more where a processor has many.
#[clmatrix_harness::test]
#[ignore = "crashes"]
fn on_a_small_signal_stack(ctx_factory: CtxFactory) {
    const GUARD: usize = 64 << 10;
    use_the_device(ctx_factory);
    // SAFETY: the memory is new, and never freed. It is writable behind the guard.
    unsafe {
        let size = libc::getauxval(libc::AT_MINSIGSTKSZ) as usize + (2 << 10);
        let (flags, none) = (libc::MAP_PRIVATE | libc::MAP_ANONYMOUS, libc::PROT_NONE);
        let guard = libc::mmap(std::ptr::null_mut(), GUARD + size, none, flags, -1, 0);
        let memory = guard.byte_add(GUARD);
        libc::mprotect(memory, size, libc::PROT_READ | libc::PROT_WRITE);
        let stack = libc::stack_t { ss_sp: memory, ss_flags: 0, ss_size: size };
        libc::sigaltstack(&raw const stack, std::ptr::null_mut());
    }
    write_to_null();
}
