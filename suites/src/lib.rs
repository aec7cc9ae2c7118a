//! The test suites of clmatrix, one module each. Every test runs on every device.

mod after_failure;
mod allocator;
mod buffer;
mod cache;
pub mod characterize;
mod context;
mod copy;
mod driver_errors;
mod fill;
mod gate;
mod host_access;
mod image;
mod inverter;
mod launch;
mod logger;
mod measure;
mod migrate;
mod object;
mod on_device;

mod pipe;
mod pool;
mod property;
mod sampler;
mod selection;
mod support;
mod svm;
mod svm_atomics;
mod svm_pool;
