//! The names that most files of the suite use.

pub use std::ffi::c_void;
pub use std::ops::Deref;
pub use std::ptr;

pub use clmatrix::cl3::{command_queue::*, error_codes::*, event::*, memory::*, sampler::*};
pub use clmatrix::memory::{Buffer, MemFlags};
pub use clmatrix::{CommandQueue, Context, Event, Result};
pub use clmatrix_harness::{CtxFactory, Fixture, ctx_factory, skip};
pub use rstest::{fixture, rstest};

pub(crate) use super::command::{
    Command, Common, Direction, call, cases, check, command, place, pointer,
};
pub(crate) use super::images::{Images, SHAPE, images};
pub(crate) use super::objects::{Objects, SIZE, objects};
pub(crate) use super::svm::{Svm, svm};
pub(crate) use super::{Answer, assert_code, assert_one_of, code, creation_code};
pub use crate::support::gate::{fail, gate, open};
pub use crate::support::on_device::{OnDevice, on_device};
pub(crate) use crate::support::unanswered;
