//! `enqueue_copy` between host memory and buffers, and between buffers (`pyopencl.enqueue_copy`).
//!
//! What a copy is said to have done is checked from the device: a kernel works on it in between.

mod arrays;
mod linear;
mod p2p;
mod pending;
mod profile;
mod property;
mod rect;
mod refused;
