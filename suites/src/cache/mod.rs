//! Caches of what is made once per context, queue, device or other object, and how they are cleared.
//!
//! A count of what was computed tells whether a value came from the cache; kernels from there run on
//! the device.

mod lifetime;
mod objects;
mod programs;
