//! The names that most files of the suite use.

pub use std::ffi::c_void;
pub use std::ptr;

pub use rstest::rstest;

pub(crate) use super::api::{Named, cl, code_name, created, named, ok, succeeds};
pub(crate) use super::bench::{Bench, bench};
pub(crate) use super::command::*;
pub(crate) use super::findings::Findings;
pub(crate) use super::object::{Class, Gate, Object, wait_list};
pub(crate) use super::query::Subject;
