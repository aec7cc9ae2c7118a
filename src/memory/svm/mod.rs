//! Shared virtual memory: host and device use the same pointers (OpenCL 3.0, 5.6;
//! `pyopencl.SVMPointer`, `SVMAllocation`, `SVM`).
//!
//! OpenCL counts no references to it, and a free does not wait for commands. Here, all handles to the same memory
//! share one [`SvmMemory`](memory::SvmMemory). It is freed once the last handle is dropped and the commands that this
//! crate has enqueued on it have ended.

pub(crate) mod access;
pub(crate) mod allocation;
#[cfg(feature = "ndarray")]
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
