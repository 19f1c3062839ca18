//! Counts what the current thread allocates, so that a few bytes that promise gigabytes are caught asking for them.

use std::alloc::{GlobalAlloc, Layout, System};
use std::cell::Cell;

thread_local! {
    static LARGEST_BYTES: Cell<usize> = const { Cell::new(0) };
}

struct Counting;

#[global_allocator]
static ALLOCATOR: Counting = Counting;

fn note(size: usize) {
    // A thread that is ending has no such cell any more, and nobody asks for its allocations.
    let _ = LARGEST_BYTES.try_with(|largest| largest.set(largest.get().max(size)));
}

// SAFETY: every method hands its arguments to the system's allocator as they are.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        note(layout.size());
        // SAFETY: the caller keeps the contract of `alloc`, which is the same.
        unsafe { System.alloc(layout) }
    }

    unsafe fn alloc_zeroed(&self, layout: Layout) -> *mut u8 {
        note(layout.size());
        // SAFETY: the caller keeps the contract of `alloc_zeroed`, which is the same.
        unsafe { System.alloc_zeroed(layout) }
    }

    unsafe fn realloc(&self, pointer: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        note(size);
        // SAFETY: the caller keeps the contract of `realloc`, which is the same.
        unsafe { System.realloc(pointer, layout, size) }
    }

    unsafe fn dealloc(&self, pointer: *mut u8, layout: Layout) {
        // SAFETY: the caller keeps the contract of `dealloc`, which is the same.
        unsafe { System.dealloc(pointer, layout) }
    }
}

/// The largest single allocation that `work` makes on this thread, in bytes.
pub fn largest_of<T>(work: impl FnOnce() -> T) -> (T, usize) {
    LARGEST_BYTES.set(0);
    let result = work();
    (result, LARGEST_BYTES.get())
}
