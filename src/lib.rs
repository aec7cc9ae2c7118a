//! OpenCL memory objects and transfers in safe Rust, with PyOpenCL's semantics.
//!
//! - [`select`]: which platforms and devices there are, and which of them are meant
//!   (PYOPENCL_TEST, PYOPENCL_CTX, patterns);
//! - [`memory`]: buffers, images, samplers, pipes, shared virtual memory, transfers and maps;
//! - [`pool`]: allocators of memory;
//! - [`launch`]: kernels, launched with these as arguments;
//! - [`cache`]: what is made once per context, queue or device, such as programs;
//! - [`characterize`]: what a device is like, for code that wants to suit it;
//! - [`Error`] and its [`Class`]: what went wrong, in which call, and what kind of trouble
//!   that is.
//!
//! Contexts, queues, programs, kernels and events are those of [`opencl3`]; memory objects are
//! this crate's own. Every function relies on the handles inside opencl3's types being valid,
//! although opencl3's `new` functions take any handle without being `unsafe`.
//!
//! ```
//! use clmatrix::CommandQueue;
//! use clmatrix::memory::{Buffer, Linear, MemFlags, enqueue_copy};
//!
//! # fn main() -> clmatrix::Result<()> {
//! let context = clmatrix::create_some_context()?;
//! let queue = CommandQueue::create_default(&context, 0)?;
//! let buffer = Buffer::from_slice(&context, MemFlags::READ_ONLY, &[1.0_f32, 2.0, 3.0])?;
//! let mut tail = [0.0_f32; 2];
//! enqueue_copy(&queue, &mut tail, &buffer, Linear { src_offset: 4, ..Linear::default() }, [])?;
//! assert_eq!(tail, [2.0, 3.0]);
//! # Ok(())
//! # }
//! ```

pub mod cache;
pub mod characterize;
pub mod error;
mod handle;
pub mod launch;
pub mod memory;
pub mod pool;
pub mod select;

pub use cache::{FirstArgCache, clear_first_arg_caches};
pub use error::{Class, Error, Result};
pub use launch::{Launch, Launcher, LocalMemory};
pub use select::create_some_context;

pub use cl3;
pub use opencl3;
pub use opencl3::command_queue::CommandQueue;
pub use opencl3::context::Context;
pub use opencl3::device::Device;
pub use opencl3::event::Event;
pub use opencl3::kernel::{ExecuteKernel, Kernel};
pub use opencl3::platform::Platform;
pub use opencl3::program::Program;
