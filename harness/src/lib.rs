//! Runs tests on every OpenCL device of a machine, each device in a process of its own, and reports per device which
//! tests passed, failed, crashed, hung or were skipped, and why.
//!
//! ```ignore
//! use clmatrix_harness::{CtxFactory, ctx_factory};
//! use rstest::rstest;
//!
//! #[clmatrix_harness::test(requires(fp64, opencl = "1.2"), timeout = "30s")]
//! fn doubles(ctx_factory: CtxFactory) -> clmatrix::Result<()> {
//!     let context = ctx_factory()?;
//!     // ...
//!     Ok(())
//! }
//!
//! // With cases, by rstest.
//! #[rstest]
//! #[clmatrix_harness::test]
//! fn scales(ctx_factory: CtxFactory, #[values(1, 4096)] n: usize) -> clmatrix::Result<()> {
//!     let context = ctx_factory()?;
//!     // ...
//!     Ok(())
//! }
//!
//! clmatrix_harness::main!(); // in Cargo.toml: [[test]] harness = false
//! ```
//!
//! The arguments of a test are [fixtures](Fixture), bound by their types: [`CtxFactory`], a device, or a type of your
//! own. Beside `#[rstest]` they are bound by their names, so that [`ctx_factory`](fn@ctx_factory) is imported. The
//! [attribute](macro@test) has options, such as the requirements on a device; a running test may call [`skip!`] and
//! [`record_property`].
//!
//! [`main!`](macro@main) makes a test per device. In a target with libtest's `main`, the attribute makes a test for all
//! devices.
//!
//! The command `clmatrix`, which also makes the page, compares runs and measures devices, is the package
//! `clmatrix-cli`.

#![cfg_attr(docsrs, feature(doc_cfg))]

pub use clmatrix_harness_macros::{main, test};
#[doc(inline)]
pub use clmatrix_runner::fixtures::{CtxFactory, Fixture, ctx_factory, device, platform};
#[doc(inline)]
pub use clmatrix_runner::worker::property::record_property;

/// Ends the running test as skipped, with a reason for the report.
///
/// Use it for conditions that only a running test can check. Declare the requirements on a device with
/// `requires(...)` instead, which is checked without running the test.
///
/// It is a panic with a payload of its own: on another thread it ends that thread, and the test if it passes the
/// payload on, as scopes of rayon or `std::panic::resume_unwind` do.
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
        $crate::__private::skip(::std::format!($($reason)+))
    };
}

/// Items for the expansions of the macros, without any stability.
#[doc(hidden)]
pub mod __private {
    pub use clmatrix_runner::cargo_test::{main, std_main};
    pub use clmatrix_runner::config::EmbeddedConfig;
    pub use clmatrix_runner::fixtures::Fixture;
    pub use clmatrix_runner::registry::{Ignore, IntoTestReturn, ShouldPanic, Test, TestReturn};
    pub use clmatrix_runner::requirement::{Requirement, SvmLevel, Version};
    pub use clmatrix_runner::target::Target;
    pub use clmatrix_runner::worker::child::skip;
    pub use clmatrix_runner::{inventory, pollster};
}
