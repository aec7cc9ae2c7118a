//! Invalid calls of the memory chapter, and the error codes that OpenCL names for them (OpenCL 3.0
//! API, chapter 5).
//!
//! The library refuses such calls before a driver sees them. Each case breaks one rule of a call that
//! is valid otherwise: a driver may report any rule that a call breaks. The case `valid` of each group
//! is the call that the others change. A message names the call, the case, the code that OpenCL names,
//! and the driver's.

mod buffer;
mod command;
mod context;
mod events;
mod fill;
mod handles;
mod image;
mod image_commands;
mod map;
mod migrate;
mod pipe;
mod prelude;
mod query;
mod rect;
mod sampler;
mod sub_buffer;
mod svm;
mod wait_list;
