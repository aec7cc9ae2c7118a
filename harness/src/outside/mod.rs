//! Tests of other programs, as far as a run knows them. A command brings the programs: `clmatrix-cli` has those of
//! `[[external]]` in the configuration.

mod outside_test;
mod process_end;
mod watch;

pub use outside_test::OutsideTest;
pub use process_end::ProcessEnd;
pub use watch::Watch;
