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
//! cargo_test -> setup -> devices -> run -> worker -> log -> verdict, report
//! ```
//!
//! `cargo_test` reads the command line, `setup` reads the configuration, `devices` finds and selects devices,
//! `run` plans the tests and hands each to a `worker` process, `log` writes the event log and reads it back,
//! `report` writes JUnit files.
//!
//! The command `clmatrix`, which also makes the page, compares runs and measures devices, is the package
//! `clmatrix-cli`.

#![cfg_attr(docsrs, feature(doc_cfg))]

mod cargo_test;
mod case;
mod config;
mod devices;
mod execution;
mod expected_statuses;
mod fixtures;
mod folders;
mod header;
mod log;
mod os;
mod outside;
mod permits;
#[cfg(feature = "provision")]
pub mod provision;
mod registry;
mod replace_file;
mod report;
mod requirement;
mod result;
mod run;
mod serde_time;
mod setup;
mod shard;
mod source_url;
mod stacks;
mod system;
mod target;
mod temporary_folder;
mod terminal;
mod text;
mod verdict;
mod worker;

pub use clmatrix_harness_macros::{main, test};
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
        $crate::private::worker::child::skip(::std::format!($($reason)+))
    };
}

/// Items for the expansions of the macros and for `clmatrix-cli`, without any stability.
#[doc(hidden)]
pub mod private {
    pub use clmatrix_harness_macros::command;
    pub use inventory;
    pub use pollster;

    pub mod cargo_test {
        pub use crate::cargo_test::*;
    }
    pub mod case {
        pub use crate::case::*;
    }
    pub mod config {
        pub use crate::config::*;
    }
    pub mod devices {
        pub use crate::devices::*;
    }
    pub mod execution {
        pub use crate::execution::*;
    }
    pub mod expected_statuses {
        pub use crate::expected_statuses::*;
    }
    pub mod fixtures {
        pub use crate::fixtures::*;
    }
    pub mod folders {
        pub use crate::folders::*;
    }
    pub mod header {
        pub use crate::header::*;
    }
    pub mod system {
        pub use crate::system::*;
    }
    pub mod log {
        pub use crate::log::*;
    }
    pub mod os {
        pub use crate::os::*;
    }
    pub mod outside {
        pub use crate::outside::*;
    }
    #[cfg(feature = "provision")]
    pub mod provision {
        pub use crate::provision::*;
    }
    pub mod registry {
        pub use crate::registry::*;
    }
    pub mod replace_file {
        pub use crate::replace_file::*;
    }
    pub mod report {
        pub use crate::report::*;
    }
    pub mod requirement {
        pub use crate::requirement::*;
    }
    pub mod result {
        pub use crate::result::*;
    }
    pub mod run {
        pub use crate::run::*;
    }
    pub mod serde_time {
        pub use crate::serde_time::*;
    }
    pub mod setup {
        pub use crate::setup::*;
    }
    pub mod shard {
        pub use crate::shard::*;
    }
    pub mod stacks {
        pub use crate::stacks::*;
    }
    pub mod target {
        pub use crate::target::*;
    }
    pub mod terminal {
        pub use crate::terminal::*;
    }
    pub mod text {
        pub use crate::text::*;
    }
    pub mod verdict {
        pub use crate::verdict::*;
    }
    pub mod worker {
        pub use crate::worker::*;
    }
}
