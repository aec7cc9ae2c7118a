//! The names that most files of the suite use.

pub(crate) use super::events::{status, status_name, wait_for};
pub(crate) use crate::plain_calls::prelude::*;
