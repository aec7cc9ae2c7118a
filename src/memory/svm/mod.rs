//! Shared virtual memory: host and device use the same pointers (OpenCL 3.0, 5.6;
//! `pyopencl.SVMPointer`, `SVMAllocation`, `SVM`).
//!
//! OpenCL counts no references to it: freed, it is gone, whatever runs. Here all that stands for the
//! same memory shares one [`SvmMemory`](memory::SvmMemory), which is freed when the last of it is
//! dropped, after what this crate has enqueued on it.

pub(crate) mod access;
pub(crate) mod allocation;
pub(crate) mod array;
mod as_buffer;
mod calls;
mod copy;
pub(crate) mod fill;
pub(crate) mod flags;
mod free;
pub(crate) mod map;
pub(crate) mod memory;
pub(crate) mod migrate;
pub(crate) mod pointer;
pub(crate) mod system;
