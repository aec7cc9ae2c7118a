//! OpenCL memory objects and transfers in safe Rust, with PyOpenCL's semantics.
//!
//! - [`select`]: lists platforms and devices, and selects some (PYOPENCL_TEST, PYOPENCL_CTX,
//!   patterns);
//! - [`memory`]: buffers, images, samplers, pipes, shared virtual memory, transfers and maps;
//! - [`pool`]: allocators and memory pools;
//! - [`launch`]: kernels, launched with memory objects as arguments;
//! - [`Program`]: programs, built of a source, a binary or an intermediate language;
//! - [`cache`]: values that are computed once per context, queue or device, such as programs;
//! - [`Error`] and its [`Class`]: the failed call, the reason, and the kind of error.
//!
//! All types are this crate's own: [`Platform`], [`Device`], [`Context`], [`Program`], [`Kernel`],
//! [`CommandQueue`], [`Event`] and the memory objects. Each has `as_raw` for the driver's handle, and an unsafe
//! `from_raw` that takes one; `opencl3()` of some returns the object of [`mod@opencl3`].
//!
//! ```
//! use clmatrix::CommandQueue;
//! use clmatrix::memory::{Buffer, MemFlags};
//!
//! # fn main() -> clmatrix::Result<()> {
//! let context = clmatrix::create_some_context()?;
//! let queue = CommandQueue::new(&context)?;
//! let buffer = Buffer::from_slice(&context, MemFlags::READ_ONLY, &[1.0_f32, 2.0, 3.0])?;
//! assert_eq!(buffer.slice::<f32>(1..).to_vec(&queue)?, [2.0, 3.0]);
//! # Ok(())
//! # }
//! ```

#![cfg_attr(docsrs, feature(doc_cfg))]

/// The examples of the pages.
#[cfg(doctest)]
mod pages {
    #[doc = include_str!("README.md")]
    struct Readme;

    #[doc = include_str!("../docs/guide/memory.md")]
    struct Memory;

    #[doc = include_str!("../docs/guide/pools.md")]
    struct Pools;
}

mod build_options;
pub mod cache;
mod context;
mod create;
mod device;
mod driver;
mod dropped_queues;
pub mod error;
pub mod event;
mod handle;
pub mod launch;
mod live;
mod mem_context;
pub mod memory;
mod order;
mod platform;
pub mod pool;
mod program;
pub mod queue;
mod queue_properties;
mod queue_state;
pub mod select;
mod wait_list;

#[doc(hidden)]
pub use cache::{FirstArgCache, clear_first_arg_caches};
pub use context::Context;
pub use device::{Device, Partition};
pub use error::{Class, Error, Result};
pub use event::{Event, Profile, Status, UserEvent, wait_for_events};
pub use launch::{Kernel, Launch, LocalMemory};
#[doc(hidden)]
pub use live::context_references;
pub use platform::Platform;
pub use program::{CompiledProgram, Program, ProgramBuilder};
pub use queue::{CommandQueue, QueueProperties, enqueue_barrier, enqueue_marker};
pub use select::create_some_context;

/// The crate [cl3](https://docs.rs/cl3): OpenCL's C functions and constants.
///
/// Its safe functions are not covered by the promise of this crate: they take any handle, and can
/// break what this crate relies on. `event::set_user_event_status` makes commands fail that this crate
/// waits for.
pub mod cl3 {
    pub use ::cl3::*;
}

/// The crate [opencl3](https://docs.rs/opencl3), for queries that this crate does not have.
///
/// Its safe functions are not covered by the promise of this crate: constructors such as
/// `kernel::Kernel::new` take any handle, devices count no references, and
/// `program::Program::create_from_source` passes an empty source as one of unknown length.
pub mod opencl3 {
    pub use ::opencl3::*;
}
