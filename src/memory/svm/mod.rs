//! Shared virtual memory: host and device use the same pointers (OpenCL 3.0, 5.6;
//! `pyopencl.SVMPointer`, `SVMAllocation`, `SVM`).
//!
//! OpenCL counts no references to it: freed, it is gone, whatever runs. Here all that stands for the
//! same memory shares one [`SvmMemory`](memory::SvmMemory), which is freed when the last of it is
//! dropped, after what this crate has enqueued on it.

mod access;
mod allocation;
mod array;
mod buffer;
mod calls;
mod capabilities;
mod fill;
mod flags;
pub(crate) mod memory;
mod migrate;
mod pointer;
mod release;
mod system;

pub(crate) use access::Accessing;
pub use access::SvmAccess;
pub(crate) use allocation::SvmKind;
pub use allocation::{SvmAllocation, SvmAllocationBuilder};
pub use array::{ArrayMap, SvmArray, SvmArrayAccess, SvmArrayBuilder, SvmArrayMap};
pub use fill::enqueue_svm_memfill;
pub use flags::SvmFlags;
pub use migrate::enqueue_svm_migratemem;
pub use pointer::SvmPointer;
pub(crate) use pointer::sealed;
pub use system::SystemSvm;
