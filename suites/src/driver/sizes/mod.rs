//! Commands on few and on many bytes, at odd places, and many commands and objects at once (5.2, 5.3, 5.6, 5.9).

mod huge;
mod many;
mod moves;

use super::memory::*;
use super::prelude::*;
use crate::support::pattern::bytes;
