//! The tests of other programs: `[[external]]` in the configuration.
//!
//! `listing` finds the programs and their tests, `process` runs a program to its end, and a file for each kind of
//! program has its command line, its list and its results. `import` reads the lists of the OpenCL conformance test
//! suite.

mod external_test;
pub(crate) mod import;
mod libtest;
pub(crate) mod listing;
mod opencl_cts;
mod process;
mod program;
