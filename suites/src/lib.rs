//! The test suites of clmatrix, one module each. Every test runs on every device.

mod after_failure;
mod allocator;
mod buffer;
mod cache;
pub mod characterize;
mod context;
mod copy;
mod driver;
mod driver_errors;
mod fill;
mod host_access;
mod image;
mod interop;
mod launch;
mod measure;
mod migrate;
mod object;
mod pipe;
mod pool;
mod program;
mod recorded_use;
mod sampler;
mod selection;
mod stress;
mod support;
mod svm;
mod svm_atomics;
