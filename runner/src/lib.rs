//! The engine of `clmatrix-harness` and `clmatrix-cli`: runs tests on every OpenCL device of a machine, each device in a
//! process of its own, and reports per device.
//!
//! The interface has no stability. `clmatrix-harness` and `clmatrix-cli` depend on exactly their own version of this
//! crate; a crate with tests depends on `clmatrix-harness`.
//!
//! The stages of a run, a module each:
//!
//! ```text
//! cargo_test -> setup -> devices -> run -> worker -> log -> verdict, report
//! ```
//!
//! `cargo_test` reads the command line, `setup` reads the configuration, `devices` finds and selects devices,
//! `run` plans the tests and hands each to a `worker` process, `log` writes the event log and reads it back,
//! `report` writes JUnit files.

#![cfg_attr(docsrs, feature(doc_cfg))]
#![cfg_attr(not(test), warn(clippy::disallowed_methods))]

pub mod cargo_test;
pub mod case;
pub mod config;
pub mod debug;
pub mod devices;
pub mod execution;
pub mod files;
pub mod fixtures;
pub mod folders;
pub mod header;
pub mod log;
#[allow(
    clippy::disallowed_methods,
    reason = "it opens /proc, /dev/null and descriptors, and reads variables of Windows"
)]
pub mod os;
pub mod outside;
mod permits;
#[cfg(feature = "provision")]
pub mod provision;
pub mod registry;
pub mod report;
pub mod requirement;
pub mod result;
pub mod run;
pub mod serde_time;
pub mod setup;
pub mod shard;
pub mod stacks;
pub mod system;
pub mod target;
pub mod terminal;
pub mod text;
pub mod variable;
pub mod verdict;
pub mod worker;

pub use inventory;
pub use pollster;
