//! The names that most files of `driver` and `driver_errors` use.

pub use std::{ffi::c_void, fmt::Display, ptr, thread, time::Duration};

pub use bytemuck::Pod;
pub use clmatrix::Partition;
pub use clmatrix::cl3::{command_queue::*, context::*, device::*, error_codes::*, event::*};
pub use clmatrix::cl3::{kernel::*, memory::*, platform::*, program::*, sampler::*};
pub use clmatrix_harness::skip;
pub use rstest::rstest;

pub(crate) use super::api::{Checked, Named, Range, SETTING, UNWRITTEN, accepted, cl, code_name};
pub(crate) use super::api::{created, enqueued, finish, flush, launch, launched, named, ok};
pub(crate) use super::api::{pointer, set, succeeds, wait};
pub(crate) use super::bench::{Bench, bench, no_image};
pub(crate) use super::callback::Callback;
pub(crate) use super::command::*;
pub(crate) use super::object::{Class, Gate, Object, Opening, wait_list};
pub(crate) use super::query::Subject;
pub use crate::support::on_device::{OnDevice, on_device, soon};
pub use crate::support::parts::parts;
