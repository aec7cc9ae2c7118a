//! Runs tests on every OpenCL device of a machine, each device in a process of its own, and
//! reports per device what passed, failed, crashed, hung or was skipped and why.
//!
//! ```ignore
//! use clmatrix_harness::{ctx_factory, CtxFactory};
//! use rstest::rstest;
//!
//! #[rstest]
//! #[clmatrix_harness::test(requires(fp64, opencl = "1.2"), timeout = "30s")]
//! fn scales(ctx_factory: CtxFactory, #[values(1, 4096)] n: usize) -> clmatrix::Result<()> {
//!     let context = ctx_factory()?;
//!     // ...
//!     Ok(())
//! }
//!
//! clmatrix_harness::main!(); // in Cargo.toml: [[test]] harness = false
//! ```
//!
//! The stages of a run, a module each:
//!
//! ```text
//! cli, cargo_test -> setup -> devices -> run -> worker -> log -> verdict, report
//! ```
//!
//! [`cli`] and [`cargo_test`] read the command line, [`setup`] reads the configuration, [`devices`]
//! finds and selects devices, [`run`] plans the tests and hands each to a [`worker`] process, [`log`]
//! writes the event log and reads it back, [`report`] writes JUnit files and prints the matrix.

#![cfg_attr(docsrs, feature(doc_cfg))]

mod bisect;
pub mod cargo_test;
pub mod case;
pub(crate) mod characterize;
pub mod cli;
mod compare;
pub mod config;
pub mod devices;
mod expect;
pub mod expected_statuses;
pub mod external;
pub mod findings;
pub mod fixtures;
mod fleet;
mod folders;
pub mod log;
mod merge;
mod os;
#[cfg(feature = "provision")]
pub mod provision;
pub mod registry;
pub mod report;
pub mod requirement;
mod resume;
pub mod run;
mod serde_time;
pub mod setup;
pub mod shard;
pub mod stacks;
mod system;
mod target;
mod terminal;
mod text;
pub mod verdict;
pub mod worker;

pub use clmatrix_harness_macros::{command, main, test};
pub use fixtures::{CtxFactory, ctx_factory, device, platform};
pub use os::AddressSpaceEnd;
pub use target::Target;
pub use text::shell_quoted;
pub use worker::property::record_property;

/// Ends the running test as skipped, with a reason for the report.
///
/// Use it for conditions that only a running test can check. Declare the requirements on a device with
/// `requires(...)` instead, which is checked without running the test.
///
/// ```no_run
/// # let free_bytes = 0u64;
/// if free_bytes < 1 << 30 {
///     clmatrix_harness::skip!("needs 1 GiB of free memory, found {free_bytes} bytes");
/// }
/// ```
#[macro_export]
macro_rules! skip {
    ($($reason:tt)+) => {
        $crate::worker::child::skip(::std::format!($($reason)+))
    };
}

/// Items for the expansions of the macros.
#[doc(hidden)]
pub mod __private {
    pub use inventory;
    pub use pollster;
}
