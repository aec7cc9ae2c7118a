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
//! [`CommandQueue`], [`Event`] and the memory objects. Each has `as_raw` for the driver's handle, and two unsafe
//! functions that wrap one: `from_raw` takes over a reference, `retain_raw` adds one. The types of handles are those of
//! [`mod@cl3`], the raw layer.
//!
//! | feature | by default | adds |
//! |---|---|---|
//! | `ndarray` | yes | arrays of ndarray 0.17 as host memory, maps as views, arrays in shared virtual memory, images from arrays |
//! | `opencl3` | no | `opencl3()` and the unsafe `from_opencl3` of objects, for opencl3 0.12 |
//! | `half` | no | `half::f16` as pixels of images from arrays |
//! | `serde` | no | descriptions and properties of devices, times of events and statistics of pools that can be stored |
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
mod context_watch;
mod create;
mod device;
mod driver;
mod dropped_queues;
mod error;
mod event;
mod handle;
#[cfg(feature = "opencl3")]
mod interop;
pub mod launch;
mod live;
mod mem_context;
pub mod memory;
mod order;
mod platform;
pub mod pool;
mod program;
mod queue;
mod queue_state;
pub mod select;
mod wait_list;

pub use context::Context;
pub use context_watch::ContextWatch;
pub use device::{Device, Partition};
pub use error::{Class, Error, Result};
pub use event::{Event, Profile, Status, UserEvent, wait_for_events};
pub use launch::{Kernel, Launch, LocalMemory};
pub use platform::Platform;
pub use program::{CompiledProgram, Program, ProgramBuilder};
pub use queue::{CommandQueue, QueueProperties, enqueue_barrier, enqueue_marker};
pub use select::create_some_context;

/// The crate [cl3](https://docs.rs/cl3/0.13), version 0.13: OpenCL's C functions and constants, and the types of the
/// handles of this crate.
///
/// Its safe functions are not covered by the safety guarantee of this crate: they take any handle, and can break what
/// this crate relies on. `event::set_user_event_status` makes commands fail that this crate waits for.
pub mod cl3 {
    pub use ::cl3::*;
}

/// The crate [ndarray](https://docs.rs/ndarray/0.17), version 0.17, with the feature `ndarray`.
///
/// Arrays of another version are not host memory of this crate: import them from here, or depend on this version.
#[cfg(feature = "ndarray")]
pub mod ndarray {
    pub use ::ndarray::*;
}

/// The crate [opencl3](https://docs.rs/opencl3/0.12), version 0.12, with the feature `opencl3`.
///
/// Objects are converted by their methods `opencl3` and `from_opencl3`:
///
/// ```
/// use clmatrix::{CommandQueue, Context};
///
/// # fn main() -> clmatrix::Result<()> {
/// # let context = clmatrix::create_some_context()?;
/// let theirs = context.opencl3()?;
/// // SAFETY: the context is alive.
/// let ours = unsafe { Context::from_opencl3(&theirs)? };
/// assert_eq!(ours, context);
/// # Ok(())
/// # }
/// ```
///
/// Its safe functions are not covered by the safety guarantee of this crate: constructors such as
/// `kernel::Kernel::new` take any handle, devices count no references, and
/// `program::Program::create_from_source` passes an empty source as one of unknown length.
#[cfg(feature = "opencl3")]
pub mod opencl3 {
    pub use ::opencl3::*;
}
