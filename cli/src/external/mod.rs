//! The tests of other programs: `[[external]]` in the configuration.
//!
//! `listing` finds the programs and their tests, `process` runs a program to its end, and a file for each kind of
//! program has its command line, its list and its results.

mod external_test;
mod libtest;
pub(crate) mod listing;
mod opencl_cts;
mod process;
mod program;
