//! The tests of other programs: `[[external]]` in the configuration.
//!
//! `listing` finds the programs and their tests, `process` runs a program to its end, and a file for each
//! kind of program knows its command line, its list and its results. `import` reads the lists of the
//! OpenCL conformance test suite.

pub mod import;
mod libtest;
pub mod listing;
mod opencl_cts;
mod output;
mod outside_test;
mod process;
mod program;
pub(crate) mod program_run;

pub use outside_test::OutsideTest;
pub(crate) use program::Program;
pub use program::ProgramRecord;
