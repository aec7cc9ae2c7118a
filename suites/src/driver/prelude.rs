//! The names that most files of the suite use.

pub(crate) use super::events::{gated, status, status_name, wait_for};
pub(crate) use super::order::before_opening;
pub(crate) use crate::plain_calls::callback::{of_end, of_event, of_free};
pub(crate) use crate::plain_calls::prelude::*;
pub(crate) use crate::support::pattern::{bytes, same};
