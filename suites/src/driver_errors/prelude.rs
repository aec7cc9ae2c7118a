//! The names that most files of the suite use.

pub use clmatrix::{CommandQueue, Context, Result};
pub use clmatrix_harness::{CtxFactory, ctx_factory};

pub(crate) use super::command::{Answer, Direction, NULL, OnBuffers, OnImages, OnSvm, SHAPE, SIZE};
pub(crate) use super::command::{answer, assert_code, cases, check};
pub(crate) use crate::plain_calls::{arguments::Arguments, prelude::*};
