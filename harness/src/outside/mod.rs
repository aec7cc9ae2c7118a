//! Tests of other programs, as far as a run knows them. A command brings the programs: `clmatrix-cli` has those of
//! `[[external]]` in the configuration.

mod ended;
mod outside_test;
mod watch;

pub use ended::Ended;
pub use outside_test::OutsideTest;
pub use watch::Watch;
