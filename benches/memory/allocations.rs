//! Counts the heap allocations of Rust code, per thread. Drivers have allocators of their own.

use std::alloc::{GlobalAlloc, Layout, System};
use std::cell::Cell;

thread_local! {
    // A shared counter would slow threads down that allocate at the same time.
    static COUNT: Cell<u64> = const { Cell::new(0) };
}

struct Counting;

#[global_allocator]
static ALLOCATOR: Counting = Counting;

// SAFETY: all methods are the system allocator's; the counter neither allocates nor unwinds.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        COUNT.set(COUNT.get() + 1);
        // SAFETY: the caller's promise is the same.
        unsafe { System.alloc(layout) }
    }

    unsafe fn dealloc(&self, pointer: *mut u8, layout: Layout) {
        // SAFETY: the caller's promise is the same.
        unsafe { System.dealloc(pointer, layout) }
    }

    unsafe fn realloc(&self, pointer: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        COUNT.set(COUNT.get() + 1);
        // SAFETY: the caller's promise is the same.
        unsafe { System.realloc(pointer, layout, size) }
    }
}

/// Returns the number of heap allocations of this thread in `f`.
pub fn count(f: impl FnOnce()) -> u64 {
    let before = COUNT.get();
    f();
    COUNT.get() - before
}
