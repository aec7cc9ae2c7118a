//! The command `clmatrix`: runs test suites on every OpenCL device of a machine, and works with stored runs.
//!
//! The binary `clmatrix` has the suites of `clmatrix-suites`. A command over other suites is a binary of one line:
//!
//! ```ignore
//! clmatrix_cli::command!(my_suites);
//! ```
//!
//! `command` has a module for each subcommand. `bisect`, `compare`, `expect`, `fleet` and `merge` do their work,
//! `characterize` queries and measures devices, `parent` reads the runs that others resume or run again, `shard`
//! divides tests, `external` runs the tests of other programs, and `report` makes the page, the matrix, the summary
//! and the trace.

#![cfg_attr(docsrs, feature(doc_cfg))]
#![cfg_attr(not(test), warn(clippy::disallowed_methods))]

mod bars;
mod bisect;
mod characterize;
mod command;
mod compare;
mod expect;
mod external;
mod fleet;
mod merge;
mod parent;
mod report;
mod shard;
mod stored_runs;

#[doc(inline)]
pub use clmatrix_harness_macros::command;
pub use command::main;

/// Items for the expansion of `command!` and for tests of this crate, without any stability.
#[doc(hidden)]
pub mod __private {
    pub use crate::shard::Division;
    pub mod stored_runs {
        pub use crate::stored_runs::find;
    }
    pub use clmatrix_runner::config::EmbeddedConfig;
    pub use clmatrix_runner::target::Target;
}
