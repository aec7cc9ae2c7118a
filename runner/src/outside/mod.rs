//! Tests of other programs, for runs. A command brings the programs: `clmatrix-cli` has those of `[[external]]` in
//! the configuration.

mod outside_test;
mod watch;

pub use outside_test::OutsideTest;
pub use watch::Watch;
