//! Where memory comes from when a program takes some again and again (PyOpenCL's "Memory Pools").
//!
//! An [`Allocator`] makes memory of a size.

mod allocator;

pub use allocator::{Allocator, DeferredAllocator, ImmediateAllocator, SvmAllocator};
